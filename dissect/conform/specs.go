package conform

import (
	"strings"

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

// exact reports whether no host sends messages of a kind unasked.
func exact(s *decode.Spec) bool { return s.Made == decode.MadeNever }

// consumed reports whether a message is only for the host.
func consumed(s *decode.Spec) bool {
	return s.Dir == decode.FromClient && (s.Relay == decode.RelayConsume || s.Relay == decode.RelayAnswer)
}

// namesOf returns the names of some messages of a catalogue, for people.
func namesOf(catalog *decode.Catalog, some func(*decode.Spec) bool) string {
	var names []string
	for _, s := range catalog.All() {
		if some(s) {
			names = append(names, s.Name)
		}
	}
	if last := len(names) - 1; last > 0 {
		return strings.Join(names[:last], ", ") + " and " + names[last]
	}
	return strings.Join(names, "")
}
