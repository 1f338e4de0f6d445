package suite

import (
	"slices"
	"time"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// A side is one direction of a conversation.
type side struct {
	conversation int
	dir          dissect.Dir
}

// sidesOf returns the given directions of a record's conversation.
func sidesOf(r *dissect.Record, dirs ...dissect.Dir) (list []side) {
	for _, d := range dirs {
		list = append(list, side{r.Conversation, d})
	}
	return list
}

// Limits of a ledger.
const (
	mostSides   = 4096
	mostMissing = 1024    // missing numbers of a side
	mostAbsent  = 1 << 15 // missing numbers of all sides
	mostLost    = 1 << 14
)

// A ledger finds the game messages of each side that the traffic lacks, by
// their numbers.
type ledger struct {
	by     map[side]*account
	absent int    // number of missing numbers of all sides
	lost   []loss // messages that are lost for good
	more   bool   // there are further losses
}

// A loss is a message that the traffic lacks, with the time at which its number
// was found missing.
type loss struct {
	side
	at time.Time
}

// An account has the numbers of one side.
type account struct {
	next    int64
	missing map[int64]time.Time
	begun   bool
	fresh   bool // the session has just begun
	unsure  bool // messages are missing, and their numbers are unknown
}

// A turn is the position of a record among the numbers of its side.
type turn uint8

const (
	nothingNew turn = iota
	inOrder         // it has the number after the last one
	behindGap       // numbers before it are missing
)

// outside reports whether a message's number is so far ahead that no host acts
// on it: see "Reliability" in docs/protocol.md.
func outside(r *dissect.Record) bool {
	const window = 0x4000
	return r.Transport.Type == transport.Standard && r.Gap >= window
}

// begins reports whether a client connects, for the first time or again.
func begins(r *dissect.Record) bool {
	return r.Dir == dissect.ToHost && r.Kind == dissect.KindMessage && r.Transport.Type == transport.Connect &&
		r.Peer == transport.UnassignedPeer && r.Status != dissect.StatusDuplicate
}

// take handles a record.
func (l *ledger) take(r *dissect.Record) (side, turn) {
	s := side{r.Conversation, r.Dir}
	h := &r.Transport
	if begins(r) {
		for _, s := range sidesOf(r, dissect.ToHost, dissect.FromHost) {
			if l.by[s] != nil || len(l.by) < mostSides {
				l.put(s, &account{missing: map[int64]time.Time{}, fresh: true})
			}
		}
		return s, nothingNew
	}
	if r.Kind != dissect.KindMessage || h.Type != transport.Standard || !h.HasSeq || r.Repeat || r.Status == dissect.StatusDuplicate ||
		r.Status == dissect.StatusPending || outside(r) {
		return s, nothingNew
	}
	a := l.by[s]
	if a == nil {
		stranger := r.Dir == dissect.ToHost && l.by[side{r.Conversation, dissect.FromHost}] == nil // a stranger may send any numbers
		if stranger || len(l.by) >= mostSides {
			return s, nothingNew
		}
		a = &account{missing: map[int64]time.Time{}}
		l.put(s, a)
	}
	if a.fresh { // the first number of a session is 0
		a.fresh, a.begun, a.next = false, true, r.Number-int64(h.Seq)
	}
	if _, missing := a.missing[r.Number]; a.begun && r.Number < a.next && !missing {
		// A session has begun that is not in the traffic.
		l.put(s, &account{next: r.Number + 1, missing: map[int64]time.Time{}, begun: true, unsure: true})
		l.lose(s, r.Time)
		return s, behindGap
	}
	return s, l.enter(s, a, r.Number, r.Time)
}

// put replaces the account of a side.
func (l *ledger) put(s side, a *account) {
	if l.by == nil {
		l.by = map[side]*account{}
	}
	l.close(s)
	l.by[s] = a
}

// close records the messages that a side lacks for good.
func (l *ledger) close(s side) {
	if a := l.by[s]; a != nil {
		l.absent -= len(a.missing)
		for _, at := range a.missing {
			l.lose(s, at)
		}
	}
}

func (l *ledger) lose(s side, at time.Time) {
	if len(l.lost) == mostLost {
		l.more = true
		return
	}
	l.lost = append(l.lost, loss{s, at})
}

// finish ends all sides, in the order of the losses' times.
func (l *ledger) finish() {
	for s := range l.by {
		l.close(s)
	}
	slices.SortStableFunc(l.lost, func(a, b loss) int { return a.at.Compare(b.at) })
}

// enter records a number of a side.
func (l *ledger) enter(s side, a *account, n int64, at time.Time) turn {
	before := a.next
	switch {
	case !a.begun:
		a.begun, a.next = true, n+1
		return inOrder
	case n >= before:
		for ; before < n && len(a.missing) < mostMissing && l.absent < mostAbsent; before++ {
			a.missing[before] = at
			l.absent++
		}
		if before < n {
			a.unsure = true
			l.lose(s, at)
		}
		if a.next == n {
			a.next = n + 1
			return inOrder
		}
		a.next = n + 1
		return behindGap
	}
	if _, missing := a.missing[n]; missing {
		delete(a.missing, n)
		l.absent--
	}
	return nothingNew
}

// lacks reports whether game messages of a side are missing, or none of its
// numbers has been seen.
func (l *ledger) lacks(s side) bool {
	a := l.by[s]
	return a == nil || a.unsure || len(a.missing) > 0
}

// mostPoints is the maximum number of points of a clock.
const mostPoints = 1 << 12

// A clock knows the approximate time of each frame.
type clock struct {
	every  int // number of frames between two points
	points []time.Time
	last   time.Time // time of the last frame
}

// take records the time of the next frame.
func (c *clock) take(frame int, at time.Time) {
	c.every, c.last = max(c.every, 1), at
	for frame >= c.every*len(c.points) {
		if c.points = append(c.points, at); len(c.points) == mostPoints {
			for i := range mostPoints / 2 {
				c.points[i] = c.points[2*i]
			}
			c.points = c.points[:mostPoints/2]
			c.every *= 2
		}
	}
}

// at returns a time before a frame's time and a time after it.
func (c *clock) at(frame int) (from, till time.Time) {
	if len(c.points) == 0 {
		return from, till
	}
	i := min(max(frame, 0)/c.every, len(c.points)-1)
	if i+1 == len(c.points) {
		return c.points[i], c.last
	}
	return c.points[i], c.points[i+1]
}
