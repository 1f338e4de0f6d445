package msg

import (
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/event"
)

// OpTorpedoTypeChange is the opcode of [TorpedoTypeChange].
const OpTorpedoTypeChange decode.Opcode = 0x1B

var torpedoTypeChangeSpec = decode.Spec{
	Code:     OpTorpedoTypeChange,
	Name:     "TorpedoTypeChange",
	Constant: "TORPEDO_TYPE_CHANGED",
	Aliases:  []string{"TorpTypeChange"},
	Dir:      decode.Either,
	Reliable: true,
	Relay:    decode.RelayForward,
	Made:     decode.MadeNever,
	Evidence: decode.FromGame,
	Topic:    decode.TopicWeapons,
	Doc:      "A player selected another type of torpedo.",
	Brief:    []string{"dest", "value"},
	Harmless: event.Harmless,
	Layout:   decode.LayoutOf[TorpedoTypeChange](),
}

// TorpedoTypeChange (TORPEDO_TYPE_CHANGED) reports that a player selected
// another type of torpedo. Source and destination are the torpedo system, and
// the value is the ammunition slot, 0 to 3.
type TorpedoTypeChange struct{ event.Event }
