//go:build !linux

package server

import (
	"net/netip"
	"sync/atomic"
)

// An overflow counts nothing, since only Linux reports dropped datagrams.
type overflow struct{}

func newOverflow(Conn, *atomic.Int64) (o overflow) { return o }

// read reads a datagram.
func (overflow) read(conn Conn, b []byte) (n int, from netip.AddrPort, err error) {
	return conn.ReadFromUDPAddrPort(b)
}
