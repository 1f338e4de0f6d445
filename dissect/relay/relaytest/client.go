// Not part of the library: package relaytest extends [relay.Client] for tests
// of hosts. Its client flies a ship and numbers its messages, so that tests
// detect losses.
package relaytest

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/event"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/names"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/relay"
	"github.com/bcdissect/bcdissect/dissect/relay/arq"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// Options configure a client.
type Options struct {
	Name     string
	Password string
	Claimed  [4]byte // the client's address as the client knows it
	Nonce    uint32  // nonce of the connect, not 0
	OpenBC   bool    // the client writes as OpenBC's test clients do
	First    int     // number of the first message that Fight numbers
	Limits   arq.Limits
}

// The phases that tests use.
const (
	Playing = relay.ClientPlaying
	Gone    = relay.ClientGone
)

// A Client is a client that does automatically what the game's client does.
type Client struct {
	*relay.Client
	Options
	Names []string         // names that it was sent, including its own
	Known map[uint8]string // last name of each id that is still there
	Lost  []uint8          // ids of clients whose leave it was sent

	// Deliver, if not nil, is called with every game message. The message is
	// borrowed.
	Deliver func(now time.Time, m *arq.Message)

	numbers [3]int // numbers of the messages that Fight has sent, by stream
}

// NewClient returns a client that has not connected.
func NewClient(o Options) *Client {
	c := &Client{Options: o, Known: map[uint8]string{}}
	c.Client = relay.NewClient(relay.ClientConfig{
		Name: o.Name, Password: o.Password, Claimed: o.Claimed, Nonce: o.Nonce, OpenBC: o.OpenBC, Limits: o.Limits,
		Answer: answer, Enter: true, Ask: true, Deliver: c.deliver,
	})
	for i := range c.numbers {
		c.numbers[i] = o.First
	}
	return c
}

// Ship returns the id of the client's ship.
func (c *Client) Ship() wire.ObjectID { return wire.FirstObject(c.Slot) }

// Connect asks to be let in, once a second until the host answers.
func (c *Client) Connect(now time.Time) { c.Client.Connect(now, nil) }

func (c *Client) deliver(now time.Time, m *arq.Message) {
	switch {
	case m.Type == transport.NameChange && len(m.Body) > 7:
		c.Names = append(c.Names, wire.WideText(m.Body[5:len(m.Body)-2]).Raw())
		c.Known[m.Body[0]] = c.Names[len(c.Names)-1]
	case m.Type == transport.Disconnect && len(m.Body) > 0:
		c.lose(m.Body[0])
	case m.Type == transport.BootPlayer && len(m.Body) > 1:
		c.lose(m.Body[1])
	case m.Type == transport.Standard && len(m.Body) > 0 && c.Deliver != nil:
		c.Deliver(now, m)
	}
}

// lose records that a client has left.
func (c *Client) lose(id uint8) {
	c.Lost = append(c.Lost, id)
	delete(c.Known, id)
}

// answer returns the hashes of the files of a round. There are as many as in
// the game's answers, so that the third one is sent in fragments.
func answer(round uint8) *msg.ChecksumResponse {
	files := func(prefix string, n int) (list []msg.ChecksumFile) {
		for i := range n {
			name := fmt.Sprintf("%s%d.pyc", prefix, i)
			list = append(list, msg.ChecksumFile{Name: names.Hash(name), Content: names.FileHash([]byte(name))})
		}
		return list
	}
	m := msg.ChecksumResponse{Round: round, Found: true}
	dir := "scripts"
	switch round {
	case 0:
		m.VersionHash = names.Hash("60")
		m.Tree.Files = files("App", 1)
	case 1:
		m.Tree.Files = files("Autoexec", 1)
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
	return &m
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

func unhex(text string) []byte {
	b, _ := hex.DecodeString(text) // the text is a constant
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
	c.Know(c.Ship())
	c.SendBody(now, true, body)
}

// Streams of messages that Fight numbers.
const (
	Forward = iota // sent to all others
	Chat           // sent to all
	Consume        // sent to no client
)

// Fight sends a client's messages for a tenth of a second of battle: a ship
// update, and sometimes a shot, a new target or chat.
func (c *Client) Fight(now time.Time, tick int) {
	c.SayAs(now, msg.OpStateUpdate, &msg.StateUpdate{
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
		c.Say(now, msg.OpTorpedoFire, &msg.TorpedoFire{Tube: c.number(Forward), FiringPlayer: c.ID, Flags: msg.TorpedoNoTarget, Direction: wire.Dir3{0, 127, 0}})
	case tick%40 == 7:
		c.Say(now, msg.OpChat, &msg.Chat{Sender: int32(c.ID), Text: fmt.Appendf(nil, "%s %d", c.Name, c.number(Chat)-c.Ship())})
	case tick%40 == 23:
		c.Say(now, msg.OpChangedTarget, &msg.ChangedTarget{Event: event.Event{Class: event.ClassObject, Code: event.CodeTargetWasChanged, Dest: c.number(Consume)}})
	}
}

// event sends that a weapon begins or stops to fire.
func (c *Client) event(now time.Time, op decode.Opcode) {
	switch n := c.number(Forward); {
	case c.OpenBC:
		c.SayAs(now, op, &msg.ShortEvent{Object: n}, decode.OpenBC)
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

// Last returns the number of the last message that was sent in a stream.
func (c *Client) Last(stream int) int { return c.numbers[stream] }

// Numbered returns the stream and the number of a message of Fight. It also
// returns the sender's slot, or for chat, the sender's name.
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

// Fill returns the plain bytes of a datagram with as many messages as fit. The
// function each makes them.
func Fill(id uint8, each func(n int) (transport.Header, []byte)) []byte {
	plain := []byte{id, 0}
	for n := 0; plain[1] < 255; n++ {
		h, body := each(n)
		longer, err := transport.Append(plain, &h, body)
		if err != nil || len(longer) > transport.MaxDatagram {
			break
		}
		plain = longer
		plain[1]++
	}
	return plain
}
