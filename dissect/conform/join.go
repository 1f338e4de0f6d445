package conform

import (
	"bytes"
	"fmt"
	"math/bits"
	"slices"
	"time"

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
	c.admitted = true
	t.reached[limitWaiting] += c.dropped
	at := t.now.time
	waiting := t.dequeue(c)
	if c.Adopted {
		t.adopted++
		t.emit(&Event{Kind: Appeared, Time: at, Frame: c.First, Client: c, Number: -1})
		for _, e := range waiting {
			t.emit(e)
		}
		return
	}
	for _, e := range waiting {
		if e.Kind == Output && e.Time.Before(at) {
			at = e.Time // that of the accept
		}
	}
	t.emit(&Event{Kind: Heard, Time: at, Frame: c.First, Client: c, Number: -1})
	t.emit(&Event{Kind: Joined, Time: at, Frame: c.First, Client: c, Type: transport.Connect, Body: c.body, Number: -1, Reliable: true})
	for _, e := range waiting {
		t.emit(e)
	}
}

// given notes the id that the host gives a client. A host that gives one that
// another client has, has begun anew: it does not know the others.
func (t *timeline) given(c *Client, id uint8) {
	c.given = id
	t.part(id) // whoever had it is gone
	for _, o := range t.order {
		if o != c && o.given == id && o.admitted && !o.gone {
			t.restart(c, o)
			return
		}
	}
	if o := t.unanswered(c); o != nil {
		t.restart(c, o)
	}
}

// unanswered returns one of the clients, if the host has answered none of them for
// some time, although they spoke; c does not count.
func (t *timeline) unanswered(c *Client) (found *Client) {
	for _, o := range t.order {
		switch {
		case o == c || o.gone || !o.admitted:
		case o.after > 1 && o.spoken.time.Sub(o.heard.time) > silent:
			found = o
		case t.now.time.Sub(o.heard.time) < silent:
			return nil
		}
	}
	return found
}

// restart ends the clients of the host's last run, to which old belongs. Those to
// which the host spoke just now may know it longer: it may have put out old alone.
func (t *timeline) restart(c, old *Client) {
	if n := len(t.runs); n > 0 && t.runs[n-1].forgot(old) {
		t.end(old, PutOut)
		return
	}
	run := run{at: t.now, old: old, sameID: old.given == c.given}
	silence := t.now.time.Add(-silent)
	for _, o := range append([]*Client(nil), t.order...) {
		switch {
		case o == c || o.gone || !o.admitted:
		case o == old:
			t.end(o, PutOut)
		case o.First > old.heard.frame: // it came when the host had no word for old any more
			run.others = append(run.others, o)
		case o.heard.time.Before(silence):
			run.ended++
			t.end(o, PutOut)
		default:
			o.doubted = t.now
			run.others = append(run.others, o)
		}
	}
	if len(t.runs) == maxSilences {
		t.runs = t.runs[:maxSilences-1]
		t.reached[limitListed]++
	}
	t.runs = append(t.runs, run)
}

// A run is one of the host that seems to begin anew: it gives the id of a client
// to another.
type run struct {
	at     moment
	old    *Client
	sameID bool      // of old is given
	ended  int       // other clients, to which it had said nothing for a time
	others []*Client // the rest
}

// forgot reports whether the host has said nothing to a client since, which it
// had let in before.
func (r *run) forgot(c *Client) bool {
	return slices.Contains(r.others, c) && c.doubted == r.at && !c.heard.time.After(r.at.time)
}

// note returns the note of the report about the run, by the end of the capture.
func (r *run) note() string {
	for _, c := range r.others {
		if c.heard.time.After(r.at.time) {
			return fmt.Sprintf("The host gives the id of %s to another client at frame %d: it had put %s out without a word.", who(r.old), r.at.frame, who(r.old))
		}
	}
	if !r.sameID {
		return fmt.Sprintf("A new run of the host begins at frame %d: it lets somebody in, and had answered nobody else for some time.", r.at.frame)
	}
	if r.ended+len(r.others) == 0 {
		return fmt.Sprintf("A new run of the host begins at frame %d, or it had put %s out without a word: it gives that id to another client.", r.at.frame, who(r.old))
	}
	return fmt.Sprintf("A new run of the host begins at frame %d: it gives an id that another client has.", r.at.frame)
}

// forgotten reports whether the host may have begun anew while the client was in
// the game: it has said nothing to it since.
func (c *Client) forgotten(at time.Time) bool {
	return !c.doubted.time.IsZero() && c.heard.time.Before(c.doubted.time) && !at.Before(c.doubted.time.Add(-silent))
}

// answers takes an answer to a round of the checksums. A client that answers a
// round was asked for it, so that the host has the answers to those before. It
// reports whether the answer is news.
func (t *timeline) answers(e *Event) bool {
	c := e.Client
	place := c.answered
	if m, ok := t.bodies.game(e.Body).(*msg.ChecksumResponse); ok {
		if place = roundOf(m.Round); place < 0 || c.made&(1<<place) != 0 {
			return place < 0
		}
		t.answered(c, place)
	}
	c.answered = max(c.answered, place+1)
	return true
}

// answered makes up the answers to the first rounds that the capture lacks.
func (t *timeline) answered(c *Client, n int) {
	for ; c.answered < min(n, len(rounds)) && !c.Adopted; c.answered++ {
		c.made |= 1 << c.answered
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
		if c.welcomed.IsZero() {
			c.welcomed = t.now.time
		}
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
		t.objectOf(e)
	}
}

// readied makes up the ClientReady of a client that the host treats as ready.
func (t *timeline) readied(c *Client) {
	if c.Adopted || c.playing || c.answered < len(rounds) {
		return
	}
	c.playing, c.readyBy = true, max(c.sent[1].next, 0)+int64(bits.OnesCount(c.made))+1
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
		if len(t.silences) == maxSilences {
			t.silences = append(t.silences[:0], t.silences[1:]...)
			t.reached[limitListed]++
		}
		t.silences = append(t.silences, silence{t.heard, t.now})
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
		if c != e.Client && c.Slot >= 0 && c.Slot < 16 && e.Slots == 1<<c.Slot && (!c.gone || author == nil) {
			author = c
		}
	}
	return author
}

// causes returns a function that reports whether a message of the host may come
// from a client, or answer it.
func (t *timeline) causes(e *Event) func(*Client) bool {
	if author := t.authorOf(e); author != nil {
		return func(c *Client) bool { return c == author }
	}
	forwarded := t.bodies.specOf(e).Relay == decode.RelayForward
	named := uint16(0) // slots of others; the author's is mostly among them
	for _, c := range t.order {
		if c != e.Client && c.Slot >= 0 && c.Slot < 16 {
			named |= e.Slots & (1 << c.Slot)
		}
	}
	return func(c *Client) bool {
		switch {
		case !forwarded:
			return true
		case c == e.Client: // nobody gets a copy of its own
			return false
		}
		return named == 0 || c.Slot < 0 || c.Slot >= 16 || named&(1<<c.Slot) != 0
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
