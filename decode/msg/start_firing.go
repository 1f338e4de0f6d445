package msg

import (
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/event"
)

var startFiringSpec = decode.Spec{
	Code:     0x07,
	Name:     "StartFiring",
	Constant: "START_FIRING",
	Dir:      decode.Either,
	Reliable: true,
	Relay:    decode.RelayForward,
	Evidence: decode.OnWire,
	Doc:      "A phaser or tractor system begins to fire.",
	Brief:    []string{"dest", "target", "object_id"},
	Layout:   decode.LayoutOf[StartFiring](),
	Forms: []decode.Form{{
		Dialect: decode.OpenBC,
		Doc:     "The object and nothing else.",
		Layout:  decode.LayoutOf[ShortEvent](),
	}},
}

// StartFiring is START_FIRING; the destination is the weapon system. Torpedoes
// and pulses have messages of their own.
type StartFiring struct{ event.Event }
