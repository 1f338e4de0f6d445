package session

import (
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// Strength is the weight of evidence for a dialect. Stronger evidence overrides
// weaker evidence. Equal evidence does not change the decision.
type Strength uint8

// The strengths, weakest first.
const (
	Shape Strength = iota + 1 // the way of connecting, acknowledging, leaving
	Form                      // messages of only one kind of sender
	Block                     // a subsystem block that only one rule reads to its end
)

// passedOn reports whether hosts forward a client's message, so that its form
// is evidence about the author and not the host.
func passedOn(spec *decode.Spec) bool {
	switch spec.Relay {
	case decode.RelayForward, decode.RelaySlots, decode.RelayEcho, decode.RelayTeam:
		return true
	case decode.RelayNone, decode.RelayConsume, decode.RelayAnswer:
	}
	return false
}

// WritesItself reports whether the sender wrote the body of a message, which
// then is evidence for its dialect. Hosts forward messages written by clients.
func WritesItself(s Side, spec *decode.Spec, from *Origin) bool {
	return s == Client || !from.Passed && !passedOn(spec)
}

// A Voice is a sender's dialect with the strength of its evidence.
type Voice struct {
	dialect  decode.Dialect
	strength Strength
}

// Dialect returns the sender's dialect, or Undecided if there is no evidence.
func (v *Voice) Dialect() decode.Dialect { return v.dialect }

// Decide uses evidence. It reports whether the dialect changed.
func (v *Voice) Decide(d decode.Dialect, by Strength) (changed bool) {
	if by <= v.strength {
		return false
	}
	changed = v.dialect != d
	v.dialect, v.strength = d, by
	return changed
}

// OfShape returns the evidence in the shape of a transport message, or
// Undecided if there is none.
func OfShape(s Side, h *transport.Header) (d decode.Dialect, by Strength, why string) {
	switch {
	case h.Type == transport.Standard: // by far the most frequent
	case h.Short:
		return decode.OpenBC, Form, "a transport message with an 8-bit length"
	case h.Type == transport.Acknowledge && AckOfOpenBC(h.AckFlags):
		return decode.OpenBC, Form, "acknowledgement flag 0x80"
	case h.Type == transport.Connect && s == Client, h.Type == transport.Disconnect && s == Client, h.Type == transport.DoNothing:
		return decode.Stock, Shape, ""
	}
	return decode.Undecided, 0, ""
}

// AckOfOpenBC reports whether only OpenBC writes an acknowledgement's flags.
func AckOfOpenBC(flags uint8) bool { return flags&0x80 != 0 }

// OfForm returns the evidence in a game message that its sender wrote, or
// Undecided if there is none.
func OfForm(res *decode.Result) (d decode.Dialect, by Strength, why string) {
	if res.Exact() && !res.Common {
		return res.Dialect, Form, "a message has a form of that dialect"
	}
	return decode.Undecided, 0, ""
}

// Dialect returns the dialect of the side's sender, or Undecided if there is no
// evidence.
func (c *Conversation) Dialect(s Side) decode.Dialect {
	return c.voice(s).dialect
}

// Settled reports whether the dialect of a side's sender is final.
func (c *Conversation) Settled(s Side) bool {
	return c.table.forced != decode.Undecided || c.voice(s).strength == Block
}

// Open reports whether evidence of a strength may change the dialect of a side's
// sender.
func (c *Conversation) Open(s Side, by Strength) bool {
	return c.table.forced == decode.Undecided && c.voice(s).strength < by
}

func (c *Conversation) voice(s Side) *Voice {
	if s == Host && c.game != nil {
		return &c.game.voice
	}
	return &c.sides[s].voice
}

// Decide uses evidence of the dialect of a side's sender. It reports whether
// the dialect changed.
func (c *Conversation) Decide(s Side, d decode.Dialect, by Strength) (changed bool) {
	return c.Open(s, by) && c.voice(s).Decide(d, by)
}
