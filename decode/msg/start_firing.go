package msg

import (
	"slices"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/event"
)

// OpStartFiring is the opcode of [StartFiring].
const OpStartFiring decode.Opcode = 0x07

var startFiringSpec = decode.Spec{
	Code:     OpStartFiring,
	Name:     "StartFiring",
	Constant: "START_FIRING",
	Dir:      decode.Either,
	Reliable: true,
	Relay:    decode.RelayForward,
	Made:     decode.MadeNever,
	Evidence: decode.OnWire,
	Topic:    decode.TopicWeapons,
	Doc:      "A phaser or tractor system begins to fire.",
	Brief:    []string{"dest", "target", "object_id"},
	Harmless: slices.Concat(event.Harmless, []string{"object_id"}),
	Layout:   decode.LayoutOf[StartFiring](),
	Forms: []decode.Form{{
		Dialect: decode.OpenBC,
		Doc:     "The object and nothing else.",
		Layout:  decode.LayoutOf[ShortEvent](),
	}},
}

// StartFiring (START_FIRING) reports that a phaser or tractor system begins to
// fire. The destination is the weapon system. For torpedoes and pulses see
// [TorpedoFire] and [PulseFire].
type StartFiring struct{ event.Event }
