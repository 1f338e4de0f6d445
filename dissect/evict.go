package dissect

import (
	"fmt"
	"strconv"

	"github.com/bcdissect/bcdissect/dissect/internal/fragment"
	"github.com/bcdissect/bcdissect/dissect/internal/session"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// An aside is a record of an eviction. It has no message.
type aside struct {
	rec      Record
	datagram Datagram
	note     [1]Note
}

// asides are pending records of evictions. They are emitted before the record
// of the message that caused them.
type asides struct{ waiting []aside }

// add queues a record of kind KindEvicted.
func (a *asides) add(d Datagram, r Record, code string) {
	r.Kind = KindEvicted
	a.waiting = append(a.waiting, aside{rec: r, datagram: d, note: [1]Note{{Code: code, Text: r.Err.Error()}}})
}

// drain emits the pending records.
func (a *asides) drain(emit func(*Record) error) error {
	if len(a.waiting) == 0 {
		return nil
	}
	defer func() {
		clear(a.waiting)
		a.waiting = a.waiting[:0]
	}()
	for i := range a.waiting {
		w := &a.waiting[i]
		w.rec.Datagram, w.rec.Notes = &w.datagram, w.note[:]
		if err := emit(&w.rec); err != nil {
			return err
		}
	}
	return nil
}

// flush queues the records of a conversation's incomplete fragments.
func (p *Pipeline) flush(c *session.Conversation, d *Datagram, why error, when string) {
	c.Flush(func(s session.Side, g fragment.Group) { p.evictedFragments(c, s, d, &g, why, when) })
}

// evictedFragments queues the record of an evicted group of fragments. If no
// datagram caused the eviction, the record describes only the group.
func (p *Pipeline) evictedFragments(c *session.Conversation, s session.Side, d *Datagram, g *fragment.Group, why error, when string) {
	at := Datagram{Number: g.Last}
	if d != nil {
		at = *d
	} else {
		host, client, _ := c.Addresses()
		at.Src, at.Dst = client, host
		if s == session.Host {
			at.Src, at.Dst = host, client
		}
	}
	r := Record{
		Status: StatusPending, Dir: dirOf(c, s),
		Transport: transport.Header{Type: transport.Standard, HasSeq: true, Seq: g.Seq, Reliable: true, Fragment: true, Count: uint8(g.Count)},
		Err: fmt.Errorf("%w: message %d from frame %d on, %d of %s fragments, %s",
			why, g.Seq, g.First, g.Have, countText(g.Count), when),
	}
	r.isOf(c)
	p.asides.add(at, r, "incomplete")
}

// evictedConversation queues the record of a conversation that was evicted to
// make room for the one that d begins.
func (p *Pipeline) evictedConversation(c *session.Conversation, d *Datagram) {
	host, client, _ := c.Addresses()
	// Hostile traffic can cause many of these, and fmt would take half of the
	// running time.
	text := append(p.text[:0], ErrEvicted.Error()...)
	text = client.AppendTo(append(text, ": the conversation between "...))
	text = host.AppendTo(append(text, " and "...))
	text = append(text, ", the least recently used of more than "...)
	text = strconv.AppendInt(text, int64(p.cfg.Limits.Conversations), 10)
	p.text = text
	r := Record{Err: &evictedError{string(text)}}
	r.isOf(c)
	p.asides.add(Datagram{Number: d.Number, Time: d.Time, Digits: d.Digits, Capture: d.Capture, Src: client, Dst: host}, r, "evicted")
}

// evictedError is ErrEvicted with a description of the conversation.
type evictedError struct{ text string }

func (e *evictedError) Error() string { return e.text }
func (e *evictedError) Unwrap() error { return ErrEvicted }

func countText(n int) string {
	if n == 0 {
		return "an unknown number of"
	}
	return fmt.Sprint(n)
}
