package session

import (
	"github.com/bcdissect/bcdissect/decode"
)

// Strength says how much a piece of evidence for a dialect counts. Stronger
// evidence overrides weaker; equal evidence does not overrule what is decided.
type Strength uint8

// The strengths, weakest first.
const (
	Shape Strength = iota + 1 // the way of connecting, acknowledging, leaving
	Form                      // messages that only one kind of sender sends
	Block                     // a subsystem block that only one rule reads to its end
)

// passedOn reports whether hosts pass a client's message on, so that its form
// tells of its author and not of the host.
func passedOn(spec *decode.Spec) bool {
	switch spec.Relay {
	case decode.RelayForward, decode.RelaySlots, decode.RelayEcho, decode.RelayTeam:
		return true
	case decode.RelayNone, decode.RelayConsume, decode.RelayAnswer:
	}
	return false
}

// WritesItself reports whether the body of a message is the work of its sender,
// and so tells of the sender's dialect. Hosts pass on what clients wrote.
func WritesItself(s Side, spec *decode.Spec, from *Origin) bool {
	return s == Client || !from.Passed && !passedOn(spec)
}

// A voice is the dialect of one sender and why it is taken to be that.
type voice struct {
	dialect  decode.Dialect
	strength Strength
}

// Dialect returns the dialect of the side's sender, Undecided if nothing has
// told yet.
func (c *Conversation) Dialect(s Side) decode.Dialect {
	return c.voice(s).dialect
}

// Settled reports whether no evidence can change the dialect of a side's
// sender any more.
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
// the sender is from now on taken to be another than before.
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
