package msg

import (
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/names"
)

// OpEndGame is the opcode of [EndGame].
const OpEndGame decode.Opcode = 0x38

var endGameSpec = decode.Spec{
	Code:      OpEndGame,
	Name:      "EndGame",
	Constant:  "END_GAME",
	Dir:       decode.FromHost,
	Broadcast: true,
	Reliable:  true,
	Made:      decode.MadeBySimulation,
	Evidence:  decode.FromGame,
	Topic:     decode.TopicMatch,
	Doc:       "The game is over. The host refuses all clients until it restarts.",
	Brief:     []string{"reason"},
	Harmless:  []string{"reason"},
	Layout:    decode.LayoutOf[EndGame](),
}

// EndGame ends the game.
type EndGame struct{ Reason uint32 }

// Walk implements [decode.Message].
func (m *EndGame) Walk(c *decode.Codec) {
	decode.Enum32(c, "reason", &m.Reason, names.EndGameReasons, "why")
}
