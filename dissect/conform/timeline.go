package conform

import (
	"bytes"
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/event"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/conform/result"
	"github.com/bcdissect/bcdissect/dissect/packet"
	"github.com/bcdissect/bcdissect/dissect/relay/arq"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// A Kind is the kind of an Event.
type Kind uint8

// The kinds of events.
const (
	Joined Kind = iota // a client is admitted, or first appears in the capture
	Input              // a message of a client, at the time when the host must have acted on it
	Output             // a message of the host
	Left               // a client leaves
	PutOut             // the host tells others that it has removed a client
)

// An Event is something that happened in the captured session. It is borrowed
// until its receiver returns, but the body of an Input belongs to the receiver.
type Event struct {
	Kind     Kind
	Time     time.Time
	Frame    int
	Client   *Client
	Type     transport.Type
	Op       decode.Opcode // opcode of a Standard message
	Reliable bool
	Priority bool
	Body     []byte // game message with its opcode first, or the body of a control message
	Number   int64  // number counted on where the wire's number wraps, -1 if it has none
	Slots    uint16 // slots of the objects in the message
	Broken   bool   // an Input with duplicated or disordered fragments
	Foreign  bool   // an Input whose id is not the client's
	MadeUp   bool   // an Input that the capture lacks
	receipt  *receipt
}

// keep returns a copy of the event that the caller owns.
func (e *Event) keep() *Event {
	kept := *e
	kept.Body = bytes.Clone(e.Body)
	return &kept
}

// standard reports whether the event is a game message.
func (e *Event) standard() bool { return e.Type == transport.Standard }

// maxClients is the maximum number of clients of a capture. Beyond that, those
// that have ended are dropped first.
const maxClients = 256

// Times of the stock game, see package arq.
const (
	longestPause = arq.KeepaliveAfter                                       // longest pause between two datagrams that counts. No side is silent for longer, so a longer pause means that the clock was set, or the capture has a gap.
	silent       = arq.FirstInterval + arq.FirstInterval + arq.IntervalStep // time without sending to active clients after which a host is silent, since they have then retransmitted twice
)

// Clients finds the clients of a host, and emits their actions as events.
type Clients = timeline

// A timeline finds the host, its clients and their messages in a capture.
type timeline struct {
	emit func(*Event)

	host    netip.AddrPort
	sender  decode.Dialect // dialect of the host
	forced  decode.Dialect // configured dialect of the host, Undecided if there is none
	clients map[netip.AddrPort]*Client
	order   []*Client             // all clients, in the order of arrival
	dropped struct{ out, in int } // losses of clients that were dropped
	bodies  *bodies

	event                  Event // event that is being emitted
	clock                  packet.Clock
	now                    moment
	shared                 bool
	impostors              bool           // clients act for the ships of others
	strangers              map[uint8]bool // ids of players without captured traffic
	fromClients, fromHosts int            // datagrams
	repeated               int            // retransmissions of clients
	lastFromHost           moment         // last datagram of the host
	notes                  []string       // notes for the report
	noted                  result.Noted
	budget                 *budget
}

// maxNotes is the maximum number of notes about the host's silences and
// restarts.
const maxNotes = 64

// note adds a note to the report.
func (t *timeline) note(format string, args ...any) {
	if len(t.notes) == maxNotes {
		t.noted[result.LimitListed]++
		return
	}
	t.notes = append(t.notes, fmt.Sprintf(format, args...))
}

// NewClients returns a finder of clients, which calls emit with each event.
func NewClients(catalog *decode.Catalog, emit func(*Event)) *timeline {
	return &timeline{
		emit: emit, bodies: newBodies(catalog),
		clients: map[netip.AddrPort]*Client{}, strangers: map[uint8]bool{}, budget: &budget{},
		clock: packet.Clock{Leap: longestPause},
	}
}

// Record handles a record of the host's game.
func (t *timeline) Record(r *dissect.Record) {
	if r.Kind != dissect.KindMessage && r.Kind != dissect.KindMalformed || r.DoubleOf > 0 || r.Dir == dissect.DirUnknown {
		return
	}
	host, addr := r.Ends()
	t.host = host
	t.now = moment{t.clock.Read(r.Datagram.Time), r.Datagram.Number, t.clock.Skipped()}
	switch {
	case r.Part > 0:
	case r.Dir == dissect.ToHost:
		t.fromClients++
	default:
		t.fromHosts++
		t.silence()
		t.lastFromHost = t.now
	}
	switch {
	case r.Kind == dissect.KindMalformed:
		t.unread(r, addr)
	case r.Dir == dissect.ToHost && r.Transport.Type == transport.Connect:
		t.connect(r, addr)
	default:
		if c := t.client(r, addr); c != nil && r.Dir == dissect.ToHost {
			t.fromClient(r, c, t.follow(r, c))
		} else if c != nil {
			t.follow(r, c)
			t.fromHost(r, c)
		}
	}
}

// unread handles a datagram that cannot be read.
func (t *timeline) unread(r *dissect.Record, addr netip.AddrPort) {
	if !r.Cut {
		t.noted[result.NoteMalformed]++
		return
	}
	t.noted[result.NoteCut]++
	if c := t.clients[addr]; c != nil && r.Dir == dissect.FromHost {
		c.cut = true
	}
}

// client returns the client at an address. A client whose join is not in the
// capture is adopted, unless it sends only acknowledgements, or leaves.
func (t *timeline) client(r *dissect.Record, addr netip.AddrPort) *Client {
	c := t.clients[addr]
	if c != nil && (!c.quiet || r.Dir == dissect.ToHost || r.Number == 0) {
		return c
	}
	if typ := r.Transport.Type; typ != transport.Standard && typ != transport.NameChange && typ != transport.Connect {
		return nil
	}
	if c = t.add(addr, r.Datagram.Number); c == nil {
		return nil
	}
	if !t.joins(r) {
		c.Adopted, c.playing, c.sent, c.got = true, true, [2]track{}, [2]track{}
		c.Peer, c.Name = r.ClientID, r.Client
		if r.Dir == dissect.FromHost || t.fromHosts == 0 { // otherwise the host may not know the address
			t.admit(c)
		}
	}
	return c
}

// joins reports whether a record belongs to a join. The capture then lacks only
// the part before it.
func (t *timeline) joins(r *dissect.Record) bool {
	op, whole := r.Opcode()
	switch step := t.bodies.spec(r.Transport.Type, op).Step; r.Transport.Type {
	case transport.Connect:
		return true
	case transport.NameChange:
		return r.Dir == dissect.ToHost && r.Transport.HasSeq && r.Number <= 1
	default: // a fragment may be a part of an answer to the checksums, and players in the game get copies of a ClientReady
		return !whole || step != decode.StepNone && (step != decode.StepReady || r.Dir == dissect.ToHost)
	}
}

// add adds a client. Beyond the limit, it drops one that has ended.
func (t *timeline) add(addr netip.AddrPort, frame int) *Client {
	if len(t.order) >= t.budget.of(maxClients) {
		i := slices.IndexFunc(t.order, func(old *Client) bool { return old.gone })
		if i < 0 {
			t.noted[result.NoteRefused]++
			return nil
		}
		old := t.order[i]
		out, in := old.losses()
		t.dropped.out, t.dropped.in = t.dropped.out+out, t.dropped.in+in
		if t.noted[result.LimitListed]++; t.clients[old.Addr] == old {
			delete(t.clients, old.Addr)
		}
		t.order = slices.Delete(t.order, i, i+1)
	}
	fresh := [2]track{{begun: true}, {begun: true}}
	c := &Client{Player: result.Player{Addr: addr, Slot: -1, First: frame}, sent: fresh, got: fresh}
	t.clients[addr] = c
	t.order = append(t.order, c)
	return c
}

// connect handles a client's connect, which may be a retransmission or recorded
// late.
func (t *timeline) connect(r *dissect.Record, addr netip.AddrPort) {
	d, body := r.Datagram, r.Bytes[r.Transport.Size:]
	c := t.clients[addr]
	if c != nil && c.leave != nil {
		t.leaves(c.leave)
	}
	anew := slices.ContainsFunc(r.Notes, func(n dissect.Note) bool { return n.Code == "restart" })
	if c == nil || c.gone || anew || c.Adopted && c.seen.frame == 0 {
		if c != nil {
			t.end(c, PutOut) // the game deletes the old peer at once
		}
		if c = t.add(addr, d.Number); c == nil {
			return
		}
	}
	if c.body == nil { // otherwise it is a retransmission
		c.body, c.openBC = bytes.Clone(body), r.Transport.Short
		t.follow(r, c)
	}
}

// end ends a client.
func (t *timeline) end(c *Client, how Kind) {
	if c.gone {
		return
	}
	c.gone, c.ended = true, t.now
	c.leave, c.quit = nil, cmp.Or(c.quit, t.now.frame)
	if how == PutOut && c.admitted {
		t.emit(&Event{Kind: PutOut, Time: t.now.time, Frame: t.now.frame, Client: c, Number: -1})
	}
}

func class(h *transport.Header) int {
	if h.Control() {
		return 0
	}
	return 1
}

// eventOf converts a record to an event. If the record has no news, ok is
// false. The event is valid until the next one, and its body belongs to the
// record.
func (t *timeline) eventOf(r *dissect.Record, c *Client, kind Kind) (e *Event, ok bool) {
	h := &r.Transport
	if r.Repeat || h.Type == transport.Acknowledge || h.Type == transport.DoNothing {
		return nil, false
	}
	e = &t.event
	*e = Event{
		Kind: kind, Client: c, Time: t.now.time, Frame: t.now.frame,
		Type: h.Type, Reliable: h.Reliable, Priority: h.Priority, Number: -1,
	}
	if h.Type == transport.Standard {
		if len(r.Payload) == 0 {
			return nil, false // a fragment, or nothing
		}
		e.Body, e.Op = r.Payload, decode.Opcode(r.Payload[0])
		e.Reliable = h.Reliable || h.Fragment
	} else {
		e.Body = r.Bytes[h.Size:]
	}
	if h.HasSeq {
		e.Number = r.Number
	}
	return e, true
}

// fromClient handles a record of a client.
func (t *timeline) fromClient(r *dissect.Record, c *Client, receipt *receipt) {
	h := &r.Transport
	c.seen, c.still = t.now, c.still+1
	if c.Peer == 0 {
		c.Peer = r.ClientID
		delete(t.strangers, c.Peer)
	}
	c.spoke = c.spoke || c.given != 0 && r.Peer == c.given
	switch {
	case r.Repeat:
		t.repeated++
	case h.Type == transport.Acknowledge:
		if c.got[class(h)].acknowledged(r).once() && c.signs >= c.held {
			c.held = 0
		}
	}
	leaves := h.Type == transport.Disconnect || h.Type == transport.Leave
	if c.gone {
		if leaves && t.now.since(c.dismissed) < arq.FirstInterval { // the capture had it late
			c.dismissed = moment{}
		}
		return
	}
	e, ok := t.eventOf(r, c, Input)
	if !ok {
		return
	}
	if c.Slot < 0 && c.playing && r.Player != nil {
		c.Slot = r.Player.Slot
	}
	if m, ok := r.Message.(msg.Actor); ok && c.Slot >= 0 && r.Spec.Relay == decode.RelayForward {
		slot, known := m.Actor().Slot()
		t.impostors = t.impostors || known && slot != c.Slot
	}
	e.receipt, e.Body = receipt, bytes.Clone(e.Body)
	e.Broken = receipt != nil && receipt.broken
	e.Foreign = c.spoke && r.Peer != c.given && r.Peer != transport.UnassignedPeer
	if leaves {
		e.Kind = Left
	} else if !c.Adopted && r.Peer != transport.UnassignedPeer { // it has received the accept
		t.admit(c)
	}
	t.act(e)
}

// act acts on a message of a client. The original's host acts on the numbered
// messages of a client in the order of their numbers. A leave takes effect when
// the host acknowledges it, or tells others: it may wait for messages before it,
// and a public host first makes sure that the player has left. Other messages
// that come early also wait at the host. Only players who come or leave in the
// meantime notice that, and what these receive has no verdict.
func (t *timeline) act(e *Event) {
	c := e.Client
	switch {
	case e.Kind == Left && t.sender != decode.OpenBC && e.Number >= 0 && !e.receipt.acknowledged():
		if c.leave == nil {
			kept := *e
			c.quit, c.leave = e.Frame, &kept
		}
	case e.Kind == Left:
		t.leaves(e)
	case c.admitted:
		t.input(e)
	}
}

// leaves emits that a client leaves.
func (t *timeline) leaves(e *Event) {
	c := e.Client
	t.end(c, Left)
	e.Time = t.now.time
	t.hand(c, e)
}

// hasLeft records that the host has acted on the leave of the player with an id.
func (t *timeline) hasLeft(peer uint8) {
	for _, c := range t.order {
		if e := c.leave; e != nil {
			if m, ok := t.bodies.control(e.Type, e.Body).(*transport.Goodbye); c.Peer == peer || ok && m.ID == peer { // the id that its leave names
				t.leaves(e)
			}
		}
	}
}

// input emits an input, and learns from it.
func (t *timeline) input(e *Event) {
	c := e.Client
	switch spec := t.bodies.specOf(e); {
	case e.Type == transport.NameChange:
		if name := t.bodies.name(e.Body); name != "" {
			c.Name = name
		}
	case !e.standard():
	case spec.Step == decode.StepAnswer:
		if m, ok := t.bodies.game(e.Body).(*msg.ChecksumResponse); ok && c.answered < len(rounds) && m.Round == rounds[c.answered] && !e.Broken { // otherwise OpenBC's host shows later whether it could read it
			c.answered++
		}
	case spec.Step == decode.StepReady:
		c.playing = c.playing || c.answered == len(rounds)
	case c.Adopted || c.sent[1].missing() > 0 || c.got[1].missing() > 0:
		t.completes(c, true)
	}
	t.hand(c, e)
}

// hand emits an event of a client that the host has let in.
func (t *timeline) hand(c *Client, e *Event) {
	if c.admitted {
		t.emit(e)
	}
}

// fromHost handles a record of the host.
func (t *timeline) fromHost(r *dissect.Record, c *Client) {
	h := &r.Transport
	c.lastFromHost = t.now
	if r.Repeat {
		c.held = c.signs + 1
	} else if c.held == 0 {
		c.served = t.now.frame
	}
	if c.Adopted {
		t.admit(c)
	}
	if h.Type == transport.Acknowledge && !c.gone { // later ones say nothing of how often the host acted on a message
		t.acknowledged(r, c)
	}
	if t.forced == decode.Undecided {
		t.sender = r.Sender // the session has determined the dialect
	}
	e, ok := t.eventOf(r, c, Output)
	if !ok {
		return
	}
	if !e.standard() {
		t.control(r, e)
		return
	}
	if _, refused := r.Message.(*msg.BootPlayer); !refused {
		t.admit(c)
	}
	t.learn(r, e)
	if step := t.bodies.specOf(e).Step; step == decode.StepLoad || step == decode.StepEnter {
		t.completes(c, step == decode.StepEnter) // the host got what it answers
	}
	code, peer, announced := t.announced(e)
	if announced && code != event.CodeDeletePlayer {
		t.meet(peer)
	}
	if t.emit(e); announced && code == event.CodeDeletePlayer && !r.Late { // otherwise a later player may have the id
		t.endRemoved(peer)
	}
}

// acknowledged handles an acknowledgement of the host.
func (t *timeline) acknowledged(r *dissect.Record, c *Client) {
	c.taken, c.after = t.now, 0
	h := &r.Transport
	if receipt := c.sent[class(h)].acknowledged(r); receipt != nil && !h.Fragment {
		if c.shown = max(c.shown, receipt.frame); receipt.once() {
			c.signs++
		}
	}
	if c.leave != nil && c.leave.receipt.acknowledged() {
		t.leaves(c.leave)
	}
}

// control handles a message of the host other than a game message.
func (t *timeline) control(r *dissect.Record, e *Event) {
	c := e.Client
	switch m := t.bodies.control(e.Type, e.Body).(type) {
	case *transport.Accept:
		c.Peer, c.given = m.ID, m.ID
		t.hasLeft(m.ID) // otherwise its id were not free
		t.admit(c)
	case *transport.Identity:
		t.admit(c)
		if r.Sender != decode.OpenBC {
			t.meet(m.ID)
		}
	case *transport.Goodbye:
		id := m.ID // m does not outlive the next one
		t.hand(c, e)
		t.hasLeft(id)
		if id != transport.HostPeer && id != c.Peer {
			t.endRemoved(id)
		}
		return
	case *transport.Boot:
		if t.hand(c, e); !c.admitted || m.ID == transport.UnassignedPeer {
			t.end(c, PutOut)
		} else {
			t.endRemoved(m.ID)
		}
		return
	}
	t.hand(c, e)
}

// announced returns the contents of a PlayerAnnounce.
func (t *timeline) announced(e *Event) (code event.Code, peer uint8, ok bool) {
	if e.Op == msg.OpPlayerAnnounce {
		if m, ok := t.bodies.game(e.Body).(*msg.PlayerAnnounce); ok && m.Class == event.ClassPlayer {
			return m.Code, m.Player, true
		}
	}
	return 0, 0, false
}

// learn stores facts about the clients from a game message of the host.
func (t *timeline) learn(r *dissect.Record, e *Event) {
	c := e.Client
	if m, ok := r.Message.(*msg.Settings); ok && r.Err == nil {
		c.Slot, c.settled = int(m.Slot), t.now.frame
	}
	if e.Op == msg.OpStateUpdate {
		id, ok := msg.UpdatedObject(e.Body)
		if s, inRange := id.Slot(); ok && inRange {
			e.Slots = 1 << s
		}
		return
	}
	r.Visit(&t.bodies.viewer, decode.FieldFunc(func(f *decode.Field) {
		if s, ok := wire.ObjectID(f.Uint).Slot(); ok && f.Kind == decode.KindObject && s < 16 {
			e.Slots |= 1 << s
		}
	}))
}

// meet records a peer id that the host names. If no client has or had it, it
// belongs to a client without captured traffic.
func (t *timeline) meet(peer uint8) {
	had := func(c *Client) bool { return c.Peer == peer }
	if peer > transport.HostPeer && !slices.ContainsFunc(t.order, had) {
		t.strangers[peer] = true
	}
}

// endRemoved ends the client that the host reports as gone.
func (t *timeline) endRemoved(peer uint8) {
	t.hasLeft(peer)
	for _, c := range t.order {
		if c.Peer == peer && !c.gone {
			c.dismissed, c.still = t.now, 0
			t.end(c, PutOut)
		}
	}
}

// seenSlots returns the slots of the players with captured traffic.
func (t *timeline) seenSlots() (known uint16) {
	for _, c := range t.order {
		if !c.gone {
			known |= c.bit()
		}
	}
	return known
}

// late reports whether the capture lacks the join of a client.
func (t *timeline) late() bool { return t.noted[result.NoteAdopted] > 0 }

// partial reports whether there are or may be players without captured traffic.
func (t *timeline) partial() bool { return t.shared || t.late() || len(t.strangers) > 0 }
