package relaytest

import (
	"errors"
	"net/netip"
	"time"

	"github.com/bcdissect/bcdissect/dissect/relay"
)

// A World is a host in virtual time that receives datagrams at once. It
// implements the driver of package suite.
type World struct {
	// Out, if not nil, changes a datagram of the host. It returns the datagrams to
	// deliver.
	Out func(to netip.AddrPort, d []byte) [][]byte

	now  time.Time
	at   netip.AddrPort
	host *relay.Host
	next time.Time // when the host must be called
	port uint16
	open map[netip.AddrPort]bool
	sent []relay.Arrival
}

// NewWorld returns a world with a host.
func NewWorld(host *relay.Host) *World {
	return &World{
		now: time.Date(2002, 2, 19, 12, 0, 0, 0, time.UTC), at: netip.MustParseAddrPort("192.0.2.1:22101"), host: host,
		port: 40000, open: map[netip.AddrPort]bool{},
	}
}

// Now returns the time.
func (w *World) Now() time.Time { return w.now }

// Host returns the address of the host.
func (w *World) Host() netip.AddrPort { return w.at }

// Open returns the address of a new socket.
func (w *World) Open() (netip.AddrPort, error) {
	w.port++
	local := netip.AddrPortFrom(netip.MustParseAddr("198.51.100.7"), w.port)
	w.open[local] = true
	return local, nil
}

// Listen fails, since only the host is there.
func (w *World) Listen(netip.AddrPort) error { return errors.New("not here") }

// Close closes a socket.
func (w *World) Close(local netip.AddrPort) { delete(w.open, local) }

// Refused returns nil, since the host is there.
func (w *World) Refused() error { return nil }

// Send sends the host a datagram.
func (w *World) Send(local netip.AddrPort, d []byte) error {
	w.host.Receive(w.now, local, d)
	w.turn()
	return nil
}

// turn lets the host send all waiting datagrams.
func (w *World) turn() {
	w.next = w.host.Advance(w.now)
	for {
		to, d, ok := w.host.Send()
		if !ok {
			return
		}
		list := [][]byte{d}
		if w.Out != nil {
			list = w.Out(to, d)
		}
		for _, d := range list {
			w.sent = append(w.sent, relay.Arrival{At: w.now, From: w.at, To: to, Datagram: append([]byte(nil), d...)})
		}
	}
}

// Receive returns the next datagram of the host that comes before the given
// time.
func (w *World) Receive(until time.Time) (relay.Arrival, bool) {
	for {
		for len(w.sent) > 0 {
			a := w.sent[0]
			w.sent = w.sent[1:]
			if w.open[a.To] {
				return a, true
			}
		}
		if !w.now.Before(until) {
			return relay.Arrival{}, false
		}
		next := until
		if !w.next.IsZero() && w.next.Before(next) {
			next = w.next
		}
		if least := w.now.Add(100 * time.Microsecond); next.Before(least) {
			next = least
		}
		w.now = next
		w.turn()
	}
}

// Wake returns the earliest of some times, at most until, and a moment after now at
// the least. Zero times mean never.
func Wake(now, until time.Time, times ...time.Time) time.Time {
	const moment = 100 * time.Microsecond
	for _, at := range times {
		if !at.IsZero() && at.Before(until) {
			until = at
		}
	}
	if least := now.Add(moment); until.Before(least) {
		return least
	}
	return until
}
