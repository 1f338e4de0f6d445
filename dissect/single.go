package dissect

import (
	"fmt"

	"github.com/bcdissect/bcdissect/dissect/internal/session"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// PushPlain takes an already deciphered datagram and ignores d.Payload.
func (p *Pipeline) PushPlain(d *Datagram, plain []byte, emit func(*Record) error) error {
	p.stats.Datagrams++
	return p.single(d, plain, emit).datagram()
}

// PushMessage takes a single transport message without its datagram.
func (p *Pipeline) PushMessage(d *Datagram, message []byte, emit func(*Record) error) error {
	n := p.single(d, message, emit)
	m, rest, err := transport.Next(n.plain)
	if err != nil {
		return n.malformed(0, 0, rest, err)
	}
	n.rec = Record{Datagram: d, Dir: dirOf(n.c, session.Client), Transport: m.Header, Bytes: n.plain[:m.Len:m.Len]}
	if err := n.message(m.Body); err != nil || len(rest) == 0 {
		return err
	}
	return n.malformed(1, m.Len, rest, fmt.Errorf("%w: %d", transport.ErrExtra, len(rest)))
}

// PushPayload takes a single game message without its transport message.
func (p *Pipeline) PushPayload(d *Datagram, payload []byte, emit func(*Record) error) error {
	n := p.single(d, payload, emit)
	n.rec = Record{Datagram: d, Kind: KindPayload, Bytes: n.plain, Payload: n.plain}
	if len(n.plain) == 0 {
		n.note("empty", "a game message without an opcode")
	} else {
		n.game()
	}
	return n.finish()
}

// single begins the pass of plaintext bytes.
func (p *Pipeline) single(d *Datagram, plain []byte, emit func(*Record) error) *pass {
	p.own = append(p.own[:0], plain...)
	c := p.table.Lookup(d.Src, d.Dst)
	if c == nil {
		c = p.open(d)
	}
	return p.begin(d, c, p.own, emit)
}
