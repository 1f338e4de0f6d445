package dissect

import (
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/internal/session"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// To count messages, it is enough to know that they are complete. The fast path
// for counting makes no records. Records would give the same counts.

// A Run is a sequence of ship updates that decode to their last byte, and of
// acknowledgements, within a datagram.
type Run struct {
	*Datagram
	Part  int // index of the first message in the datagram
	Dir   Dir
	Acks  int          // number of acknowledgements
	Spec  *decode.Spec // spec of the updates
	Flags []msg.Dirty  // flags of each update
	Bytes int          // length of all game messages in bytes

	room [transport.MaxCount + 1]msg.Dirty // backing array of Flags
}

// countRun counts the next messages in a datagram. It stops before anything
// that needs a record. The argument part and the result have the same meaning
// as in passUpdates.
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
			if p.side == session.Client { // updates of clients are not located
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

// learnPlain updates the session from a client's plain update.
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
// byte. The dialect must be certain.
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
