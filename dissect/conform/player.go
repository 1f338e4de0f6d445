package conform

import (
	"net/netip"
	"slices"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect/relay"
	"github.com/bcdissect/bcdissect/dissect/relay/arq"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// An end is a client's end of its connection to the model host.
type end struct {
	client *Client       // as it was captured
	live   *relay.Client // as it is played
}

// A sent message is one that the model host sent to a client.
type sent struct {
	to     *end
	ends   []*end // all of the model
	typ    transport.Type
	op     decode.Opcode
	header transport.Header
	body   []byte
}

// A carried message is on its way between an end and the model.
type carried struct {
	end     *end
	message arq.Message
}

// A player plays the captured clients against a model host, in a network
// without delay and loss: messages are handed over, and nothing acknowledges or
// repeats them. The model hears each client as often as the captured host did.
type player struct {
	model  model
	host   *relay.Host
	list   []*end
	next   time.Time
	emit   func(*sent)
	depart func(relay.Departure)
	mute   bool // present messages have no counterpart in the capture

	catalog *decode.Catalog
	bodies  *bodies
	full    int // messages that are too long
	in, out []carried
	taken   sent
	now     time.Time
}

// firstPeer is the first id that a client can have.
const firstPeer = 2

func newPlayer(cfg relay.Config, catalog *decode.Catalog) *player {
	p := &player{catalog: catalog, bodies: newBodies(catalog)}
	cfg.Captured, cfg.Catalog, cfg.Shown, cfg.Departs = true, catalog, p.shown, p.departs
	cfg.Deliver = func(to netip.AddrPort, m arq.Message) {
		if n := p.at(to); n != nil {
			p.out = append(p.out, carried{n, m})
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
	if c.Adopted && c.Slot < 0 && c.Peer >= firstPeer { // where nobody has left, ids and slots go together
		shown.Slot = int(c.Peer - firstPeer)
	}
	return shown
}

// departs notes a departure of the model. The owner of an object is known only if
// the client has the slot that it had in the capture.
func (p *player) departs(addr netip.AddrPort, d relay.Departure) {
	n := p.at(addr)
	ofSlot := d.Guard == relay.GuardObject || d.Guard == relay.GuardOwner
	if n != nil && p.depart != nil && (!ofSlot || n.client.Slot == n.live.Slot) {
		p.depart(d)
	}
}

// event plays an event of the timeline.
func (p *player) event(e *Event) {
	p.advance(e.Time)
	n := p.of(e.Client)
	switch {
	case e.Kind == Joined:
		p.join(e)
	case n == nil:
		return
	case e.Kind == Input:
		p.mute = e.MadeUp && creates(p.bodies.specOf(e))
		p.input(n, e)
		p.mute = false
		return
	case e.Kind == Left:
		id, addr := n.live.ID, n.claimed()
		if m, ok := p.bodies.control(e.Type, e.Body).(*transport.Goodbye); ok {
			if addr = m.Addr; m.ID != e.Client.Peer {
				id = transport.UnassignedPeer // it speaks for another client
			}
		}
		p.carry(n, arq.Message{Type: transport.Disconnect, Body: controlBody(&transport.Goodbye{ID: id, Addr: addr})})
		p.run()
		p.close(n)
	case e.Kind == PutOut:
		p.mute = true
		p.host.Kick(p.now, n.live.ID, transport.BootTimedOut)
		p.run()
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
		p.mute = true // how long the captured host waits for a client is up to it
		p.pass()
		p.mute = false
	}
}

// pass lets the model act up to the present time.
func (p *player) pass() {
	p.next = p.host.Advance(p.now)
	p.run()
}

// join lets a client in. One that the capture shows only later answers for itself
// until then, and what the model sends it has no counterpart. The model takes the
// form of a connect that is the stock game's.
func (p *player) join(e *Event) {
	c := e.Client
	n := &end{client: c}
	cfg := relay.ClientConfig{
		Catalog: p.catalog, Nonce: uint32(c.index) + 1, Claimed: n.claimed(),
		Deliver: func(_ time.Time, m *arq.Message) { p.take(n, m) }, Sent: func(m arq.Message) { p.carry(n, m) },
	}
	if p.mute = c.Adopted; p.mute {
		cfg.Answer, cfg.Enter = emptyAnswer, !c.Joining
	}
	n.live = relay.NewClient(cfg)
	p.list = append(p.list, n)
	n.live.Connect(p.now, e.Body)
	p.run()
	p.mute = false
}

// close forgets an end.
func (p *player) close(n *end) {
	p.list = slices.DeleteFunc(p.list, func(o *end) bool { return o == n })
}

// claimed returns the address that a client says it has: OpenBC's say none.
func (n *end) claimed() (a [4]byte) {
	if n.client.openBC {
		return a
	}
	return Claimed(n.client.Addr)
}

// Claimed returns the address that a client of the stock game says it has.
func Claimed(addr netip.AddrPort) (a [4]byte) {
	if ip := addr.Addr().Unmap(); ip.Is4() {
		a = ip.As4()
	}
	return a
}

// input plays a client's message.
func (p *player) input(n *end, e *Event) {
	if n.live.Answer == nil || p.bodies.specOf(e).Step != decode.StepAnswer { // otherwise it has answered by itself
		p.carry(n, arq.Message{Type: e.Type, Reliable: e.Reliable, Priority: e.Priority, Body: e.Body})
		p.run()
	}
}

// carry puts a message on its way to the model.
func (p *player) carry(n *end, m arq.Message) {
	if n.live.Phase != relay.ClientGone {
		p.in = append(p.in, carried{n, m})
	}
}

// run delivers the messages between the ends and the model until there are none.
func (p *player) run() {
	for in, out := 0, 0; ; in++ {
		for ; out < len(p.out); out++ {
			c := p.out[out].end
			c.live.Take(p.now, &p.out[out].message)
			if p.out[out].message.Type == transport.Connect {
				p.host.Hear(p.now, c.client.Addr) // it uses the id that it is given
			}
		}
		if in == len(p.in) {
			break
		}
		if c := &p.in[in]; !p.host.Take(p.now, c.end.client.Addr, c.message) {
			p.full++
		}
	}
	clear(p.in)
	clear(p.out)
	p.in, p.out = p.in[:0], p.out[:0]
}

// at returns the newest end with an address, nil if there is none.
func (p *player) at(addr netip.AddrPort) *end {
	for _, n := range slices.Backward(p.list) {
		if n.client.Addr == addr {
			return n
		}
	}
	return nil
}

// of returns the end of a client, nil if there is none.
func (p *player) of(c *Client) *end {
	if i := slices.IndexFunc(p.list, func(n *end) bool { return n.client == c }); i >= 0 {
		return p.list[i]
	}
	return nil
}

// take takes a message that the model sent to an end.
func (p *player) take(n *end, m *arq.Message) {
	if p.mute || m.Type == transport.Standard && len(m.Body) == 0 {
		return
	}
	s := &p.taken
	*s = sent{to: n, ends: p.list, typ: m.Type, header: m.Header, body: m.Body}
	s.header.Reliable, s.header.Priority = m.Reliable, m.Priority
	if m.Type == transport.Standard {
		s.op = decode.Opcode(m.Body[0])
	}
	p.emit(s)
}

// emptyAnswer answers a host that asks for the files of a directory: there are none.
// The model compares no hashes.
func emptyAnswer(round uint8) *msg.ChecksumResponse {
	return &msg.ChecksumResponse{Round: round, Found: true}
}
