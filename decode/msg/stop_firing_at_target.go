package msg

import (
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/event"
)

// OpStopFiringAtTarget is the opcode of [StopFiringAtTarget].
const OpStopFiringAtTarget decode.Opcode = 0x09

var stopFiringAtTargetSpec = decode.Spec{
	Code:     OpStopFiringAtTarget,
	Name:     "StopFiringAtTarget",
	Constant: "STOP_FIRING_AT_TARGET",
	Dir:      decode.Either,
	Reliable: true,
	Relay:    decode.RelayForward,
	Evidence: decode.FromGame,
	Topic:    decode.TopicWeapons,
	Doc:      "A weapon system ceases to fire at one target.",
	Brief:    []string{"dest", "object"},
	Harmless: event.Harmless,
	Layout:   decode.LayoutOf[StopFiringAtTarget](),
}

// StopFiringAtTarget is STOP_FIRING_AT_TARGET; the destination is the weapon
// system, the object its target or 0 for all.
type StopFiringAtTarget struct{ event.Event }
