package dissect

import (
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// Of 20 messages, 19 are ship updates without a sequence number. This file has
// their fast path. It reuses one record per datagram, since most fields are the
// same for all updates. pass.message would give the same records.

// updates has the record of the current ship update.
type updates struct {
	rec   Record
	run   Run
	parts msg.StateParts

	forms   [decode.Dialects]*msg.StateUpdate // indexed by the sender's dialect, nil if there is no form
	form    *msg.StateUpdate                  // form of the sender
	env     decode.Env                        // Env of the sender
	settled bool                              // the sender's dialect is final
}

func (u *updates) init(catalog *decode.Catalog, decoder *decode.Decoder) {
	spec := catalog.Lookup(msg.OpStateUpdate)
	if spec == nil {
		return
	}
	for d := range u.forms {
		u.forms[d], _ = decoder.Fast(spec, decode.Dialect(d)).(*msg.StateUpdate)
	}
	u.run.Spec = spec
	u.rec = Record{Spec: spec, fieldsAt: 1, Transport: transport.Header{Type: transport.Standard, Size: transport.PlainHeader}}
}

// beginUpdates prepares the record for the updates of a datagram.
func (p *pass) beginUpdates(peer uint8) {
	u, r := &p.updates, &p.updates.rec
	r.Datagram, r.Peer, r.Dir = p.d, peer, dirOf(p.c, p.side)
	p.describe(r)
	r.Layout = r.Sender
	u.env, u.settled = p.c.Env(p.side), p.c.Settled(p.side)
	u.form = u.forms[r.Sender]
	r.Message = nil
	if len(p.notes) > 0 || len(p.asides.waiting) > 0 { // the next record must include them
		u.form = nil
	}
}

// nextUpdate returns the next message if it is a ship update without the
// reliable, priority and fragment flags, or nil.
func nextUpdate(split *transport.Splitter) []byte { return split.Unreliable(byte(msg.OpStateUpdate)) }

func hasSubsystems(update []byte) bool {
	_, flags, _ := msg.UpdateHead(update)
	return flags&msg.DirtySubsystems != 0
}

// passUpdates makes the records of the next ship updates in a datagram. It
// stops before anything other than a valid update that is consistent with its
// sender's dialect. The argument part is the index of the next message. The
// result is the index of the first unhandled one.
func (p *pass) passUpdates(split *transport.Splitter, part int) (int, error) {
	message := nextUpdate(split)
	if message == nil {
		return part, nil
	}
	p.beginUpdates(split.Peer)
	u, r := &p.updates, &p.updates.rec
	for ; u.form != nil && message != nil; message = nextUpdate(split) {
		body := message[transport.PlainHeader:]
		from := p.c.UpdateOrigin(p.side, p.d.Number, p.nanos, r.Spec, body)
		layout := r.Sender
		if from.Passed && from.Writer != decode.Undecided {
			layout = from.Writer
		}
		m := u.forms[layout]
		if p.needs.Updates == NoUpdates && m != nil && msg.PlainUpdate(body) && m.ReadPosition(body) {
			p.inferByHash(m.Object, body)
			p.c.Updated(p.side, m)
			split.Skip(message)
			part++
			continue
		}
		copied := p.needs.Updates == UpdatesOnce && from.CopyOf != 0 && from.Author != nil
		if copied && part > 0 && p.c.Checked() && m.ReadPosition(body) { // digests of hostile messages may collide, so read the update
			p.c.Updated(p.side, m)
			split.Skip(message)
			part++
			continue
		}
		r.CopyOf, r.Author, r.Writer, r.First, r.Layout = from.CopyOf, from.Author, from.Writer, from.CopyOf == 0, layout
		ok := false
		switch {
		case m == nil:
		case p.needs.Updates >= UpdateHeaders || copied && !hasSubsystems(body):
			r.Message = nil
			ok = m.ReadHead(body, layout, u.env)
		default:
			r.Message = m
			ok = m.ReadFast(body, layout, u.env)
		}
		if p.sighted = !ok || m.Flags&msg.DirtySubsystems != 0 && !u.settled; p.sighted {
			p.from = from
			break
		}
		r.Part, r.Offset, r.Transport.Len = part, split.Offset(), len(message)
		r.Bytes, r.Payload, r.fields = message, body, body
		r.Notes = nil
		if m.HasHash {
			p.hash(m)
			r.Notes, p.notes = p.notes, p.notes[:0]
		}
		p.c.Updated(p.side, m)
		if p.needs.Updates == UpdatesOnce && m.Flags&msg.DirtySubsystems == 0 && !m.HasHash {
			p.c.Check()
		}
		split.Skip(message)
		part++
		if err := p.emit(r); err != nil {
			return part, err
		}
	}
	return part, nil
}
