package suite

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/dissect/relay"
	"github.com/bcdissect/bcdissect/dissect/relay/arq"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// The limits of a client.
const (
	perSecond = 50      // most datagrams that a client sends, unless the case needs more
	mostSeen  = 1 << 16 // most remembered messages of a case
	farNumber = 1 << 15 // distance between two numbers from which the lower one is outdated. Numbers wrap after 65,535.
)

// catalog returns the messages of the game.
var catalog = sync.OnceValue(msg.Catalog)

// A message is a message that a client has sent or received.
type message struct {
	transport.Message
	at    time.Time
	frame int
	again bool   // a reliable message of the host that had come before
	text  string // text of a delivered line of chat
}

// gameMessage makes a game message.
func gameMessage(body []byte) *message {
	return &message{Message: transport.Message{Header: transport.Header{Type: transport.Standard}, Body: body}}
}

// game reports whether the message is a game message.
func (m *message) game() bool { return m.Type == transport.Standard && len(m.Body) > 0 }

// opcode returns the opcode of a game message.
func (m *message) opcode() decode.Opcode { return decode.Opcode(m.Body[0]) }

// is reports whether the message is a game message with one of the given
// opcodes.
func (m *message) is(ops ...decode.Opcode) bool {
	return m.game() && slices.Contains(ops, m.opcode())
}

// decoded returns the message with its fields.
func (m *message) decoded() decode.Result {
	if !m.game() {
		if spec := transport.SpecFor(&m.Message); spec != nil {
			return decode.NewDecoder().ReadBody(spec, m.Body)
		}
	} else if spec := catalog().Lookup(m.opcode()); spec != nil {
		return decode.NewDecoder().Read(spec, m.Body, decode.Stock, nil)
	}
	return decode.Result{}
}

// read returns a message as one of a type, and whether it decodes to its last
// byte.
func read[M decode.Message](m *message) (fields M, exact bool) {
	res := m.decoded()
	fields, ok := res.Message.(M)
	return fields, ok && res.Exact()
}

// chatText returns the text of a line of chat, or "" for other messages.
func (m *message) chatText() string {
	if m.is(msg.OpChat) {
		if chat, exact := read[*msg.Chat](m); exact {
			return string(chat.Text)
		}
	}
	return ""
}

// about returns the id of the peer that a control message concerns.
func (m *message) about() uint8 {
	switch m := m.decoded().Message.(type) {
	case *transport.Accept:
		return m.ID
	case *transport.Boot:
		return m.ID
	case *transport.Goodbye:
		return m.ID
	case *transport.Identity:
		return m.ID
	}
	return 0
}

// boots reports whether the message is a BootPlayer with a reason, for a peer.
func (m *message) boots(reason, id uint8) bool {
	boot, _ := read[*transport.Boot](m)
	return boot != nil && *boot == transport.Boot{Reason: reason, ID: id}
}

// named returns the name in a NameChange.
func (m *message) named() string {
	if who, _ := read[*transport.Identity](m); who != nil {
		return wire.WideText(who.Name).Raw()
	}
	return ""
}

// messages are in the order in which they were sent or received.
type messages []*message

// where returns the messages for which the function is true.
func (list messages) where(so func(*message) bool) (some messages) {
	for _, m := range list {
		if so(m) {
			some = append(some, m)
		}
	}
	return some
}

// times returns when the messages were sent or received.
func (list messages) times() (at []time.Time) {
	for _, m := range list {
		at = append(at, m.at)
	}
	return at
}

// split returns the messages of a deciphered datagram, up to the first
// unreadable one.
func split(plain []byte) (list []transport.Message, err error) {
	s, err := transport.Split(plain)
	for err == nil {
		m, ok, e := s.Next()
		if e != nil || !ok {
			return list, e
		}
		list = append(list, m)
	}
	return list, err
}

// A client is a client of the suite.
type client struct {
	*relay.Client
	t     *T
	local netip.AddrPort
	name  string

	in        messages // in the order of arrival
	out       messages
	delivered messages // messages of the host in the order of their numbers, each once
	texts     [][]byte // GameSpy datagrams
	odd       int      // number of datagrams that do not split
	known     map[uint32]bool
	firsts    map[uint32]*message // first message of each number, nil if several sessions used the socket
	used      [2]uint16           // highest numbers of game messages of the host and of the client
	signs     signs

	// keep reports whether to send a message of the client. If nil, all are sent.
	keep  func(*transport.Message) bool
	deaf  bool // it ignores everything
	fast  bool // it may send more than perSecond datagrams
	loss  int  // how many of a thousand datagrams to it are lost
	held  bool // its datagrams are kept instead of sent
	queue [][]byte

	times  [perSecond]time.Time // times of the last datagrams that it sent
	turn   int
	closed bool
	plain  []byte
	frame  int
}

// open opens a client that has not connected. With an empty name, it gets a new
// one. If answer is nil, it does not answer requests for hashes.
func (t *T) open(name string, answer func(round uint8) *msg.ChecksumResponse) (*client, error) {
	local, err := t.r.d.Open()
	if err != nil {
		return nil, err
	}
	t.r.serial++
	c := &client{t: t, local: local, name: name, known: map[uint32]bool{}, firsts: map[uint32]*message{}, signs: newSigns()}
	if name == "" {
		c.name = fmt.Sprintf("Conform%d", t.r.serial)
	}
	c.Client = relay.NewClient(relay.ClientConfig{
		Name: c.name, Password: t.r.o.Password, Claimed: claimed(t.r.serial), Nonce: t.r.nonce(), Answer: answer, Ask: true, Adapt: true, Deliver: c.deliver,
	})
	t.r.clients = append(t.r.clients, c)
	t.opened = append(t.opened, c)
	return c, nil
}

// claimed is the address that a client claims to have. The stock host
// distinguishes joining clients by it, so it is different for each client.
func claimed(serial int) [4]byte {
	return [4]byte{10, 1, byte(serial >> 8), byte(serial)}
}

func (c *client) now() time.Time { return c.t.r.d.Now() }

// connect asks to be let in.
func (c *client) connect() { c.Connect(c.now(), nil) }

func (c *client) deliver(now time.Time, m *arq.Message) {
	if len(c.delivered) < mostSeen {
		d := &message{Message: transport.Message{Header: m.Header, Body: bytes.Clone(m.Body)}, at: now, frame: c.frame}
		d.text = d.chatText()
		c.delivered = append(c.delivered, d)
	}
}

// pump sends the datagrams that are due. It returns when there may be more.
func (c *client) pump(now time.Time) (next time.Time) {
	if c.closed {
		return time.Time{}
	}
	for !now.Before(c.leavesNext()) {
		d, ok := c.Datagram(now)
		if !ok {
			return c.Next()
		}
		c.plain = cipher.Decrypt(c.plain[:0], d)
		c.leaves(now, c.plain)
	}
	return c.leavesNext()
}

// leavesNext returns when the client may send its next datagram. It may send
// half of a second's datagrams at once. After that it spreads the rest evenly,
// so that it never falls silent under a host that asks for many answers.
func (c *client) leavesNext() time.Time {
	const half = perSecond / 2
	before, last := c.times[(c.turn+half)%perSecond], c.times[(c.turn+perSecond-1)%perSecond]
	if c.fast || c.held || before.IsZero() {
		return time.Time{}
	}
	before, last = before.Add(time.Second), last.Add(time.Second/half)
	if before.Before(last) {
		return before
	}
	return last
}

// leaves sends the messages of a deciphered datagram that keep selects.
func (c *client) leaves(now time.Time, plain []byte) {
	if c.keep != nil {
		plain = c.filtered(plain)
		if plain == nil {
			return
		}
	}
	if c.held {
		c.queue = append(c.queue, append([]byte(nil), plain...))
		return
	}
	c.signs.leave(plain)
	c.raw(now, plain)
}

// raw sends a deciphered datagram unchanged.
func (c *client) raw(now time.Time, plain []byte) {
	c.times[c.turn] = now
	c.turn = (c.turn + 1) % perSecond
	frame := c.t.r.send(now, c.local, cipher.Encrypt(nil, plain))
	list, _ := split(bytes.Clone(plain)) // in some cases the messages are damaged
	for _, m := range list[:min(len(list), mostSeen-len(c.out))] {
		c.uses(1, &m.Header)
		c.out = append(c.out, &message{Message: m, at: now, frame: frame})
	}
}

// repeats sends a deciphered datagram so often that a copy, and another one
// after it, certainly arrive.
func (c *client) repeats(plain []byte, apart time.Duration) {
	copies := 3
	if c.t.r.lossy() {
		copies = 6
	}
	for range copies {
		c.t.until(time.Second, func() bool { return !c.now().Before(c.leavesNext()) })
		c.raw(c.now(), plain)
		c.t.wait(apart)
	}
}

// uses records the number of a game message.
func (c *client) uses(side int, h *transport.Header) {
	if h.HasSeq && h.Type == transport.Standard {
		c.used[side] = max(c.used[side], h.Seq)
	}
}

// numbers returns how many numbers of game messages are used in the direction
// with the most.
func (c *client) numbers() int { return int(max(c.used[0], c.used[1])) }

// filtered returns the datagram without the messages that keep rejects, or nil
// if none is left.
func (c *client) filtered(plain []byte) []byte {
	var kept [][]byte
	list, _ := split(plain) // this package made the datagram
	for i := range list {
		if c.keep(&list[i]) {
			kept = append(kept, written(&list[i].Header, list[i].Body))
		}
	}
	if len(kept) == 0 {
		return nil
	}
	return datagram(plain[0], kept...)
}

// receive handles a datagram of the host.
func (c *client) receive(at time.Time, frame int, datagram []byte) {
	if len(datagram) > 0 && datagram[0] == '\\' {
		if len(c.texts) < mostSeen {
			c.texts = append(c.texts, datagram)
		}
		return
	}
	list, err := split(cipher.Decrypt(nil, datagram))
	for _, tm := range list {
		m := &message{Message: tm, at: at, frame: frame}
		c.uses(0, &m.Header)
		switch key := keyOf(&m.Header); {
		case m.Type == transport.Acknowledge:
			if typ, ok := c.signs.sent[key]; ok {
				c.t.r.takes[typ] = true
			}
		case m.HasSeq:
			if m.again = c.known[key]; m.again {
				c.signs.comesAgain(key)
			}
			delete(c.known, key^farNumber)
			c.known[key] = true
			c.numbered(key, m)
		}
		if len(c.in) < mostSeen {
			c.in = append(c.in, m)
		}
	}
	if err != nil {
		c.odd++
	}
	c.frame = frame
	c.Receive(at, datagram)
	c.signs.holds(at, c.Link().Held > 0)
}

// twice reports whether the client sent a game message with this opcode again,
// since no acknowledgement came.
func (c *client) twice(op decode.Opcode) bool {
	seen := map[uint16]bool{}
	for _, m := range c.out {
		if m.is(op) && !m.Fragment {
			if seen[m.Seq] {
				return true
			}
			seen[m.Seq] = true
		}
	}
	return false
}

// forget clears the records of the client.
func (c *client) forget() {
	c.in, c.out, c.delivered, c.texts = nil, nil, nil, nil
}

// ack returns an acknowledgement as a transport message.
func ack(seq uint16, flags byte) []byte {
	return []byte{byte(transport.Acknowledge), byte(seq), byte(seq >> 8), flags}
}

// datagram returns a deciphered datagram of messages.
func datagram(id uint8, messages ...[]byte) []byte {
	b := []byte{id, byte(len(messages))}
	for _, m := range messages {
		b = append(b, m...)
	}
	return b
}

// written returns a message in its form in a datagram.
func written(h *transport.Header, body []byte) []byte {
	b, err := transport.Append(nil, h, body)
	if err != nil {
		return nil // the bodies are short
	}
	return b
}

// standard returns a reliable game message in its form in a datagram.
func standard(seq uint16, body []byte) []byte {
	return written(&transport.Header{Type: transport.Standard, Reliable: true, HasSeq: true, Seq: seq}, body)
}

// control returns a control message in its form in a datagram.
func control(typ transport.Type, seq uint16, body []byte) []byte {
	return written(&transport.Header{Type: typ, Reliable: true, Priority: true, HasSeq: true, Seq: seq}, body)
}

// encode returns a game message in the stock game's form.
func encode(op decode.Opcode, m decode.Message) []byte {
	b, err := decode.Append(nil, catalog().Lookup(op), m, decode.Stock)
	if err != nil {
		return nil // a test encodes the messages of the suite, and lists of hashes can always be encoded
	}
	return b
}

// controlBody returns the body of a control message.
func controlBody(m decode.Message) []byte {
	b, err := decode.AppendFields(nil, "", m, decode.Stock)
	if err != nil {
		return nil // no body of this package is too long
	}
	return b
}

// chat returns a line of chat.
func (c *client) chat(text string) []byte {
	return encode(msg.OpChat, &msg.Chat{Sender: int32(c.ID), Text: wire.Chars(text)})
}

// say sends a reliable game message.
func (c *client) say(body []byte) { c.SendBody(c.now(), true, body) }

// base returns the first object id of the client's range.
func (c *client) base() wire.ObjectID { return wire.FirstObject(c.Slot) }

// adapt returns a message given in hexadecimal digits, with the client's id as
// the shooter, and with the client's objects instead of slot 0's.
func (c *client) adapt(text string) []byte {
	body := unhex(text)
	res := gameMessage(body).decoded()
	new(decode.Viewer).Show(res.Message, body, 1, res.Dialect, decode.FieldFunc(func(f *decode.Field) {
		if f.Name == "firing_player" { // hosts may correct it
			body[f.Off] = c.ID
		}
		id := wire.ObjectID(f.Uint)
		if slot, owned := id.Slot(); f.Kind == decode.KindObject && owned && slot == 0 {
			binary.LittleEndian.PutUint32(body[f.Off:], uint32(id-wire.FirstObject(0)+c.base()))
		}
	}))
	return body
}

// ship returns the creation of the client's ship with an object id.
func (c *client) ship(creation string, id wire.ObjectID) []byte {
	ship, _ := read[*msg.ObjectCreateTeam](gameMessage(unhex(creation)))
	ship.Slot, ship.Player, ship.ID = byte(c.Slot), c.ID, id
	return encode(msg.OpObjectCreateTeam, ship)
}

// creates makes the client create a ship.
func (c *client) creates(creation string) {
	c.Know(c.base())
	c.say(c.ship(creation, c.base()))
}

// games returns the delivered game messages with the given opcodes.
func (c *client) games(ops ...decode.Opcode) messages {
	return c.delivered.where(func(m *message) bool { return m.is(ops...) })
}

// controls returns the delivered transport messages of a type.
func (c *client) controls(t transport.Type) messages {
	return c.delivered.where(func(m *message) bool { return m.Type == t })
}

// about returns the delivered transport messages of a type that concern a peer.
func (c *client) about(t transport.Type, id uint8) messages {
	return c.controls(t).where(func(m *message) bool { return m.about() == id })
}

// acked reports whether the host has acknowledged a message of a class.
func (c *client) acked(control bool, seq uint16) bool {
	return slices.ContainsFunc(c.acksOf(control, seq), func(m *message) bool { return !m.Fragment })
}

// acksOf returns the acknowledgements of a message, or of its fragments.
func (c *client) acksOf(control bool, seq uint16) messages {
	return c.in.where(func(m *message) bool {
		return m.Type == transport.Acknowledge && m.Seq == seq && m.Control() == control
	})
}

// sent returns the last numbered message of a type that the client has sent, or
// nil if there is none.
func (c *client) sent(typ transport.Type) *message {
	list := c.out.where(func(m *message) bool { return m.Type == typ && m.HasSeq })
	if len(list) == 0 {
		return nil
	}
	return list[len(list)-1]
}

// lastData returns the number of the last reliable game message that was sent.
func (c *client) lastData() (seq uint16, ok bool) {
	m := c.sent(transport.Standard)
	if m == nil {
		return 0, false
	}
	return m.Seq, true
}
