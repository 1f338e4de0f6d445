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

// roundOf returns the place of a round in the order, -1 if there is none such.
func roundOf(round uint8) int { return bytes.IndexByte(rounds[:], round) }

// admit lets a client in, as the host shows that it has.
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

// renew finds that the host began anew: it lets a client in with an id that another
// one has, or after it had answered nobody for some time. So it does not know the
// others. It may know those to which it spoke just now, and have put out one without
// a word.
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
		case t.now.time.Sub(o.heard.time) < silent:
			spoken = true
		default:
			if quiet = append(quiet, o); o.after > 1 && o.spoken.time.Sub(o.heard.time) > silent {
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

// answers takes an answer to a round of the checksums. A client that answers a
// round was asked for it, so that the host has the answers to those before. The
// model ignores one that is made up already.
func (t *timeline) answers(e *Event) {
	c := e.Client
	place := c.answered
	if m, ok := t.bodies.game(e.Body).(*msg.ChecksumResponse); ok {
		place = roundOf(m.Round)
		t.answered(c, place)
	}
	c.answered = max(c.answered, place+1)
}

// answered makes up the answers to the first rounds that the capture lacks.
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

// prove takes a message of the host for a proof that it has got the messages of
// the client that it answers.
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
	case e.Op == msg.OpPlayerAnnounce:
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

// plays takes a message of a client that belongs to no join, or its announcement,
// for a proof that the client is in the game, if the capture lacks messages of its join.
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
		return // somebody has created it, its player or another
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

// number takes note of the numbers of a record.
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

// speaks takes note of who speaks, and of the host's silence.
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
	if t.asking > 1 && at.Sub(t.heard.time) > silent && t.fromHosts > 1 {
		t.note("The host sent nothing for %.1f seconds after frame %d, although clients spoke.", t.now.since(t.heard).Seconds(), t.heard.frame)
	}
	t.heard, t.asking = t.now, 0
}

// authorOf returns the client that a copy is from, by the objects that it
// names, nil if they do not tell.
func (t *timeline) authorOf(e *Event) *Client {
	var author *Client
	if spec := t.bodies.specOf(e); spec.Relay != decode.RelayForward && spec.Made != decode.MadeByStock {
		return nil // it may be an answer
	}
	for _, c := range t.order {
		if c != e.Client && c.bit() != 0 && e.Slots == c.bit() && (author == nil || c.First <= e.Frame && c.First > author.First) {
			author = c // who had the slot then
		}
	}
	return author
}

// causes returns a function that reports whether a message of the host may come
// from a client, or answer it.
func (t *timeline) causes(e *Event) func(*Client) bool {
	if author := t.authorOf(e); author != nil {
		return func(c *Client) bool { return c.Slot == author.Slot }
	}
	forwarded := t.bodies.specOf(e).Relay == decode.RelayForward
	named := uint16(0) // slots of others; the author's is mostly among them
	for _, c := range t.order {
		if c != e.Client {
			named |= e.Slots & c.bit()
		}
	}
	return func(c *Client) bool {
		// Nobody gets a copy of its own.
		return !forwarded || c != e.Client && (named == 0 || c.bit() == 0 || named&c.bit() != 0)
	}
}

// losses returns the part of the host's messages, and of the clients', that the
// capture lacks.
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

// losses adds the messages to a client and of it that came, and those that the
// capture lacks.
func (c *Client) losses(out, in *loss) {
	for k := range c.got {
		out.add(&c.got[k])
		in.add(&c.sent[k])
	}
}

// lossy reports whether the capture lacks any message with a number.
func (t *timeline) lossy() bool {
	out, in := t.losses()
	return out.lost+in.lost+out.jumps+in.jumps > 0
}
