package suite

import (
	"encoding/binary"
	"net/netip"
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
	perSecond = 50      // datagrams that a client sends, unless the case needs more
	mostSeen  = 1 << 16 // messages that are remembered of one case
)

// A seen message is one transport message, as it was in a datagram.
type seen struct {
	transport.Message
	at    time.Time
	frame int
	again bool // a reliable message of the host's that had come before
}

// A heard message was delivered by the host, in order and once.
type heard struct {
	arq.Message
	at    time.Time
	frame int
}

// op returns the opcode of a game message.
func (h *heard) op() (op decode.Opcode, ok bool) {
	if h.Type != transport.Standard || len(h.Body) == 0 {
		return 0, false
	}
	return decode.Opcode(h.Body[0]), true
}

// A client is one of the suite's.
type client struct {
	*relay.Client
	t     *T
	local netip.AddrPort
	name  string

	in     []seen // received messages
	out    []seen // sent ones
	heard  []heard
	texts  [][]byte // GameSpy datagrams that came
	odd    int      // datagrams that came and do not split
	known  map[uint32]bool
	firsts map[uint32]seen // the first message of each number; nil if several sessions used the socket
	used   [2]uint16       // the highest numbers of game messages, of the host's and its own
	signs  signs

	// keep decides which of the client's messages leave; nil for all.
	keep  func(*transport.Message) bool
	deaf  bool // it takes nothing
	fast  bool // it may send more than perSecond datagrams
	loss  int  // of a thousand datagrams, so many are lost on their way to it
	held  bool // its datagrams are kept instead of sent
	queue [][]byte

	times  [perSecond]time.Time // of the last datagrams sent
	turn   int
	closed bool
	plain  []byte
	frame  int
}

// cfg is how a client behaves.
type cfg struct {
	name   string
	manual bool // it answers nothing by itself
	wait   bool // it does not say that it is ready
}

// open returns a client that has not connected.
func (t *T) open(o cfg) (*client, error) {
	local, err := t.r.d.Open()
	if err != nil {
		return nil, err
	}
	t.r.serial++
	c := &client{t: t, local: local, name: o.name, known: map[uint32]bool{}, firsts: map[uint32]seen{}, signs: newSigns()}
	if o.name == "" {
		c.name = t.r.newName()
	}
	rc := relay.ClientConfig{
		Name: c.name, Password: t.r.o.Password, Claimed: claimed(t.r.serial), Nonce: t.r.nonce(),
		Enter: !o.wait && !o.manual, Ask: true, Deliver: c.deliver,
	}
	if !o.manual {
		rc.Answer = t.answer
	}
	c.Client = relay.NewClient(rc)
	t.r.clients = append(t.r.clients, c)
	return c, nil
}

// claimed is the address that a client claims to have. The stock host tells
// clients that join apart by it, so each has one of its own.
func claimed(serial int) [4]byte {
	return [4]byte{10, 1, byte(serial >> 8), byte(serial)}
}

func (c *client) now() time.Time { return c.t.r.d.Now() }

// connect asks to be let in.
func (c *client) connect() { c.Connect(c.now(), nil) }

func (c *client) deliver(now time.Time, m *arq.Message) {
	if len(c.heard) >= mostSeen {
		return
	}
	h := heard{Message: *m, at: now, frame: c.frame}
	h.Body = append([]byte(nil), m.Body...)
	c.heard = append(c.heard, h)
}

// pump sends the datagrams that are due. It returns when there may be more.
func (c *client) pump(now time.Time) (next time.Time) {
	if c.closed {
		return time.Time{}
	}
	for c.mayLeave(now) {
		d, ok := c.Datagram(now)
		if !ok {
			return c.Next()
		}
		c.plain = cipher.Decrypt(c.plain[:0], d)
		c.leaves(now, c.plain)
	}
	return c.times[c.turn].Add(time.Second)
}

// mayLeave reports whether the client may send now.
func (c *client) mayLeave(now time.Time) bool {
	return c.fast || c.times[c.turn].IsZero() || now.Sub(c.times[c.turn]) >= time.Second
}

// leaves sends those messages of a deciphered datagram that may leave.
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

// raw sends a deciphered datagram as it is.
func (c *client) raw(now time.Time, plain []byte) {
	c.times[c.turn] = now
	c.turn = (c.turn + 1) % perSecond
	frame := c.t.r.send(now, c.local, cipher.Encrypt(nil, plain))
	split, err := transport.Split(plain)
	for err == nil && len(c.out) < mostSeen {
		m, ok, e := split.Next()
		if e != nil || !ok {
			return
		}
		c.uses(1, &m.Header)
		m.Body = append([]byte(nil), m.Body...)
		c.out = append(c.out, seen{Message: m, at: now, frame: frame})
	}
}

// uses notes the number of a game message.
func (c *client) uses(side int, h *transport.Header) {
	if h.HasSeq && h.Type == transport.Standard {
		c.used[side] = max(c.used[side], h.Seq)
	}
}

// numbers returns how many numbers of game messages are used up, in the direction with
// the most.
func (c *client) numbers() int { return int(max(c.used[0], c.used[1])) }

// filtered returns the datagram without the messages that stay; nil if none is
// left.
func (c *client) filtered(plain []byte) []byte {
	out := []byte{plain[0], 0}
	split, err := transport.Split(plain)
	for err == nil {
		m, ok, e := split.Next()
		if e != nil || !ok {
			break
		}
		if !c.keep(&m) {
			continue
		}
		if longer, e := transport.Append(out, &m.Header, m.Body); e == nil {
			out = longer
			out[1]++
		}
	}
	if out[1] == 0 {
		return nil
	}
	return out
}

// receive takes a datagram of the host's.
func (c *client) receive(at time.Time, frame int, datagram []byte) {
	if len(datagram) > 0 && datagram[0] == '\\' {
		if len(c.texts) < mostSeen {
			c.texts = append(c.texts, datagram)
		}
		return
	}
	plain := cipher.Decrypt(nil, datagram)
	split, err := transport.Split(plain)
	for err == nil {
		m, ok, e := split.Next()
		if err = e; e != nil || !ok {
			break
		}
		c.uses(0, &m.Header)
		s := seen{Message: m, at: at, frame: frame}
		switch key := keyOf(&m.Header); {
		case m.Type == transport.Acknowledge:
			if typ, ok := c.signs.sent[key]; ok {
				c.t.r.takes[typ] = true
			}
		case m.HasSeq:
			if s.again = c.known[key]; s.again {
				c.signs.comesAgain(key)
			}
			if len(c.known) >= mostSeen {
				clear(c.known)
			}
			c.known[key] = true
			c.numbered(key, &s)
		}
		if len(c.in) < mostSeen {
			c.in = append(c.in, s)
		}
	}
	if err != nil {
		c.odd++
	}
	c.frame = frame
	c.Receive(at, datagram)
	c.signs.holds(at, c.Link().Held > 0)
}

// forget begins the records of the client anew.
func (c *client) forget() {
	c.in, c.out, c.heard, c.texts = c.in[:0], c.out[:0], c.heard[:0], c.texts[:0]
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

// standard returns a reliable game message as it is in a datagram.
func standard(seq uint16, body []byte) []byte {
	b, err := transport.Append(nil, &transport.Header{Type: transport.Standard, Reliable: true, HasSeq: true, Seq: seq}, body)
	if err != nil {
		return nil // the bodies are ours, and short
	}
	return b
}

// chat returns a line of chat.
func (c *client) chat(text string) []byte {
	b := []byte{byte(msg.OpChat), c.ID, 0, 0, 0, byte(len(text)), byte(len(text) >> 8)}
	return append(b, text...)
}

// say sends a reliable game message.
func (c *client) say(body []byte) { c.SendBody(c.now(), true, body) }

// base returns the first object of the client's range.
func (c *client) base() uint32 { return uint32(wire.FirstObject(c.Slot)) }

// adapt returns a message with the client's own objects: in it those of slot 0.
func (c *client) adapt(body []byte, at ...int) []byte {
	out := append([]byte(nil), body...)
	for _, off := range at {
		if off+4 <= len(out) {
			id := binary.LittleEndian.Uint32(out[off:])
			binary.LittleEndian.PutUint32(out[off:], id-uint32(wire.FirstObject(0))+c.base())
		}
	}
	return out
}

// ship returns the creation of a ship of the client's, with an object id.
func (c *client) ship(creation string, id uint32) []byte {
	body := unhex(creation)
	body[1], body[2] = byte(c.Slot), c.ID
	binary.LittleEndian.PutUint32(body[shipAt:], id)
	return body
}

// creates has the client create a ship.
func (c *client) creates(creation string) {
	c.Know(wire.ObjectID(c.base()))
	c.say(c.ship(creation, c.base()))
}

// games returns the game messages heard with one of some opcodes.
func (c *client) games(ops ...decode.Opcode) (list []*heard) {
	for i := range c.heard {
		op, ok := c.heard[i].op()
		for _, o := range ops {
			if ok && o == op {
				list = append(list, &c.heard[i])
			}
		}
	}
	return list
}

// controls returns the transport messages heard of a type.
func (c *client) controls(t transport.Type) (list []*heard) {
	for i := range c.heard {
		if c.heard[i].Type == t {
			list = append(list, &c.heard[i])
		}
	}
	return list
}

// acked reports whether the host has acknowledged a message of a class.
func (c *client) acked(control bool, seq uint16) bool { return c.ackOf(control, seq) != nil }

// ackOf returns the first acknowledgement of a message.
func (c *client) ackOf(control bool, seq uint16) *seen {
	for i := range c.in {
		s := &c.in[i]
		if s.Type == transport.Acknowledge && s.Seq == seq && s.Control() == control && !s.Fragment {
			return s
		}
	}
	return nil
}

// lastData returns the number of the last reliable game message that was sent.
func (c *client) lastData() (seq uint16, ok bool) {
	for i := len(c.out) - 1; i >= 0; i-- {
		if c.out[i].Type == transport.Standard && c.out[i].HasSeq {
			return c.out[i].Seq, true
		}
	}
	return 0, false
}
