package msg

import (
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/event"
)

// OpHostEvent is the opcode of [HostEvent].
const OpHostEvent decode.Opcode = 0x06

var hostEventSpec = decode.Spec{
	Code:      OpHostEvent,
	Name:      "HostEvent",
	Constant:  "HOST_EVENT",
	Aliases:   []string{"PythonEvent"},
	Dir:       decode.FromHost,
	Broadcast: true,
	Reliable:  true,
	Made:      decode.MadeBySimulation,
	Evidence:  decode.OnWire,
	Topic:     decode.TopicDamage,
	Doc:       "The host tells of repairs and of exploding ships.",
	Brief:     []string{"code", "dest", "source", "explosion_time"},
	Harmless:  event.Harmless,
	Layout:    decode.LayoutOf[HostEvent](),
	Deviations: []decode.Deviation{{
		Dialect: decode.OpenBC, Relay: decode.RelayForward, Rule: decode.Rule{
			Name: "passes-host-event",
			Text: "passes a client's HostEvent on to the other players; the stock host does not",
		},
	}},
}

// HostEvent is HOST_EVENT: ADD_TO_REPAIR_LIST, REPAIR_COMPLETED and
// REPAIR_CANNOT_BE_COMPLETED with a subsystem as source and the repair subsystem
// as destination, or OBJECT_EXPLODING with the ship as destination.
type HostEvent struct{ event.Event }
