package msg

import "github.com/bcdissect/bcdissect/decode"

// OpRestartGame is the opcode of [RestartGame].
const OpRestartGame decode.Opcode = 0x39

var restartGameSpec = decode.Spec{
	Code:      OpRestartGame,
	Name:      "RestartGame",
	Constant:  "RESTART_GAME",
	Dir:       decode.FromHost,
	Broadcast: true,
	Reliable:  true,
	Evidence:  decode.FromGame,
	Topic:     decode.TopicMatch,
	Doc:       "The game begins anew.",
	Layout:    decode.LayoutOf[RestartGame](),
}

// RestartGame restarts the game.
type RestartGame struct{}

// Walk implements [decode.Message].
func (*RestartGame) Walk(*decode.Codec) {}
