package msg

import (
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/event"
)

// OpSetPhaserLevel is the opcode of [SetPhaserLevel].
const OpSetPhaserLevel decode.Opcode = 0x12

var setPhaserLevelSpec = decode.Spec{
	Code:     OpSetPhaserLevel,
	Name:     "SetPhaserLevel",
	Constant: "SET_PHASER_LEVEL",
	Dir:      decode.Either,
	Reliable: true,
	Relay:    decode.RelayForward,
	Evidence: decode.OnWire,
	Topic:    decode.TopicWeapons,
	Doc:      "A player set the power level of the phasers.",
	Brief:    []string{"dest", "value"},
	Harmless: event.Harmless,
	Layout:   decode.LayoutOf[SetPhaserLevel](),
}

// SetPhaserLevel (SET_PHASER_LEVEL) reports the power level that a player set.
// The destination is the phaser system.
type SetPhaserLevel struct{ event.Event }
