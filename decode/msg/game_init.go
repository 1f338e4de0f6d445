package msg

import "github.com/bcdissect/bcdissect/decode"

// OpGameInit is the opcode of [GameInit].
const OpGameInit decode.Opcode = 0x01

var gameInitSpec = decode.Spec{
	Code:     OpGameInit,
	Name:     "GameInit",
	Constant: "GAME_INITIALIZE_DONE",
	Dir:      decode.FromHost,
	Reliable: true,
	Step:     decode.StepLoad,
	Evidence: decode.OnWire,
	Topic:    decode.TopicJoining,
	Doc:      "The client is to create its game object: the settings are complete.",
	Layout:   decode.LayoutOf[GameInit](),
}

// GameInit (GAME_INITIALIZE_DONE) tells a client that the settings are complete
// and that it must create its game object.
type GameInit struct{}

// Walk implements [decode.Message].
func (*GameInit) Walk(*decode.Codec) {}
