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

// sidesOf returns directions of a record's conversation.
func sidesOf(r *dissect.Record, dirs ...dissect.Dir) (list []side) {
	for _, d := range dirs {
		list = append(list, side{r.Conversation, d})
	}
	return list
}

// The bounds of a ledger.
const (
	mostSides   = 4096
	mostMissing = 1024    // numbers of a side
	mostAbsent  = 1 << 15 // numbers of all sides
	mostLost    = 1 << 14
)

// A ledger knows which game messages of each side the traffic lacks, by their numbers.
type ledger struct {
	by     map[side]*account
	absent int    // numbers that are missing, of all sides
	lost   []loss // for good
	more   bool   // there are more of them
}

// A loss is a message that the traffic lacks, and the time at which its number was missing.
type loss struct {
	side
	at time.Time
}

// An account is the numbers of one side.
type account struct {
	next    int64
	missing map[int64]time.Time
	begun   bool
	fresh   bool // the session has just begun
	unsure  bool // messages are missing, and their numbers are not known
}

// A turn is the place of a record among the numbers of its side.
type turn uint8

const (
	nothingNew turn = iota
	inOrder         // it has the number behind the last one
	behindGap       // numbers before it are missing
)

// outside reports whether a message's number is so far ahead that no host acts on it
// (docs/protocol.md, Reliability).
func outside(r *dissect.Record) bool {
	const window = 0x4000
	return r.Transport.Type == transport.Standard && r.Gap >= window
}

// begins reports whether a client connects, for the first time or anew.
func begins(r *dissect.Record) bool {
	return r.Dir == dissect.ToHost && r.Kind == dissect.KindMessage && r.Transport.Type == transport.Connect &&
		r.Peer == transport.UnassignedPeer && r.Status != dissect.StatusDuplicate
}

// take takes a record.
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
		stranger := r.Dir == dissect.ToHost && l.by[side{r.Conversation, dissect.FromHost}] == nil // who may send any numbers
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
		// A session has begun that the traffic does not show.
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

// close notes the messages that a side lacks for good.
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

// enter enters a number into the account of a side.
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

// lacks reports whether game messages of a side are missing, or its numbers have not
// been seen.
func (l *ledger) lacks(s side) bool {
	a := l.by[s]
	return a == nil || a.unsure || len(a.missing) > 0
}

// mostPoints bounds a clock.
const mostPoints = 1 << 12

// A clock knows at about which time a frame was captured.
type clock struct {
	every  int // frames between two points
	points []time.Time
	last   time.Time // of the last frame
}

// take takes the next frame.
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

// at returns a time before that of a frame and one after it.
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
