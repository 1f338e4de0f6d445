//go:build !linux

package server

import (
	"net"
	"net/netip"
	"sync/atomic"
)

// A Socket reads datagrams. Only Linux tells how many found no room.
type Socket struct{ conn *net.UDPConn }

// NewSocket returns a reader of a socket.
func NewSocket(conn *net.UDPConn, _ *atomic.Int64) *Socket { return &Socket{conn} }

// Read reads a datagram.
func (s *Socket) Read(b []byte) (n int, from netip.AddrPort, err error) {
	return s.conn.ReadFromUDPAddrPort(b)
}
