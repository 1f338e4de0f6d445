package server

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
)

// Limits for read errors, which may be temporary.
const (
	badReads  = 100                  // errors in a row, about five seconds, after which the socket is considered broken
	badPause  = 5 * time.Millisecond // pause after the second error, and later pauses are longer
	longPause = 50 * time.Millisecond
)

// A Conn is a UDP socket: a [net.UDPConn], except in tests.
type Conn interface {
	ReadFromUDPAddrPort(b []byte) (n int, from netip.AddrPort, err error)
	ReadMsgUDPAddrPort(b, control []byte) (n, size, flags int, from netip.AddrPort, err error)
	WriteToUDPAddrPort(b []byte, to netip.AddrPort) (int, error)
	Write(b []byte) (int, error)
	LocalAddr() net.Addr
	SyscallConn() (syscall.RawConn, error)
	Close() error
}

// A Socket reads datagrams. On Linux it also counts datagrams that the system
// has dropped.
type Socket struct {
	conn     Conn
	overflow overflow
}

// NewSocket returns a Socket that adds the number of dropped datagrams to
// noRoom.
func NewSocket(conn Conn, noRoom *atomic.Int64) *Socket {
	return &Socket{conn: conn, overflow: newOverflow(conn, noRoom)}
}

// Receive reads a datagram. After an error that may be temporary it tries
// again, the first time at once since datagrams may be waiting. It returns the
// error after five seconds of errors. It also returns an error if the socket is
// closed, if a deadline has passed, or for errors that [Gone] and [TooLong]
// describe.
func (s *Socket) Receive(b []byte) (n int, from netip.AddrPort, err error) {
	for bad := range badReads {
		n, from, err = s.overflow.read(s.conn, b)
		if err == nil || errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrDeadlineExceeded) || Gone(err) || TooLong(err) {
			return n, from, err
		}
		time.Sleep(min(time.Duration(bad)*badPause, longPause))
	}
	return 0, from, fmt.Errorf("receiving: %w", cli.Plain(err))
}

// GamePort is the first port on which clients look for hosts.
const GamePort = "22101"

const masterPort = "27900"

// Listen opens the socket. It uses IPv4, since the game does not support IPv6.
func Listen(address string) (*net.UDPConn, error) {
	if !strings.Contains(address, ":") {
		if _, err := strconv.ParseUint(address, 10, 16); err == nil {
			address = ":" + address
		} else {
			address += ":" + GamePort
		}
	}
	at, err := net.ResolveUDPAddr("udp4", address)
	if err != nil {
		return nil, fmt.Errorf("--listen %s: want an address of this machine and a port, such as :22101 or 192.168.1.5:22101 (%w)", address, cli.Plain(err))
	}
	conn, err := net.ListenUDP("udp4", at)
	if err == nil {
		_ = conn.SetReadBuffer(socketBuffer) // the system may limit the size
		return conn, nil
	}
	err = cli.Plain(err)
	switch {
	case isErrno(err, syscall.EADDRINUSE, windowsInUse):
		next := at.Port%0xFFFF + 1
		return nil, cli.Failed(fmt.Errorf("port %d is in use, by another host or the game itself; end that, or choose another with --listen :%d", at.Port, next))
	case isErrno(err, syscall.EACCES, windowsNoAccess):
		return nil, cli.Failed(fmt.Errorf("no permission to listen on %s; ports from 1024 on need none, such as --listen :%s", at, GamePort))
	case isErrno(err, syscall.EADDRNOTAVAIL, windowsNoAddress):
		return nil, cli.Failed(fmt.Errorf("no interface of this machine has the address %s; --listen 0.0.0.0:%d listens on all", at.IP, at.Port))
	}
	return nil, cli.Failed(fmt.Errorf("--listen %s: %w", at, err))
}

// Socket errors of Windows.
const (
	windowsNoAccess  = 10013
	windowsTooLong   = 10040
	windowsInUse     = 10048
	windowsNoAddress = 10049
	windowsReset     = 10054
	windowsNoRoom    = 10055
)

// isErrno reports whether an error has the number, or on Windows the other
// number.
func isErrno(err error, number, windows syscall.Errno) bool {
	return errors.Is(err, number) || cli.OnWindows && errors.Is(err, windows)
}

// Gone reports whether a read error is caused by an ICMP port unreachable
// message for a datagram sent before. Reading can continue. Windows reports it
// as a reset.
func Gone(err error) bool {
	return isErrno(err, syscall.ECONNRESET, windowsReset) || isErrno(err, syscall.ECONNREFUSED, windowsReset)
}

// TooLong reports whether a read error says that a datagram was longer than the
// buffer.
func TooLong(err error) bool { return isErrno(err, syscall.EMSGSIZE, windowsTooLong) }

// NoRoom reports whether a write error says that the system has no buffer
// space, which is temporary.
func NoRoom(err error) bool { return isErrno(err, syscall.ENOBUFS, windowsNoRoom) }

// SeenAs returns the address of the host in recordings: the address it listens
// on, or an address of this machine if that is unspecified.
func SeenAs(at netip.AddrPort) netip.AddrPort {
	if !at.Addr().IsUnspecified() {
		return at
	}
	found := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	all, err := net.InterfaceAddrs()
	if err != nil {
		return netip.AddrPortFrom(found, at.Port())
	}
	for _, a := range all {
		prefix, err := netip.ParsePrefix(a.String())
		if err == nil && prefix.Addr().Is4() && prefix.Addr().IsGlobalUnicast() {
			return netip.AddrPortFrom(prefix.Addr(), at.Port())
		}
	}
	return netip.AddrPortFrom(found, at.Port())
}

// Master resolves the address of the master server.
func Master(text string) (netip.AddrPort, error) {
	if !strings.Contains(text, ":") {
		text += ":" + masterPort
	}
	at, err := net.ResolveUDPAddr("udp4", text)
	if err == nil && at.IP == nil {
		err = errors.New("a host is missing")
	}
	if err != nil {
		return netip.AddrPort{}, cli.Failed(fmt.Errorf("--heartbeat %s: %w", text, cli.Plain(err)))
	}
	port := at.AddrPort()
	return netip.AddrPortFrom(port.Addr().Unmap(), port.Port()), nil
}
