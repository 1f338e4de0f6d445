package server

import (
	"encoding/binary"
	"net"
	"net/netip"
	"sync/atomic"
	"syscall"
)

// rxqOvfl is SO_RXQ_OVFL: the system tells with a datagram how many before it
// found no room in the socket's buffer.
const rxqOvfl = 40

// A Socket reads datagrams, and counts those that the system has dropped.
type Socket struct {
	conn    *net.UDPConn
	control []byte
	noRoom  *atomic.Int64
	last    uint32 // the system's count, which wraps around
}

// NewSocket returns a reader of a socket that adds to a count of lost datagrams.
func NewSocket(conn *net.UDPConn, noRoom *atomic.Int64) *Socket {
	if raw, err := conn.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { // without it, nothing is counted
			_ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, rxqOvfl, 1)
		})
	}
	return &Socket{conn: conn, control: make([]byte, syscall.CmsgSpace(4)), noRoom: noRoom}
}

// Read reads a datagram.
func (s *Socket) Read(b []byte) (n int, from netip.AddrPort, err error) {
	n, size, _, from, err := s.conn.ReadMsgUDPAddrPort(b, s.control)
	if at := syscall.CmsgLen(0); err == nil && size >= at+4 {
		// The header holds a length of the size of a pointer, then level and type.
		if kind := binary.NativeEndian.Uint32(s.control[at-4:]); kind == rxqOvfl {
			count := binary.NativeEndian.Uint32(s.control[at:])
			s.noRoom.Add(int64(count - s.last))
			s.last = count
		}
	}
	return n, from, err
}
