//go:build !linux

package server

import (
	"net"
	"net/netip"
	"sync/atomic"
)

// A socket reads datagrams. Only Linux tells how many found no room.
type socket struct{ conn *net.UDPConn }

func newSocket(conn *net.UDPConn, _ *atomic.Int64) *socket { return &socket{conn} }

func (s *socket) read(b []byte) (n int, from netip.AddrPort, err error) {
	return s.conn.ReadFromUDPAddrPort(b)
}
