package msg

import (
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/event"
)

var setPhaserLevelSpec = decode.Spec{
	Code:     0x12,
	Name:     "SetPhaserLevel",
	Constant: "SET_PHASER_LEVEL",
	Dir:      decode.Either,
	Reliable: true,
	Relay:    decode.RelayForward,
	Evidence: decode.OnWire,
	Doc:      "A player set the power level of the phasers.",
	Brief:    []string{"dest", "value"},
	Layout:   decode.LayoutOf[SetPhaserLevel](),
}

// SetPhaserLevel is SET_PHASER_LEVEL; the destination is the phaser system.
type SetPhaserLevel struct{ event.Event }
