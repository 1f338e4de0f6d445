package conform

import (
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect/conform/result"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// The invariants.
const (
	invForward = iota
	invExact
	invSlots
	invConsumed
	invChat
	invAnnounce
	invChecksums
	invOrder
)

// invariants are the rules that are checked in addition to the comparison.
type invariants []result.Invariant

func newInvariants(catalog *decode.Catalog) invariants {
	return invariants{
		invForward:   {Name: "forward-copies", Text: "a forwarded message reaches every other player in the game"},
		invExact:     {Name: "exact-copies", Text: namesOf(catalog, exact) + " reach each of them once"},
		invSlots:     {Name: "creation-copies", Text: "a creation reaches every other occupied slot"},
		invConsumed:  {Name: "nothing-for-consumed", Text: namesOf(catalog, consumed) + " are not passed on"},
		invChat:      {Name: "chat-copies", Text: "a chat line reaches every player in the game, its sender included"},
		invAnnounce:  {Name: "announcements", Text: "a newcomer is announced once to every player in the game, itself included"},
		invChecksums: {Name: "checksum-requests", Text: "a join takes five ChecksumRequests"},
		invOrder:     {Name: "order", Text: "copies of one client's messages come in its order"},
	}
}

// of returns the invariant for a model's message, or nil if there is none.
func (v invariants) of(c *comparer, x *expect) *result.Invariant {
	if x.by&stockModel == 0 && c.models&stockModel != 0 || x.typ != transport.Standard || x.src == nil {
		return nil
	}
	if x.op == msg.OpPlayerAnnounce && x.src.op == msg.OpClientReady {
		return &v[invAnnounce]
	}
	if x.src.op != x.op {
		return nil
	}
	switch spec := c.specOf(x); {
	case spec.Relay == decode.RelayForward:
		return &v[invForward]
	case spec.Relay == decode.RelaySlots && x.src.client != x.to:
		return &v[invSlots]
	case x.op == msg.OpChat:
		return &v[invChat]
	}
	return nil
}

// each calls f with the invariants for a model's message.
func (v invariants) each(c *comparer, x *expect, f func(*result.Invariant)) {
	if i := v.of(c, x); i != nil {
		f(i)
		if exact(c.specOf(x)) {
			f(&v[invExact])
		}
	}
}

// checked counts an expected message, or takes it back.
func (v invariants) checked(c *comparer, x *expect, by int) {
	v.each(c, x, func(i *result.Invariant) { i.Checked += by })
}

func (v invariants) matched(c *comparer, x *expect) {
	if x.by == dialectModel && x.src.op == x.op && x.src.matched == 1 && consumed(c.specOf(x)) {
		v[invConsumed].Fail(x.src.frame, true)
	}
}

func (v invariants) missed(c *comparer, x *expect, known bool) {
	v.each(c, x, func(i *result.Invariant) { i.Fail(x.src.frame, known) })
}

func (v invariants) extra(c *comparer, e *Event) {
	switch {
	case !e.standard():
	case exact(c.t.bodies.specOf(e)):
		v[invExact].Fail(e.Frame, false)
	case consumed(c.t.bodies.specOf(e)):
		v[invConsumed].Fail(e.Frame, false)
	case e.Op == msg.OpPlayerAnnounce:
		v[invAnnounce].Fail(e.Frame, false)
	}
}

// joined records that a client has received its Settings. The capture may lack
// some of the requests before them.
func (v invariants) joined(c *Client) {
	if c.Adopted || !c.settled || c.asked < len(rounds) && c.got[1].lacking() {
		return
	}
	v[invChecksums].Checked++
	if c.asked != len(rounds) {
		v[invChecksums].Fail(c.First, false)
	}
}

// ordered counts the copies that come out of the order of their author's numbers
// since the host acts on messages as they arrive. The method extra counts those
// for which a host is blamed.
func (v invariants) ordered(c *comparer) {
	if !c.actsOnArrival() {
		return
	}
	for _, d := range c.order {
		last := map[*Client]int64{}
		for i := range d.line[1] {
			p := &d.line[1][i]
			if !p.copied || p.ambiguous || p.src.number < 0 || p.src == p.src.client.entry { // all entries look alike
				continue
			}
			if s := p.src; s.number < last[s.client] {
				v[invOrder].Fail(s.frame, true)
			} else {
				last[s.client] = s.number
			}
		}
	}
}
