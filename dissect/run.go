package dissect

import (
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/internal/session"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// Counting needs no more of most messages than that they are whole. Their fast
// path makes no records; those would have the same counts.

// A Run is ship updates that decode to their last byte, and acknowledgements,
// that follow each other in a datagram.
type Run struct {
	*Datagram
	Part  int // of the first in the datagram
	Dir   Dir
	Acks  int          // acknowledgements
	Spec  *decode.Spec // of the updates
	Flags []msg.Dirty  // of each update
	Bytes int          // of all game messages

	room [transport.MaxCount + 1]msg.Dirty // of Flags
}

// countRun counts the next messages in a datagram. It stops before anything that
// needs a record. part and the result are those of passUpdates.
func (p *pass) countRun(split *transport.Splitter, part int) (int, error) {
	if len(p.notes) > 0 || len(p.asides.waiting) > 0 { // the next record must include them
		return part, nil
	}
	run := &p.updates.run
	run.Acks, run.Flags, run.Bytes = 0, run.room[:0], 0
	for split.Left() > 0 {
		if update := nextUpdate(split); update != nil {
			body := update[transport.PlainHeader:]
			if !msg.PlainUpdate(body) && !p.locate(body) {
				break
			}
			if p.side == session.Client { // whose updates are not located
				p.learnPlain(body)
			}
			run.Flags = append(run.Flags, msg.UpdateFlags(body))
			run.Bytes += len(body)
			split.Skip(update)
			continue
		}
		ack := split.Acknowledgement()
		if ack == nil || session.AckOfOpenBC(transport.AckFlags(ack)) && p.c.Open(p.side, session.Form) {
			break
		}
		run.Acks++
		split.Skip(ack)
	}
	n := run.Acks + len(run.Flags)
	if n == 0 {
		return part, nil
	}
	run.Datagram, run.Part, run.Dir = p.d, part, dirOf(p.c, p.side)
	return part + n, p.needs.Run(run)
}

// learnPlain learns from a client's plain update.
func (p *pass) learnPlain(body []byte) {
	id, _ := msg.UpdatedObject(body)
	p.c.Owns(id)
	p.inferByHash(id, body)
}

// inferByHash infers the class of a ship from a plain update, without a note.
func (p *pass) inferByHash(id wire.ObjectID, body []byte) {
	if hash, ok := msg.PlainHash(body); ok {
		p.c.InferByHash(p.side, id, hash, p.c.Env(p.side).Ship(id))
	}
}

// locate reports whether a host's update that is not plain decodes to its last
// byte, in a dialect that is certain.
func (p *pass) locate(body []byte) bool {
	if p.side != session.Host || !p.c.Settled(p.side) {
		return false
	}
	layout := p.c.Dialect(p.side)
	if p.c.HasOriginals() {
		p.from, p.sighted = p.c.UpdateOrigin(p.side, p.d.Number, p.nanos, p.updates.rec.Spec, body), true
		if p.from.Passed && p.from.Writer != decode.Undecided {
			layout = p.from.Writer
		}
	}
	if !p.updates.parts.Locate(body, layout, p.c.Env(p.side)) {
		return false
	}
	p.sighted = false
	return true
}
