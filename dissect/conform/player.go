package conform

import (
	"net/netip"
	"slices"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/relay"
	"github.com/bcdissect/bcdissect/dissect/relay/arq"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// An end is a client's end of a connection to the model host.
type end struct {
	client *Client // the captured client
	id     uint8   // id that the model gave it
	slot   int     // slot that the model gave it, or -1
	gone   bool    // the model has removed it
}

// A sent is a message that the model host sent to a client.
type sent struct {
	arq.Message
	to   *end
	ends []*end        // all ends of the model
	op   decode.Opcode // opcode of a Standard message
}

// A player plays the captured clients against a model host in a network without
// delay and loss. Messages are handed over directly, without acknowledgements
// or retransmissions. The model hears each client as often as the captured host
// did.
type player struct {
	model model
	host  *relay.Host
	list  []*end
	next  time.Time
	cmp   *comparer
	mute  bool // current messages have no counterpart in the capture

	bodies *bodies
	full   int // number of messages that are too long
	out    []sent
	now    time.Time
}

func newPlayer(cfg relay.Config, catalog *decode.Catalog, cmp *comparer, m model) *player {
	p := &player{model: m, cmp: cmp, bodies: newBodies(catalog)}
	cfg.Captured, cfg.Catalog, cfg.Shown, cfg.Departs = true, catalog, p.shown, p.departs
	cfg.Deliver = func(to netip.AddrPort, m arq.Message) {
		if n := p.at(to); n != nil {
			p.out = append(p.out, sent{Message: m, to: n})
		}
	}
	p.host = relay.NewHost(cfg)
	return p
}

// shown returns what the capture shows of the client at an address.
func (p *player) shown(addr netip.AddrPort) relay.Shown {
	n := p.at(addr)
	if n == nil {
		return relay.Shown{Slot: -1}
	}
	c := n.client
	shown := relay.Shown{ID: c.Peer, Slot: c.Slot}
	if c.openBC {
		shown.Dialect = decode.OpenBC
	}
	return shown
}

// departs records a departure of the model. The owner of an object is certain
// only if the client has the slot that it had in the capture.
func (p *player) departs(addr netip.AddrPort, d relay.Departure) {
	n := p.at(addr)
	ofSlot := d.Guard == relay.GuardObject || d.Guard == relay.GuardOwner
	if n != nil && (!ofSlot || n.client.Slot == n.slot) {
		p.cmp.depart(d)
	}
}

// event plays an event of the timeline.
func (p *player) event(e *Event) {
	p.advance(e.Time)
	n := p.at(e.Client.Addr)
	switch {
	case e.Kind == Joined:
		p.join(e)
	case n == nil || n.client != e.Client:
		return
	case e.Kind == Input:
		p.seat(e.Client)
		spec := p.bodies.specOf(e)
		if !e.Client.Adopted || spec.Step != decode.StepAnswer { // otherwise it has answered
			p.hand(n, arq.Message{Type: e.Type, Reliable: e.Reliable, Priority: e.Priority, Body: e.Body})
		}
		return
	default: // it has left
		id, addr := n.id, n.claimed()
		if m, ok := p.bodies.control(e.Type, e.Body).(*transport.Goodbye); ok {
			if addr = m.Addr; m.ID != e.Client.Peer {
				id = transport.UnassignedPeer // the message is from another client
			}
		}
		p.mute = e.Kind == PutOut
		p.hand(n, arq.Message{Type: transport.Disconnect, Body: controlBody(&transport.Goodbye{ID: id, Addr: addr})})
		p.mute = false
		p.close(n)
	}
	p.pass()
}

// advance lets time pass for the model.
func (p *player) advance(now time.Time) {
	if now.After(p.now) {
		p.now = now
	}
	if !p.next.IsZero() && !p.next.After(p.now) {
		p.mute = true // the captured host decides how long it waits for a client
		p.pass()
		p.mute = false
	}
}

// pass lets the model act up to the current time.
func (p *player) pass() {
	p.next = p.host.Advance(p.now)
	p.flush()
}

// join admits a client. A client that appears in the capture only later has
// joined before. The messages that the model sends it until then have no
// counterpart. The model treats a connect by its form, which is the stock
// game's.
func (p *player) join(e *Event) {
	c := e.Client
	n := &end{client: c, slot: -1}
	p.list = append(p.list, n)
	body := e.Body
	if body == nil {
		body = controlBody(&transport.Request{Addr: n.claimed(), Nonce: uint32(c.First), Password: wire.AppendWideTextOf(nil, "")})
	}
	p.mute = c.Adopted
	p.hand(n, arq.Message{Type: transport.Connect, Body: body})
	p.host.Hear(p.now, c.Addr) // the client uses the id that it is given
	for _, round := range rounds {
		if c.Adopted {
			p.hand(n, arq.Message{Type: transport.Standard, Reliable: true, Body: p.bodies.write(msg.OpChecksumResponse, emptyAnswer(round))})
		}
	}
	if c.Adopted && !c.Joining {
		p.hand(n, arq.Message{Type: transport.Standard, Reliable: true, Body: p.bodies.write(msg.OpClientReady, &msg.ClientReady{})})
	}
	p.mute = false
}

// seat gives a client the slot that the captured host gave it.
func (p *player) seat(c *Client) {
	n := p.at(c.Addr)
	if n == nil || n.client != c || n.slot < 0 || c.Slot < 0 || n.slot == c.Slot || !p.host.Seat(c.Addr, c.Slot) {
		return
	}
	for _, o := range p.list {
		if o.slot == c.Slot {
			o.slot = n.slot
		}
	}
	n.slot = c.Slot
}

// close forgets an end.
func (p *player) close(n *end) {
	p.list = slices.DeleteFunc(p.list, func(o *end) bool { return o == n })
}

// claimed returns the address that a client claims to have. OpenBC's clients
// claim none.
func (n *end) claimed() (a [4]byte) {
	if n.client.openBC {
		return a
	}
	return Claimed(n.client.Addr)
}

// Claimed returns the address that a client of the stock game claims to have.
func Claimed(addr netip.AddrPort) (a [4]byte) {
	if ip := addr.Addr().Unmap(); ip.Is4() {
		a = ip.As4()
	}
	return a
}

// hand hands a client's message to the model, and the model's messages to the
// clients.
func (p *player) hand(n *end, m arq.Message) {
	if !n.gone && !p.host.Take(p.now, n.client.Addr, m) {
		p.full++
	}
	p.flush()
}

// flush hands the model's messages to the clients.
func (p *player) flush() {
	for i := range p.out {
		p.take(&p.out[i])
	}
	clear(p.out)
	p.out = p.out[:0]
}

// at returns the newest end with an address, or nil if there is none.
func (p *player) at(addr netip.AddrPort) *end {
	for _, n := range slices.Backward(p.list) {
		if n.client.Addr == addr {
			return n
		}
	}
	return nil
}

// take handles a message that the model sent to an end.
func (p *player) take(s *sent) {
	s.ends = p.list
	switch {
	case s.Type != transport.Standard:
		s.to.learn(p.bodies.control(s.Type, s.Body))
	case len(s.Body) == 0:
		return
	default:
		if s.op = decode.Opcode(s.Body[0]); s.op == msg.OpSettings {
			s.to.learn(p.bodies.game(s.Body))
		}
	}
	if !p.mute {
		p.cmp.expected(p.model, s)
	}
}

// learn stores what the model sends a client about that client.
func (n *end) learn(m decode.Message) {
	switch m := m.(type) {
	case *transport.Accept:
		n.id = m.ID
	case *transport.Boot:
		n.gone = n.gone || m.ID == n.id || m.ID == transport.UnassignedPeer
	case *msg.Settings:
		n.slot = int(m.Slot)
	}
}

// emptyAnswer answers a request for the files of a directory with an empty
// list. The model compares no hashes.
func emptyAnswer(round uint8) *msg.ChecksumResponse {
	return &msg.ChecksumResponse{Round: round, Found: true}
}
