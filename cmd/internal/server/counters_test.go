package server

import (
	"net/netip"
	"testing"
	"time"
)

// The counters of a recording include datagrams dropped before the host.
func TestCountersOfDrops(t *testing.T) {
	s := newTestServer(t)
	s.Host.Receive(time.Now(), netip.MustParseAddrPort("198.51.100.1:4000"), []byte{2, 1, 2})
	s.dropped.Add(3) // the host was busy
	s.cut.Add(2)     // too large
	if c := s.counters(); c.Dropped != 5 || c.Received != 6 {
		t.Errorf("%d dropped of %d received, want 5 of 6", c.Dropped, c.Received)
	}
}
