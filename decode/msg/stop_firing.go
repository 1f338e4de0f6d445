package msg

import (
	"slices"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/event"
)

// OpStopFiring is the opcode of [StopFiring].
const OpStopFiring decode.Opcode = 0x08

var stopFiringSpec = decode.Spec{
	Code:     OpStopFiring,
	Name:     "StopFiring",
	Constant: "STOP_FIRING",
	Dir:      decode.Either,
	Reliable: true,
	Relay:    decode.RelayForward,
	Made:     decode.MadeByStock,
	Evidence: decode.OnWire,
	Topic:    decode.TopicWeapons,
	Doc:      "A phaser or tractor system ceases to fire.",
	Brief:    []string{"dest", "object_id"},
	Harmless: slices.Concat(event.Harmless, []string{"object_id"}),
	Layout:   decode.LayoutOf[StopFiring](),
	Forms: []decode.Form{{
		Dialect: decode.OpenBC,
		Doc:     "The object and nothing else.",
		Layout:  decode.LayoutOf[ShortEvent](),
	}},
}

// StopFiring (STOP_FIRING) reports that a phaser or tractor system ceases to
// fire. The destination is the weapon system.
type StopFiring struct{ event.Event }
