package msg

import (
	"math"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/ship"
	"github.com/bcdissect/bcdissect/decode/wire"
)

// OpStateUpdate is the opcode of [StateUpdate].
const OpStateUpdate decode.Opcode = 0x1C

var stateUpdateSpec = decode.Spec{
	Code:      OpStateUpdate,
	Name:      "StateUpdate",
	Constant:  "SHIP_UPDATE",
	Dir:       decode.Either,
	Broadcast: true,
	Relay:     decode.RelayConsume,
	Need:      decode.NeedAll,
	Made:      decode.MadeByStock,
	Evidence:  decode.OnWire,
	Topic:     decode.TopicFlight,
	Doc:       "Position, movement and condition of a ship; several a second for each ship.",
	Brief:     []string{"object_id", "flag_names", "position", "speed", "cloaked", "subsystems", "power_settings"},
	FlagWords: []string{"pos", "delta", "fwd", "up", "speed", "sub", "cloak", "power"},
	Harmless: []string{
		"object_id", "game_time", "flags", "position", "has_hash", "integrity_hash", "position_delta", "forward",
		"up", "speed", "cloaked", "start", "condition", "children", "has_power", "power", "facings",
		"main_battery", "backup_battery", "index", "percent",
	},
	Layout: decode.LayoutOf[StateUpdate](),
	Forms: []decode.Form{{
		Dialect: decode.OpenBC,
		Doc: "The cloak bit is inverted. In the subsystem block the shield generator is a plain entry of one byte, " +
			"a base or reactor entry closes the open bit group, and there are two entries at least.",
		Layout: decode.LayoutOf[StateUpdate](),
	}},
	BySender: true,
	Deviations: []decode.Deviation{{
		Dialect: decode.OpenBC, Relay: decode.RelayForward, Only: decode.OnlyMoving, Rule: decode.Rule{
			Name: "passes-state-update",
			Text: "passes ship updates on as they are, except those that hold only subsystems; the stock host simulates the ships and sends its own",
		},
	}},
}

// Dirty flags mark the fields present in a StateUpdate.
type Dirty uint8

// The flags in numeric order. On the wire, the field of DirtyCloak precedes the
// field of DirtySubsystems.
const (
	DirtyPosition   Dirty = 0x01
	DirtyDelta      Dirty = 0x02
	DirtyForward    Dirty = 0x04
	DirtyUp         Dirty = 0x08
	DirtySpeed      Dirty = 0x10
	DirtySubsystems Dirty = 0x20
	DirtyCloak      Dirty = 0x40
	DirtyPower      Dirty = 0x80
)

var dirtyNames = decode.FlagNames{"POSITION", "DELTA", "FORWARD", "UP", "SPEED", "SUBSYSTEMS", "CLOAK", "POWER"}

// DirtyNames returns the names of the dirty flags, bit 0 first.
func DirtyNames() []string {
	names := make([]string, 8)
	for bit := range names {
		names[bit] = dirtyNames.Name(uint64(bit))
	}
	return names
}

// ClockField is the name of the field with the sender's game clock. It differs
// between the updates of a ship.
const ClockField = "game_time"

// StateUpdate (SHIP_UPDATE) has the position, movement and condition of a ship.
type StateUpdate struct {
	Object   wire.ObjectID
	GameTime wire.F32
	Flags    Dirty
	Position [3]wire.F32 // only with DirtyPosition
	HasHash  bool        // only with DirtyPosition
	Hash     uint16      // only if HasHash
	Delta    wire.Vec4h  // only with DirtyDelta
	Forward  wire.Dir3   // only with DirtyForward
	Up       wire.Dir3   // only with DirtyUp
	Speed    wire.CF16   // only with DirtySpeed
	Cloak    bool        // only with DirtyCloak. As sent: OpenBC inverts it.
	Start    uint8       // only with DirtySubsystems: index of the first entry
	Entries  []Entry     // only with DirtySubsystems
	Power    []Setting   // only with DirtyPower

	// Class is the ship's class from the session, or nil if unknown.
	Class *ship.Class

	base    wire.Vec3
	hasBase bool
	parts   *StateParts // reused by ReadFast
}

// An Entry is an entry of the ship's list in a subsystem block.
type Entry struct {
	Index     uint8 // in the ship's list
	Condition uint8
	Children  []byte // condition of each
	HasPower  bool
	Power     uint8  // per cent, 0 to 125
	Main      uint8  // main battery
	Backup    uint8  // backup battery
	Facings   []byte // front, rear, top, bottom, left, right
}

// A Setting is a player's power setting for a subsystem.
type Setting struct {
	Index uint8 // in the ship's list
	Value uint8 // 204 means 100 per cent
}

// Reset prepares the message for reuse.
func (m *StateUpdate) Reset() {
	entries, power, parts := m.Entries[:0], m.Power[:0], m.parts
	*m = StateUpdate{}
	if m.Entries, m.Power, m.parts = entries, power, parts; parts != nil {
		parts.update = nil
	}
}

// Base returns the last absolute position before the message, if the message
// has a relative one and the base is known.
func (m *StateUpdate) Base() (p wire.Vec3, ok bool) { return m.base, m.hasBase }

// Context implements [decode.Copied].
func (m *StateUpdate) Context() decode.Context {
	c := decode.Context{Object: m.Object, Class: m.Class, HasBase: m.hasBase}
	for i, x := range m.base {
		c.Base[i] = math.Float32bits(x)
	}
	return c
}

// AbsolutePosition returns the position of the ship, if this and earlier
// messages determine it.
func (m *StateUpdate) AbsolutePosition() (p wire.Vec3, ok bool) {
	switch {
	case m.Flags&DirtyPosition != 0:
		return wire.Vec3{m.Position[0].Float(), m.Position[1].Float(), m.Position[2].Float()}, true
	case m.Flags&DirtyDelta != 0 && m.hasBase:
		return m.base.Add(m.Delta.Vec()), true
	}
	return p, false
}

// Walk implements [decode.Message].
func (m *StateUpdate) Walk(c *decode.Codec) {
	c.FullGroups()
	c.Object("object_id", &m.Object, "the ship")
	c.OnRead(func(env decode.Env) { m.Class = env.Ship(m.Object) })
	c.Text("ship", decode.Source{Is: decode.ClassOfObject, Of: "object_id"}, m.className(), "class of the ship, when known")
	c.Text("ship_source", decode.Source{}, m.classSource(), "inferred: the capture does not hold the ship's creation, but other messages tell")
	c.F32(ClockField, &m.GameTime, "sender's game clock in seconds")
	decode.Flags8(c, "flags", &m.Flags, dirtyNames, "which fields follow")
	c.When(decode.Has("flags", m.Flags, DirtyPosition), func() {
		c.Vec3("position", &m.Position, "absolute in the set, game units")
		c.Bit("has_hash", &m.HasHash, "clients send the integrity hash, hosts do not")
		c.When(decode.IsSet("has_hash", m.HasHash), func() {
			c.Hash16("integrity_hash", &m.Hash, "digest of the ship's properties, the same for all unmodified ships of a class")
		})
	})
	c.When(decode.Has("flags", m.Flags, DirtyDelta), func() {
		c.Vec4h("position_delta", &m.Delta, "from the last absolute position that was sent")
		c.OnRead(func(env decode.Env) { m.base, m.hasBase = env.Base(m.Object) })
		c.When(decode.Lacks("flags", m.Flags, DirtyPosition), func() {
			c.Place("position", decode.Source{Is: decode.PlaceOfOffset, Of: "position_delta"}, m.base.Add(m.Delta.Vec()), m.hasBase, "absolute, when the last absolute position is known")
		})
	})
	c.When(decode.Has("flags", m.Flags, DirtyForward), func() {
		c.Dir3("forward", &m.Forward, "the ship's +Y axis in the world")
	})
	c.When(decode.Has("flags", m.Flags, DirtyUp), func() {
		c.Dir3("up", &m.Up, "the ship's +Z axis in the world")
	})
	c.When(decode.Has("flags", m.Flags, DirtySpeed), func() {
		c.CF16("speed", &m.Speed, "game units a second, negative in reverse")
	})
	c.When(decode.Has("flags", m.Flags, DirtyCloak), func() {
		c.BitNot("cloaked", &m.Cloak, c.Dialect() == decode.OpenBC, "the cloaking device is on")
	})
	c.When(decode.Has("flags", m.Flags, DirtySubsystems), func() {
		c.Struct("subsystems", "state of the ship's subsystems, a part of the list a message", func() { m.block(c) })
	})
	c.When(decode.Has("flags", m.Flags, DirtyPower), func() {
		decode.ListToEnd(c, "power_settings", &m.Power, "power settings that the player changed", func(e *Setting) {
			c.U8("index", &e.Index, "in the ship's list")
			c.Text("name", decode.Source{Is: decode.SubsystemName, Of: "index"}, m.subsystemName(e.Index), "of the subsystem, when known")
			c.Power8("percent", &e.Value, "setting in per cent, 0 to 125")
		})
	})
}

// blockLimit is a size in bytes, start index included. Once a block has reached
// it, no further entry begins.
const blockLimit = 10

// The counts of the lists in a block.
var (
	entries       = &decode.Count{Ship: true, First: "start", Bytes: blockLimit, Least: 1}
	entriesOpenBC = &decode.Count{Ship: true, First: "start", Bytes: blockLimit, Least: 2}
)

// block walks the subsystem block, a round-robin over the ship's list.
func (m *StateUpdate) block(c *decode.Codec) {
	begin := c.Offset()
	c.U8("start", &m.Start, "index of the first entry in the ship's list")
	if m.Class == nil && !c.Describing() {
		c.Unresolved("entries", "the class of the ship is not known")
		return
	}
	size := 0
	if m.Class != nil {
		size = len(m.Class.Subsystems)
	}
	if int(m.Start) >= size && !c.Describing() {
		c.Reject("start", begin, "the ship's list is shorter")
		return
	}
	openBC := c.Dialect() == decode.OpenBC
	from := entries
	if openBC {
		from = entriesOpenBC
	}
	n := 0
	more := func() bool {
		if n >= size || n >= from.Least && c.Offset()-begin >= from.Bytes {
			return false
		}
		n++
		return true
	}
	decode.ListWhile(c, "entries", &m.Entries, from, "consecutive entries, from the last of the list on to the first", more, func(e *Entry) {
		if c.Reading() {
			e.Index = uint8((int(m.Start) + n - 1) % size)
		}
		m.entry(c, e, openBC)
	})
}

// entry walks one entry of the block.
func (m *StateUpdate) entry(c *decode.Codec, e *Entry, openBC bool) {
	def := m.subsystem(e.Index)
	c.Number("index", subsystemIndex, uint64(e.Index), "in the ship's list")
	c.Text("name", subsystemName, def.Name, "of the subsystem")
	c.Ratio8("condition", &e.Condition, "0 destroyed, 1 whole")
	c.When(decode.HasChildren(def), func() {
		c.Ratios("children", &e.Children, len(def.Children), ofChildren, "condition of each part")
	})
	if openBC {
		if def.Kind != ship.Powered || def.Role == ship.Shield {
			c.CloseGroup()
		}
		c.When(decode.NotRole(def, ship.Shield), func() { e.power(c, def) })
	} else {
		e.power(c, def)
		c.When(decode.OfRole(def, 1<<ship.Shield), func() {
			c.Ratios("facings", &e.Facings, len(facingNames), ofFacings, "front, rear, top, bottom, left, right")
		})
	}
	c.When(decode.OfKind(def, ship.Reactor), func() {
		c.Ratio8("main_battery", &e.Main, "charge")
		c.Ratio8("backup_battery", &e.Backup, "charge")
	})
}

func (e *Entry) power(c *decode.Codec, def *ship.Subsystem) {
	c.When(decode.OfKind(def, ship.Powered), func() {
		c.Bit("has_power", &e.HasPower, "0 for the recipient's own ship")
		c.When(decode.IsSet("has_power", e.HasPower), func() {
			c.U8("power", &e.Power, "setting in per cent, 0 to 125")
		})
	})
}

func (m *StateUpdate) className() string {
	if m.Class == nil {
		return ""
	}
	return m.Class.Name
}

func (m *StateUpdate) classSource() string {
	if m.Class == nil || !m.Class.Inferred {
		return ""
	}
	return "inferred"
}

// noSubsystem stands for entries without a subsystem in the ship's list.
var noSubsystem ship.Subsystem

func (m *StateUpdate) subsystem(i uint8) *ship.Subsystem {
	if m.Class == nil || int(i) >= len(m.Class.Subsystems) {
		return &noSubsystem
	}
	return &m.Class.Subsystems[i]
}

func (m *StateUpdate) subsystemName(i uint8) string { return m.subsystem(i).Name }
