package conform

import (
	"cmp"
	"slices"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect/conform/result"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// A host is blamed only if no history that the network and the recording allow
// explains the capture. Losses, delays and duplicates on the way cannot change
// the numbers of the host's messages. The numbers therefore decide, and not the
// times: a missing message would have a number between the host's answers to
// what it received before and after. If the capture has all of these numbers,
// the message was never sent.

// Reasons due to the network or the recording, and to what hosts decide.
const (
	whyEarly    = "too many messages waited for their counterparts, so that it is not judged"
	whyOnlyHost = "the capture holds no message of a client"
	whyHole     = "the capture lacks a message of the host that can have been it"
	whyOpen     = "the capture does not show what the host had sent the client before or after it"
	whyInput    = "the capture lacks a message of a client that can have caused it"
	whyCrossed  = "the client came or left at about that time, and the capture does not show in which order the host got the two messages"
	whyDoubled  = "the network may have doubled the message of the client behind the recording, and the host acts on both"
	whyCut      = "it may have been in the cut part of a datagram"
	whyDialect  = "OpenBC's hosts put the sender's id into it, and the capture shows not that id, or not the host's dialect"
	whyLeave    = "hosts tell of a leave in different ways"
	whyLate     = "the capture starts late"
	whySearch   = "too many messages may explain it: it is not judged"

	whySimulated = "the host's own simulation decides"
	whyKick      = "the host decides about kicks"
	whyUnseen    = "it comes from a player without captured traffic"
)

// resolve judges the first messages to a client that did not come, and the
// first ones without a cause. It returns how many there were.
func (c *comparer) resolve(d *destination, expects, gots int) (n int) {
	d.left = d.leftOver()
	for _, x := range d.expects[:expects] {
		if !x.done {
			n++
			c.overdue(d, x)
			x.done = true
		}
	}
	for _, g := range d.gots[:gots] {
		if !g.done {
			n++
			c.surplus(d, g)
			g.done = true
		}
	}
	d.left = [2]map[int64]*got{}
	return n
}

// overdue judges a message that did not come.
func (c *comparer) overdue(d *destination, x *expect) {
	if x.by == stockModel && c.both { // the captured host does not follow that model
		c.deviates(x, c.deviationOf(x, "missing"))
		return
	}
	if x.by&c.judge == 0 {
		return
	}
	if rule := x.refused(); rule != nil {
		c.deviates(x, rule)
		return
	}
	g := c.instead(d, x)
	if g != nil && c.certain(x, g) {
		c.replaced(d, x, g)
		return
	}
	if why := c.excused(d, x); why != "" {
		if (why == whyHole || why == whyOpen || why == whyCrossed) && x.copied() && c.arrived(x.src) {
			c.rates.doubt(&c.rates.tally(group{op: x.op}).unseen, len(x.body), func() { c.excuse(x, why) }, func() { c.missing(x) })
		} else {
			c.excuse(x, why)
		}
		return
	}
	if rule := c.refusal(x); rule != nil {
		c.deviates(x, rule)
	} else if !x.reliable {
		c.lost(d, x, g)
	} else {
		c.missing(x)
	}
}

// excused returns the reason why the host is not blamed for a missing message,
// or "" if no history explains its absence.
func (c *comparer) excused(d *destination, x *expect) string {
	s := x.src
	switch {
	case x.why != "":
		return x.why
	case !c.ended && x.reliable:
		return whyEarly
	case c.t.fromClients == 0:
		return whyOnlyHost
	case s.Kind == Left && x.typ == transport.Standard:
		return whyLeave
	case c.t.late() && (x.op == msg.OpSettings || x.op == msg.OpMissionInit || x.op == msg.OpPlayerAnnounce || x.op == msg.OpVerifyEnterSet || creates(c.specOf(x)) && !x.copied()):
		return whyLate
	case c.retold(c.specOf(x), s.Client.given == 0):
		return whyDialect
	case s.Foreign:
		return "its datagram bears another id than the client's: hosts differ in taking it"
	case x.copied() && s.Client != d.client && !d.client.letIn():
		return "the capture does not show that the host had let the client into the game"
	case c.absent(x), x.op == msg.OpSettings && c.crowded(d.client), !x.reliable && !d.there(s.Frame):
		return whyCrossed
	case d.client.cut:
		return whyCut
	case !x.reliable && s.Frame > min(s.Client.lastFromHost.frame, d.client.lastFromHost.frame): // the host may have ended
		return whyOpen
	case !x.reliable: // rates decide
		return ""
	case !c.arrived(s):
		return "the capture does not show that the host got the message"
	}
	if c.lacking(d, x) {
		return ""
	}
	why := c.unsent(d, x)
	if c.work.over() {
		c.t.noted[result.LimitSearch]++
		return whySearch
	}
	return why
}

// there reports whether the client was certainly in the game: the host had sent
// it the settings, and had answered the message with which it came. It had not
// left either: it sent its leave later, and something after that.
func (d *destination) there(frame int) bool {
	e, quit := d.client.entry, d.client.quit
	if quit > 0 && frame > quit || frame > d.client.seen.frame || frame < d.client.settled {
		return false
	}
	return e == nil || e.Kind != Input || slices.ContainsFunc(e.spots, func(p spot) bool {
		l := p.to.line[p.class]
		i, ok := l.index(p.number)
		return ok && int(l[i].frame) <= frame
	})
}

// arrived reports whether the host certainly received a message, because it
// acknowledged it or acted on it.
func (c *comparer) arrived(s *source) bool {
	return s.matched > 0 || len(s.spots) > 0 || s.Kind != Input || s.receipt != nil && s.receipt.acknowledged()
}

// bounds returns the range of the numbers of messages to the client that the
// host made because of an input.
func (c *comparer) bounds(d *destination, s *source, class int) (lo, hi int64) {
	lo, hi = firstNumber, lastNumber
	if c.work.over() {
		return lo, hi
	}
	narrow := func(l, h int64) {
		if max(lo, l) < min(hi, h) {
			lo, hi = max(lo, l), min(hi, h)
		}
	}
	for _, p := range s.spots {
		l := p.to.line[class]
		k, ok := l.index(p.number)
		if ok && int(p.class) == class && !l[k].ambiguous && (l[k].copied || !c.actsOnArrival()) { // such hosts repeat answers
			at := p.to.around(class, p.number, d, s)
			narrow(at.from, at.till)
		}
	}
	if s.Number >= 0 && class > 0 && (!c.actsOnArrival() || lo == firstNumber && hi == lastNumber) {
		narrow(c.between(d, s, class))
	}
	return lo, hi
}

// between returns the numbers of the messages to a client because of what the
// same author sent before and afterwards.
func (c *comparer) between(d *destination, s *source, class int) (lo, hi int64) {
	lo, hi = firstNumber, lastNumber
	list := s.Client.said
	i := atNumber(list, s.Number)
	var low, high int64
	placed := func(first, second, u *source) (ok bool) {
		if len(u.spots) > 0 && c.inTurn(first, second) {
			low, high, ok = c.sureSpot(d, u, class)
		}
		return ok
	}
	if c.work.seek(i-1, -1, len(list), func(k int) bool { return placed(list[k], s, list[k]) }) >= 0 {
		lo = high
	}
	if c.work.seek(i+1, 1, len(list), func(k int) bool { return placed(s, list[k], list[k]) }) >= 0 {
		hi = low
	}
	return lo, hi
}

// sureSpot returns the lowest and the highest number of the messages to a
// client that an input caused, if these are certain.
func (c *comparer) sureSpot(d *destination, s *source, class int) (lo, hi int64, ok bool) {
	if lo, hi, ok = d.certainSpot(s, class); ok && c.actsOnArrival() {
		ok = d.agrees(s, lo, class) && (lo == hi || d.agrees(s, hi, class))
	}
	return lo, hi, ok
}

// inTurn reports whether the host certainly acted on one message of a client
// before another one with a higher number.
func (c *comparer) inTurn(first, second *source) bool {
	return !c.actsOnArrival() || first.receipt != nil && second.receipt != nil && !first.receipt.after(second.receipt)
}

// unsent returns the reason why a message may have been sent although it did
// not come, or "" if it was certainly not sent.
func (c *comparer) unsent(d *destination, x *expect) string {
	class := classOf(x.typ)
	lo, hi := c.bounds(d, x.src, class)
	if e := d.client.entry; e != nil && x.src.Client != d.client && class == 1 {
		first, _ := x.src.before(e)
		if n, _, ok := e.spotAt(d, class); !ok || lo < n || first {
			return whyCrossed
		}
	}
	switch {
	case lo == firstNumber || hi == lastNumber:
		return whyOpen
	case d.count(class, x.key, lo, hi, nil) > 0 || d.unseen(class, lo, hi):
		return whyHole
	}
	return ""
}

// surplus judges a message without a cause.
func (c *comparer) surplus(d *destination, g *got) {
	switch why := c.unprovoked(d, g); {
	case why == whyDoubled:
		c.rep.Row(g.Type, g.Op).Explained++
		c.rep.Deviate(result.RuleArrival, g.Type, g.Op, g.Frame)
	case why != "":
		c.incomparable(g, why)
	case g.Number >= 0 && c.work.over():
		c.t.noted[result.LimitSearch]++
		c.incomparable(g, whySearch)
	case !g.Reliable && !c.returned(d, g):
		c.rates.doubt(&c.rates.tally(group{op: g.Op}).extra, len(g.Body), func() { c.incomparable(g, whyInput) }, func() { c.extra(g.Client, g) })
	default:
		c.extra(d.client, g)
	}
}

// unprovoked returns the reason why a message without a cause is not compared,
// or "" if the capture has what would have caused it.
func (c *comparer) unprovoked(d *destination, g *got) string {
	if why := c.hostMade(d, g); why != "" {
		return why
	}
	class := classOf(g.Type)
	l := d.line[class]
	others := c.across(d, class, g.Number)
	own, few := cmp.Or(others.cause, c.own(g)), others.few(d)
	_, creates := c.t.bodies.game(g.Body).(msg.Creation)
	switch {
	case !c.ended && g.Number >= 0:
		return whyEarly
	case c.t.fromClients == 0:
		return whyOnlyHost
	case c.t.noted[result.NoteCut] > 0:
		return whyCut
	case c.retold(c.t.bodies.specOf(g.Event), c.t.late()):
		return whyDialect
	case own != nil && c.returned(d, g), few:
		return ""
	case c.actsOnArrival() && (g.Type == transport.Connect || own != nil && own.receipt != nil && own.receipt.twice || c.actsAgain(d, g) || others.there && own == nil || g.Number >= 0 && own != nil && own.matched > 0 && !c.refuted(d, g, own.Client)):
		return whyDoubled
	case others.crossed, own != nil && own.Client != d.client && c.crosses(d, own, class), c.createdLate(d, g), g.standard() && g.Op == msg.OpSettings && c.crowded(d.client),
		creates && d.client.entry != nil && d.client.entry.uncertain(): // it may have been told of the ship when it entered, too
		return whyCrossed
	case g.again || g.Number >= 0 && c.actsOnArrival() && c.doubtful(l, atNumber(l, g.Number)):
		return "it may be an earlier message, sent again"
	case g.open && !others.here, creates && own == nil && c.t.lacks(g.Slots), c.lacksCause(d, g):
		return whyInput
	}
	return ""
}

// crosses reports whether a client may have been in the game when the host
// passed on a message. It may unless another client was told of both, in that
// order.
func (c *comparer) crosses(d *destination, s *source, class int) bool {
	if _, _, got := s.spotAt(d, class); got {
		return false
	}
	in, out := d.client.entry, d.client.exit
	_, early := s.before(in)
	_, late := out.before(s)
	return !early && !late && (in != nil || out != nil || d.client.gone)
}

// before reports whether any client was told of s before it was told of o, and
// whether it is sure, since none was told of them in the other order.
func (s *source) before(o *source) (some, sure bool) {
	if s == nil || o == nil {
		return false, false
	}
	sure = true
	for _, p := range s.spots {
		if n, _, ok := o.spotAt(p.to, int(p.class)); ok {
			some, sure = some || p.number < n, sure && p.number < n
		}
	}
	return some, some && sure
}

// createdLate reports whether a message is about a ship whose creation may have
// reached the host only after a client had entered the game, because the
// creation was retransmitted.
func (c *comparer) createdLate(d *destination, g *got) bool {
	m, ok := c.t.bodies.game(g.Body).(*msg.VerifyEnterSet)
	return ok && d.client.entry != nil && slices.ContainsFunc(c.t.order, func(o *Client) bool {
		return o.bit()&g.Slots != 0 && slices.ContainsFunc(o.said, func(s *source) bool {
			return s.object == m.Object && s.twice() && s.Frame < d.client.entry.Frame
		})
	})
}

// aliased reports whether a message with the same bytes and the same low eight
// bits of its number came before, so that this one may be its retransmission.
func (l line) aliased(number int64, key uint64) bool {
	for n := number - eightBits; n >= number-8*eightBits; n -= eightBits {
		if i, ok := l.index(n); ok && l[i].key == key {
			return true
		}
	}
	return false
}

// lacksCause reports whether the capture may lack the client's message that
// this one copies or answers.
func (c *comparer) lacksCause(d *destination, g *got) bool {
	class := classOf(g.Type)
	if g.Number < 0 { // the rates decide
		return false
	}
	causes := c.t.causes(g.Event)
	created := c.created(d, g) // the client may have asked for it
	for _, a := range c.t.order {
		if !causes(a) || created && a != d.client || a == d.client && c.t.relayOf(g.Type, g.Op) == decode.RelayForward {
			continue
		}
		lo, hi := d.numbersOf(class, a, g.Number, c.actsOnArrival())
		switch {
		case hi <= lo: // one of them looks like another message
			lo, hi = firstNumber, lastNumber
		case c.actsOnArrival(): // this message or the next may be a retransmission
			lo = firstNumber
		}
		if a == d.client {
			lo, hi = c.ownBetween(d, class, g.Number, lo, hi)
		}
		open := lo == firstNumber && a.Adopted || hi == lastNumber && c.rates.lossy
		if n := len(a.said); hi == lastNumber && n > 0 {
			hi = a.said[n-1].Number
		}
		if (open || lacks(a.said, max(lo, -1), hi)) && !c.refuted(d, g, a) {
			return true
		}
	}
	return false
}

// ownBetween narrows the numbers of a client's own messages that can have caused
// an answer to it. It is ready before it asks for anything, and other clients
// have the copies of what it sends.
func (c *comparer) ownBetween(d *destination, class int, number, lo, hi int64) (int64, int64) {
	if e := d.client.entry; e != nil {
		if _, n, ok := e.spotAt(d, class); ok && n < number {
			lo = max(lo, e.Number)
		}
	}
	for _, o := range c.order {
		if o == d {
			continue
		}
		if at := d.around(class, number, o, nil); at.till < lastNumber {
			_, next := o.numbersOf(class, d.client, at.till, true)
			hi = min(hi, next)
		}
	}
	return lo, hi
}

// created reports whether a message is a copy of a creation in the capture that
// the host made when the client was in the game. No client creates an object
// twice, and the host tells only newcomers and who asks.
func (c *comparer) created(d *destination, g *got) bool {
	first, _ := d.client.entry.before(c.own(g))
	return first && creates(c.t.bodies.specOf(g.Event))
}

// refuted reports whether another client certainly did not receive the message,
// although it should have if client a had sent it.
func (c *comparer) refuted(d *destination, g *got, a *Client) bool {
	class := classOf(g.Type)
	if a == d.client && c.t.relayOf(g.Type, g.Op) != decode.RelayEcho { // it would be one of the answers to that client
		return false
	}
	for _, o := range c.order {
		if o == d || o.client == a || !o.client.playing {
			continue
		}
		at := d.around(class, g.Number, o, nil)
		if at.whole() && !o.unseen(class, at.from, at.till) && o.inGame(class, at.from) && o.count(class, g.key, at.from, at.till, a) < d.count(class, g.key, at.lo, at.hi, a) {
			return true
		}
	}
	return false
}

// inGame reports whether a client was certainly in the game when the host made
// a message to it. Clients are told of ships before that.
func (d *destination) inGame(class int, number int64) bool {
	e := d.client.entry
	if e == nil || e.Kind != Input {
		return d.client.Adopted
	}
	_, last, ok := e.spotAt(d, class)
	return ok && last <= number
}

// instead returns the captured message that came in place of one that did not
// come.
func (c *comparer) instead(d *destination, x *expect) *got {
	if x.why != "" && !x.replica || !c.ended && x.reliable {
		return nil
	}
	class := classOf(x.typ)
	lo, hi := c.bounds(d, x.src, class)
	ordered := x.reliable && !x.replica && x.copied() && !creates(c.specOf(x))
	if ordered && (lo == firstNumber && d.client.Adopted || hi == lastNumber) {
		return nil
	}
	list := d.gots[:min(len(d.gots), maxLooked)]
	if ordered {
		list = d.leftBetween(class, lo, hi)
	}
	c.work.spend(len(list))
	for _, g := range list {
		switch {
		case g.done || x.key == g.key && !x.replica || g.Type != x.typ || g.Op != x.op || g.Reliable != x.reliable && x.copied():
		case g.Number >= 0 && (g.Number <= lo || g.Number >= hi):
		case c.related(x, g) && (!c.actsOnArrival() || !c.across(d, class, g.Number).there):
			return g
		}
	}
	return nil
}

// leftBetween returns the messages without a cause between two numbers.
func (d *destination) leftBetween(class int, lo, hi int64) (list []*got) {
	l := d.line[class]
	for i := atNumber(l, lo+1); i < len(l) && l[i].number < hi && len(list) < maxLooked; i++ {
		d.work.spend(1)
		if g := d.left[class][l[i].number]; g != nil {
			list = append(list, g)
		}
	}
	return list
}

// related reports whether a captured message can be a changed form of the
// expected one: both are about the same objects and players, and share most
// bytes. In what an unreliable message is about, a byte may have changed if the
// capture lacks nothing, or if the message came before its author's next one.
func (c *comparer) related(x *expect, g *got) bool {
	switch {
	case x.src.Kind == Left && x.typ == transport.Standard:
		return false
	case x.replica:
		return c.subject(&x.subject, x.body) == c.subject(&g.subject, g.Body)
	case x.typ != transport.Standard:
		return alike(x.body, g.Body) && byteAt(x.body, 0) == byteAt(g.Body, 0) // it names the same player
	case !x.copied(): // the host's answer
		return alike(x.body, g.Body) || c.subject(&x.subject, x.body) == c.subject(&g.subject, g.Body)
	case !x.reliable:
		return nearly(x.body, g.Body) && (c.certain(x, g) || x.src.Frame < g.Frame && g.Frame < x.src.until)
	}
	return alike(x.body, g.Body)
}

// certain reports whether a message that is related to the expected one is a
// changed form of it. Otherwise it may be another one, of which the capture lacks
// the original, and the rates decide.
func (c *comparer) certain(x *expect, g *got) bool {
	return x.reliable || c.ended && !c.rates.lossy || c.subject(&x.subject, x.body) == c.subject(&g.subject, g.Body)
}

// retold reports whether the host may have changed the sender of a message to
// an id that the capture does not show. The argument unknown tells whether it
// lacks the accept of the client.
func (c *comparer) retold(spec *decode.Spec, unknown bool) bool {
	return spec.Topic == decode.TopicTalk && (c.t.sender == decode.Undecided || c.t.sender == decode.OpenBC && unknown)
}

// replaced judges a message that came in place of another one. The two may be
// unrelated if the capture may lack a copy of the expected message and the
// original of the other. Two ships do not share their places, so creations that
// differ in one byte are related.
func (c *comparer) replaced(d *destination, x *expect, g *got) {
	row := c.rep.Row(x.typ, x.op)
	x.done, g.done = true, true
	if x.replica {
		row.Matched++
		return
	}
	if x.reliable && (!creates(c.specOf(x)) || !nearly(x.body, g.Body)) {
		if why := c.excused(d, x); why != "" {
			if other := c.unprovoked(d, g); other != "" {
				c.excuse(x, why)
				c.incomparable(g, other)
				return
			}
		}
	}
	c.differs(x, g)
}

// updates reports whether a message updates a part of a ship.
func (g *got) updates(part msg.Dirty) bool {
	_, flags, ok := msg.UpdateHead(g.Body)
	return ok && g.standard() && flags&part != 0
}

// twice reports whether the host may have received the message more than once.
func (s *source) twice() bool { return s.receipt == nil || s.receipt.twice }

// uncertain reports whether the capture does not show whether or when the host
// received the message.
func (s *source) uncertain() bool { return s.twice() || !s.receipt.acknowledged() }

// crowded reports whether another client came or left while a client joined.
// The host may then have admitted them in another order.
func (c *comparer) crowded(cl *Client) bool {
	return slices.ContainsFunc(c.t.order, func(o *Client) bool {
		came := o.First < cl.settled && (o.settled == 0 || cl.First < o.settled)
		left := o.gone && max(o.quit, o.First) < cl.settled && cl.First < max(o.ended.frame, o.lastFromHost.frame) // it acted on the leave only after that
		return o != cl && (came || left)
	})
}

// returned reports whether a message is sent back to its author. Only the host
// can do that.
func (c *comparer) returned(d *destination, g *got) bool {
	own := c.own(g)
	if own == nil || own.Client != d.client || own.shared || own.Frame > g.Frame || g.Slots == 0 || c.returns[g.Op] {
		return false
	}
	return g.Number >= 0 && !c.lacksCause(d, g) || g.Number < 0 && g.Slots == d.client.bit()
}
