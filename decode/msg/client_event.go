package msg

import (
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/event"
)

var clientEventSpec = decode.Spec{
	Code:     0x0C,
	Name:     "ClientEvent",
	Constant: "CLIENT_EVENT",
	Dir:      decode.Either,
	Reliable: true,
	Relay:    decode.RelayForward,
	Evidence: decode.FromGame,
	Doc:      "Any event of a client; the game has a handler, but nothing in it sends this.",
	Brief:    []string{"code", "dest", "source"},
	Layout:   decode.LayoutOf[ClientEvent](),
}

// ClientEvent is CLIENT_EVENT.
type ClientEvent struct{ event.Event }
