// Not part of the library: package perform plays the clients of a capture on a
// live host.
package perform

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/conform"
	"github.com/bcdissect/bcdissect/dissect/conform/suite"
	"github.com/bcdissect/bcdissect/dissect/relay"
	"github.com/bcdissect/bcdissect/dissect/relay/arq"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// Limits of a performer.
const (
	maxParts = 256
	maxLine  = 8192 // messages of a client that wait until the host is ready for them. Further ones are dropped and counted.
)

// A part is a captured client that is played on a live host.
type part struct {
	client *conform.Client // the captured client
	live   *relay.Client   // the client that is played. It sends only messages from this package.
	ready  bool            // it has sent that it is ready
	line   []*conform.Event
	left   bool
	waits  bool      // it waits until the clients before it are let in
	since  time.Time // when it began to wait, or asked to be let in
	body   []byte    // body of its connect, nil to make one up
}

// out reports whether the live host has removed the client, or has ended.
func (n *part) out() bool { return n.live.Phase == relay.ClientGone }

// A Performer plays the clients of a capture on a live host. It takes the
// records of the capture when they are due and the datagrams of the host when
// they come, and returns the datagrams of the clients. A client's messages wait
// until the live host has reached the same step as the captured one, such as an
// id before a name, or GameInit before ClientReady. Ids and slots in messages
// are replaced by the live host's. It has no socket and no clock.
type Performer struct {
	clients *conform.Clients
	host    netip.AddrPort
	others  []netip.AddrPort // hosts of other games
	parts   []*part
	catalog *decode.Catalog
	decoder *decode.Decoder
	viewer  decode.Viewer
	now     time.Time
	turn    int
	nonce   uint32

	Dropped  int  // number of messages that waited in vain, or for which too many waited
	Accepted bool // the host accepted a client
	// Answers replace the captured hashes of the clients' files, by round.
	Answers map[uint8]*msg.ChecksumResponse
}

// New returns a performer of a capture. A nil catalog means the game's
// messages.
func New(catalog *decode.Catalog) *Performer {
	if catalog == nil {
		catalog = msg.Catalog()
	}
	p := &Performer{catalog: catalog, decoder: decode.NewDecoder()}
	p.clients = conform.NewClients(catalog, p.event)
	return p
}

// Record handles a record of the capture that is due now.
func (p *Performer) Record(now time.Time, r *dissect.Record) {
	p.now = now
	if p.plays(r) {
		p.clients.Record(r)
	}
	p.admit()
	for _, n := range p.parts {
		p.speak(n)
	}
}

// plays reports whether a record belongs to the capture's first game.
func (p *Performer) plays(r *dissect.Record) bool {
	if r.Dir == dissect.DirUnknown || r.Kind != dissect.KindMessage && r.Kind != dissect.KindMalformed {
		return false
	}
	host, _ := r.Ends()
	if !p.host.IsValid() {
		p.host = host
	}
	if host != p.host && len(p.others) < conform.MaxHosts && !slices.Contains(p.others, host) {
		p.others = append(p.others, host)
	}
	return host == p.host
}

// event handles an event of the capture.
func (p *Performer) event(e *conform.Event) {
	kept := *e // its body belongs to the receiver
	switch e.Kind {
	case conform.Joined:
		p.join(e)
		return
	case conform.PutOut: // the captured host decided that, so the client leaves here
		kept.Kind = conform.Left
	case conform.Output:
		return
	case conform.Input, conform.Left:
	}
	switch n := p.of(e.Client); {
	case n == nil || n.left:
	case len(n.line) >= maxLine:
		p.Dropped++
	default:
		n.line = append(n.line, &kept)
	}
}

// join makes the part of a client. If there are many, it drops those that are
// gone.
func (p *Performer) join(e *conform.Event) {
	if len(p.parts) >= maxParts {
		p.parts = slices.DeleteFunc(p.parts, func(n *part) bool { return n.out() || n.left && n.live.Idle() })
		p.turn = 0
	}
	p.nonce++
	cfg := relay.ClientConfig{Catalog: p.catalog, Nonce: p.nonce, Claimed: conform.Claimed(e.Client.Addr)}
	if e.Client.Adopted { // the capture lacks the client's answers
		cfg.Answer, cfg.Enter = p.files, true
	}
	p.parts = append(p.parts, &part{client: e.Client, live: relay.NewClient(cfg), since: p.now, waits: true, body: e.Body})
	p.admit()
}

// longestTurn is how long a client waits until those before it are let in.
const longestTurn = 5 * time.Second

// admit lets clients connect in the order of the capture, each after the host
// has let in those before it, since the host gives slots in that order.
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
func (p *Performer) Others() []netip.AddrPort { return p.others }

// of returns the part of a client, or nil if it has none.
func (p *Performer) of(c *conform.Client) *part {
	if i := slices.IndexFunc(p.parts, func(n *part) bool { return n.client == c }); i >= 0 {
		return p.parts[i]
	}
	return nil
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

// files returns an answer for a client whose answer is not in the capture.
func (p *Performer) files(round uint8) *msg.ChecksumResponse {
	return cmp.Or(p.Answers[round], suite.StockAnswer(round))
}

// step returns the step of a join to which a message belongs.
func (p *Performer) step(e *conform.Event) decode.Step {
	if spec := p.catalog.Lookup(e.Op); spec != nil && e.Type == transport.Standard {
		return spec.Step
	}
	return decode.StepNone
}

// may reports whether the host has reached the step that a message needs.
func (p *Performer) may(n *part, e *conform.Event) bool {
	switch step := p.step(e); {
	case n.live.ID == 0:
		return false
	case e.Kind == conform.Left: // not before the answer to its ClientReady
		return n.live.InGame || !n.ready && (!n.live.Enter || !n.live.Loaded)
	case e.Type != transport.Standard:
		return true
	case step == decode.StepAnswer:
		return n.client.Adopted || n.live.Loaded || len(n.live.Asked) > 0
	case step == decode.StepReady:
		return n.live.Loaded
	}
	return n.live.InGame
}

// say queues a message of a client, with the ids of the live host.
func (p *Performer) say(n *part, e *conform.Event) {
	body := e.Body
	switch step := p.step(e); {
	case e.Kind == conform.Left:
		n.left = true
		n.live.Leave(p.now)
		return
	case e.Type == transport.NameChange:
		body = p.named(n, body)
	case step == decode.StepAnswer:
		if !n.client.Adopted && len(n.live.Asked) > 0 { // otherwise the host does not ask for it
			p.answer(n, body)
		}
		return
	case e.Type == transport.Standard:
		n.ready = n.ready || step == decode.StepReady
		p.renumber(body)
	}
	if n.live.Queue(p.now, arq.Message{Type: e.Type, Reliable: e.Reliable, Priority: e.Priority, Body: body}) != nil {
		p.Dropped++
	}
}

// named returns the body of a client's NameChange with the client's id.
func (p *Performer) named(n *part, body []byte) []byte {
	if spec := transport.SpecFor(&transport.Message{Header: transport.Header{Type: transport.NameChange}, Body: body}); spec != nil {
		if m, ok := p.decoder.ReadBody(spec, body).Message.(*transport.Identity); ok {
			m.ID = n.live.ID
			if out, err := decode.AppendFields(nil, "body", m, decode.Stock); err == nil {
				return out
			}
		}
	}
	return body
}

// answer answers the round of the checksums that the host asks for, with the
// configured hashes, or else the captured ones.
func (p *Performer) answer(n *part, body []byte) {
	round := n.live.Asked[0]
	n.live.Asked = n.live.Asked[1:]
	m := p.files(round)
	if res := p.decoder.Read(p.catalog.Lookup(msg.OpChecksumResponse), body, decode.Undecided, nil); p.Answers[round] == nil && res.Exact() {
		if captured, ok := res.Message.(*msg.ChecksumResponse); ok {
			m = captured
			m.Round = round
		}
	}
	n.live.Say(p.now, msg.OpChecksumResponse, m)
}

// renumber replaces ids in a game message by the live host's: slots and ids of
// players, and objects in the ranges of players.
func (p *Performer) renumber(body []byte) {
	if len(body) == 0 {
		return
	}
	spec := p.catalog.Lookup(decode.Opcode(body[0]))
	if spec == nil {
		return
	}
	res := p.decoder.Read(spec, body, decode.Undecided, nil)
	if res.Message == nil {
		return
	}
	p.viewer.Show(res.Message, body, 1, res.Dialect, decode.FieldFunc(func(f *decode.Field) {
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
}

// livePeer returns the live host's id for a captured client's id.
func (p *Performer) livePeer(id uint64) uint64 {
	for _, n := range p.parts {
		if n.live.ID != 0 && uint64(n.client.Peer) == id && !n.left {
			return uint64(n.live.ID)
		}
	}
	return id
}

// liveSlot returns the live host's slot for a captured client's slot.
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
func (p *Performer) Receive(now time.Time, c *conform.Client, datagram []byte) {
	p.now = now
	n := p.of(c)
	if n == nil {
		return
	}
	n.live.Receive(now, datagram)
	p.Accepted = p.Accepted || n.live.ID != 0
	p.speak(n)
	p.admit()
}

// Send returns the next datagram of a client, in its form on the network, until
// ok is false. It is valid until the next call.
func (p *Performer) Send(now time.Time) (c *conform.Client, datagram []byte, ok bool) {
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

// Next returns when Send may next have a datagram if nothing is received.
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

// Idle reports whether no message waits to be sent or acknowledged.
func (p *Performer) Idle() bool {
	for _, n := range p.parts {
		if !n.out() && (len(n.line) > 0 || !n.live.Idle()) {
			return false
		}
	}
	return true
}

// Leave makes all clients leave that have not left. It drops their unsent
// messages.
func (p *Performer) Leave(now time.Time) {
	p.now = now
	for _, n := range p.parts {
		p.Dropped += len(n.line)
		n.line = nil
		if !n.left && !n.out() && n.live.ID != 0 {
			n.live.Leave(now)
		}
		n.left = true
	}
}

// Stuck returns the names of the clients that did not get into the game. They
// are text from the network.
func (p *Performer) Stuck() (names []string) {
	for _, n := range p.parts {
		if !n.live.InGame {
			names = append(names, cmp.Or(n.client.Name.Raw(), n.client.Addr.String()))
		}
	}
	return names
}
