package dissect

import (
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect/session"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// Nineteen of twenty messages are ship updates without a sequence number. What
// is here makes their records, with less ado than what makes all others: most
// of such a record is the same for all of a datagram, and is filled in once. All
// of it could be left to Pipeline.message.

// updates holds the record of the ship update that was read last.
type updates struct {
	rec   Record
	begun bool // the record is as the datagram and what is known of its sender have it

	forms   [decode.Dialects]*msg.StateUpdate // by the sender's dialect, nil where there is none
	form    *msg.StateUpdate                  // of the sender
	env     decode.Env                        // of the sender
	settled bool                              // the sender's dialect is beyond doubt
}

func (u *updates) init(catalog *decode.Catalog, decoder *decode.Decoder) {
	spec := catalog.Lookup(msg.OpStateUpdate)
	if spec == nil {
		return
	}
	for d := range u.forms {
		u.forms[d], _ = decoder.Fast(spec, decode.Dialect(d)).(*msg.StateUpdate)
	}
	u.rec = Record{Spec: spec, fieldsAt: 1, Transport: transport.Header{Type: transport.Standard, Size: transport.PlainHeader}}
}

// beginUpdates makes the record ready for the updates of a datagram.
func (p *Pipeline) beginUpdates(c *session.Conversation, s session.Side, d *Datagram, peer uint8) {
	u, r := &p.updates, &p.updates.rec
	r.Datagram, r.Peer, r.Dir = d, peer, dirOf(c, s)
	p.describe(r, c, s)
	r.Layout = r.Sender
	u.form, u.env, u.settled = u.forms[r.Sender], c.Env(s), c.Settled(s)
	if p.lostGame.IsValid() { // the next record has to tell of it
		u.form = nil
	}
	u.begun = true
}

// update makes the record of the next message of a datagram if it is a ship update in order, from a sender whose dialect no part
// of it puts in doubt. It reports false for any other, having changed nothing
// but the decoder's memory.
func (p *Pipeline) update(c *session.Conversation, s session.Side, d *Datagram, split *transport.Splitter, part int, message []byte) bool {
	if len(message) <= transport.PlainHeader || decode.Opcode(message[transport.PlainHeader]) != msg.OpStateUpdate {
		return false
	}
	u := &p.updates
	if !u.begun {
		p.beginUpdates(c, s, d, split.Peer)
	}
	m, body := u.form, message[transport.PlainHeader:]
	if m == nil || !m.ReadFast(body, u.rec.Layout, u.env) || m.Flags&msg.DirtySubsystems != 0 && !u.settled {
		return false
	}
	r := &u.rec
	r.Part, r.Offset, r.Transport.Len = part, split.Offset(), len(message)
	r.Bytes, r.Payload, r.fields, r.Message = message, body, body, m
	r.Notes = nil
	if m.HasHash {
		p.notes = p.notes[:0]
		p.hash(c, s, m)
		r.Notes = p.notes
	}
	c.Updated(s, m)
	return true
}
