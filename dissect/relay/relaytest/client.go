// Package relaytest has what tests of hosts need: clients that behave as the
// game's do, or as OpenBC's test clients do, and the troubles of a network.
//
// Like hosts, clients have no socket and no clock.
package relaytest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/event"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/names"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/dissect/relay/arq"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// Options say who a client is.
type Options struct {
	Name     string
	Password string
	Claimed  [4]byte // its address, as it sees it
	Nonce    uint32  // other than 0
	OpenBC   bool    // it writes as OpenBC's test clients do
	First    int     // number of the first message that Fight numbers
	Limits   arq.Limits
}

// A Phase is how far a client has come.
type Phase uint8

// The phases.
const (
	Idle       Phase = iota
	Connecting       // it asks to be let in
	Joining          // it has an id
	Playing          // it was announced
	Leaving          // it has said goodbye
	Gone             // it was put out, or the host has left
)

// A Client is one client of the game.
type Client struct {
	Options
	Phase  Phase
	ID     uint8
	Slot   int
	Reason int      // why it was put out, -1 otherwise
	Err    error    // the first thing that should not have happened
	Names  []string // that it was told, its own included

	// Deliver is told of every game message, if it is not nil. The message
	// is borrowed.
	Deliver func(now time.Time, m *arq.Message)

	link    *arq.Endpoint
	decoder *decode.Decoder
	catalog *decode.Catalog
	objects map[wire.ObjectID]bool
	extra   [][]byte // deciphered datagrams that the link cannot make
	plain   []byte
	out     []byte
	sent    time.Time
	counted uint16 // reliable game messages
	numbers [3]int // of the messages that Fight has sent, by stream
}

// NewClient returns a client that has not connected.
func NewClient(o Options) *Client {
	c := &Client{
		Options: o, Reason: -1, Slot: -1, link: arq.New(transport.UnassignedPeer, o.Limits),
		decoder: decode.NewDecoder(), catalog: msg.Catalog(), objects: map[wire.ObjectID]bool{},
	}
	for i := range c.numbers {
		c.numbers[i] = o.First
	}
	return c
}

// Ship returns the id of the client's ship.
func (c *Client) Ship() wire.ObjectID { return wire.FirstObject(c.Slot) }

// Idle reports whether all that the client has sent is acknowledged.
func (c *Client) Idle() bool { return c.link.Idle() }

// Link returns the counts of the client's link.
func (c *Client) Link() arq.Stats { return c.link.Stats() }

// Connect asks to be let in, once a second until there is an answer.
func (c *Client) Connect(now time.Time) {
	c.Phase = Connecting
	body := append([]byte(nil), c.Claimed[:]...)
	body = binary.LittleEndian.AppendUint32(body, c.Nonce)
	body = append(wire.AppendWideTextOf(body, c.Password), 0, 0)
	c.Send(now, arq.Message{Type: transport.Connect, Body: body})
}

// Leave says goodbye.
func (c *Client) Leave(now time.Time) {
	c.Phase = Leaving
	if c.OpenBC {
		c.extra = append(c.extra, []byte{c.ID, 1, byte(transport.Leave), 2})
		return
	}
	c.Send(now, arq.Message{Type: transport.Disconnect, Body: append([]byte{c.ID}, c.Claimed[:]...)})
}

// Send sends any message.
func (c *Client) Send(now time.Time, m arq.Message) {
	err := c.link.Queue(now, m)
	if err == nil && m.Reliable {
		c.counted++
	}
	c.failed(err)
}

func (c *Client) failed(err error) {
	if c.Err == nil && err != nil {
		c.Err = fmt.Errorf("%s: %w", c.Name, err)
	}
}

// SendBody sends a game message as it is.
func (c *Client) SendBody(now time.Time, reliable bool, body []byte) {
	c.Send(now, arq.Message{Type: transport.Standard, Reliable: reliable, Body: body})
}

// Say sends a game message.
func (c *Client) Say(now time.Time, op decode.Opcode, m decode.Message) {
	c.say(now, op, m, decode.Stock)
}

func (c *Client) say(now time.Time, op decode.Opcode, m decode.Message, d decode.Dialect) {
	spec := c.catalog.Lookup(op)
	body, err := decode.Append(nil, spec, m, d)
	if err != nil {
		c.failed(err)
		return
	}
	c.SendBody(now, spec.Reliable, body)
}

// Datagram returns the next datagram that is due, as it goes to the network; it
// is valid until the next call.
func (c *Client) Datagram(now time.Time) (datagram []byte, ok bool) {
	if c.Phase == Idle || c.Phase == Gone {
		return nil, false
	}
	switch {
	case len(c.extra) > 0:
		c.plain, c.extra = append(c.plain[:0], c.extra[0]...), c.extra[1:]
	case !c.OpenBC:
		if c.plain, ok = c.link.Datagram(now, c.plain[:0]); !ok {
			return nil, false
		}
	default:
		if c.plain, ok = c.openBC(now); !ok {
			return nil, false
		}
	}
	c.sent = now
	c.out = cipher.Encrypt(c.out[:0], c.plain)
	return c.out, true
}

// Next returns when Datagram may have something to send; the zero time stands
// for never.
func (c *Client) Next() time.Time {
	if c.Phase == Idle || c.Phase == Gone {
		return time.Time{}
	}
	return c.link.Next()
}

// openBC returns the next datagram in the forms of OpenBC's test clients: with a
// connect without nonce, a keepalive of two bytes, and numbers of eight bits.
// Acknowledgements of the link are left out: those clients send them but once,
// and Receive does.
func (c *Client) openBC(now time.Time) (plain []byte, ok bool) {
	for {
		if plain, ok = c.link.Datagram(now, c.plain[:0]); !ok {
			break
		}
		if plain = rewrite(plain); plain[1] > 0 {
			return plain, true
		}
	}
	// Much of what the link sends is left out, so it does not know.
	if c.Phase != Connecting && now.Sub(c.sent) >= arq.KeepaliveAfter {
		return []byte{c.ID, 1, byte(transport.NameChange), 2}, true
	}
	return nil, false
}

// rewrite rewrites a datagram, of which nothing may be left.
func rewrite(plain []byte) []byte {
	out := []byte{plain[0], 0}
	split, err := transport.Split(plain)
	for err == nil {
		var m transport.Message
		var more bool
		if m, more, err = split.Next(); err != nil || !more {
			break
		}
		switch m.Type {
		case transport.Acknowledge, transport.DoNothing:
			continue
		case transport.Connect:
			out = append(out, 0x03, 0x08, 0x01, 0x00, 0x00, 0x00, 0x7F, 0x00)
		default:
			m.Seq &= 0xFF
			if longer, err := transport.Append(out, &m.Header, m.Body); err == nil {
				out = longer
			}
		}
		out[1]++
	}
	return out
}

// Receive takes a datagram of the host's. What does not split is left out, as
// in the game.
func (c *Client) Receive(now time.Time, datagram []byte) {
	if c.Phase == Gone || len(datagram) == 0 || datagram[0] != transport.HostPeer {
		return
	}
	split, err := transport.Split(cipher.Decrypt(nil, datagram))
	if err != nil {
		return
	}
	for {
		m, ok, err := split.Next()
		if err != nil || !ok {
			return
		}
		switch {
		case c.OpenBC && m.Type == transport.Standard && m.HasSeq:
			c.acknowledge(&m.Header)
		case c.OpenBC && m.Type == transport.Acknowledge && !m.Control():
			// The host has seen eight bits of the number only.
			last := c.counted - 1
			m.Seq = last - (last-m.Seq)&0xFF
		}
		c.link.Receive(now, &m, func(m *arq.Message) { c.deliver(now, m) })
	}
}

// acknowledge acknowledges a game message as OpenBC's test clients do: in a
// datagram of its own, with flags of their own. They do so for no control
// messages.
func (c *Client) acknowledge(h *transport.Header) {
	ack := transport.AckOf(h)
	ack.Seq &= 0xFF
	ack.AckFlags |= 0x80
	if plain, err := transport.Append([]byte{c.ID, 1}, &ack, nil); err == nil {
		c.extra = append(c.extra, plain)
	}
}

func (c *Client) deliver(now time.Time, m *arq.Message) {
	switch m.Type {
	case transport.Connect:
		if c.Phase == Connecting && len(m.Body) == 1 {
			c.Phase, c.ID = Joining, m.Body[0]
			c.link.SetPeer(c.ID)
			c.link.Settle(transport.Connect)
			body := append([]byte{c.ID}, c.Claimed[:]...)
			body = append(wire.AppendWideTextOf(body, c.Name), 0, 0)
			c.Send(now, arq.Message{Type: transport.NameChange, Body: body})
		}
	case transport.NameChange:
		if len(m.Body) > 7 {
			c.Names = append(c.Names, wire.WideText(m.Body[5:len(m.Body)-2]))
		}
	case transport.BootPlayer:
		if len(m.Body) == 2 && (m.Body[1] == c.ID || m.Body[1] == transport.UnassignedPeer) {
			c.Phase, c.Reason = Gone, int(m.Body[0])
		}
	case transport.Disconnect:
		if len(m.Body) > 0 && m.Body[0] == transport.HostPeer {
			c.Phase = Gone
		}
	case transport.Standard:
		if len(m.Body) > 0 {
			c.game(now, m)
		}
	default:
	}
}

func (c *Client) game(now time.Time, m *arq.Message) {
	if c.Deliver != nil {
		c.Deliver(now, m)
	}
	switch op := m.Body[0]; op {
	case 0x20:
		if len(m.Body) > 1 {
			c.answer(now, m.Body[1])
		}
	case 0x00, 0x17, 0x1D, 0x03:
		res := c.decoder.Read(c.catalog.Lookup(decode.Opcode(op)), m.Body, decode.Stock, nil)
		c.learn(now, res.Message)
	case 0x01:
		c.Say(now, 0x2A, new(msg.ClientReady))
	}
}

func (c *Client) learn(now time.Time, m decode.Message) {
	switch m := m.(type) {
	case *msg.Settings:
		c.Slot = int(m.Slot)
	case *msg.PlayerAnnounce:
		if m.Player == c.ID && c.Phase == Joining {
			c.Phase = Playing
		}
	case *msg.ObjectCreateTeam:
		c.objects[m.ID] = true
	case *msg.ObjectCreateOpenBC:
		c.objects[m.ID] = true
	case *msg.VerifyEnterSet:
		if !c.objects[m.Object] {
			c.Say(now, 0x1E, &msg.RequestObject{Object: m.Object})
		}
	}
}

// answer sends the hashes of the files of a round: of as many files as the
// game's own answers have, so that the third comes in fragments.
func (c *Client) answer(now time.Time, round uint8) {
	files := func(prefix string, n int) (list []msg.ChecksumFile) {
		for i := range n {
			name := fmt.Sprintf("%s%d.pyc", prefix, i)
			list = append(list, msg.ChecksumFile{Name: names.Hash(name), Content: names.FileHash([]byte(name))})
		}
		return list
	}
	file := func(name string) []msg.ChecksumFile {
		return []msg.ChecksumFile{{Name: names.Hash(name), Content: names.FileHash([]byte(name))}}
	}
	m := msg.ChecksumResponse{Round: round, Found: true}
	dir := "scripts"
	switch round {
	case 0:
		m.VersionHash = names.Hash("60")
		m.Tree.Files = file("App.pyc")
	case 1:
		m.Tree.Files = file("Autoexec.pyc")
	case 2:
		dir = "scripts/ships"
		m.Tree.Files = files("ship", 51)
		m.Tree.Subdirs = []uint32{names.Hash("Hardpoints")}
		m.Tree.Trees = []msg.ChecksumTree{{Files: files("ship", 51)}}
	case 3:
		dir = "scripts/mainmenu"
		m.Tree.Files = files("menu", 4)
	default:
		dir = "Scripts/Multiplayer"
		m.Tree.Files = files("multi", 9)
	}
	m.DirHash = names.Hash(dir)
	c.Say(now, 0x21, &m)
}

// akira and birdOfPrey are creations of ships: one of the stock game, and one
// of an OpenBC test client.
const (
	akira = "03000208800000ffffff3f010000b042000084c2000092c2f54a6f3ffe8c963e84e34b3e38784e3c0000000000000005" +
		"4361647932064d756c746931ffff64ffffffffffffff64ffffffffffff64ffffffffffffffffff646001ffffff64ffff" +
		"ffffffffff6400ff64ffffff6401ff"
	birdOfPrey = "030000ffffff3f06608ff2c0f4288041686686420000803f000000000000000000000000e8f7143f8ab59a3e054a41bf" +
		"00000000000000000000803f0000000000007a4500803b4500803b4500803b4500803b4500803b4500803b450b000080" +
		"094500409c4500007a450080bb450000164500001645000016440000164400004845000048440000c8430000"
)

func unhex(text string) (b []byte) {
	text = strings.ReplaceAll(text, " ", "")
	for i := 0; i+1 < len(text); i += 2 {
		var c byte
		_, _ = fmt.Sscanf(text[i:i+2], "%02x", &c) // the text is ours
		b = append(b, c)
	}
	return b
}

// CreateShip creates the client's ship.
func (c *Client) CreateShip(now time.Time) {
	body, id := unhex(akira), 7
	if c.OpenBC {
		body, id = unhex(birdOfPrey), 3
	}
	body[1], body[2] = byte(c.Slot), c.ID
	if c.OpenBC {
		body[2] = 0
	}
	binary.LittleEndian.PutUint32(body[id:], uint32(c.Ship()))
	c.objects[c.Ship()] = true
	c.SendBody(now, true, body)
}

// Streams of messages that Fight numbers.
const (
	Forward = iota // to all others
	Chat           // to all
	Consume        // to nobody
)

// Fight sends what a client sends in a tenth of a second of battle: where its
// ship is, and now and then a shot, a new target or a word.
func (c *Client) Fight(now time.Time, tick int) {
	c.say(now, 0x1C, &msg.StateUpdate{
		Object: c.Ship(), GameTime: wire.FloatBits(float32(tick) / 10),
		Flags:    msg.DirtyPosition | msg.DirtyForward | msg.DirtyUp | msg.DirtySpeed | msg.DirtyPower,
		Position: [3]wire.F32{wire.FloatBits(float32(tick)), wire.FloatBits(float32(c.Slot)), 0},
		Forward:  wire.Dir3{0, 127, 0}, Up: wire.Dir3{0, 0, 127}, Speed: wire.NewCF16(3),
		Power: []msg.Setting{{Index: uint8(tick % 4), Value: 204}},
	}, decode.Stock)
	switch {
	case tick%4 == 0:
		c.event(now, 0x07)
	case tick%4 == 2:
		c.event(now, 0x08)
	case tick%8 == 5:
		c.Say(now, 0x19, &msg.TorpedoFire{Tube: c.number(Forward), FiringPlayer: c.ID, Flags: msg.TorpedoNoTarget, Direction: wire.Dir3{0, 127, 0}})
	case tick%40 == 7:
		c.Say(now, 0x2C, &msg.Chat{Sender: int32(c.ID), Text: fmt.Appendf(nil, "%s %d", c.Name, c.number(Chat)-c.Ship())})
	case tick%40 == 23:
		c.Say(now, 0x0D, &msg.ChangedTarget{Event: event.Event{Class: event.ClassObject, Code: event.CodeTargetWasChanged, Dest: c.number(Consume)}})
	}
}

// event sends that a weapon begins or ceases to fire.
func (c *Client) event(now time.Time, op decode.Opcode) {
	switch n := c.number(Forward); {
	case c.OpenBC:
		c.say(now, op, &msg.ShortEvent{Object: n}, decode.OpenBC)
	case op == 0x07:
		c.Say(now, op, &msg.StartFiring{Event: event.Event{Class: event.ClassFiring, Code: event.CodeStartFiringNotify, Dest: n}})
	default:
		c.Say(now, op, &msg.StopFiring{Event: event.Event{Class: event.ClassPlain, Code: event.CodeStopFiringNotify, Dest: n}})
	}
}

// number returns the next number of a stream, as an object id in the range of
// the client's slot.
func (c *Client) number(stream int) wire.ObjectID {
	c.numbers[stream]++
	return c.Ship() + wire.ObjectID(c.numbers[stream])
}

// Last returns the number of the last message of a stream that was sent.
func (c *Client) Last(stream int) int { return c.numbers[stream] }

// Numbered returns which message of Fight's a body is: the stream and the number
// in it, and the slot of the sender; of chat its name instead.
func Numbered(body []byte) (stream, slot int, name string, number int, ok bool) {
	object := func(at int) bool {
		if len(body) < at+4 {
			return false
		}
		id := wire.ObjectID(binary.LittleEndian.Uint32(body[at:]))
		slot, ok = id.Slot()
		number = int(id - wire.FirstObject(slot))
		return ok
	}
	switch {
	case len(body) == 0:
		return
	case body[0] == 0x19, (body[0] == 0x07 || body[0] == 0x08) && len(body) == 5:
		return Forward, slot, "", number, object(1)
	case body[0] == 0x07, body[0] == 0x08:
		return Forward, slot, "", number, object(13)
	case body[0] == 0x0D:
		return Consume, slot, "", number, object(13)
	case body[0] == 0x2C && len(body) > 7:
		text := body[7:]
		i := bytes.LastIndexByte(text, ' ')
		if i < 0 {
			return
		}
		_, err := fmt.Sscanf(string(text[i:]), "%d", &number)
		return Chat, -1, string(text[:i]), number, err == nil
	}
	return
}
