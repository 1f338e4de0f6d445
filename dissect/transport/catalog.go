package transport

import (
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/names"
)

// Catalog returns the specs of the transport messages that have fields after
// the header. Connect has two: the request and the accept.
func Catalog() []*decode.Spec {
	return []*decode.Spec{&nameChangeSpec, &connectSpec, &acceptSpec, &bootPlayerSpec, &disconnectSpec}
}

// Specs returns every possible result of [SpecFor]: the catalogue and the short
// form, which any type can have.
func Specs() []*decode.Spec { return append(Catalog(), &shortSpec) }

// SpecFor returns the spec for the body of a message, or nil if there is none.
// Acknowledgements and keepalives have only a header, and Standard messages
// belong to the game's catalogue. Short forms have the spec of an opaque body.
func SpecFor(m *Message) *decode.Spec {
	if m.Short {
		if len(m.Body) > 0 {
			return &shortSpec
		}
		return nil
	}
	switch m.Type {
	case NameChange:
		return &nameChangeSpec
	case Connect:
		if len(m.Body) == 1 {
			return &acceptSpec
		}
		return &connectSpec
	case BootPlayer:
		return &bootPlayerSpec
	case Disconnect:
		return &disconnectSpec
	case Acknowledge, DoNothing, Leave, Standard:
	}
	return nil
}

var shortSpec = decode.Spec{
	Name: "ShortBody", Dir: decode.Either, Evidence: decode.OnWire,
	Doc:    "The body of a message that OpenBC's test clients send with an 8-bit length; its meaning is not known.",
	Layout: decode.LayoutOf[ShortBody](),
}

// ShortBody is the opaque body of a message with an 8-bit length.
type ShortBody struct{ Body []byte }

// Walk implements [decode.Message].
func (m *ShortBody) Walk(c *decode.Codec) {
	c.Bytes("body", &m.Body, "opaque")
}

var nameChangeSpec = decode.Spec{
	Code: decode.Opcode(NameChange), Name: "NameChange", Constant: "NAME_CHANGE", Dir: decode.Either, Reliable: true,
	Relay: decode.RelayEcho, Evidence: decode.OnWire, Topic: decode.TopicJoining,
	Doc:      "A peer's id, address and player name. The host repeats it to all peers.",
	Brief:    []string{"id", "name"},
	Harmless: []string{"id"},
	Layout:   decode.LayoutOf[Identity](),
}

// Identity is the body of a NameChange message.
type Identity struct {
	ID   uint8
	Addr [4]byte
	Name []byte
}

// Walk implements [decode.Message].
func (m *Identity) Walk(c *decode.Codec) {
	c.Player8("id", &m.ID, decode.Announced, "peer id of the player; OpenBC's test clients put the slot there")
	c.IPv4("ip", &m.Addr, "the player's own address as it sees it")
	c.Private(decode.PlayerName, func() { c.WStrz("name", &m.Name, "player name") })
}

var connectSpec = decode.Spec{
	Code: decode.Opcode(Connect), Name: "Connect", Constant: "CONNECT", Dir: decode.FromClient, Reliable: true,
	Relay: decode.RelayAnswer, Evidence: decode.OnWire, Topic: decode.TopicJoining,
	Doc:      "A client asks to be let in.",
	Brief:    []string{"ip", "nonce"},
	Harmless: []string{NonceField},
	Layout:   decode.LayoutOf[Request](),
}

// NonceField is the name of the random number in a connect.
const NonceField = "nonce"

// Request is the body of a client's Connect message.
type Request struct {
	Addr     [4]byte
	Nonce    uint32
	Password []byte
}

// Walk implements [decode.Message].
func (m *Request) Walk(c *decode.Codec) {
	c.IPv4("ip", &m.Addr, "the client's own address as it sees it")
	c.U32(NonceField, &m.Nonce, "random and not 0, the same in every repetition of one attempt")
	c.Private(decode.Password, func() { c.WStrz("password", &m.Password, "empty for none") })
}

var acceptSpec = decode.Spec{
	Code: decode.Opcode(Connect), Name: "ConnectAccept", Constant: "CONNECT", Dir: decode.FromHost, Reliable: true,
	Evidence: decode.OnWire, Topic: decode.TopicJoining,
	Doc:      "The host lets a client in and tells it its peer id.",
	Brief:    []string{"id"},
	Harmless: []string{"id"},
	Layout:   decode.LayoutOf[Accept](),
}

// Accept is the body of the host's Connect message.
type Accept struct{ ID uint8 }

// Walk implements [decode.Message].
func (m *Accept) Walk(c *decode.Codec) {
	c.Player8("id", &m.ID, decode.ByID, "peer id that the client has from now on")
}

var bootPlayerSpec = decode.Spec{
	Code: decode.Opcode(BootPlayer), Name: "BootPlayer", Constant: "BOOT_PLAYER", Dir: decode.FromHost, Reliable: true,
	Evidence: decode.OnWire, Topic: decode.TopicLeaving,
	Doc:      "The host removes a player, or tells the others that one is gone.",
	Brief:    []string{"reason", "id"},
	Phrase:   func(m decode.Message) string { return names.Boot(m.(*Boot).Reason) },
	Harmless: []string{"reason", "id"},
	Layout:   decode.LayoutOf[Boot](),
}

// Reasons of a BootPlayer message. Their names are in names.BootReasons.
const (
	BootTimedOut uint8 = 1
	BootPassword uint8 = 2
	BootFull     uint8 = 3
	BootKicked   uint8 = 4
	BootBanned   uint8 = 5
)

// Boot is the body of a BootPlayer message.
type Boot struct {
	Reason uint8
	ID     uint8
}

// Walk implements [decode.Message].
func (m *Boot) Walk(c *decode.Codec) {
	decode.Enum8(c, "reason", &m.Reason, names.BootReasons, "why")
	c.Player8("id", &m.ID, decode.ByID, "peer id of the player, 255 for the receiver")
}

var disconnectSpec = decode.Spec{
	Code: decode.Opcode(Disconnect), Name: "Disconnect", Constant: "DISCONNECT", Dir: decode.Either, Reliable: true,
	Relay: decode.RelayForward, Evidence: decode.OnWire, Topic: decode.TopicLeaving,
	Doc:      "A player announces that they leave. With id 1, the host does.",
	Brief:    []string{"id"},
	Harmless: []string{"id"},
	Layout:   decode.LayoutOf[Goodbye](),
}

// Goodbye is the body of a Disconnect message.
type Goodbye struct {
	ID   uint8
	Addr [4]byte
}

// Walk implements [decode.Message].
func (m *Goodbye) Walk(c *decode.Codec) {
	c.Player8("id", &m.ID, decode.Itself, "peer id of the one who leaves")
	c.IPv4("ip", &m.Addr, "its own address as it sees it")
}
