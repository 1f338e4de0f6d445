package msg

import (
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/event"
)

// OpChangedTarget is the opcode of [ChangedTarget].
const OpChangedTarget decode.Opcode = 0x0D

var changedTargetSpec = decode.Spec{
	Code:     OpChangedTarget,
	Name:     "ChangedTarget",
	Constant: "CHANGED_TARGET",
	Aliases:  []string{"PythonEvent2"},
	Dir:      decode.FromClient,
	Reliable: true,
	Relay:    decode.RelayConsume,
	Evidence: decode.FromGame,
	Topic:    decode.TopicFlight,
	Doc:      "A player took another target; the event names the former one.",
	Brief:    []string{"dest", "object"},
	Harmless: event.Harmless,
	Layout:   decode.LayoutOf[ChangedTarget](),
}

// ChangedTarget (CHANGED_TARGET) reports that a player took another target. The
// destination is the player's ship, the object is the former target or 0, and
// the source is the cause of the change, mostly 0.
type ChangedTarget struct{ event.Event }
