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

// maxTurns is for how many numbers a message waits. If one before them does not
// come, the capture lacks it.
const maxTurns = 64

// turns are a client's messages of one class that wait for their turn.
type turns struct {
	known bool
	next  int64    // number of the message on which the host acts next
	held  []*Event // messages that wait, in the order of their numbers
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
	if !t.inOrder() || !q.known || r.Number >= q.next+maxTurns {
		t.release(q, lastNumber)
		q.known, q.next = true, r.Number
	}
	if e != nil && r.Number <= q.next { // no earlier message is missing
		t.act(e)
	} else if e != nil {
		i, _ := slices.BinarySearchFunc(q.held, r.Number, func(o *Event, n int64) int { return int(o.Number - n) })
		kept := *e
		q.held = slices.Insert(q.held, i, &kept)
	}
	t.pass(c, class(h))
}

// pass acts on the messages whose turn has come, since the host has certainly
// received those before them.
func (t *timeline) pass(c *Client, class int) {
	for q := &c.turns[class]; c.sent[class].received(q.next); q.next++ {
		t.release(q, q.next+1)
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

// hasLeft records that the host has acted on the leave of the player with an id,
// who may have no captured traffic.
func (t *timeline) hasLeft(peer uint8) {
	for _, c := range t.order {
		if c.leave != nil && (c.Peer == peer || t.leaver(c.leave) == peer) {
			t.leaves(c.leave)
		}
	}
	if t.strangers[peer] {
		delete(t.strangers, peer)
		t.parted, t.partedAt = t.parted+1, t.now.time
	}
}

// copied ends the wait of a message that a message of the host copies, and of
// the messages before it. The argument expected reports whether the host's
// message has another cause.
func (t *timeline) copied(e *Event, expected func(*Event) bool) {
	for _, c := range t.order {
		q := &c.turns[1]
		i := slices.IndexFunc(q.held, func(o *Event) bool { return o.Op == e.Op && bytes.Equal(o.Body, e.Body) })
		if i >= 0 && !expected(e) {
			q.next = q.held[i].Number
			t.pass(c, 1)
			return
		}
	}
}
