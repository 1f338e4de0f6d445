package conform

import (
	"net/netip"
	"slices"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/relay"
	"github.com/bcdissect/bcdissect/dissect/relay/arq"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// maxLine are the messages of a client that wait until the host lets it say
// them; more are dropped and counted.
const maxLine = 8192

// A part is a captured client as it is played to a live host.
type part struct {
	client *Client       // as it was captured
	live   *relay.Client // as it is played; it sends only messages from here
	ready  bool          // it has said so
	line   []*Event
	left   bool
	waits  bool      // until those before it are let in
	since  time.Time // when it began to wait, or asked to be let in
	body   []byte    // of its connect, nil for one that is made up
}

// out reports whether the live host has put the client out, or ended.
func (n *part) out() bool { return n.live.Phase == relay.ClientGone }

// A Performer plays the clients of a capture to a live host: it takes the
// records of the capture when they are due and the datagrams of the host when
// they come, and gives the datagrams of the clients. A client's messages wait
// until the host is as far as the captured one was: an id before a name,
// GameInit before ClientReady. Ids and slots in messages become those of the
// live host. It has no socket and no clock.
type Performer struct {
	t       *timeline
	parts   []*part
	catalog *decode.Catalog
	now     time.Time
	turn    int

	Dropped  int  // messages that waited in vain, or for too long a line
	Accepted bool // the host accepted a client
	// Answers stand for the captured hashes of the clients' files, by round.
	Answers map[uint8]*msg.ChecksumResponse
}

// NewPerformer returns a performer of a capture. A nil catalog stands for the
// messages of the game.
func NewPerformer(catalog *decode.Catalog) *Performer {
	if catalog == nil {
		catalog = msg.Catalog()
	}
	p := &Performer{catalog: catalog}
	p.t = newTimeline(catalog, p.event)
	return p
}

// Record takes a record of the capture that is due now.
func (p *Performer) Record(now time.Time, r *dissect.Record) {
	p.now = now
	p.t.record(r)
	p.admit()
	for _, n := range p.parts {
		p.speak(n)
	}
}

// event takes an event of the capture.
func (p *Performer) event(e *Event) {
	switch e.Kind {
	case Joined:
		p.forget()
		cfg := relay.ClientConfig{Catalog: p.catalog, Nonce: uint32(e.Client.index) + 1, Claimed: claimed(e.Client.Addr)}
		if e.Client.Adopted { // the capture lacks its answers
			cfg.Answer, cfg.Enter = p.files, !e.Client.Joining
		}
		n := &part{client: e.Client, live: relay.NewClient(cfg), since: p.now, waits: true}
		if !e.Client.short {
			n.body = e.Body
		}
		p.parts = append(p.parts, n)
		p.admit()
	case Input, Left:
		n := p.of(e.Client)
		if n == nil || n.left {
			return
		}
		if len(n.line) >= maxLine {
			p.Dropped++
			return
		}
		kept := *e // its body is the receiver's
		n.line = append(n.line, &kept)
	case PutOut:
		if n := p.of(e.Client); n != nil { // that was the captured host's decision; here the client leaves
			n.line = append(n.line, &Event{Kind: Left, Client: e.Client, Type: transport.Leave})
		}
	case Output:
	}
}

// longestTurn is how long a client waits for those before it to be let in.
const longestTurn = 5 * time.Second

// admit lets clients connect in the order of the capture, each when the host has
// let in those before it: it gives slots in that order.
func (p *Performer) admit() {
	for _, n := range p.parts {
		if n.waits {
			n.live.Connect(p.now, n.body)
			n.waits, n.since = false, p.now
		}
		if n.live.ID == 0 && !n.out() && !n.left && p.now.Sub(n.since) < longestTurn {
			return
		}
	}
}

// Others returns the hosts of the capture's other games, which are not played.
func (p *Performer) Others() []netip.AddrPort { return p.t.others }

// forget forgets clients that are gone when there are many.
func (p *Performer) forget() {
	if len(p.parts) >= maxClients {
		p.parts = slices.DeleteFunc(p.parts, func(n *part) bool { return n.out() || n.left && n.live.Idle() })
		p.turn = 0
	}
}

// of returns the part of a client, nil if it has none.
func (p *Performer) of(c *Client) *part {
	if i := slices.IndexFunc(p.parts, func(n *part) bool { return n.client == c }); i >= 0 {
		return p.parts[i]
	}
	return nil
}

func (p *Performer) queue(n *part, m arq.Message) {
	if n.live.Queue(p.now, m) != nil {
		p.Dropped++
	}
}

// speak queues the messages that a client may send now.
func (p *Performer) speak(n *part) {
	if n.out() {
		p.Dropped += len(n.line)
		n.line = nil
		return
	}
	for len(n.line) > 0 && !n.left {
		e := n.line[0]
		if !p.may(n, e) {
			return
		}
		n.line = n.line[1:]
		p.say(n, e)
	}
}

// files returns the answer of a client for which the capture holds none.
func (p *Performer) files(round uint8) *msg.ChecksumResponse {
	if m := p.Answers[round]; m != nil {
		return m
	}
	return emptyAnswer(round)
}

// may reports whether the host has come as far as a message needs.
func (p *Performer) may(n *part, e *Event) bool {
	switch step := p.t.bodies.specOf(e).Step; {
	case n.live.ID == 0:
		return false
	case e.Kind == Left: // not before the answer to its ClientReady
		return n.live.InGame || !n.ready && (!n.live.Enter || !n.live.Loaded)
	case !e.standard():
		return true
	case step == decode.StepAnswer:
		return n.client.Adopted || n.live.Loaded || len(n.live.Asked) > 0
	case step == decode.StepReady:
		return n.live.Loaded
	}
	return n.live.InGame
}

// say queues one message of a client, with the ids of the live host.
func (p *Performer) say(n *part, e *Event) {
	body := e.Body
	switch {
	case e.Kind == Left:
		n.left = true
		p.queue(n, arq.Message{Type: transport.Disconnect, Body: controlBody(&transport.Goodbye{ID: n.live.ID, Addr: claimed(n.client.Addr)})})
		return
	case e.Type == transport.NameChange:
		if m, ok := p.t.bodies.control(e.Type, body).(*transport.Identity); ok {
			m.ID = n.live.ID
			body = controlBody(m)
		}
	case p.t.bodies.specOf(e).Step == decode.StepAnswer:
		if n.client.Adopted || len(n.live.Asked) == 0 {
			return // nobody asks for it
		}
		round := n.live.Asked[0]
		n.live.Asked = n.live.Asked[1:]
		if m := p.Answers[round]; m != nil {
			body = p.t.bodies.write(msg.OpChecksumResponse, m)
		} else {
			body = p.t.bodies.change(body, func(m decode.Message) {
				if m, ok := m.(*msg.ChecksumResponse); ok {
					m.Round = round
				}
			})
		}
	case e.standard():
		if p.t.bodies.specOf(e).Step == decode.StepReady {
			n.ready = true
		}
		body = p.renumber(body)
	}
	p.queue(n, arq.Message{Type: e.Type, Reliable: e.Reliable, Priority: e.Priority, Body: body})
}

// renumber puts the ids of the live host into a game message: slots and ids of
// players, and objects in the ranges of players.
func (p *Performer) renumber(body []byte) []byte {
	res := p.t.bodies.result(body)
	if res.Message == nil {
		return body
	}
	p.t.bodies.viewer.Show(res.Message, body, 1, res.Dialect, visit(func(f *decode.Field) {
		var to uint64
		is := f.Uint | uint64(f.Int)
		switch slot, ok := wire.ObjectID(is).Slot(); {
		case f.Kind == decode.KindObject && ok:
			to = is + uint64(wire.FirstObject(p.liveSlot(slot))-wire.FirstObject(slot))
		case f.Who.In(res.Dialect, false) == decode.Slot:
			to = uint64(p.liveSlot(int(is)))
		case f.Who.In(res.Dialect, false) == decode.NetworkID:
			to = p.livePeer(is)
		default:
			return
		}
		for i := f.Off; i < min(f.End, len(body)); i++ {
			body[i] = byte(to >> (8 * (i - f.Off)))
		}
	}))
	return body
}

// livePeer returns the id that a captured client's id has become.
func (p *Performer) livePeer(id uint64) uint64 {
	for _, n := range p.parts {
		if n.live.ID != 0 && uint64(n.client.Peer) == id && !n.left {
			return uint64(n.live.ID)
		}
	}
	return id
}

// liveSlot returns the slot that a captured client's slot has become.
func (p *Performer) liveSlot(slot int) int {
	for i := len(p.parts) - 1; i >= 0; i-- {
		if n := p.parts[i]; n.client.Slot == slot && n.live.Slot >= 0 {
			return n.live.Slot
		}
	}
	return slot
}

// Receive takes a datagram that the live host sent to a client. It is borrowed
// until the call returns.
func (p *Performer) Receive(now time.Time, c *Client, datagram []byte) {
	p.now = now
	n := p.of(c)
	if n == nil || len(datagram) == 0 || datagram[0] == '\\' {
		return
	}
	n.live.Receive(now, datagram)
	p.Accepted = p.Accepted || n.live.ID != 0
	p.speak(n)
	p.admit()
}

// Send returns the next datagram of a client, as it goes to the network, until
// ok is false. It is valid until the next call.
func (p *Performer) Send(now time.Time) (c *Client, datagram []byte, ok bool) {
	if p.now = now; p.turn == 0 {
		p.admit()
	}
	for ; p.turn < len(p.parts); p.turn++ {
		n := p.parts[p.turn]
		if n.out() {
			continue
		}
		if datagram, ok = n.live.Datagram(now); ok {
			return n.client, datagram, true
		}
	}
	p.turn = 0
	return nil, nil, false
}

// Next returns when Send may have something again without anything coming in.
func (p *Performer) Next() (next time.Time) {
	for _, n := range p.parts {
		if n.out() || n.left && n.live.Idle() {
			continue
		}
		if t := n.live.Next(); !t.IsZero() && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	return next
}

// Idle reports whether nothing waits to be said or to be acknowledged.
func (p *Performer) Idle() bool {
	for _, n := range p.parts {
		if !n.out() && (len(n.line) > 0 || !n.live.Idle()) {
			return false
		}
	}
	return true
}

// Leave lets all clients leave that have not left. Their unsent messages are
// dropped.
func (p *Performer) Leave(now time.Time) {
	p.now = now
	for _, n := range p.parts {
		p.Dropped += len(n.line)
		n.line = nil
		if !n.left && !n.out() && n.live.ID != 0 {
			p.say(n, &Event{Kind: Left, Client: n.client, Type: transport.Leave})
		}
		n.left = true
	}
}

// Stuck tells which clients never got into the game, for people. Names are text
// from the network.
func (p *Performer) Stuck() (names []string) {
	for _, n := range p.parts {
		if !n.live.InGame {
			names = append(names, who(n.client))
		}
	}
	return names
}
