package relay

import (
	"fmt"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/dissect/relay/arq"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// The types of the reliable delivery between two sides.
type (
	// A Message is one message to send or deliver.
	Message = arq.Message
	// LinkLimits bound the memory for one side of a connection. The zero value
	// means the usual limits.
	LinkLimits = arq.Limits
	// LinkStats count the messages of one side of a connection.
	LinkStats = arq.Stats
)

// A ClientConfig configures a client and what it does automatically.
type ClientConfig struct {
	Name     string // name that is sent to the host once it lets the client in. If empty, the caller sends it.
	Password string
	Claimed  [4]byte // the client's address as the client knows it
	Nonce    uint32  // nonce of the connect, not 0
	OpenBC   bool    // the client writes as OpenBC's test clients do
	Limits   LinkLimits
	Adapt    bool            // retransmit by the measured round trip instead of the game's timers
	Catalog  *decode.Catalog // game messages. Nil means the game's catalogue.

	// Answer returns the hashes of the files of a round. If Answer is nil, the
	// caller answers: see Client.Asked.
	Answer func(round uint8) *msg.ChecksumResponse
	Enter  bool // send that the client is ready as soon as possible
	Ask    bool // request ships that the client hears of and does not know

	// Deliver, if not nil, is called with every message of the host, transport
	// messages included, after the client has applied it. The message is borrowed.
	Deliver func(now time.Time, m *Message)
	// Sent, if not nil, gets the client's messages, so that there are no
	// datagrams. The host's messages then come by [Client.Take].
	Sent func(m Message)
}

// A ClientPhase is a client's progress.
type ClientPhase uint8

// The phases of clients.
const (
	ClientIdle       ClientPhase = iota // it has not asked to be let in
	ClientConnecting                    // it asks to be let in
	ClientJoining                       // it has an id
	ClientPlaying                       // it was announced
	ClientLeaving                       // it has said goodbye
	ClientGone                          // it was removed, or the host has left
)

// mostAsked is the number of unanswered rounds that a client remembers. The
// game never asks for so many at a time.
const mostAsked = 8

// A Client is one client of the game as a state machine: datagrams of the host
// and the time go in, datagrams come out. Like a [Host], it has no socket and
// no clock. A [Network] between the two simulates faults for tests.
type Client struct {
	ClientConfig
	Phase  ClientPhase
	ID     uint8   // 0 if it has none yet
	Slot   int     // -1 while unknown
	Reason int     // why it was removed, or -1
	Err    error   // the first error
	Asked  []uint8 // rounds that are not answered yet, if Answer is nil
	Loaded bool    // the host has sent all that the client needs to load the mission
	InGame bool    // the host has sent the mission's rules

	link    *arq.Endpoint
	decoder *decode.Decoder
	ships   map[wire.ObjectID]bool
	extra   [][]byte // deciphered datagrams that the link cannot make
	plain   []byte
	out     []byte
	in      []byte
	sent    time.Time
	counted uint16 // number of reliable game messages
}

// NewClient returns a client that has not connected.
func NewClient(cfg ClientConfig) *Client {
	if cfg.Catalog == nil {
		cfg.Catalog = msg.Catalog()
	}
	c := &Client{
		ClientConfig: cfg, Reason: -1, Slot: -1, link: arq.New(transport.UnassignedPeer, cfg.Limits),
		decoder: decode.NewDecoder(), ships: map[wire.ObjectID]bool{},
	}
	c.link.Adapt(cfg.Adapt)
	return c
}

// Idle reports whether everything that the client has sent is acknowledged.
func (c *Client) Idle() bool { return c.link.Idle() }

// Link returns the counts of the client's connection.
func (c *Client) Link() LinkStats { return c.link.Stats() }

// Connect asks to be let in, once a second until the host answers. The body is
// the body of a captured request. If nil, it is made from the configuration.
func (c *Client) Connect(now time.Time, body []byte) {
	if body == nil {
		req := transport.Request{Addr: c.Claimed, Nonce: c.Nonce, Password: wire.AppendWideTextOf(nil, c.Password)}
		body = c.encode("Connect", &req)
	}
	c.Phase = ClientConnecting
	c.Send(now, arq.Message{Type: transport.Connect, Body: body})
}

// Leave sends that the client leaves.
func (c *Client) Leave(now time.Time) {
	c.Phase = ClientLeaving
	if c.OpenBC {
		c.extra = append(c.extra, []byte{c.ID, 1, byte(transport.Leave), 2})
		return
	}
	c.Send(now, arq.Message{Type: transport.Disconnect, Body: c.encode("Disconnect", &transport.Goodbye{ID: c.ID, Addr: c.Claimed})})
}

// encode returns the body of a transport message.
func (c *Client) encode(name string, m decode.Message) []byte {
	body, err := decode.AppendFields(nil, name, m, decode.Stock)
	c.failed(err)
	return body
}

// Queue sends any message. It fails if there is no room for it: see LinkLimits.
func (c *Client) Queue(now time.Time, m Message) error {
	if c.Sent != nil {
		c.Sent(m)
		return nil
	}
	err := c.link.Queue(now, m)
	if err == nil && m.Reliable {
		c.counted++
	}
	return err
}

// Send sends any message. An error goes to Err.
func (c *Client) Send(now time.Time, m Message) { c.failed(c.Queue(now, m)) }

func (c *Client) failed(err error) {
	if c.Err == nil && err != nil {
		c.Err = fmt.Errorf("%s: %w", c.Name, err)
	}
}

// SendBody sends an encoded game message.
func (c *Client) SendBody(now time.Time, reliable bool, body []byte) {
	c.Send(now, arq.Message{Type: transport.Standard, Reliable: reliable, Body: body})
}

// Say sends a game message.
func (c *Client) Say(now time.Time, op decode.Opcode, m decode.Message) {
	c.SayAs(now, op, m, decode.Stock)
}

// SayAs sends a game message in the form of a dialect.
func (c *Client) SayAs(now time.Time, op decode.Opcode, m decode.Message, d decode.Dialect) {
	spec := c.Catalog.Lookup(op)
	body, err := decode.Append(nil, spec, m, d)
	if err != nil {
		c.failed(err)
		return
	}
	c.SendBody(now, spec.Reliable, body)
}

// Know tells the client that it has a ship, such as its own.
func (c *Client) Know(id wire.ObjectID) { c.ships[id] = true }

// Datagram returns the next datagram that is due, in its form on the network.
// It is valid until the next call.
func (c *Client) Datagram(now time.Time) (datagram []byte, ok bool) {
	if c.Phase == ClientIdle || c.Phase == ClientGone {
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

// Next returns when Datagram may have something to send. The zero time means
// never.
func (c *Client) Next() time.Time {
	if c.Phase == ClientIdle || c.Phase == ClientGone {
		return time.Time{}
	}
	return c.link.Next()
}

// openBC returns the next datagram in the forms of OpenBC's test clients: with
// a connect without nonce, a keepalive of two bytes, and numbers of eight bits.
// The link's acknowledgements are removed, since those clients send them only
// once. Receive sends them.
func (c *Client) openBC(now time.Time) (plain []byte, ok bool) {
	for {
		if plain, ok = c.link.Datagram(now, c.plain[:0]); !ok {
			break
		}
		if plain = rewrite(plain); plain[1] > 0 {
			return plain, true
		}
	}
	// Since much of the link's output is removed, the link does not know when the
	// client last sent something.
	if c.Phase != ClientConnecting && now.Sub(c.sent) >= arq.KeepaliveAfter {
		return []byte{c.ID, 1, byte(transport.NameChange), 2}, true
	}
	return nil, false
}

// openBCConnect is the connect of OpenBC's test clients.
var openBCConnect = []byte{byte(transport.Connect), 8, 1, 0, 0, 0, 127, 0}

// rewrite rewrites a datagram. The result may be empty.
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
			out = append(out, openBCConnect...)
		case transport.NameChange, transport.BootPlayer, transport.Disconnect, transport.Leave:
			m.Seq = (m.Seq - 1) & 0xFF // these clients do not number their connect
			if longer, err := transport.Append(out, &m.Header, m.Body); err == nil {
				out = longer
			}
		case transport.Standard:
			m.Seq &= 0xFF
			if longer, err := transport.Append(out, &m.Header, m.Body); err == nil {
				out = longer
			}
		}
		out[1]++
	}
	return out
}

// Receive takes a datagram of the host. It is borrowed until the call returns.
// A datagram that does not split is ignored, as in the game.
func (c *Client) Receive(now time.Time, datagram []byte) {
	if c.Phase == ClientIdle || c.Phase == ClientGone || len(datagram) == 0 || datagram[0] != transport.HostPeer {
		return
	}
	c.in = cipher.Decrypt(c.in[:0], datagram)
	split, err := transport.Split(c.in)
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
			// The host has seen only eight bits of the number.
			last := c.counted - 1
			m.Seq = last - (last-m.Seq)&0xFF
		case c.OpenBC && m.Type == transport.Acknowledge:
			m.Seq++ // undo the change of rewrite
		}
		c.link.Receive(now, &m, func(m *arq.Message) { c.deliver(now, m) })
	}
}

// acknowledge acknowledges a game message as OpenBC's test clients do, in a
// separate datagram and with other flags. They do not acknowledge control
// messages.
func (c *Client) acknowledge(h *transport.Header) {
	ack := transport.AckOf(h)
	ack.Seq &= 0xFF
	ack.AckFlags |= 0x80
	if plain, err := transport.Append([]byte{c.ID, 1}, &ack, nil); err == nil {
		c.extra = append(c.extra, plain)
	}
}

// Take takes a message of the host, as if it came through a connection without
// delay and loss.
func (c *Client) Take(now time.Time, m *Message) {
	if c.Phase != ClientGone {
		c.deliver(now, m)
	}
}

func (c *Client) deliver(now time.Time, m *arq.Message) {
	if m.Type != transport.Standard {
		c.control(now, m)
	} else if len(m.Body) > 0 {
		c.game(now, m.Body)
	}
	if c.Deliver != nil {
		c.Deliver(now, m)
	}
}

// control takes a message of the host with a type below 32.
func (c *Client) control(now time.Time, m *arq.Message) {
	spec := transport.SpecFor(&transport.Message{Header: m.Header, Body: m.Body})
	if spec == nil {
		return
	}
	switch t := c.decoder.ReadBody(spec, m.Body).Message.(type) {
	case *transport.Accept:
		if c.Phase != ClientConnecting {
			return
		}
		c.Phase, c.ID = ClientJoining, t.ID
		c.link.SetPeer(c.ID)
		c.link.Settle(transport.Connect)
		if c.Name != "" {
			c.introduce(now)
		}
	case *transport.Boot:
		if t.ID == c.ID || t.ID == transport.UnassignedPeer {
			c.Phase, c.Reason = ClientGone, int(t.Reason)
		}
	case *transport.Goodbye:
		if t.ID == transport.HostPeer {
			c.Phase = ClientGone
		}
	}
}

// introduce tells the host the client's name.
func (c *Client) introduce(now time.Time) {
	own := transport.Identity{ID: c.ID, Addr: c.Claimed, Name: wire.AppendWideTextOf(nil, c.Name)}
	c.Send(now, arq.Message{Type: transport.NameChange, Body: c.encode("NameChange", &own)})
}

// game takes a game message of the host.
func (c *Client) game(now time.Time, body []byte) {
	op := decode.Opcode(body[0])
	switch op {
	case msg.OpChecksumRequest, msg.OpSettings, msg.OpGameInit, msg.OpMissionInit, msg.OpPlayerAnnounce, msg.OpVerifyEnterSet, msg.OpObjectCreateTeam:
	default:
		return
	}
	switch m := c.decoder.Read(c.Catalog.Lookup(op), body, decode.Stock, nil).Message.(type) {
	case *msg.ChecksumRequest:
		switch {
		case c.Answer != nil:
			c.Say(now, msg.OpChecksumResponse, c.Answer(m.Round))
		case len(c.Asked) < mostAsked:
			c.Asked = append(c.Asked, m.Round)
		}
	case *msg.Settings:
		c.Slot = int(m.Slot)
		if m.Renamed && c.Name != "" {
			c.Name = wire.WideText(m.NewName).Raw()
			c.introduce(now)
		}
	case *msg.GameInit:
		c.Loaded = true
		if c.Enter {
			c.Say(now, msg.OpClientReady, new(msg.ClientReady))
		}
	case *msg.MissionInit:
		c.InGame = true
	case *msg.PlayerAnnounce:
		if m.Player == c.ID && c.Phase == ClientJoining {
			c.Phase = ClientPlaying
		}
	case msg.Creation:
		id, _ := m.Created()
		c.ships[id] = true
	case *msg.VerifyEnterSet:
		if c.Ask && !c.ships[m.Object] {
			c.Say(now, msg.OpRequestObject, &msg.RequestObject{Object: m.Object})
		}
	}
}
