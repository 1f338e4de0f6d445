package conform

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/event"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// rounds are the rounds of the checksums, in order.
var rounds = [...]uint8{0, 1, 2, 3, msg.LastRound}

// roundOf returns the index of a round, or -1 if the game has no such round.
func roundOf(round uint8) int { return bytes.IndexByte(rounds[:], round) }

// admit records that the host has admitted a client, as its messages show.
func (t *timeline) admit(c *Client) {
	if c.admitted {
		return
	}
	t.renew(c)
	c.admitted = true
	if c.Adopted {
		t.adopted++
	}
	e := &Event{Kind: Joined, Time: t.now.time, Frame: c.First, Client: c, Type: transport.Connect, Number: -1, Reliable: true}
	if _, stock := t.bodies.control(transport.Connect, c.body).(*transport.Request); stock && !c.short {
		e.Body = c.body
	}
	t.emit(e)
}

// renew notices that the host has restarted. A restarted host gives a client an
// id that another client has, or it admits a client after it sent nothing to an
// active client for some time. It does not know the earlier clients, except
// those to which it has sent something recently. A host that runs on may also
// have removed the old client without a message.
func (t *timeline) renew(c *Client) {
	for _, o := range t.order {
		if o.leave != nil && o.given == c.given {
			t.leaves(o.leave) // its id is free
		}
	}
	var old *Client
	var quiet []*Client
	spoken := false
	for _, o := range t.order {
		switch {
		case o == c || o.gone || !o.admitted:
		case o.given == c.given && c.given > 0:
			old = o
		case t.now.time.Sub(o.lastFromHost.time) < silent:
			spoken = true
		default:
			if quiet = append(quiet, o); o.after > 1 && o.spoken.time.Sub(o.lastFromHost.time) > silent {
				old = cmp.Or(old, o)
			}
		}
	}
	if old == nil || spoken && old.given != c.given {
		return
	}
	for _, o := range append(quiet, old) {
		t.end(o, PutOut)
	}
	t.note("A new run of the host begins at frame %d, or it had dropped %v without a message.", t.now.frame, old)
}

// answers handles an answer to a round of the checksums. A client that answers
// a round was asked for it, so the host has the answers to the earlier rounds.
// The model ignores an answer that was already made up.
func (t *timeline) answers(e *Event) {
	c := e.Client
	place := c.answered
	if m, ok := t.bodies.game(e.Body).(*msg.ChecksumResponse); ok {
		place = roundOf(m.Round)
		t.answered(c, place)
	}
	if !e.Broken { // otherwise OpenBC's host shows later whether it could read it
		c.answered = max(c.answered, place+1)
	}
	if place == len(rounds)-1 && !c.settled {
		c.passed = e.Frame
	}
}

// answered makes up the answers to the first n rounds that the capture lacks.
func (t *timeline) answered(c *Client, n int) {
	for ; c.answered < min(n, len(rounds)) && !c.Adopted; c.answered++ {
		c.made++
		t.makeUp(c, t.bodies.write(msg.OpChecksumResponse, emptyAnswer(rounds[c.answered])))
	}
}

// makeUp emits a message of a client that the capture lacks.
func (t *timeline) makeUp(c *Client, body []byte) {
	t.madeUp++
	e := &Event{
		Kind: Input, Time: t.now.time, Frame: t.now.frame, Client: c, Type: transport.Standard, Reliable: true, Body: body, Number: -1, MadeUp: true,
	}
	if len(body) > 0 {
		e.Op = decode.Opcode(body[0])
		t.hand(c, e)
	}
}

// prove uses a message of the host as proof that the host received the client's
// messages that it answers.
func (t *timeline) prove(r *dissect.Record, e *Event) {
	c := e.Client
	spec := t.bodies.specOf(e)
	switch spec.Step {
	case decode.StepAsk:
		if m, ok := r.Message.(*msg.ChecksumRequest); ok {
			t.answered(c, roundOf(m.Round))
		}
	case decode.StepLoad:
		t.answered(c, len(rounds))
	case decode.StepEnter:
		t.answered(c, len(rounds))
		t.readied(c)
	case decode.StepNone, decode.StepAnswer, decode.StepFiles, decode.StepReady:
	}
	switch {
	case e.Op == msg.OpPlayerAnnounce && !r.Late: // otherwise a later player may have the id
		if code, peer, ok := t.announced(e); ok && code == event.CodeNewPlayerInGame {
			if peer == c.Peer {
				t.readied(c)
			} else if o := t.byPeer(peer); o != nil {
				t.plays(o)
			}
		}
	case creates(spec):
		if q, n := t.waits(e); q != nil {
			t.skip(q, n)
		}
		t.objectOf(e)
	}
}

// readied makes up the ClientReady of a client that the host treats as ready.
func (t *timeline) readied(c *Client) {
	if c.Adopted || c.playing || c.answered < len(rounds) {
		return
	}
	c.playing, c.readyBy = true, max(c.sent[1].next, 0)+int64(c.made)+1
	t.makeUp(c, t.bodies.write(msg.OpClientReady, &msg.ClientReady{}))
}

// plays uses a client's message from outside a join, or its announcement, as
// proof that the client is in the game, if the capture lacks messages of its
// join.
func (t *timeline) plays(c *Client) {
	if c.playing || c.Adopted || !c.sent[1].lacking() && !c.got[1].lacking() {
		return
	}
	t.answered(c, len(rounds))
	t.readied(c)
}

// objectOf makes up a client's creation of an object if the host sends a copy of
// it.
func (t *timeline) objectOf(e *Event) {
	o, ok := createdBy(t.bodies.game(e.Body))
	if !ok {
		return
	}
	slot, ok := o.id.Slot()
	if !ok {
		return
	}
	if slices.ContainsFunc(t.order, func(c *Client) bool { return !c.gone && slices.Contains(c.objects, o.id) }) {
		return // another client may have created it
	}
	for _, c := range t.order {
		if c.Slot == slot && !c.gone && c.admitted && c != e.Client {
			if c.playing && c.created(o.id, &t.reached) {
				e.MadeUp = true
				c.restored = append(c.restored[:min(len(c.restored), maxObjects-1)], o.id)
				t.makeUp(c, bytes.Clone(e.Body))
			}
			return
		}
	}
}

// number records the numbers in a record.
func (t *timeline) number(r *dissect.Record, c *Client) {
	h := &r.Transport
	if !h.HasSeq || h.Type == transport.Acknowledge || r.Repeat || c.gone && r.Dir == dissect.ToHost {
		return
	}
	list := &c.sent
	if r.Dir == dissect.FromHost {
		list = &c.got
	} else {
		c.spoken = t.now
		c.after++
	}
	numbers := &list[class(h)]
	numbers.take(r.Number, r.Gap, r.Late)
	if r.Transport.Fragment {
		numbers.piece(r.Number, r.Status != dissect.StatusPending)
	}
}

// speaks records who sends, and whether the host is silent.
func (t *timeline) speaks(r *dissect.Record) {
	at := t.now.time
	if r.Dir == dissect.ToHost {
		t.fromClients++
		if c := t.clients[r.Datagram.Src]; r.Transport.Type != transport.Acknowledge && (c == nil || !c.gone) {
			t.asking++
			t.asked = t.now
		}
		return
	}
	t.fromHosts++
	if t.asking > 1 && at.Sub(t.lastFromHost.time) > silent && t.fromHosts > 1 {
		t.note("The host sent nothing for %.1f seconds after frame %d, although clients spoke.", t.now.since(t.lastFromHost).Seconds(), t.lastFromHost.frame)
	}
	t.lastFromHost, t.asking = t.now, 0
}

// authorOf returns the client from which a copy comes: the receiver if its own
// ship acts in it, or else the client whose objects alone it names. It returns
// nil if the objects do not tell.
func (t *timeline) authorOf(e *Event) *Client {
	var author *Client
	spec := t.bodies.specOf(e)
	if spec.Relay != decode.RelayForward && spec.Made != decode.MadeByStock {
		return nil // it may be an answer
	}
	if m, ok := t.bodies.game(e.Body).(msg.Actor); ok && spec.Relay == decode.RelayForward && !t.impostors {
		if slot, ok := m.Actor().Slot(); ok && slot == e.Client.Slot {
			return e.Client
		}
	}
	for _, c := range t.order {
		if c != e.Client && c.bit() != 0 && e.Slots == c.bit() && (author == nil || c.First <= e.Frame && c.First > author.First) {
			author = c // the client that had the slot then
		}
	}
	return author
}

// causes returns a function that reports whether a message of the host may be a
// copy of a client's message, or an answer to it.
func (t *timeline) causes(e *Event) func(*Client) bool {
	forwarded, own := t.bodies.specOf(e).Relay == decode.RelayForward, t.relayOf(e.Type, e.Op) != decode.RelayForward
	others := func(c *Client) bool { return own || c != e.Client } // clients do not get copies of their own messages
	if author := t.authorOf(e); author != nil {
		return func(c *Client) bool { return c.Slot == author.Slot && others(c) }
	}
	named := uint16(0) // slots of others, usually including the author's
	for _, c := range t.order {
		if c != e.Client {
			named |= e.Slots & c.bit()
		}
	}
	return func(c *Client) bool {
		return others(c) && (!forwarded || named == 0 || c.bit() == 0 || named&c.bit() != 0)
	}
}

// losses counts the host's messages and the clients' messages that the capture
// lacks.
func (t *timeline) losses() (out, in loss) {
	out, in = t.dropped.out, t.dropped.in
	for _, c := range t.all {
		c.losses(&out, &in)
	}
	for _, c := range t.order {
		if !c.listed {
			c.losses(&out, &in)
		}
	}
	return out, in
}

// losses adds the numbers of messages to and from a client that the capture
// lacks.
func (c *Client) losses(out, in *loss) {
	for k := range c.got {
		out.add(&c.got[k])
		in.add(&c.sent[k])
	}
}

// lossy reports whether the capture lacks any numbered message.
func (t *timeline) lossy() bool {
	out, in := t.losses()
	return out.lost+in.lost+out.jumps+in.jumps > 0
}
