package server

import (
	"encoding/binary"
	"net/netip"
	"sync/atomic"
	"syscall"
)

// rxqOvfl is SO_RXQ_OVFL. With it, the system reports with each datagram how
// many were dropped before because the socket's buffer was full.
const rxqOvfl = 40

// An overflow counts the datagrams that the system has dropped.
type overflow struct {
	control []byte
	noRoom  *atomic.Int64
	last    uint32 // the system's counter, which wraps around
}

func newOverflow(conn Conn, noRoom *atomic.Int64) overflow {
	if raw, err := conn.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { // if it fails, nothing is counted
			_ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, rxqOvfl, 1)
		})
	}
	return overflow{control: make([]byte, syscall.CmsgSpace(4)), noRoom: noRoom}
}

// read reads a datagram.
func (o *overflow) read(conn Conn, b []byte) (n int, from netip.AddrPort, err error) {
	n, size, _, from, err := conn.ReadMsgUDPAddrPort(b, o.control)
	if at := syscall.CmsgLen(0); err == nil && size >= at+4 {
		// The header has a length of the size of a pointer, then the level and
		// the type.
		if kind := binary.NativeEndian.Uint32(o.control[at-4:]); kind == rxqOvfl {
			count := binary.NativeEndian.Uint32(o.control[at:])
			o.noRoom.Add(int64(count - o.last))
			o.last = count
		}
	}
	return n, from, err
}
