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
	Made:      decode.MadeBySimulation,
	Evidence:  decode.FromGame,
	Topic:     decode.TopicMatch,
	Doc:       "The game begins anew.",
	Layout:    decode.LayoutOf[RestartGame](),
	Deviations: []decode.Deviation{{
		Dialect: decode.OpenBC, Relay: decode.RelayEcho, Only: decode.OnlyFirst, Rule: decode.Rule{
			Name: "passes-restart",
			Text: "lets the first player restart the game; with the stock host, only the host can",
		},
	}},
}

// RestartGame restarts the game.
type RestartGame struct{}

// Walk implements [decode.Message].
func (*RestartGame) Walk(*decode.Codec) {}
