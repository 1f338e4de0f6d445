package relay

import (
	"net/netip"
	"slices"
	"time"
)

// Random is a source of random numbers, such as one of math/rand/v2.
type Random interface {
	Float64() float64
	IntN(n int) int
	Int64N(n int64) int64
}

// Trouble sets the faults of a network. Each share is from 0 to 1.
type Trouble struct {
	Loss      float64
	Duplicate float64
	Reorder   float64 // datagrams that others overtake
	Cut       float64 // datagrams whose end is cut off
	Flip      float64 // datagrams in which one bit changes
	Delay     time.Duration
	Jitter    time.Duration // most that is added to Delay. It is ten times as long for datagrams that others overtake.
}

// Copies returns after which times the copies of a datagram arrive. There are
// none if it is lost.
func (t *Trouble) Copies(r Random) (after []time.Duration) {
	n := 1
	switch {
	case r.Float64() < t.Loss:
		return nil
	case r.Float64() < t.Duplicate:
		n = 2
	}
	for range n {
		d := t.Delay
		if t.Jitter > 0 {
			d += time.Duration(r.Int64N(int64(t.Jitter)))
			if r.Float64() < t.Reorder {
				d += time.Duration(r.Int64N(10 * int64(t.Jitter)))
			}
		}
		after = append(after, d)
	}
	return after
}

// Damage returns a damaged copy of a datagram's bytes.
func (t *Trouble) Damage(r Random, datagram []byte) []byte {
	d := append([]byte(nil), datagram...)
	if len(d) > 0 && r.Float64() < t.Cut {
		d = d[:r.IntN(len(d))]
	}
	if len(d) > 0 && r.Float64() < t.Flip {
		d[r.IntN(len(d))] ^= 1 << r.IntN(8)
	}
	return d
}

// A Network carries datagrams in simulated time. With the same random numbers,
// it makes the same faults.
type Network struct {
	Rand    Random
	pending []Arrival // in the order of arrival
}

// An Arrival is a datagram that has come through a network.
type Arrival struct {
	At       time.Time
	From, To netip.AddrPort
	Datagram []byte
}

// Send gives a datagram, which is borrowed, to the network.
func (n *Network) Send(now time.Time, from, to netip.AddrPort, datagram []byte, t *Trouble) {
	for _, after := range t.Copies(n.Rand) {
		a := Arrival{now.Add(after), from, to, t.Damage(n.Rand, datagram)}
		i, _ := slices.BinarySearchFunc(n.pending, a.At.Add(1), func(b Arrival, at time.Time) int { return b.At.Compare(at) })
		n.pending = slices.Insert(n.pending, i, a)
	}
}

// Next returns when the next datagram arrives, or the zero time for never.
func (n *Network) Next() time.Time {
	if len(n.pending) == 0 {
		return time.Time{}
	}
	return n.pending[0].At
}

// Receive returns the next datagram that has arrived by now.
func (n *Network) Receive(now time.Time) (a Arrival, ok bool) {
	if len(n.pending) == 0 || n.pending[0].At.After(now) {
		return a, false
	}
	a = n.pending[0]
	n.pending = n.pending[1:]
	return a, true
}
