package conform

import (
	"bytes"
	"slices"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// The original's host acts on the numbered messages of a client in the order of
// their numbers. A message that comes early waits for those before it, and
// takes effect then. Players may have come or left in the meantime. If the
// capture lacks one of the earlier messages, the host's messages show when it
// no longer waits. A leave takes effect when the host acknowledges it, or tells
// others. A public host first makes sure that the player has left.

const maxTurns = 64 // maximum number of tracked numbers, beginning with the next

// turns are a client's messages of one class that wait for their turn.
type turns struct {
	known bool
	next  int64    // number of the message on which the host acts next
	there uint64   // bit i is set once the host has certainly received number next+i
	held  []*Event // messages that wait, in the order of their numbers
}

// begin sets the number that comes next.
func (q *turns) begin(number int64) { *q = turns{known: true, next: number} }

// got records that the host has received a message, if its number is tracked.
func (q *turns) got(number int64) {
	if ahead := number - q.next; ahead >= 0 && ahead < maxTurns {
		q.there |= 1 << ahead
	}
}

// turn handles a message of a client. It acts on it, or keeps it until its
// turn. If the message has no effect, e is nil.
func (t *timeline) turn(c *Client, r *dissect.Record, e *Event) {
	h := &r.Transport
	if !h.HasSeq || r.Repeat || h.Type == transport.Acknowledge || r.Status == dissect.StatusPending {
		if e != nil {
			t.act(e)
		}
		return
	}
	q := &c.turns[class(h)]
	if !t.inOrder() || !q.known || r.Number >= q.next+maxTurns { // the order does not matter, or one of the first is lost for good
		t.release(q, lastNumber)
		q.begin(r.Number)
	}
	first := r.Number <= q.next // no earlier message is missing
	q.got(r.Number)
	if first && e != nil {
		t.act(e)
	} else if e != nil {
		i, _ := slices.BinarySearchFunc(q.held, r.Number, func(o *Event, n int64) int { return int(o.Number - n) })
		kept := *e
		q.held = slices.Insert(q.held, i, &kept)
	}
	t.pass(q)
}

// pass acts on the messages whose turn has come.
func (t *timeline) pass(q *turns) {
	for q.there&1 != 0 {
		q.there >>= 1
		q.next++
		t.release(q, q.next)
	}
}

// release acts on the waiting messages with numbers below the given one.
func (t *timeline) release(q *turns, number int64) {
	for len(q.held) > 0 && q.held[0].Number < number {
		e := q.held[0]
		q.held = q.held[1:]
		e.Time = t.now.time
		t.act(e)
	}
}

// skip ends the wait of a message and of the messages before it.
func (t *timeline) skip(q *turns, number int64) {
	q.got(number)
	for q.next < number {
		q.there |= 1
		t.pass(q)
	}
	t.pass(q)
}

// act acts on a message of a client at the time when the host does.
func (t *timeline) act(e *Event) {
	c := e.Client
	switch {
	case c.gone:
	case e.Kind == Left && t.inOrder() && e.Number >= 0 && !e.receipt.acknowledged():
		if c.leave == nil {
			kept := *e
			c.quit, c.leave = e.Frame, &kept
		}
	case e.Kind == Left:
		t.leaves(e)
	case c.admitted:
		t.input(e)
	}
}

// inOrder reports whether the host acts on the messages of a client in the
// order of their numbers.
func (t *timeline) inOrder() bool { return t.ordered && t.sender != decode.OpenBC }

// toldOf records the host's notice that a player has left, so the host has
// acted on the leave.
func (t *timeline) toldOf(peer uint8) {
	for _, c := range t.order {
		if c.leave != nil && (c.Peer == peer || t.leaver(c.leave) == peer) {
			t.leaves(c.leave)
		}
	}
}

// waits returns the turns and the number of the waiting message that a message
// of the host seems to copy. It returns nil if no waiting message fits.
func (t *timeline) waits(e *Event) (q *turns, number int64) {
	for _, c := range t.order {
		for _, o := range c.turns[1].held {
			if o.Op == e.Op && bytes.Equal(o.Body, e.Body) {
				return &c.turns[1], o.Number
			}
		}
	}
	return nil, 0
}
