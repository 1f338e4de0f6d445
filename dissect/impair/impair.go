// Not part of the library: package impair simulates faults of a line
// reproducibly. A [Line] carries the datagrams of one client in one direction.
// Datagrams and the time go in, and datagrams come out late, twice, in another
// order, or not at all. It has no socket and no clock.
//
// Loss, jitter, reordering and duplication are decided for the n-th datagram of
// a line by its seed, direction, client and n. These decisions do not depend on
// times, sizes, or other clients' datagrams. Only the wait because of Rate, and
// which datagram overtakes which, also depend on times.
package impair

import (
	"time"

	"github.com/bcdissect/bcdissect/dissect/internal/chance"
)

// The limits of a line.
const (
	MostWaiting = 4096    // datagrams that wait on a line. Further ones are dropped.
	MostBytes   = 4 << 20 // bytes of these datagrams

	deepest = 3                      // how many datagrams overtake another one
	holding = 250 * time.Millisecond // how long a datagram waits to be overtaken, if too few follow
	headers = 20 + 8                 // bytes of the IPv4 and UDP headers, which also count for Rate
)

// A Fate tells what happened to a datagram.
type Fate string

// The fates.
const (
	Passed Fate = "passed"
	Lost   Fate = "lost"   // lost because of Loss
	Queued Fate = "queue"  // dropped because it would have waited too long because of Rate
	Full   Fate = "full"   // dropped because too many datagrams wait: see MostWaiting
	Unsent Fate = "unsent" // not yet delivered at the end
)

// A Report tells what a line did to a datagram. A proxy's log has one per line.
type Report struct {
	Came      time.Time `json:"time"`
	Dir       string    `json:"dir"`    // c2s or s2c
	Client    string    `json:"client"` // client's address, which the proxy sets
	Line      int       `json:"line"`   // number of the client
	N         int       `json:"n"`      // number of the datagram on its line, from 1
	Size      int       `json:"size"`   // bytes of the UDP payload
	Fate      Fate      `json:"fate"`
	Delay     float64   `json:"delay_ms,omitempty"`     // delay of a delivered datagram
	Copies    int       `json:"copies,omitempty"`       // for a delivered datagram: 1, or 2 if it was duplicated
	Overtaken []int     `json:"overtaken_by,omitempty"` // numbers of the datagrams that came later and were delivered before it
}

// A waiting is a datagram that waits for delivery.
type waiting[T any] struct {
	Report
	payload T
	due     time.Time
	ahead   int // number of datagrams that still have to overtake it
}

// A Line carries datagrams of one client in one direction.
type Line[T any] struct {
	cfg    Config
	to     Direction
	client int

	n     int
	bad   bool      // the line is in a run of losses
	free  time.Time // when the line will have sent what waits because of Rate
	last  time.Time // when the latest datagram is due
	bytes int

	queue []waiting[T] // in the order of due
	held  []waiting[T] // datagrams that others are to overtake
	ready []waiting[T] // datagrams of held that have been overtaken
}

// NewLine returns the line of a client. The number of the client selects the
// random numbers.
func NewLine[T any](cfg Config, d Direction, client int) *Line[T] {
	return &Line[T]{cfg: cfg, to: d, client: client}
}

// The decisions about a datagram.
const (
	forLoss = iota
	forDelay
	forReorder
	forDepth
	forDuplicate
)

// share returns the random number of a decision about the latest datagram.
func (l *Line[T]) share(decision uint64) float64 {
	return chance.Share(l.cfg.Seed, uint64(l.to), uint64(l.client), uint64(l.n), decision)
}

// loses decides whether the latest datagram is lost.
func (l *Line[T]) loses() bool {
	u := l.share(forLoss)
	switch {
	case l.cfg.Burst == 0 || l.cfg.Loss == 1 || l.n == 1:
		l.bad = u < l.cfg.Loss
	case l.bad:
		l.bad = u >= 1/l.cfg.Burst
	default:
		l.bad = u < l.cfg.toBad()
	}
	return l.bad
}

// Send sends a datagram. If it is dropped at once, the report has the reason
// and ok is false. Otherwise Receive returns the payload later.
func (l *Line[T]) Send(now time.Time, payload T, size int) (r Report, ok bool) {
	l.n++
	dir := [...]string{ToServer: "c2s", ToClient: "s2c"}[l.to]
	w := waiting[T]{Report: Report{Came: now, Dir: dir, Line: l.client, N: l.n, Size: size, Fate: Passed, Copies: 1}, payload: payload}
	if l.cfg.Duplicate > 0 && l.share(forDuplicate) < l.cfg.Duplicate {
		w.Copies = 2
	}
	sent, drop := l.transmit(now, w.Copies*(size+headers))
	switch {
	case l.loses():
		w.Fate = Lost
	case drop:
		w.Fate = Queued
	case len(l.queue)+len(l.held)+len(l.ready) >= MostWaiting || l.bytes+size > MostBytes:
		w.Fate = Full
	}
	if w.Fate != Passed {
		w.Copies = 0
		return w.Report, false
	}
	if l.cfg.Rate > 0 {
		l.free = sent
	}
	w.due = sent.Add(l.cfg.Delay)
	if l.cfg.Jitter > 0 {
		w.due = w.due.Add(time.Duration((2*l.share(forDelay) - 1) * float64(l.cfg.Jitter)))
	}
	if w.due.Before(l.last) { // jitter does not change the order
		w.due = l.last
	}
	l.last = w.due
	l.bytes += size
	if l.cfg.Reorder > 0 && l.share(forReorder) < l.cfg.Reorder {
		w.ahead = 1 + int(l.share(forDepth)*deepest)
		l.held = append(l.held, w)
	} else {
		l.queue = append(l.queue, w)
	}
	return w.Report, true
}

// transmit returns when the line will have sent size more bytes, and whether to
// drop the datagram because it would wait too long.
func (l *Line[T]) transmit(now time.Time, size int) (sent time.Time, drop bool) {
	if l.cfg.Rate == 0 {
		return now, false
	}
	begin := now
	if l.free.After(begin) {
		begin = l.free
	}
	const bits = 8
	took := time.Duration(float64(size) * bits / l.cfg.Rate * float64(time.Second))
	return begin.Add(took), begin.Sub(now) > l.cfg.Queue
}

// Next returns when Receive will have a datagram, or the zero time for never.
func (l *Line[T]) Next() (at time.Time) {
	switch {
	case len(l.ready) > 0:
		return l.ready[0].due
	case len(l.held) > 0 && (len(l.queue) == 0 || l.held[0].due.Add(holding).Before(l.queue[0].due)):
		return l.held[0].due.Add(holding)
	case len(l.queue) > 0:
		return l.queue[0].due
	}
	return at
}

// Receive returns the next datagram that has arrived by now. Its report tells
// how many copies of it arrived.
func (l *Line[T]) Receive(now time.Time) (payload T, r Report, ok bool) {
	at := l.Next()
	if at.IsZero() || at.After(now) {
		return payload, r, false
	}
	var w waiting[T]
	switch {
	case len(l.ready) > 0:
		w = first(&l.ready)
	case len(l.queue) > 0 && l.queue[0].due.Equal(at):
		w = first(&l.queue)
	default:
		w = first(&l.held)
	}
	l.overtake(w.N)
	l.bytes -= w.Size
	w.Delay = float64(now.Sub(w.Came).Microseconds()) / 1e3
	return w.payload, w.Report, true
}

// first removes and returns the first of a list.
func first[T any](list *[]waiting[T]) waiting[T] {
	w := (*list)[0]
	(*list)[0] = waiting[T]{} // allow the payload to be collected
	*list = (*list)[1:]
	return w
}

// overtake records that a datagram was delivered before those in held. Those
// that were overtaken often enough are delivered next.
func (l *Line[T]) overtake(n int) {
	var enough []waiting[T]
	kept := l.held[:0]
	for _, w := range l.held {
		if w.N < n {
			w.Overtaken = append(w.Overtaken, n)
			if w.ahead--; w.ahead == 0 {
				enough = append(enough, w)
				continue
			}
		}
		kept = append(kept, w)
	}
	clear(l.held[len(kept):])
	l.held = kept
	if len(enough) > 0 { // they came before those in ready
		l.ready = append(enough, l.ready...)
	}
}

// Drain ends the line. It returns the reports of the datagrams that were still
// on their way.
func (l *Line[T]) Drain() (all []Report) {
	for _, list := range [][]waiting[T]{l.ready, l.held, l.queue} {
		for _, w := range list {
			w.Fate, w.Copies = Unsent, 0
			all = append(all, w.Report)
		}
	}
	l.ready, l.held, l.queue, l.bytes = nil, nil, nil, 0
	return all
}
