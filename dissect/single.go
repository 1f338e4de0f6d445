package dissect

import (
	"fmt"

	"github.com/bcdissect/bcdissect/dissect/session"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// PushPlain takes a datagram that is deciphered already; d.Payload is not
// looked at.
func (p *Pipeline) PushPlain(d *Datagram, plain []byte, emit func(*Record) error) error {
	p.stats.Datagrams++
	p.own = append(p.own[:0], plain...)
	p.plain = p.own
	c, err := p.conversation(d, emit)
	if err != nil {
		return err
	}
	return p.datagram(c, d, emit)
}

// PushMessage takes a single transport message without its datagram.
func (p *Pipeline) PushMessage(d *Datagram, message []byte, emit func(*Record) error) error {
	p.own = append(p.own[:0], message...)
	p.plain = p.own
	c, err := p.conversation(d, emit)
	if err != nil {
		return err
	}
	m, rest, err := transport.Next(p.plain)
	if err != nil {
		return p.malformed(c, d, session.Client, 0, 0, rest, err, emit)
	}
	p.rec = Record{Datagram: d, Dir: dirOf(c, session.Client), Transport: m.Header, Bytes: p.plain[:m.Len:m.Len]}
	if err := p.message(c, session.Client, m.Body, emit); err != nil || len(rest) == 0 {
		return err
	}
	return p.malformed(c, d, session.Client, 1, m.Len, rest, fmt.Errorf("%w: %d", transport.ErrExtra, len(rest)), emit)
}

// PushPayload takes a single game message without its transport message.
func (p *Pipeline) PushPayload(d *Datagram, payload []byte, emit func(*Record) error) error {
	p.own = append(p.own[:0], payload...)
	p.plain = p.own
	c, err := p.conversation(d, emit)
	if err != nil {
		return err
	}
	p.notes = p.notes[:0]
	p.rec = Record{Datagram: d, Kind: KindPayload, Bytes: p.plain, Payload: p.plain}
	if len(p.plain) == 0 {
		p.note("empty", "a game message without an opcode")
	} else {
		p.game(c, session.Client)
	}
	return p.finish(c, session.Client, emit)
}

// conversation returns the conversation of a datagram, a new one if there is
// none.
func (p *Pipeline) conversation(d *Datagram, emit func(*Record) error) (*session.Conversation, error) {
	if c := p.table.Lookup(d.Src, d.Dst); c != nil {
		return c, nil
	}
	return p.open(d, emit)
}
