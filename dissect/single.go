package dissect

import (
	"fmt"

	"github.com/bcdissect/bcdissect/dissect/packet"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// PushPlain works as Push for an already deciphered datagram. It ignores
// d.Payload.
func (p *Pipeline) PushPlain(d *Datagram, plain []byte, emit func(*Record) error) error {
	p.stats.Datagrams++
	return p.single(d, plain, emit).datagram()
}

// PushMessage works as Push for a single transport message without its
// datagram.
func (p *Pipeline) PushMessage(d *Datagram, message []byte, emit func(*Record) error) error {
	n := p.single(d, message, emit)
	m, rest, err := transport.Next(n.plain)
	if err != nil {
		return n.malformed(0, 0, rest, err)
	}
	return n.transportMessage(&m, rest)
}

// transportMessage makes the record of a transport message without its
// datagram, and the record of the bytes after it.
func (p *pass) transportMessage(m *transport.Message, rest []byte) error {
	p.rec = Record{Datagram: p.d, Dir: dirOf(p.c, p.side), Transport: m.Header, Bytes: p.plain[:m.Len:m.Len]}
	if err := p.message(m.Body); err != nil || len(rest) == 0 {
		return err
	}
	return p.malformed(1, m.Len, rest, fmt.Errorf("%w: %d", transport.ErrExtra, len(rest)))
}

// PushPayload works as Push for a single game message without its transport
// message.
func (p *Pipeline) PushPayload(d *Datagram, payload []byte, emit func(*Record) error) error {
	return p.single(d, payload, emit).payload()
}

// payload makes the record of a game message without its transport message.
func (p *pass) payload() error {
	p.rec = Record{Datagram: p.d, Kind: KindPayload, Dir: dirOf(p.c, p.side), Bytes: p.plain, Payload: p.plain}
	if len(p.plain) == 0 {
		p.note("empty", "a game message without an opcode")
	} else {
		p.game()
	}
	return p.finish()
}

// single begins the pass of deciphered bytes.
func (p *Pipeline) single(d *Datagram, plain []byte, emit func(*Record) error) *pass {
	p.own = append(p.own[:0], plain...)
	c := p.table.Lookup(d.Src, d.Dst)
	at := p.clock.Read(d.Time)
	if c == nil {
		c = p.open(d, at)
	}
	return p.begin(d, at, packet.Nanos(at), c, p.own, emit)
}
