package msg

import (
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/event"
)

// OpRepairListPriority is the opcode of [RepairListPriority].
const OpRepairListPriority decode.Opcode = 0x11

var repairListPrioritySpec = decode.Spec{
	Code:     OpRepairListPriority,
	Name:     "RepairListPriority",
	Constant: "REPAIR_LIST_PRIORITY",
	Dir:      decode.Either,
	Reliable: true,
	Relay:    decode.RelayForward,
	Evidence: decode.FromGame,
	Topic:    decode.TopicDamage,
	Doc:      "A subsystem moves up in the queue for repair.",
	Brief:    []string{"dest", "object"},
	Harmless: event.Harmless,
	Layout:   decode.LayoutOf[RepairListPriority](),
}

// RepairListPriority (REPAIR_LIST_PRIORITY) moves a subsystem up in the queue
// for repair. The destination is the repair subsystem, and the object is the
// subsystem that moves up. The source has no meaning.
type RepairListPriority struct{ event.Event }
