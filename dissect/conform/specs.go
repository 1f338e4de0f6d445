package conform

import (
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// noSpec is the spec of messages that have none.
var noSpec decode.Spec

// spec returns the spec of a message. Transport messages and unknown opcodes have
// noSpec.
func (b *bodies) spec(typ transport.Type, op decode.Opcode) *decode.Spec {
	if typ == transport.Standard {
		if s := b.catalog.Lookup(op); s != nil {
			return s
		}
	}
	return &noSpec
}

// specOf returns the spec of an event's message.
func (b *bodies) specOf(e *Event) *decode.Spec { return b.spec(e.Type, e.Op) }

// specOf returns the spec of an expected message.
func (c *comparer) specOf(x *expect) *decode.Spec { return c.t.bodies.spec(x.typ, x.op) }

// relayOf returns how the captured host passes on messages of a kind, whatever
// it knows of the game.
func (t *timeline) relayOf(typ transport.Type, op decode.Opcode) decode.Relay {
	spec := t.bodies.spec(typ, op)
	if d := spec.Deviation(t.sender); d != nil && d.Only == decode.OnlyAlways && spec.Step == decode.StepNone {
		return d.Relay
	}
	return spec.Relay
}

// creates reports whether a message creates an object. Only these are relayed
// by slots.
func creates(s *decode.Spec) bool { return s.Relay == decode.RelaySlots }
