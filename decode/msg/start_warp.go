package msg

import (
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/event"
)

// OpStartWarp is the opcode of [StartWarp].
const OpStartWarp decode.Opcode = 0x10

var startWarpSpec = decode.Spec{
	Code:       OpStartWarp,
	Name:       "StartWarp",
	Constant:   "START_WARP",
	Dir:        decode.Either,
	Reliable:   true,
	Relay:      decode.RelayForward,
	Evidence:   decode.FromProse,
	Topic:      decode.TopicFlight,
	Doc:        "A ship goes to warp; counted in one session, twice from a client.",
	Brief:      []string{"dest", "set"},
	Harmless:   event.Harmless,
	Layout:     decode.LayoutOf[StartWarp](),
	Deviations: []decode.Deviation{refusedOrders},
}

// StartWarp (START_WARP) reports that a ship goes to warp. The destination is
// the ship's warp engines.
type StartWarp struct{ event.Event }
