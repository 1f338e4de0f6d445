package conform

import (
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// act acts on a message of a client. The original's host acts on the numbered
// messages of a client in the order of their numbers. A leave takes effect when
// the host acknowledges it, or tells others: it may wait for messages before it,
// and a public host first makes sure that the player has left. Other messages
// that come early also wait at the host. Only players who come or leave in the
// meantime notice that, and what these receive has no verdict.
func (t *timeline) act(e *Event) {
	c := e.Client
	switch {
	case e.Kind == Left && t.sender != decode.OpenBC && e.Number >= 0 && !e.receipt.acknowledged():
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

// leaver returns the id that a client's leave names.
func (t *timeline) leaver(e *Event) uint8 {
	if m, ok := t.bodies.control(e.Type, e.Body).(*transport.Goodbye); ok {
		return m.ID
	}
	return e.Client.Peer
}

// leaves emits that a client leaves.
func (t *timeline) leaves(e *Event) {
	c := e.Client
	t.end(c, Left)
	e.Time = t.now.time
	t.hand(c, e)
}

// hasLeft records that the host has acted on the leave of the player with an id.
func (t *timeline) hasLeft(peer uint8) {
	for _, c := range t.order {
		if c.leave != nil && (c.Peer == peer || t.leaver(c.leave) == peer) {
			t.leaves(c.leave)
		}
	}
}
