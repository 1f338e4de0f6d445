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

// StopFiringAtTarget (STOP_FIRING_AT_TARGET) reports that a weapon system
// ceases to fire at one target. The destination is the weapon system. The
// object is its target, or 0 for all targets.
type StopFiringAtTarget struct{ event.Event }
