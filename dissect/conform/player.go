package conform

import (
	"bytes"
	"net/netip"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/conform/result"
	"github.com/bcdissect/bcdissect/dissect/relay"
	"github.com/bcdissect/bcdissect/dissect/relay/arq"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// A sent is a message that the model host sent to a client.
type sent struct {
	arq.Message
	to      *Client
	op      decode.Opcode    // opcode of a Standard message
	departs *relay.Departure // what a host that protects its players sends instead, or nil
}

// A player plays the captured clients against a model host in a network without
// delay and loss. Messages are handed over directly, without acknowledgements
// or retransmissions. The model hears each client as often as the captured host
// did, and gives it the same id and slot.
type player struct {
	model   model
	host    *relay.Host
	clients map[netip.AddrPort]*Client
	cmp     *comparer
	bodies  *bodies
	mute    bool            // current messages have no counterpart in the capture
	departs relay.Departure // the model's latest one. It comes right before the messages that it is about.
}

func newPlayer(cfg relay.Config, catalog *decode.Catalog, cmp *comparer, m model) *player {
	p := &player{model: m, cmp: cmp, bodies: newBodies(catalog), clients: map[netip.AddrPort]*Client{}}
	cfg.Captured, cfg.Catalog, cfg.Shown, cfg.Departs, cfg.Deliver = true, catalog, p.shown, p.depart, p.take
	p.host = relay.NewHost(cfg)
	return p
}

// shown returns what the capture shows of the client at an address.
func (p *player) shown(addr netip.AddrPort) relay.Shown {
	c := p.clients[addr]
	if c == nil {
		return relay.Shown{Slot: -1}
	}
	shown := relay.Shown{ID: c.Peer, Slot: c.Slot}
	if c.openBC {
		shown.Dialect = decode.OpenBC
	}
	return shown
}

// depart takes a departure of the model. The owner of an object is certain only
// if the client has the slot that it had in the capture.
func (p *player) depart(addr netip.AddrPort, d relay.Departure) {
	ofSlot := d.Guard == relay.GuardObject || d.Guard == relay.GuardOwner
	if c := p.clients[addr]; c != nil && (!ofSlot || c.Slot >= 0) {
		p.departs = d
	}
}

// event plays an event of the timeline.
func (p *player) event(e *Event) {
	c := e.Client
	p.mute, p.departs = e.Kind == PutOut, relay.Departure{}
	switch {
	case e.Kind == Joined:
		p.join(e)
	case p.clients[c.Addr] != c:
	case e.Kind == Input:
		p.host.Seat(c.Addr, c.Slot)
		if !c.Adopted || p.bodies.specOf(e).Step != decode.StepAnswer { // otherwise it has answered
			p.hand(e, arq.Message{Type: e.Type, Reliable: e.Reliable, Priority: e.Priority, Body: e.Body})
		}
	default: // it has left
		leave := arq.Message{Type: transport.Leave}
		if e.Type == transport.Disconnect {
			leave = arq.Message{Type: e.Type, Body: e.Body}
		}
		p.hand(e, leave)
		delete(p.clients, c.Addr)
	}
}

// join admits a client. A client that appears in the capture only later has
// joined before. The messages that the model sends it until then have no
// counterpart. The model treats a connect by its form, which is the stock
// game's.
func (p *player) join(e *Event) {
	c := e.Client
	p.mute = true // the captured host decides how long it waits for a client
	p.host.Advance(e.Time)
	p.mute = c.Adopted
	p.clients[c.Addr] = c
	body := e.Body
	if body == nil {
		request := &transport.Request{Nonce: uint32(c.First), Password: wire.AppendWideTextOf(nil, "")}
		if !c.openBC { // OpenBC's clients claim no address
			request.Addr = Claimed(c.Addr)
		}
		body = controlBody(request)
	}
	p.hand(e, arq.Message{Type: transport.Connect, Body: body})
	p.host.Hear(e.Time, c.Addr) // the client uses the id that it is given
	if c.Adopted {
		for _, round := range rounds {
			p.hand(e, arq.Message{Type: transport.Standard, Reliable: true, Body: p.bodies.write(msg.OpChecksumResponse, emptyAnswer(round))})
		}
		p.hand(e, arq.Message{Type: transport.Standard, Reliable: true, Body: p.bodies.write(msg.OpClientReady, &msg.ClientReady{})})
	}
}

// Claimed returns the address that a client of the stock game claims to have.
func Claimed(addr netip.AddrPort) (a [4]byte) {
	if ip := addr.Addr().Unmap(); ip.Is4() {
		a = ip.As4()
	}
	return a
}

// hand hands a client's message to the model.
func (p *player) hand(e *Event, m arq.Message) {
	if !p.host.Take(e.Time, e.Client.Addr, m) && p.model == p.cmp.judge {
		p.cmp.t.noted[result.NoteLong]++
	}
}

// take takes a message that the model sends to a client.
func (p *player) take(to netip.AddrPort, m arq.Message) {
	s := sent{Message: m, to: p.clients[to]}
	if m.Type == transport.Standard && len(m.Body) > 0 {
		s.op = decode.Opcode(m.Body[0])
	}
	if d := &p.departs; d.Type == m.Type && bytes.Equal(d.Body, m.Body) {
		s.departs = d
	}
	if s.to != nil && !p.mute {
		p.cmp.expected(p.model, &s)
	}
}

// emptyAnswer answers a request for the files of a directory with an empty
// list. The model compares no hashes.
func emptyAnswer(round uint8) *msg.ChecksumResponse {
	return &msg.ChecksumResponse{Round: round, Found: true}
}
