package msg

import (
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/event"
)

var repairListPrioritySpec = decode.Spec{
	Code:     0x11,
	Name:     "RepairListPriority",
	Constant: "REPAIR_LIST_PRIORITY",
	Dir:      decode.Either,
	Reliable: true,
	Relay:    decode.RelayForward,
	Evidence: decode.FromGame,
	Doc:      "A subsystem moves up in the queue for repair.",
	Brief:    []string{"dest", "object"},
	Layout:   decode.LayoutOf[RepairListPriority](),
}

// RepairListPriority is REPAIR_LIST_PRIORITY; the destination is the repair
// subsystem, the object the subsystem that moves up. The source means nothing.
type RepairListPriority struct{ event.Event }
