package relay

import (
	"container/heap"
	"net/netip"
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
	pending arrivals
	sent    int
}

// An Arrival is a datagram that has come through a network.
type Arrival struct {
	At       time.Time
	From, To netip.AddrPort
	Datagram []byte
	order    int
}

// Send gives a datagram, which is borrowed, to the network.
func (n *Network) Send(now time.Time, from, to netip.AddrPort, datagram []byte, t *Trouble) {
	for _, after := range t.Copies(n.Rand) {
		n.sent++
		heap.Push(&n.pending, Arrival{now.Add(after), from, to, t.Damage(n.Rand, datagram), n.sent})
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
	return heap.Pop(&n.pending).(Arrival), true
}

// arrivals is a heap.
type arrivals []Arrival

func (a arrivals) Len() int      { return len(a) }
func (a arrivals) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a *arrivals) Push(x any)   { *a = append(*a, x.(Arrival)) }

func (a arrivals) Less(i, j int) bool {
	if !a[i].At.Equal(a[j].At) {
		return a[i].At.Before(a[j].At)
	}
	return a[i].order < a[j].order
}

func (a *arrivals) Pop() any {
	last := len(*a) - 1
	x := (*a)[last]
	(*a)[last] = Arrival{}
	*a = (*a)[:last]
	return x
}
