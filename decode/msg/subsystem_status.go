package msg

import (
	"slices"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/event"
	"github.com/bcdissect/bcdissect/decode/ship"
	"github.com/bcdissect/bcdissect/decode/wire"
)

// OpSubsystemStatus is the opcode of [SubsystemStatus].
const OpSubsystemStatus decode.Opcode = 0x0A

var subsystemStatusSpec = decode.Spec{
	Code:     OpSubsystemStatus,
	Name:     "SubsystemStatus",
	Constant: "SUBSYSTEM_STATE_CHANGED",
	Aliases:  []string{"SubsysStatus", "SubsystemStatusChanged"},
	Dir:      decode.Either,
	Reliable: true,
	Relay:    decode.RelayForward,
	Made:     decode.MadeByStock,
	Evidence: decode.OnWire,
	Topic:    decode.TopicFlight,
	Doc:      "A subsystem was switched on or off.",
	Brief:    []string{"dest", "enabled", "object_id", "index", "name", "condition"},
	Harmless: slices.Concat(event.Harmless, []string{"object_id", "index", "condition"}),
	Layout:   decode.LayoutOf[SubsystemStatus](),
	Forms: []decode.Form{{
		Dialect: decode.OpenBC,
		Doc:     "The condition of a subsystem by its index.",
		Layout:  decode.LayoutOf[SubsystemStatusOpenBC](),
	}},
}

// SubsystemStatus (SUBSYSTEM_STATE_CHANGED) reports that a subsystem was
// switched on or off. The destination is the subsystem.
type SubsystemStatus struct{ event.Event }

// SubsystemStatusOpenBC is the form that OpenBC's battle test sends.
type SubsystemStatusOpenBC struct {
	Object    wire.ObjectID
	Index     uint8
	Condition wire.F32

	// Class is the ship's class from the session, or nil if unknown.
	Class *ship.Class
}

// Actor returns the ship.
func (m *SubsystemStatusOpenBC) Actor() wire.ObjectID { return m.Object }

// Walk implements [decode.Message].
func (m *SubsystemStatusOpenBC) Walk(c *decode.Codec) {
	c.Object("object_id", &m.Object, "the ship")
	c.OnRead(func(env decode.Env) { m.Class = env.Ship(m.Object) })
	c.U8("index", &m.Index, "of the subsystem")
	c.Text("name", decode.Source{Is: decode.FirstSubsystemName, Of: "index"}, m.name(), "of the subsystem, when known")
	c.F32("condition", &m.Condition, "as the sender counts it")
}

// name returns the name of the subsystem. It knows only index 0, which begins
// the ship's list. Captures have no other index, so it is not known whether the
// others count parts of subsystems as well.
func (m *SubsystemStatusOpenBC) name() string {
	if m.Class == nil || m.Index != 0 || len(m.Class.Subsystems) == 0 {
		return ""
	}
	return m.Class.Subsystems[0].Name
}
