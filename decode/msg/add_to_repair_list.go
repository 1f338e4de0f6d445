package msg

import (
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/event"
)

// OpAddToRepairList is the opcode of [AddToRepairList].
const OpAddToRepairList decode.Opcode = 0x0B

var addToRepairListSpec = decode.Spec{
	Code:     OpAddToRepairList,
	Name:     "AddToRepairList",
	Constant: "ADD_TO_REPAIR_LIST",
	Dir:      decode.Either,
	Reliable: true,
	Relay:    decode.RelayForward,
	Evidence: decode.FromGame,
	Topic:    decode.TopicDamage,
	Doc:      "A subsystem is queued for repair. The game has a handler for it, but sends HostEvent (06) instead.",
	Brief:    []string{"dest", "source"},
	Harmless: event.Harmless,
	Layout:   decode.LayoutOf[AddToRepairList](),
}

// AddToRepairList (ADD_TO_REPAIR_LIST) reports that a subsystem is queued for
// repair. The game handles it but sends [HostEvent] instead.
type AddToRepairList struct{ event.Event }
