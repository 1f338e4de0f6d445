package conform

import (
	"net/netip"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/names"
	"github.com/bcdissect/bcdissect/dissect/relay"
	"github.com/bcdissect/bcdissect/dissect/relay/arq"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// An end is a client's end of its connection to the model host.
type end struct {
	client *Client // as it was captured; nil for one that only fills a slot
	addr   netip.AddrPort
	live   *relay.Client // as it is played
	auto   bool          // it answers checksum requests by itself
	stand  bool          // it fills a slot
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
	host    *relay.Host
	ends    map[*Client]*end
	list    []*end
	slots   [relay.MaxPlayers]*end // those that fill a slot
	next    time.Time
	emit    func(*sent)
	depart  func(relay.Departure) // nil for nobody
	partial func() bool           // whether the capture does not show all players
	mute    bool                  // present messages have no counterpart in the capture

	catalog *decode.Catalog
	bodies  *bodies
	given   int // addresses of those that fill slots
	full    int // messages that are too long
	in, out []carried
	taken   sent
	now     time.Time
}

// firstPeer is the first id that a client can have.
const firstPeer = 2

func newPlayer(cfg relay.Config, catalog *decode.Catalog, emit func(*sent)) *player {
	p := &player{ends: map[*Client]*end{}, emit: emit, catalog: catalog, bodies: newBodies(catalog)}
	cfg.Captured, cfg.Catalog, cfg.Speaks, cfg.Self, cfg.Departs = true, catalog, p.speaks, p.self, p.departs
	cfg.Deliver = func(to netip.AddrPort, m arq.Message) {
		if n := p.byAddr(to); n != nil {
			p.out = append(p.out, carried{n, m})
		}
	}
	p.host = relay.NewHost(cfg)
	return p
}

// speaks returns the dialect of the client at an address.
func (p *player) speaks(addr netip.AddrPort) decode.Dialect {
	if n := p.byAddr(addr); n != nil && n.client != nil && n.client.openBC {
		return decode.OpenBC
	}
	return decode.Undecided
}

// self returns the id that the client at an address knows as its own, 0 if that
// is not known.
func (p *player) self(addr netip.AddrPort) uint8 {
	if n := p.byAddr(addr); n != nil && n.client != nil {
		return n.client.Peer
	}
	return 0
}

// departs notes a departure of the model. The owner of an object is known only if
// the client has the slot that it had in the capture.
func (p *player) departs(addr netip.AddrPort, d relay.Departure) {
	n := p.byAddr(addr)
	switch {
	case n == nil || n.client == nil || p.depart == nil:
	case (d.Guard == relay.GuardObject || d.Guard == relay.GuardOwner) && n.client.Slot != n.live.Slot:
	default:
		p.depart(d)
	}
}

// event plays an event of the timeline.
func (p *player) event(e *Event) {
	p.advance(e.Time)
	switch e.Kind {
	case Heard:
		if n := p.ends[e.Client]; n != nil {
			p.hear(n)
		}
		return
	case Joined:
		if p.partial() {
			p.fillBelow(e.Client.Slot) // others are there that the capture does not show
		}
		n := p.open(e.Client, e.Client.Addr)
		p.connect(n, e.Body, e.Client.short)
		p.run()
	case Appeared:
		p.adopt(e.Client)
	case Input:
		p.mute = e.MadeUp && creates(p.bodies.specOf(e))
		p.input(e)
		p.mute = false
		return
	case Left:
		if n := p.ends[e.Client]; n != nil {
			addr := n.claimed()
			id := n.live.ID
			if m, ok := p.bodies.control(e.Type, e.Body).(*transport.Goodbye); ok {
				if addr = m.Addr; m.ID != e.Client.Peer {
					id = transport.UnassignedPeer // it speaks for somebody else
				}
			}
			p.carry(n, arq.Message{Type: transport.Disconnect, Body: goodbye(id, addr)})
			p.run()
			p.close(n)
		}
	case PutOut:
		if n := p.ends[e.Client]; n != nil {
			p.putOut(n)
		}
	case Output, Cut, Again:
		return
	}
	p.pass()
}

// advance lets time pass for the model.
func (p *player) advance(now time.Time) {
	if now.After(p.now) {
		p.now = now
	}
	if p.next.IsZero() || p.next.After(p.now) {
		return
	}
	for _, n := range p.list {
		if n.stand {
			p.hear(n)
		}
	}
	p.mute = true // how long the captured host waits for a client is up to it
	p.pass()
	p.mute = false
}

// hear lets the model know that an end is there.
func (p *player) hear(n *end) {
	if n.live.Phase != relay.ClientGone {
		p.host.Hear(p.now, n.addr)
		p.run()
	}
}

// putOut puts a client out of the model.
func (p *player) putOut(n *end) {
	p.mute = true
	p.host.Kick(p.now, n.live.ID, transport.BootTimedOut)
	p.run()
	p.mute = false
	p.close(n)
}

// pass lets the model act up to the present time.
func (p *player) pass() {
	p.next = p.host.Advance(p.now)
	p.run()
}

// open makes an end. An end that the client's address had before is no more.
func (p *player) open(c *Client, addr netip.AddrPort) *end {
	n := &end{client: c, addr: addr}
	n.live = relay.NewClient(relay.ClientConfig{
		Catalog: p.catalog, Deliver: func(_ time.Time, m *arq.Message) { p.take(n, m) }, Sent: func(m arq.Message) { p.carry(n, m) },
	})
	if c != nil {
		p.ends[c] = n
	}
	p.list = append(p.list, n)
	return n
}

// close forgets an end.
func (p *player) close(n *end) {
	if n.client != nil {
		delete(p.ends, n.client)
	}
	for i, o := range p.list {
		if o == n {
			p.list = append(p.list[:i], p.list[i+1:]...)
			break
		}
	}
}

// connect queues the wish to be let in. The form is always the stock game's.
func (p *player) connect(n *end, body []byte, short bool) {
	if short || len(body) < 10 {
		req := transport.Request{Nonce: uint32(p.given) + 1, Addr: n.claimed()}
		if n.client != nil {
			req.Nonce = uint32(n.client.index) + 1
		}
		b, err := decode.AppendFields(nil, "Connect", &req, decode.Stock)
		if err != nil {
			return
		}
		body = b
	}
	n.live.Connect(p.now, body)
}

// claimed returns the address that a client says it has: OpenBC's say none.
func (n *end) claimed() (a [4]byte) {
	if n.client != nil && n.client.openBC {
		return a
	}
	return claimed(n.addr)
}

// claimed returns the address that a client says it has.
func claimed(addr netip.AddrPort) (a [4]byte) {
	if ip := addr.Addr().Unmap(); ip.Is4() {
		a = ip.As4()
	}
	return a
}

func goodbye(id uint8, addr [4]byte) []byte {
	return controlBody(&transport.Goodbye{ID: id, Addr: addr})
}

// input plays a client's message.
func (p *player) input(e *Event) {
	n := p.ends[e.Client]
	if n == nil {
		return
	}
	if n.auto && p.bodies.specOf(e).Step == decode.StepAnswer {
		return // it has answered by itself
	}
	p.carry(n, arq.Message{Type: e.Type, Reliable: e.Reliable, Priority: e.Priority, Body: e.Body})
	p.run()
}

// adopt lets a client in that the capture shows only later. The slots below
// that of the client are filled, so that the model gives it the slot it had.
func (p *player) adopt(c *Client) {
	p.mute = true
	defer func() { p.mute = false }()
	slot := c.Slot
	if slot < 0 && c.Peer >= firstPeer { // where nobody has left, ids and slots go together
		slot = int(c.Peer - firstPeer)
	}
	for s := 0; slot < 0 && s < len(p.slots); s++ {
		if p.slots[s] != nil {
			slot = s
		}
	}
	p.fillBelow(slot)
	if slot >= 0 && slot < relay.MaxPlayers {
		if n := p.slots[slot]; n != nil {
			p.carry(n, arq.Message{Type: transport.Disconnect, Body: goodbye(n.live.ID, claimed(n.addr))})
			p.run()
			p.slots[slot] = nil
			p.close(n)
		}
	}
	n := p.open(c, c.Addr)
	n.auto, n.live.Answer, n.live.Enter = true, emptyAnswer, !c.Joining
	p.connect(n, nil, true)
	p.run()
}

// fillBelow fills the slots below one.
func (p *player) fillBelow(slot int) {
	muted := p.mute
	p.mute = true
	for s := range min(max(slot, 0), relay.MaxPlayers) {
		p.fill(s)
	}
	p.mute = muted
}

// fill fills a slot if it is free.
func (p *player) fill(slot int) {
	for _, n := range p.list {
		if n.live.Slot == slot {
			return
		}
	}
	p.given++
	// Addresses for documentation are nobody's.
	n := p.open(nil, netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(slot + 1)}), uint16(p.given)))
	n.auto, n.live.Answer, n.stand = true, emptyAnswer, true
	p.connect(n, nil, true)
	p.run()
	if n.live.Slot >= 0 && n.live.Slot < len(p.slots) {
		p.slots[n.live.Slot] = n
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
				p.host.Hear(p.now, c.addr) // it uses the id that it is given
			}
		}
		if in == len(p.in) {
			break
		}
		if c := &p.in[in]; !p.host.Take(p.now, c.end.addr, c.message) {
			p.full++
		}
	}
	clear(p.in)
	clear(p.out)
	p.in, p.out = p.in[:0], p.out[:0]
}

// byAddr returns the newest end with an address.
func (p *player) byAddr(addr netip.AddrPort) *end {
	for i := len(p.list) - 1; i >= 0; i-- {
		if p.list[i].addr == addr {
			return p.list[i]
		}
	}
	return nil
}

// take takes a message that the model sent to an end.
func (p *player) take(n *end, m *arq.Message) {
	s := &p.taken
	*s = sent{to: n, typ: m.Type, header: m.Header, body: m.Body}
	s.header.Reliable, s.header.Priority = m.Reliable, m.Priority
	switch m.Type {
	case transport.Standard:
		if len(m.Body) == 0 {
			return
		}
		s.op = decode.Opcode(m.Body[0])
	case transport.Connect, transport.NameChange, transport.BootPlayer, transport.Disconnect:
	case transport.Acknowledge, transport.DoNothing, transport.Leave:
		return
	}
	if !p.mute && n.client != nil {
		p.emit(s)
	}
}

// directories are those that a host asks for, by the number of the round.
var directories = map[uint8]string{0: "scripts", 1: "scripts", 2: "scripts/ships", 3: "scripts/mainmenu", msg.LastRound: "Scripts/Multiplayer"}

// emptyAnswer answers a host that asks for the files of a directory: there are
// none.
func emptyAnswer(round uint8) *msg.ChecksumResponse {
	return &msg.ChecksumResponse{Round: round, VersionHash: names.Hash("60"), DirHash: names.Hash(directories[round]), Found: true}
}
