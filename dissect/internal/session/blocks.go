package session

import (
	"fmt"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/ship"
	"github.com/bcdissect/bcdissect/decode/wire"
)

// Blocks re-reads ship updates with a subsystem block that does not fit.
// Possible reasons are a dialect decided on weak evidence, another class from
// an earlier message, and an unknown class.
type Blocks struct {
	decoder *decode.Decoder // its results go to the caller
	trials  *decode.Decoder // for trial readings, which do not change the results of decoder
	assumed assumed
	note    func(code, text string)
}

// NewBlocks returns the block reader of a decoder. It passes every finding to
// note.
func NewBlocks(d *decode.Decoder, note func(code, text string)) *Blocks {
	return &Blocks{decoder: d, trials: decode.NewDecoder(), note: note}
}

// assumed is the environment of a sender's messages under the assumption that a
// ship has a certain class.
type assumed struct {
	decode.Env
	class *ship.Class
}

// Ship implements [decode.Env].
func (a *assumed) Ship(wire.ObjectID) *ship.Class { return a.class }

// assume returns an environment that gives every ship the same class.
func (b *Blocks) assume(c *Conversation, s Side, class *ship.Class) decode.Env {
	b.assumed = assumed{c.Env(s), class}
	return &b.assumed
}

// Check takes the result of reading an update. It returns that result, or the
// result of re-reading the update after learning from its block.
func (b *Blocks) Check(c *Conversation, s Side, spec *decode.Spec, payload []byte, res decode.Result) decode.Result {
	m, ok := res.Message.(*msg.StateUpdate)
	if !ok || m.Flags&msg.DirtySubsystems == 0 {
		return res
	}
	class := m.Class
	if class == nil {
		return b.infer(c, s, spec, payload, m, res)
	}
	settled := c.Settled(s)
	if settled && res.Exact() {
		return res
	}
	sender := decode.Undecided
	if settled {
		sender = c.Dialect(s)
	} else if c.Dialect(s) != decode.Undecided && !res.Exact() {
		res = b.decoder.Read(spec, payload, sender, c.Env(s))
	}
	if g := c.Game(); g != nil && !res.Exact() {
		g.Unclassify(m.Object)
		if other := g.Other(m.Object); other != nil {
			if again := b.trials.Read(spec, payload, sender, b.assume(c, s, other)); again.Exact() {
				b.note("class", fmt.Sprintf("the block fits %s; an earlier message called the ship %s", other.Name, class.Name))
				g.Reclassify(m.Object, other)
				res = b.decoder.Read(spec, payload, sender, c.Env(s))
			}
		}
	}
	if s == Host && !settled && (res.Fits == 1<<decode.Stock || res.Fits == 1<<decode.OpenBC) {
		b.decide(c, s, res.Dialect, "only that rule reads its subsystem block to the end")
	}
	return res
}

// decide records a block as evidence for its sender's dialect.
func (b *Blocks) decide(c *Conversation, s Side, d decode.Dialect, why string) {
	before := c.Dialect(s)
	if c.Decide(s, d, Block) && (d != decode.Stock || before == decode.OpenBC) {
		b.note("dialect", fmt.Sprintf("the %s writes %s: %s", s, d, why))
	}
}

// infer infers the class of a ship without a creation in the capture, from
// blocks that fit only one list.
func (b *Blocks) infer(c *Conversation, s Side, spec *decode.Spec, payload []byte, m *msg.StateUpdate, res decode.Result) decode.Result {
	before := c.Dialect(s)
	class, why := c.Infer(s, m.Object, m.Start, func(class *ship.Class, d decode.Dialect) bool {
		r := b.trials.ReadAs(spec, payload, d, b.assume(c, s, class))
		return r.Exact()
	})
	after := c.Dialect(s)
	if after != before && after == decode.OpenBC {
		b.note("dialect", fmt.Sprintf("the %s writes %s: no list fits its subsystem blocks otherwise", s, after))
	}
	if class != nil {
		b.note("inferred", why)
	}
	if class == nil && after == before {
		return res
	}
	return b.decoder.Read(spec, payload, after, c.Env(s))
}
