package conform

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// bodies decodes bodies of messages, and encodes them with other values. A
// result is valid until the next message of the same kind.
type bodies struct {
	catalog *decode.Catalog
	decoder *decode.Decoder
	viewer  decode.Viewer
}

func newBodies(catalog *decode.Catalog) *bodies {
	return &bodies{catalog: catalog, decoder: decode.NewDecoder()}
}

// game returns the game message in a body, or nil if the body does not decode
// to its end. For some kinds, it is enough that the important part decodes.
func (b *bodies) game(body []byte) decode.Message {
	res := b.result(body)
	if res.Exact() || res.Message != nil && res.Spec.Head > 0 && (res.Err == nil || res.Err.Offset >= res.Spec.Head) {
		return res.Message
	}
	return nil
}

func (b *bodies) result(body []byte) (res decode.Result) {
	if len(body) > 0 {
		if spec := b.catalog.Lookup(decode.Opcode(body[0])); spec != nil {
			res = b.decoder.Read(spec, body, decode.Undecided, nil)
		}
	}
	return res
}

// write encodes a game message in the stock layout.
func (b *bodies) write(op decode.Opcode, m decode.Message) []byte {
	// Encoding fails only if values do not fit, and the callers' values do.
	body, _ := decode.Append(nil, b.catalog.Lookup(op), m, decode.Stock)
	return body
}

// comparable appends a game message without the fields that may differ between
// equal hosts.
func (b *bodies) comparable(dst, body []byte, slots bool) []byte {
	var blank []string
	for _, f := range b.spec(transport.Standard, decode.Opcode(body[0])).HostFields {
		if f.From != decode.GivenID && (f.From != decode.GivenSlot || !slots) { // ids are those of the captured host
			blank = append(blank, f.Name)
		}
	}
	if len(blank) == 0 {
		return append(dst, body...)
	}
	if res := b.result(body); res.Exact() {
		if out, err := decode.AppendBlank(slices.Clip(dst), res.Spec, res.Message, res.Dialect, blank); err == nil {
			return out
		}
	}
	return append(dst, body...)
}

// control decodes the body of a control message, or nil if it is malformed.
func (b *bodies) control(typ transport.Type, body []byte) decode.Message {
	spec := transport.SpecFor(&transport.Message{Header: transport.Header{Type: typ}, Body: body})
	if spec == nil {
		return nil
	}
	if res := b.decoder.ReadBody(spec, body); res.Err == nil {
		return res.Message
	}
	return nil
}

// name returns the name in the body of a NameChange, or "" if there is none.
func (b *bodies) name(body []byte) wire.Untrusted {
	if m, ok := b.control(transport.NameChange, body).(*transport.Identity); ok {
		return wire.WideText(m.Name)
	}
	return ""
}

// controlBody encodes the body of a control message.
func controlBody(m decode.Message) []byte {
	// Encoding fails only if text does not fit, and this text comes from a
	// message.
	b, _ := decode.AppendFields(nil, "body", m, decode.Stock)
	return b
}

// subject appends the values that identify the subject of a game message: its
// objects, players and kinds, and its sender's clock.
func (b *bodies) subject(dst, body []byte) []byte {
	b.show(transport.Standard, body, decode.FieldFunc(func(f *decode.Field) {
		switch {
		case f.Kind == decode.KindObject, f.Kind == decode.KindEnum32, f.Who != decode.NoPlayer:
			dst = binary.LittleEndian.AppendUint64(dst, uint64(f.Whole()))
		case f.Name == msg.ClockField:
			dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(f.Float))
		}
	}))
	return dst
}

// shows returns a function that shows a message to a visitor, or nil if the
// body is nil.
func (b *bodies) shows(typ transport.Type, body []byte) func(decode.Visitor) {
	if body == nil {
		return nil
	}
	return func(v decode.Visitor) { b.show(typ, body, v) }
}

// show shows a message to a visitor.
func (b *bodies) show(typ transport.Type, body []byte, v decode.Visitor) {
	if typ != transport.Standard {
		if m := b.control(typ, body); m != nil {
			b.viewer.Show(m, body, 0, decode.Undecided, v)
		}
	} else if res := b.result(body); res.Message != nil {
		b.viewer.Show(res.Message, body, 1, res.Dialect, v)
	}
}

// noSpec is the spec of messages that have none.
var noSpec decode.Spec

// spec returns the spec of a message. Transport messages and unknown opcodes have
// noSpec.
func (b *bodies) spec(typ transport.Type, op decode.Opcode) *decode.Spec {
	if s := b.catalog.Lookup(op); s != nil && typ == transport.Standard {
		return s
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
