//go:build !linux

package server

import (
	"net/netip"
	"sync/atomic"
)

// An overflow counts nothing: only Linux tells how many datagrams it has dropped.
type overflow struct{}

func newOverflow(Conn, *atomic.Int64) (o overflow) { return o }

// read reads a datagram.
func (overflow) read(conn Conn, b []byte) (n int, from netip.AddrPort, err error) {
	return conn.ReadFromUDPAddrPort(b)
}
