package conform

import (
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/event"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// exploded reports whether a model sends a client a ship that the captured
// host's simulation has destroyed.
func (c *comparer) exploded(s *sent, src *source) bool {
	if s.typ != transport.Standard || s.op != msg.OpObjectCreateTeam || src == nil || src.client != s.to.client {
		return false
	}
	created, ok := createdBy(c.t.bodies.game(s.body))
	return ok && slotIn(created.slot) >= 0 && c.lost&(1<<created.slot) != 0
}

// verifyEnterSet returns the message that names an object.
func (c *comparer) verifyEnterSet(id wire.ObjectID) []byte {
	// The error is of values that do not fit; this one does.
	b, _ := decode.Append(nil, c.t.catalog.Lookup(msg.OpVerifyEnterSet), &msg.VerifyEnterSet{Object: id}, decode.Stock)
	return b
}

// destroyed notes ships that the captured host tells to explode, and new ones.
func (c *comparer) destroyed(e *Event) {
	switch {
	case !e.standard():
	case e.Kind == Input && e.Op == msg.OpObjectCreateTeam:
		if created, ok := createdBy(c.t.bodies.game(e.Body)); ok && slotIn(created.slot) >= 0 {
			c.lost &^= 1 << created.slot
		}
	case e.Kind == Output && e.Op == msg.OpHostEvent:
		if m, ok := c.t.bodies.game(e.Body).(*msg.HostEvent); ok && m.Code == event.CodeObjectExploding {
			if slot, ok := m.Dest.Slot(); ok {
				c.lost |= 1 << slot
			}
		}
	}
}
