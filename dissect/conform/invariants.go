package conform

import (
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// An Invariant is something that holds for every stock host.
type Invariant struct {
	Name    string `json:"name"` // for scripts
	Text    string // for people
	Checked int    `json:"checked"` // times that there was something to check
	Failed  int    `json:"failed"`
	Known   int    `json:"documented"`                  // of Failed: explained by a documented rule
	First   int    `json:"frame,omitempty" if:"Failed"` // of the first failure
}

// Verdict is PASS, FAIL, KNOWN if documented rules explain all failures, or NOT SEEN.
func (i *Invariant) Verdict() string {
	switch {
	case i.Failed > 0 && i.Known == i.Failed:
		return "KNOWN"
	case i.Failed > 0:
		return "FAIL"
	case i.Checked == 0:
		return "NOT SEEN"
	}
	return "PASS"
}

func (i *Invariant) fail(frame int, known bool) {
	if i.Failed == 0 || frame < i.First {
		i.First = frame
	}
	i.Failed++
	if known {
		i.Known++
	}
}

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
	invariants
)

// Invariants are the rules checked besides the comparison.
type Invariants [invariants]Invariant

func newInvariants(catalog *decode.Catalog) Invariants {
	return Invariants{
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

// of returns the invariant that a message of a model belongs to, or nil.
func (v *Invariants) of(c *comparer, x *expect) *Invariant {
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

func (v *Invariants) expected(c *comparer, x *expect) {
	if i := v.of(c, x); i != nil {
		i.Checked++
		if exact(c.specOf(x)) {
			v[invExact].Checked++
		}
	}
}

func (v *Invariants) matched(c *comparer, x *expect) {
	if x.by == dialectModel && x.src.op == x.op && x.src.matched == 1 && consumed(c.specOf(x)) {
		v[invConsumed].fail(x.src.frame, true)
	}
}

func (v *Invariants) excused(c *comparer, x *expect) {
	if i := v.of(c, x); i != nil {
		i.Checked--
		if exact(c.specOf(x)) {
			v[invExact].Checked--
		}
	}
}

func (v *Invariants) missed(c *comparer, x *expect, known bool) {
	i := v.of(c, x)
	if i == nil {
		return
	}
	i.fail(x.src.frame, known)
	if exact(c.specOf(x)) {
		v[invExact].fail(x.src.frame, known)
	}
}

func (v *Invariants) extra(c *comparer, e *Event) {
	switch {
	case !e.standard():
	case exact(c.t.bodies.specOf(e)):
		v[invExact].fail(e.Frame, false)
	case consumed(c.t.bodies.specOf(e)):
		v[invConsumed].fail(e.Frame, false)
	case e.Op == msg.OpPlayerAnnounce:
		v[invAnnounce].fail(e.Frame, false)
	}
}

// input notes a message of a client.
func (v *Invariants) input(c *comparer, e *Event) {
	if consumed(c.t.bodies.specOf(e)) {
		v[invConsumed].Checked++
	}
}

// joined notes that a client has got its Settings. The capture may lack some of
// the requests before them.
func (v *Invariants) joined(c *Client) {
	if c.Adopted || !c.settled || c.asked < len(rounds) && c.got[1].lacking() {
		return
	}
	v[invChecksums].Checked++
	if c.asked != len(rounds) {
		v[invChecksums].fail(c.First, false)
	}
}

func (v *Invariants) inOrder() { v[invOrder].Checked++ }

func (v *Invariants) disorder(frame int, known bool) {
	v[invOrder].fail(frame, known)
}
