package conform

import (
	"cmp"
	"slices"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/conform/result"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// rounds are the rounds of the checksums, in order.
var rounds = [...]uint8{0, 1, 2, 3, msg.LastRound}

// admit records that the host has admitted a client, as its messages show.
func (t *timeline) admit(c *Client) {
	if c.admitted {
		return
	}
	t.renew(c)
	c.admitted = true
	if c.Adopted {
		t.noted[result.NoteAdopted]++
	}
	e := &Event{Kind: Joined, Time: t.now.time, Frame: c.First, Client: c, Type: transport.Connect, Number: -1, Reliable: true}
	if _, stock := t.bodies.control(transport.Connect, c.body).(*transport.Request); stock && !c.openBC {
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
			if quiet = append(quiet, o); o.spokeSince(o.lastFromHost) {
				old = cmp.Or(old, o)
			}
		}
	}
	if old == nil || spoken && old.given != c.given {
		return
	}
	for _, o := range append(quiet, old) {
		t.end(o, PutOut)
		o.quiet = old.given != c.given
	}
	t.note("A new run of the host begins at frame %d, or it had dropped %v without a message.", t.now.frame, old)
}

// completes makes up what the capture lacks of a join: the answers to the
// checksums, since a host that lets a client in has all of them, and the
// ClientReady of a client that is in the game.
func (t *timeline) completes(c *Client, inGame bool) {
	for ; c.answered < len(rounds) && !c.Adopted; c.answered++ {
		t.makeUp(c, t.bodies.write(msg.OpChecksumResponse, emptyAnswer(rounds[c.answered])))
	}
	if inGame && !c.playing {
		c.playing = true
		t.makeUp(c, t.bodies.write(msg.OpClientReady, &msg.ClientReady{}))
	}
}

// makeUp emits a message of a client that the capture lacks.
func (t *timeline) makeUp(c *Client, body []byte) {
	t.noted[result.NoteMadeUp]++
	t.hand(c, &Event{
		Kind: Input, Time: t.now.time, Frame: t.now.frame, Client: c, Type: transport.Standard, Op: decode.Opcode(body[0]), Reliable: true, Body: body, Number: -1, MadeUp: true,
	})
}

// follow records the number of a message. It returns nil if the message has
// none, or is a retransmission of one that is not known any more. After a client
// has ended, its numbers prove nothing.
func (t *timeline) follow(r *dissect.Record, c *Client) *receipt {
	h := &r.Transport
	switch {
	case !h.HasSeq || h.Type == transport.Acknowledge || r.Challenge():
		return nil
	case r.Dir == dissect.FromHost:
		return c.got[class(h)].take(r, t.now, c.shown)
	}
	if c.spoken, c.after = t.now, c.after+1; c.gone {
		return nil
	}
	return c.sent[class(h)].take(r, t.now, 0)
}

// silence notes that the host was silent, although clients spoke.
func (t *timeline) silence() {
	spoke := func(c *Client) bool { return !c.gone && c.spokeSince(t.lastFromHost) }
	if t.lastFromHost.frame > 0 && t.now.time.Sub(t.lastFromHost.time) > silent && slices.ContainsFunc(t.order, spoke) {
		t.note("The host sent nothing for %.1f seconds after frame %d, although clients spoke.", t.now.since(t.lastFromHost).Seconds(), t.lastFromHost.frame)
	}
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

// lacks reports whether the capture lacks a numbered message of a client who has
// one of the slots.
func (t *timeline) lacks(slots uint16) bool {
	return slices.ContainsFunc(t.order, func(c *Client) bool { return c.bit()&slots != 0 && c.sent[1].missing() > 0 })
}

// losses counts the host's messages and the clients' messages that the capture
// lacks.
func (t *timeline) losses() (out, in int) {
	out, in = t.dropped.out, t.dropped.in
	for _, c := range t.order {
		o, i := c.losses()
		out, in = out+o, in+i
	}
	return out, in
}

// losses counts the messages to and from a client that the capture lacks.
func (c *Client) losses() (out, in int) {
	for k := range c.got {
		out += c.got[k].missing()
		in += c.sent[k].missing()
	}
	return out, in
}

// lossy reports whether the capture lacks any numbered message.
func (t *timeline) lossy() bool {
	out, in := t.losses()
	return out+in > 0
}
