package conform

import (
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// Rules of OpenBC beside those in the specs.
var (
	ruleUnknown   = &decode.Rule{Name: "answers-unknown-object", Text: "answers a request for an object that it does not know with VerifyEnterSet; the stock host is silent"}
	ruleLoading   = &decode.Rule{Name: "copies-while-loading", Text: "passes messages on to players that are still loading; the stock host waits until they are ready"}
	ruleObjects   = &decode.Rule{Name: "objects-while-loading", Text: "sends a newcomer the ships with the Settings; the stock host sends them when the newcomer is ready"}
	rulePriority  = &decode.Rule{Name: "class-of-copies", Text: "sends copies without priority, StateUpdate always unreliable and all others reliable; the stock host copies both from the original"}
	ruleNames     = &decode.Rule{Name: "names-not-passed-on", Text: "tells nobody the names of others; the stock host passes NameChange on to everybody"}
	ruleLeave     = &decode.Rule{Name: "leave-not-passed-on", Text: "tells of a leave with game messages of its own; the stock host passes Disconnect on, names the player, and lets the ship explode"}
	ruleFragments = &decode.Rule{Name: "fragments-in-order-only", Text: "loses messages if their fragments come doubled or out of order; the stock host reassembles them"}
	ruleScores    = &decode.Rule{Name: "scores-while-loading", Text: "sends scores with the Settings, the newcomer's own included; the stock host sends those of others when the newcomer is ready"}
	ruleRequest   = &decode.Rule{Name: "answers-by-slot", Text: "answers a request for an object with the newest ship of the object's owner; the stock host sends that object or nothing"}
	ruleUnread    = &decode.Rule{Name: "drops-unread-events", Text: "drops StartCloaking and StartWarp that it cannot read; the stock host passes them on as they are"}
	ruleArrival   = &decode.Rule{Name: "acts-on-arrival", Text: "acts on messages in the order in which they arrive, and again on those that arrive again; the stock host goes by their numbers"}
	ruleStrange   = &decode.Rule{Name: "other", Text: "sends the same as the model of its dialect; no rule describes this difference"}
)

// otherRules are those of the ledger that are in no spec.
var otherRules = []*decode.Rule{
	ruleUnknown, ruleLoading, ruleObjects, rulePriority, ruleNames, ruleLeave, ruleFragments, ruleScores, ruleRequest, ruleUnread, ruleArrival,
}

// deviationOf names the rule behind the two models' disagreement about a
// message. how is the captured host's difference from the stock host.
func (c *comparer) deviationOf(x *expect, how string) *decode.Rule {
	switch {
	case x.typ == transport.NameChange:
		return ruleNames
	case x.typ == transport.Disconnect, x.typ == transport.Standard && x.src.kind == Left:
		return ruleLeave
	case x.typ != transport.Standard:
		return ruleStrange
	case x.src.broken && how == "missing":
		return ruleFragments
	case how == "differs":
		return c.changedOtherwise(x)
	}
	if rule := c.relayedOtherwise(x, how); rule != nil {
		return rule
	}
	return c.madeOtherwise(x, how == "extra")
}

// changedOtherwise returns the rule by which a message of the captured host differs
// from the stock host's.
func (c *comparer) changedOtherwise(x *expect) *decode.Rule {
	if habit := c.specOf(x).Habit(decode.OpenBC); habit != nil && c.specOf(x).Topic == decode.TopicTalk {
		return &habit.Rule
	}
	if x.alt != nil && (x.alt.reliable != x.reliable || x.alt.priority != x.priority) {
		return rulePriority
	}
	return ruleStrange
}

// madeOtherwise returns the rule by which the captured host alone sends a message, or
// the stock host alone.
func (c *comparer) madeOtherwise(x *expect, extra bool) *decode.Rule {
	spec := c.specOf(x)
	others := x.src.client != x.to
	copied := x.src.op == x.op && others
	switch habit := spec.Habit(decode.OpenBC); {
	case x.op == msg.OpPlayerAnnounce && extra && others:
		return ruleLoading
	case x.op == msg.OpVerifyEnterSet && extra:
		return ruleUnknown
	case habit != nil && spec.Topic != decode.TopicTalk:
		return &habit.Rule
	case copied && extra:
		return ruleLoading
	case creates(spec) && x.src.op == msg.OpRequestObject:
		return ruleRequest
	case creates(spec) && !copied:
		return ruleObjects
	}
	return ruleStrange
}

// relayedOtherwise returns the rule by which hosts of the captured one's dialect
// relay a client's message otherwise than the stock host, nil if that is not why
// the models disagree.
func (c *comparer) relayedOtherwise(x *expect, how string) *decode.Rule {
	spec := c.specOf(x)
	d := spec.Deviation(decode.OpenBC)
	if d == nil {
		return nil
	}
	toSelf := x.src.client == x.to
	switch d.Only {
	case decode.OnlyOwn, decode.OnlyReadable: // it drops a copy
		if how != "missing" || toSelf || x.src.op != x.op {
			return nil
		}
	case decode.OnlyAllowed: // see refusal
		return nil
	case decode.OnlyAlways, decode.OnlyMoving, decode.OnlyFirst:
		if spec.Relay == decode.RelayEcho && !toSelf { // both send it to the others
			return nil
		}
	}
	return &d.Rule
}

// hasty reports whether the captured host acts on messages as they arrive.
func (c *comparer) hasty() bool { return c.sender == decode.OpenBC && c.models != stockModel }

// twice reports whether the host may have got the message that caused another
// twice, and acted on it each time: also for players who have come between.
func (c *comparer) twice(g *got) bool {
	s := c.own(g)
	return s != nil && s.receipt != nil && s.receipt.twice && (s.client != g.Client || c.t.bodies.specOf(g.Event).Relay != decode.RelayForward)
}

// refusal returns the rule by which an OpenBC host passes a message on to
// nobody, because of its own state of the ship. It explains nothing if anybody
// got a copy.
func refusal(c *comparer, x *expect) *decode.Rule {
	if c.sender != decode.OpenBC || c.models == stockModel || x.typ != transport.Standard || x.src.op != x.op || x.src.matched > 0 {
		return nil
	}
	d := c.specOf(x).Deviation(decode.OpenBC)
	if d == nil || d.Only != decode.OnlyAllowed {
		return nil
	}
	if read := c.t.bodies.result(x.body); !read.Exact() {
		return ruleUnread
	}
	return &d.Rule
}

// reformed reports whether a message that only hosts of the captured one's dialect
// pass on did not come because the host does as the stock host does: it passes none
// on. Of ships it sends updates of its own then.
func (c *comparer) reformed(x *expect) bool {
	if x.by != dialectModel || c.models&stockModel == 0 || x.alt != nil || !x.copied() || x.op == msg.OpStateUpdate && !c.simulates {
		return false
	}
	row, rule := c.rep.Row(x.typ, x.op), c.deviationOf(x, "extra")
	if rule == ruleStrange || c.rep.Keeps(rule, row) {
		return false
	}
	row.Expected--
	c.rep.Fixes(rule, x.src.frame)
	return true
}

// simulate notes that the host sends updates of ships that are not those of their
// players.
func (c *comparer) simulate(g *got) {
	_, flags, ok := msg.UpdateHead(g.Body)
	c.simulates = c.simulates || ok && g.standard() && flags&msg.DirtyPosition != 0
}
