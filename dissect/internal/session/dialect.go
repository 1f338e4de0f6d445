package session

import (
	"github.com/bcdissect/bcdissect/decode"
)

// Strength is the weight of evidence for a dialect. Stronger evidence overrides
// weaker; equal evidence does not change the decision.
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

// A voice is a sender's dialect with the strength of its evidence.
type voice struct {
	dialect  decode.Dialect
	strength Strength
}

// Dialect returns the dialect of the side's sender, Undecided without evidence.
func (c *Conversation) Dialect(s Side) decode.Dialect {
	return c.voice(s).dialect
}

// Settled reports whether the dialect of a side's sender is final.
func (c *Conversation) Settled(s Side) bool {
	return c.table.forced != decode.Undecided || c.voice(s).strength == Block
}

func (c *Conversation) voice(s Side) *voice {
	if s == Host && c.game != nil {
		return &c.game.voice
	}
	return &c.sides[s].voice
}

// Decide takes evidence for the dialect of a side's sender. It reports whether
// the dialect changed.
func (c *Conversation) Decide(s Side, d decode.Dialect, by Strength) (changed bool) {
	if c.table.forced != decode.Undecided {
		return false
	}
	v := c.voice(s)
	if by <= v.strength {
		return false
	}
	changed = v.dialect != d
	v.dialect, v.strength = d, by
	return changed
}
