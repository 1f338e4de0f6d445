package msg

import (
	"slices"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/event"
)

// OpStartCloaking is the opcode of [StartCloaking].
const OpStartCloaking decode.Opcode = 0x0E

// refusedOrders tells how OpenBC's hosts treat StartCloaking and StartWarp.
var refusedOrders = decode.Deviation{
	Dialect: decode.OpenBC, Relay: decode.RelayForward, Only: decode.OnlyAllowed, Rule: decode.Rule{
		Name: "refuses-cloak-and-warp",
		Text: "passes StartCloaking and StartWarp on only if its own idea of the ship allows it; the stock host always does",
	},
}

var startCloakingSpec = decode.Spec{
	Code:     OpStartCloaking,
	Name:     "StartCloaking",
	Constant: "START_CLOAKING",
	Aliases:  []string{"StartCloak"},
	Dir:      decode.Either,
	Reliable: true,
	Relay:    decode.RelayForward,
	Evidence: decode.FromGame,
	Topic:    decode.TopicFlight,
	Doc:      "A cloaking device is switched on. The stock game tells that with StateUpdate (1C) instead.",
	Brief:    []string{"dest", "object_id"},
	Harmless: slices.Concat(event.Harmless, []string{"object_id"}),
	Layout:   decode.LayoutOf[StartCloaking](),
	Forms: []decode.Form{{
		Dialect: decode.OpenBC,
		Doc:     "The object and nothing else.",
		Layout:  decode.LayoutOf[ShortEvent](),
	}},
	Deviations: []decode.Deviation{refusedOrders},
}

// StartCloaking (START_CLOAKING) reports that a cloaking device is switched on.
// The destination is the cloaking device.
type StartCloaking struct{ event.Event }
