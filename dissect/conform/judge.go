package conform

import (
	"fmt"
	"slices"
	"time"

	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// copied reports whether the expected message is a copy of its cause.
func (x *expect) copied() bool {
	return x.src.kind == Input && x.src.op == x.op && x.src.typ == x.typ
}

// overdue judges a message that did not come.
func (c *comparer) overdue(d *destination, x *expect) {
	row := c.rep.row(x.typ, x.op)
	if x.by&c.judge == 0 {
		// Only the other model sends it, and the captured host does not.
		if x.by == stockModel && c.models == stockModel|dialectModel {
			c.deviantMissing(x)
		}
		return
	}
	if x.by == stockModel && c.models == stockModel|dialectModel {
		row.Explained++
		c.deviantMissing(x)
		return
	}
	if g := c.firstGot(d.byKey.gots(x.key), x); g != nil { // it came, but seemed out of order
		c.pair(d, x, g)
		return
	}
	if rule := x.refused(); rule != nil {
		c.deviates(x, rule)
		return
	}
	if g := c.instead(d, x); g != nil && c.swapped(d, x, g) {
		return
	}
	if why := c.excused(d, x); why != "" {
		c.excuse(x, why)
		return
	}
	if rule := refusal(c, x); rule != nil {
		c.deviates(x, rule)
		return
	}
	if !x.reliable {
		c.doubts.missed(x, d.alone(x))
		return
	}
	if d.trailing(x) {
		c.doubts.last(x)
		return
	}
	c.missing(x)
}

// excuse counts a message that is not required.
func (c *comparer) excuse(x *expect, why string) {
	c.rep.row(x.typ, x.op).Excused++
	c.rep.excuse(why, x.typ, x.op, x.src.frame)
	c.rep.Invariants.excused(c, x)
}

// missing counts a message that the host should have sent.
func (c *comparer) missing(x *expect) {
	c.rep.Invariants.missed(c, x, false)
	text := fmt.Sprintf("expected after the message of %s in this frame", who(x.src.client))
	if x.copied() {
		text = fmt.Sprintf("no copy of the message of %s in this frame", who(x.src.client))
	}
	c.differ(Difference{Kind: "missing", Frame: x.src.frame, Opcode: x.op, typ: x.typ, To: x.to.Addr, Detail: text}, x.body, nil)
}

// deviantMissing records a message that a host of the captured one's dialect
// does not send.
func (c *comparer) deviantMissing(x *expect) {
	if x.alt != nil && x.alt.done {
		return
	}
	c.rep.Invariants.missed(c, x, true)
	c.rep.deviate(c.deviationOf(x, "missing"), x.typ, x.op, x.src.frame)
}

// The reasons that the capture or the network gives.
const (
	whySilent   = "the host was silent, as if it had died or lost its network"
	whyAnew     = "the host may have begun anew: it sent nothing more to the client"
	whyNotTaken = "the host never acknowledged the message: it was lost before the host"
	whyWaits    = "the host never acknowledged an earlier message of the client, and may have waited for it"
	whyNothing  = "the host acknowledged no message of the client"
	whyUnproved = "the client had not used its id, and the host had acknowledged none of its messages"
	whyApparent = "the host sent the client a datagram or two alone, whose address may be damaged"
	whyForeign  = "its datagram bears another id than the client's: hosts differ in taking it"
	whyHole     = "the host used a number that the capture does not hold: it may have been lost, or not captured"
	whyAgain    = "a copy came, but its original may be an earlier message, sent again"
	whyMadeUp   = "the capture lacks the client's message, so its time is unknown"
	whyGuessed  = "it names a player, and the capture lacks that player's id"
	whyEntered  = "the client joined after it was caused; the model acted late, since it waited for a message that the capture lacks"
	whyCrossed  = "the client came or left at about that time, and the capture does not show in which order the host got the two messages"
	whyAhead    = "a copy came before it, so that the capture may lack its first transmission"
	whyInput    = "the capture lacks a message of the client that may have caused it"
)

// excused returns the reason why a message is not required, empty if it is.
func (c *comparer) excused(d *destination, x *expect) string {
	if !x.judged {
		x.why, x.judged = c.reason(d, x), true
	}
	return x.why
}

// reason is excused for a message that it was not asked for before.
func (c *comparer) reason(d *destination, x *expect) string {
	cl := d.client
	switch {
	case c.t.fromClients == 0:
		return "the capture holds no message of a client"
	case near(d.cuts, x.src.time, latest):
		return "it may have been in the cut part of a datagram"
	case x.src.kind == Left && x.typ == transport.Standard:
		return "hosts tell of a leave in different ways"
	case c.t.cut > 0 && d.heard.Before(x.src.time):
		return "the host sent nothing more to the client; the reason may be in the cut part of a datagram"
	case c.last.Sub(x.src.time) < lastMoment && c.cameAgain(x):
		return whyAgain
	case c.last.Sub(x.src.time) < lastMoment:
		return "the capture ends within half a second: it may have come later"
	case cl.gone && cl.left.Sub(x.src.time) < lastMoment:
		return "the client was gone before it could come"
	case c.t.late() && (x.op == msg.OpSettings || x.op == msg.OpMissionInit || x.op == msg.OpPlayerAnnounce):
		return "the capture starts late"
	case x.op == msg.OpVerifyEnterSet && c.t.late():
		return "the capture starts late"
	case x.src.op == msg.OpRequestObject && c.ofStranger(x.src.object, x.src.time):
		return "it asks for an object of a player without captured traffic"
	case x.src.op == msg.OpRequestObject && c.t.restored(x.src.object):
		return whyMadeUp
	case x.op == msg.OpClientReady && x.src.client.Adopted:
		return "the capture starts late"
	case x.src.notTaken() && (x.src.matched == 0 || d.repeated(x)):
		return whyNotTaken
	case x.copied() && x.src.matched == 0 && !c.hasty() && x.src.waits():
		return whyWaits
	case x.src.kind == Input && x.src.number < 0 && x.src.client.taken.frame == 0 && x.src.matched == 0 && !x.src.madeUp:
		return whyNothing
	case cl.Adopted && cl.datagrams <= few:
		return whyApparent
	case x.src.foreign:
		return whyForeign
	case x.copied() && x.src.client != cl && cl.enters(x.src.time):
		return whyCrossed
	case cl.forgotten(x.src.time), x.src.client != nil && x.src.client.forgotten(x.src.time):
		return whyAnew
	case c.t.silentAt(x.src.time):
		return whySilent
	case cl.heard.time.Before(x.src.time) && cl.seen.Before(x.src.time):
		return "nothing more of the client or to it is in the capture"
	case x.reliable && c.inHole(d, x) && c.neverSent(d, x) != proven:
		return whyHole
	}
	if d.ahead(x) {
		return whyAhead
	}
	if why, ok := d.mistaken(x); ok {
		return why
	}
	if c.cameAgain(x) {
		return whyAgain
	}
	return ""
}

// cameAgain reports whether a copy came that was taken for an earlier message,
// sent again.
func (c *comparer) cameAgain(x *expect) bool {
	return c.again.near(x.to, x.key, x.src.time.Add(-slack), x.src.time.Add(latest))
}

// inHole reports whether the message can have had a number that the capture
// does not hold.
func (c *comparer) inHole(d *destination, x *expect) bool {
	from, till := x.src.time.Add(-slack/10), x.src.turn.Add(d.usual.most()+slack)
	if x.typ != transport.Standard {
		for k := range d.client.got {
			if d.client.got[k].during(x.src.time.Add(-slack), x.src.time.Add(time.Second)) {
				return true
			}
		}
		return false
	}
	list := &d.client.got[1]
	if d.alike(x.key, x.src.time, reliableWait) > 1 { // they may have been taken for each other
		return list.during(x.src.time.Add(-disorder), x.src.time.Add(latest))
	}
	lo, hi := d.place(x)
	if l, h, ok := d.beside(x.src); ok && x.copied() {
		lo, hi = max(lo, l), min(hi, h)
		return list.between(lo, hi, from, x.src.time.Add(longestLost))
	}
	if x.src.client.sent[1].during(x.src.time.Add(-slack), x.src.time.Add(slack)) {
		lo, hi = firstNumber, lastNumber // copies of messages that the capture lacks may have been taken for others
	}
	if hi-lo < eightBits/2 {
		till = x.src.time.Add(longestLost) // those after the hole may have come when they were sent again
	}
	return list.between(lo, hi, from, till)
}

// trailing reports whether the host sent the client no numbered message of the
// same class any more, so that its numbers do not tell whether one is missing.
// One that came late had its number before.
func (d *destination) trailing(x *expect) bool {
	from := x.src.time.Add(lastMoment)
	if x.src.restless() { // it may have been sent much later
		from = x.src.time.Add(latest)
	}
	if x.typ != transport.Standard {
		return d.client.got[0].at.Before(from)
	}
	for i := len(d.order) - 1; i >= 0; i-- {
		if p := &d.order[i]; !p.loose && !p.at.Before(from) {
			return false
		}
	}
	return true
}

// ofStranger reports whether an object belongs to a player without captured
// traffic.
func (c *comparer) ofStranger(id wire.ObjectID, at time.Time) bool {
	known := c.t.seenSlots()
	slot, ok := id.Slot()
	return (c.t.partial() || c.t.strange(at)) && ok && slot < 16 && known&(1<<slot) == 0
}

// restored reports whether the capture lacks the creation of an object.
func (t *timeline) restored(id wire.ObjectID) bool {
	return slices.ContainsFunc(t.order, func(c *Client) bool { return slices.Contains(c.restored, id) })
}

// incomparable counts a message of the host that cannot be compared.
func (c *comparer) incomparable(g *got, why string) {
	c.rep.row(g.Type, g.Op).NotComparable++
	c.rep.incomparable(why, g.Type, g.Op, g.Frame)
}

// surplus judges a message that nothing asked for.
func (c *comparer) surplus(d *destination, g *got) {
	if g.simulated() {
		why, _ := c.hostMade(d, g)
		c.incomparable(g, why)
		return
	}
	if c.t.fromClients == 0 {
		c.incomparable(g, "the capture holds no message of a client")
		return
	}
	if x := c.wanted(d, g); x != nil && c.swapped(d, x, g) {
		return
	}
	why, known := c.hostMade(d, g)
	switch {
	case known:
	case c.hasty() && c.twice(g):
		c.rep.row(g.Type, g.Op).Explained++
		c.rep.deviate(ruleArrival, g.Type, g.Op, g.Frame)
		return
	default:
		why, known = c.lostCause(d, g)
	}
	all := c.twin(d, g)
	switch {
	case known:
		c.incomparable(g, why)
	case all && (!g.Reliable || c.t.ends(g)):
		c.doubts.unsent++
		c.incomparable(g, whyInput)
	case !g.Reliable:
		c.doubts.extra(d.client, g, c.t.authorOf(g.Event))
	case c.t.ends(g):
		c.doubts.extraLast(d.client, g)
	default:
		c.extra(d.client, g)
	}
}

// extra counts a message that the host should not have sent.
func (c *comparer) extra(to *Client, g *got) {
	c.rep.Invariants.extra(c, g.Event)
	c.differ(Difference{
		Kind: "extra", Frame: g.Frame, Opcode: g.Op, typ: g.Type, To: to.Addr, Detail: "no message of a client causes it",
	}, nil, g.Body)
}

// differ adds a difference, with the fields of both messages.
func (c *comparer) differ(d Difference, want, have []byte) {
	if len(c.rep.Differences) < MaxDifferences {
		var left int
		d.Fields, left = c.t.bodies.beside(d.typ, want, have)
		c.t.reached[limitFields] += left
	}
	c.rep.differ(d, c.rep.row(d.typ, d.Opcode))
}

// lostCause returns the reason why the cause of a message may not be in the
// capture.
func (c *comparer) lostCause(d *destination, g *got) (why string, ok bool) {
	switch {
	case g.MadeUp:
		return whyMadeUp, true
	case c.t.late() && (g.Time.Sub(c.t.begun) < latest || g.standard() && g.Number >= 0 && g.Number < d.first):
		return "it may answer a message from before the capture", true
	case g.Time.Sub(d.client.madeReady) < latest:
		return "the capture lacks the client's join, so its time is unknown", true
	case c.crossed(d, g):
		return whyCrossed, true
	case near(c.cuts, g.Time.Add(-latest), latest):
		return "its cause may be in the cut part of a datagram", true
	case c.lacks(d, g):
		return whyInput, true
	case d.cameBefore(g):
		return "it may be an earlier message, sent again", true
	case c.again.near(nil, g.key, g.Time.Add(-latest), g.Time.Add(slack)):
		return "a client sent it, but it may be an earlier message, sent again", true
	}
	return "", false
}

// lacks reports whether the capture lacks a message of a client that the host may
// have answered with another.
func (c *comparer) lacks(d *destination, g *got) bool {
	author := c.t.authorOf(g.Event)
	switch {
	case g.Late:
		return c.t.lacks(author, g.Time.Add(-longestLost), g.Time)
	case d.alike(g.key, g.Time, reliableWait) > 1:
		return c.t.lacks(author, g.Time.Add(-latest), g.Time.Add(slack))
	}
	from := g.Time.Add(-d.usual.most() - slack)
	causes := c.t.causes(g.Event)
	for _, a := range c.t.order {
		switch {
		case !causes(a):
		case a == d.client: // it may be an answer
			if a.sent[0].during(from, g.Time) || a.sent[1].during(from, g.Time) {
				return true
			}
		case g.Number < 0 || !g.standard():
			if a.sent[0].during(from, g.Time) || a.sent[1].during(from, g.Time) {
				return true
			}
		default:
			first, last := d.cluster(g)
			lo, hi := d.causes(a, first, last, true)
			since := from
			if p := d.order.before(first); p != nil && p.src.time.Before(since) {
				since = p.src.time.Add(-slack) // it may have been sent before
			}
			if lo != firstNumber && hi != lastNumber {
				since = g.Time.Add(-longestLost) // the number is proof enough
			}
			if a.sent[1].between(lo, hi, since, g.Time) && !c.refuted(d, g, a) && c.noCopy(d, g, a) != proven {
				return true
			}
		}
	}
	return false
}

// simulated reports whether no host passes a message on.
func (g *got) simulated() bool {
	_, flags, ok := msg.UpdateHead(g.Body)
	return ok && g.standard() && flags&msg.DirtySubsystems != 0
}

// near reports whether one of the times, which are in order, lies in a span.
func near(times []time.Time, from time.Time, span time.Duration) bool {
	for i := len(times) - 1; i >= 0 && !times[i].Before(from); i-- {
		if !times[i].After(from.Add(span)) {
			return true
		}
	}
	return false
}

// maxCuts bounds the datagrams that the capture cut short, of one direction.
const maxCuts = 4096

// cut notes a datagram that the capture cut short.
func (c *comparer) cut(to *Client, at time.Time) {
	list := &c.cuts
	if to != nil {
		list = &c.dest(to).cuts
	}
	if len(*list) == maxCuts {
		old := 0
		for old < maxCuts && (*list)[old].Before(at.Add(-reliableWait-latest)) {
			old++
		}
		c.t.reached[limitCuts] += max(maxCuts/2-old, 0)
		*list = slices.Delete(*list, 0, max(maxCuts/2, old))
	}
	*list = append(*list, at)
	const often = 256
	if len(*list)%often == 0 {
		c.economize()
	}
}
