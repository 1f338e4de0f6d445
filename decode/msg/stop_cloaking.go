package msg

import (
	"slices"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/event"
)

// OpStopCloaking is the opcode of [StopCloaking].
const OpStopCloaking decode.Opcode = 0x0F

var stopCloakingSpec = decode.Spec{
	Code:     OpStopCloaking,
	Name:     "StopCloaking",
	Constant: "STOP_CLOAKING",
	Aliases:  []string{"StopCloak"},
	Dir:      decode.Either,
	Reliable: true,
	Relay:    decode.RelayForward,
	Evidence: decode.FromGame,
	Topic:    decode.TopicFlight,
	Doc:      "A cloaking device is switched off. The stock game tells that with StateUpdate (1C) instead.",
	Brief:    []string{"dest", "object_id"},
	Harmless: slices.Concat(event.Harmless, []string{"object_id"}),
	Layout:   decode.LayoutOf[StopCloaking](),
	Forms: []decode.Form{{
		Dialect: decode.OpenBC,
		Doc:     "The object and nothing else.",
		Layout:  decode.LayoutOf[ShortEvent](),
	}},
}

// StopCloaking (STOP_CLOAKING) reports that a cloaking device is switched off.
// The destination is the cloaking device.
type StopCloaking struct{ event.Event }
