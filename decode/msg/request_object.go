package msg

import (
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/wire"
)

// OpRequestObject is the opcode of [RequestObject].
const OpRequestObject decode.Opcode = 0x1E

var requestObjectSpec = decode.Spec{
	Code:     OpRequestObject,
	Name:     "RequestObject",
	Constant: "SEND_OBJECT",
	Dir:      decode.FromClient,
	Reliable: true,
	Relay:    decode.RelayAnswer,
	Evidence: decode.FromGame,
	Topic:    decode.TopicObjects,
	Doc:      "A client asks for an object that it does not have. The host sends ObjectCreate (02) or ObjectCreateTeam (03) and its damage, or nothing.",
	Brief:    []string{"object_id"},
	Harmless: []string{"object_id"},
	Layout:   decode.LayoutOf[RequestObject](),
}

// RequestObject (SEND_OBJECT) asks the host for an object that the client
// lacks.
type RequestObject struct{ Object wire.ObjectID }

// Walk implements [decode.Message].
func (m *RequestObject) Walk(c *decode.Codec) {
	c.Object("object_id", &m.Object, "the object wanted")
}
