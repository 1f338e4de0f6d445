package relay

import (
	"net/netip"
	"slices"
	"time"
)

// Random are random numbers, such as those of math/rand/v2.
type Random interface {
	Float64() float64
	IntN(n int) int
	Int64N(n int64) int64
}

// Trouble sets the faults of a network. Each share is from 0 to 1.
type Trouble struct {
	Loss      float64
	Duplicate float64
	Reorder   float64 // of datagrams that others overtake
	Cut       float64 // of datagrams that lose their end
	Flip      float64 // of datagrams in which a bit changes
	Delay     time.Duration
	Jitter    time.Duration // more than Delay, at most; ten times as much where others overtake
}

// Copies returns after how long each copy of a datagram arrives; none if it is
// lost.
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

// A Network carries datagrams in simulated time. It makes the same trouble each
// time that it is given the same random numbers.
type Network struct {
	Rand    Random
	pending []Arrival // in the order of their arrivals
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

// Next returns when the next datagram arrives; the zero time stands for never.
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
