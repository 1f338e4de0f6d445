package msg

import (
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/event"
)

// OpClientEvent is the opcode of [ClientEvent].
const OpClientEvent decode.Opcode = 0x0C

var clientEventSpec = decode.Spec{
	Code:     OpClientEvent,
	Name:     "ClientEvent",
	Constant: "CLIENT_EVENT",
	Dir:      decode.Either,
	Reliable: true,
	Relay:    decode.RelayForward,
	Evidence: decode.FromGame,
	Topic:    decode.TopicFlight,
	Doc:      "Any event of a client; the game has a handler, but nothing in it sends this.",
	Brief:    []string{"code", "dest", "source"},
	Harmless: event.Harmless,
	Layout:   decode.LayoutOf[ClientEvent](),
}

// ClientEvent (CLIENT_EVENT) is any event of a client. The game handles it but
// never sends it.
type ClientEvent struct{ event.Event }
