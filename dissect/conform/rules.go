package conform

import (
	"slices"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/event"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect/conform/result"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// deviationOf returns the rule behind the two models' disagreement about a
// message. The argument how is the captured host's difference from the stock
// host.
func (c *comparer) deviationOf(x *expect, how string) *decode.Rule {
	spec := c.specOf(x)
	habit := spec.Habit(decode.OpenBC)
	switch {
	case x.typ == transport.NameChange:
		return result.RuleNames
	case x.typ == transport.Disconnect, x.src.Kind == Left:
		return result.RuleLeave
	case x.src.Broken && how == "missing":
		return result.RuleFragments
	case how != "differs":
		return c.sentOtherwise(x, how == "extra")
	case habit != nil && spec.Topic == decode.TopicTalk:
		return &habit.Rule
	case x.alt.reliable != x.reliable || x.alt.priority != x.priority:
		return result.RulePriority
	}
	return result.RuleStrange
}

// sentOtherwise returns the rule by which only the captured host, or only the
// stock host, sends a message.
func (c *comparer) sentOtherwise(x *expect, extra bool) *decode.Rule {
	spec := c.specOf(x)
	passed := spec.Relay == decode.RelayForward || spec.Relay == decode.RelayEcho || creates(spec) // by the stock host
	others := x.src.Client != x.to
	d, habit := spec.Deviation(decode.OpenBC), spec.Habit(decode.OpenBC)
	switch {
	case d != nil && x.copied() && passed != extra:
		return &d.Rule
	case extra && others && (x.copied() || x.op == msg.OpPlayerAnnounce):
		return result.RuleLoading
	case extra && x.op == msg.OpVerifyEnterSet:
		return result.RuleUnknown
	case habit != nil && spec.Topic != decode.TopicTalk:
		return &habit.Rule
	case creates(spec) && x.src.Op == msg.OpRequestObject:
		return result.RuleRequest
	case creates(spec):
		return result.RuleObjects
	}
	return result.RuleStrange
}

// actsOnArrival reports whether the captured host acts on messages as they
// arrive.
func (c *comparer) actsOnArrival() bool { return c.t.sender == decode.OpenBC }

// actsAgain reports whether the host may have acted once more on a message that
// was sent again, or that the network doubled behind the recording when a
// client was ready. It then repeats what it told others, and tells the client
// of all players.
func (c *comparer) actsAgain(d *destination, g *got) bool {
	l := d.line[1]
	i, ok := l.index(g.Number)
	again := func(k int) bool {
		s := l[k].src
		return s != nil && (s.twice() && l[k].key == g.key || l[k].op == g.Op && s.Client == d.client && !l[k].copied && (s.twice() || s == d.client.entry))
	}
	ready := func(o *Client) bool { return o != d.client && o.entry != nil && o.entry.Op == g.Op }
	return ok && g.standard() && (slices.ContainsFunc(c.t.order, ready) || d.work.seek(i-1, -1, len(l), again) >= 0 || d.work.seek(i+1, 1, len(l), again) >= 0)
}

// absent reports whether a ship may not have been in the game when the host told
// a newcomer of the ships. Its creation may have come later, it may have been
// gone before, and the order of a leave and the newcomer's message is unknown.
func (c *comparer) absent(x *expect) bool {
	m, ok := c.t.bodies.game(x.body).(msg.Creation)
	if !ok || x.copied() {
		return false
	}
	ship, _ := m.Created()
	told := max(x.src.Frame, x.to.settled)
	for _, p := range x.src.spots { // the answers that came
		if i, ok := p.to.line[p.class].index(p.number); ok && p.to.client == x.to {
			told = max(told, int(p.to.line[p.class][i].frame))
		}
	}
	end, gone := c.ends[ship]
	slot, known := ship.Slot()
	own := c.inputs.find(x.key)
	return own != nil && own.uncertain() || gone && end <= told || known && slices.ContainsFunc(c.t.order, func(o *Client) bool {
		return o.Slot == slot && o.exit != nil && o.exit.index > x.src.index && o.exit.Frame <= told
	})
}

// refusal returns the rule by which an OpenBC host does not pass a message on
// because of its state of the ship. It does not apply if any client received a
// copy.
func (c *comparer) refusal(x *expect) *decode.Rule {
	d := c.specOf(x).Deviation(c.t.sender)
	if d == nil || d.Only != decode.OnlyAllowed || !x.copied() || x.src.matched > 0 {
		return nil
	}
	if read := c.t.bodies.result(x.body); !read.Exact() {
		return result.RuleUnread
	}
	return &d.Rule
}

// reformed reports whether a message that only hosts with the captured host's
// dialect pass on did not come because the host acts as the stock host does and
// passes on none. It then sends its own updates of ships.
func (c *comparer) reformed(x *expect) bool {
	if x.by != dialectModel || !c.both || x.alt != nil || !x.copied() || x.op == msg.OpStateUpdate && !c.simulates {
		return false
	}
	row, rule := c.rep.Row(x.typ, x.op), c.deviationOf(x, "extra")
	if rule == result.RuleStrange || c.rep.Keeps(rule, row) {
		return false
	}
	row.Expected--
	c.rep.Fixes(rule, x.src.Frame)
	return true
}

// madeWhy are the reasons why hosts send messages unasked, by opcode.
var madeWhy = [256]string{
	decode.MadeBySimulation: whySimulated,
	decode.MadeByStock:      whySimulated,
	decode.MadeByScores:     "scores are the host's",
	decode.MadeByLeave:      whyLeave,
	decode.MadeByOptions:    "the host changes an option",
	decode.MadeByFiles:      "the host compares files",
}

// hostMade returns why a message without a cause cannot be compared, if it is
// one that hosts send unasked.
func (c *comparer) hostMade(d *destination, g *got) (why string) {
	switch made := c.t.bodies.specOf(g.Event).Made; {
	case !g.standard():
		why = c.controlMade(d, g)
	case c.t.sender == decode.OpenBC && g.Op == msg.OpUnused04: // BootPlayer
		why = whyKick
	case made == decode.MadeByState:
		why = c.stateMade(g)
	case made != decode.MadeByStock || c.t.sender != decode.OpenBC || g.updates(msg.DirtySubsystems):
		why = madeWhy[made]
	}
	some := len(c.t.strangers) > 0
	if why == "" && (g.Slots == 0 && some || g.Slots&^c.t.seenSlots() != 0 && (some || c.t.late())) { // it names an object of such a player, or nothing that tells its author
		why = whyUnseen
	}
	return why
}

// controlMade returns the reason for a message of the transport layer, or "" if
// there is none.
func (c *comparer) controlMade(d *destination, g *got) string {
	switch g.Type {
	case transport.BootPlayer:
		return whyKick
	case transport.Disconnect:
		switch m, ok := c.t.bodies.control(g.Type, g.Body).(*transport.Goodbye); {
		case !ok:
		case m.ID == transport.HostPeer || m.ID == d.client.Peer:
			return "the host ends the game"
		case !slices.ContainsFunc(c.t.order, func(o *Client) bool { return o.Peer == m.ID }):
			return whyUnseen
		}
	case transport.NameChange:
		if d.names[g.key] {
			return "the client has been told the name before"
		}
		name := c.t.bodies.name(g.Body)
		if d.client.Name == "" && c.t.sender != decode.Stock {
			d.client.Name = name
		}
		if c.t.sender != decode.Stock && (len(g.Body) == 0 || name == d.client.Name) {
			return "OpenBC sends a player its own name as keepalive"
		}
	case transport.Acknowledge, transport.DoNothing, transport.Connect, transport.Leave, transport.Standard:
	}
	return ""
}

// stateMade returns the reason for a message about the players, or "" if there
// is none.
func (c *comparer) stateMade(g *got) string {
	switch code, peer, ok := c.t.announced(g.Event); {
	case ok && code == event.CodeDeletePlayer:
		return whyLeave
	case ok && slices.ContainsFunc(c.t.order, func(o *Client) bool { return o.Peer == peer && o.entry != nil && o.entry.uncertain() }):
		return whyCrossed // others may have been ready before
	case c.t.late():
		return whyLate
	}
	return ""
}
