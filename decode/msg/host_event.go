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

// HostEvent (HOST_EVENT) reports a repair or an explosion. For the events
// ADD_TO_REPAIR_LIST, REPAIR_COMPLETED and REPAIR_CANNOT_BE_COMPLETED, the
// source is a subsystem and the destination the repair subsystem. For
// OBJECT_EXPLODING, the destination is the ship.
type HostEvent struct{ event.Event }
