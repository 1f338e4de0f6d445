package msg

import (
	"iter"
	"slices"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/names"
	"github.com/bcdissect/bcdissect/decode/ship"
	"github.com/bcdissect/bcdissect/decode/wire"
)

// OpObjectCreate is the opcode of [ObjectCreate].
const OpObjectCreate decode.Opcode = 0x02

// ownCreations tells how OpenBC's hosts treat a client's creation of an object.
var ownCreations = decode.Deviation{
	Dialect: decode.OpenBC, Relay: decode.RelayForward, Only: decode.OnlyOwn, Rule: decode.Rule{
		Name: "own-creations-only",
		Text: "drops creations that name a slot other than the sender's; the stock host passes them on",
	},
}

// objectHarmless are the numbers of an [Object] that tell nothing about people
// or hosts.
var objectHarmless = []string{
	"class", "object_id", "species", "position", "orientation", "velocity", "condition", "children",
	"main_battery", "backup_battery", "power", "facings", "active", "level", "ammo", "mode", "owner_id",
	"target_id", "firing_player", "lifetime", "direction", "ratio",
}

var objectCreateSpec = decode.Spec{
	Code:       OpObjectCreate,
	Name:       "ObjectCreate",
	Constant:   "CREATE_OBJECT",
	Dir:        decode.FromHost,
	Reliable:   true,
	Relay:      decode.RelaySlots,
	Made:       decode.MadeByState,
	Evidence:   decode.FromGame,
	Topic:      decode.TopicObjects,
	Head:       2 + 4 + 4 + 1, // up to and including the species
	Doc:        "An object other than a player's ship comes into being: a station, an asteroid, a torpedo.",
	Brief:      []string{"object_id", "species", "name", "set"},
	Harmless:   slices.Concat(objectHarmless, []string{"slot"}),
	Layout:     decode.LayoutOf[ObjectCreate](),
	Deviations: []decode.Deviation{ownCreations},
}

// ObjectCreate (CREATE_OBJECT) creates an object other than a player's ship,
// such as a station, an asteroid or a torpedo.
type ObjectCreate struct {
	Slot uint8
	Object
}

// Created implements [Creation].
func (m *ObjectCreate) Created() (id wire.ObjectID, slot uint8) { return m.ID, m.Slot }

// Walk implements [decode.Message].
func (m *ObjectCreate) Walk(c *decode.Codec) {
	c.U8("slot", &m.Slot, "player slot of the owner; without meaning for the host's own objects")
	m.Object.Walk(c)
}

// OpObjectCreateTeam is the opcode of [ObjectCreateTeam].
const OpObjectCreateTeam decode.Opcode = 0x03

var objectCreateTeamSpec = decode.Spec{
	Code:     OpObjectCreateTeam,
	Name:     "ObjectCreateTeam",
	Constant: "CREATE_PLAYER_OBJECT",
	Aliases:  []string{"ObjCreateTeam"},
	Dir:      decode.Either,
	Reliable: true,
	Relay:    decode.RelaySlots,
	Made:     decode.MadeByState,
	Evidence: decode.OnWire,
	Topic:    decode.TopicObjects,
	Head:     3 + 4 + 4 + 1, // up to and including the species
	Doc:      "A player's ship comes into being.",
	Brief:    []string{"name", "species", "object_id", "set"},
	Harmless: slices.Concat(objectHarmless, []string{
		"slot", "net_player", "forward", "up", "speed", "hull", "front", "rear", "top", "bottom", "left", "right",
		"conditions_count", "cloak_state", "torpedo_type",
	}),
	Layout: decode.LayoutOf[ObjectCreateTeam](),
	Forms: []decode.Form{{
		Dialect: decode.OpenBC,
		Doc:     "A body of OpenBC's own, without class id.",
		Layout:  decode.LayoutOf[ObjectCreateOpenBC](),
	}},
	Deviations: []decode.Deviation{ownCreations},
}

// ObjectCreateTeam (CREATE_PLAYER_OBJECT) creates a player's ship.
type ObjectCreateTeam struct {
	Slot   uint8
	Player uint8
	Object
}

// Created implements [Creation].
func (m *ObjectCreateTeam) Created() (id wire.ObjectID, slot uint8) { return m.ID, m.Slot }

// Walk implements [decode.Message].
func (m *ObjectCreateTeam) Walk(c *decode.Codec) {
	c.Player8("slot", &m.Slot, decode.BySlot, "player slot of the owner")
	c.Player8("net_player", &m.Player, decode.ByIDStock, "network id of the owner; from OpenBC the team")
	m.Object.Walk(c)
}

// Classes of created objects.
const (
	ClassShip    uint32 = 0x8008 // also stations and asteroids
	ClassTorpedo uint32 = 0x8009
)

// An Object is a game object in an [ObjectCreate] or [ObjectCreateTeam].
type Object struct {
	Class       uint32
	ID          wire.ObjectID
	Species     uint8
	Position    [3]wire.F32
	Orientation [4]wire.F32
	Velocity    wire.Vec4f
	Name        wire.Chars
	Set         wire.Chars
	Ship        *ship.Class // ClassShip: the class of Species, nil if its subsystems are unknown
	Snapshot    []Part      // ClassShip, if the list fits
	Fits        bool        // whether the snapshot matches the subsystems of the class. Ships changed by mods do not match.
	Torpedo     TorpedoBody // ClassTorpedo
}

// A TorpedoBody is the part of an object that only torpedoes have.
type TorpedoBody struct {
	Owner        wire.ObjectID
	Target       wire.ObjectID
	FiringPlayer uint8
	Lifetime     uint8
	Offset       wire.Vec4b
}

// Reset prepares the object for reuse.
func (m *Object) Reset() { *m = Object{Snapshot: m.Snapshot[:0]} }

// Reset prepares the message for reuse.
func (m *ObjectCreate) Reset() { m.Slot = 0; m.Object.Reset() }

// Reset prepares the message for reuse.
func (m *ObjectCreateTeam) Reset() { m.Slot, m.Player = 0, 0; m.Object.Reset() }

// Walk implements [decode.Message].
func (m *Object) Walk(c *decode.Codec) {
	decode.Enum32(c, "class", &m.Class, objectClasses{}, "decides the fields after the set name")
	c.Object("object_id", &m.ID, "the new object; a receiver that has it already ignores the message")
	c.When(decode.Differs("class", m.Class, ClassTorpedo), func() {
		decode.Enum8(c, "species", &m.Species, names.Species, "which ship, station or asteroid")
		if s := ship.BySpecies(m.Species); s != nil && s.Subsystems != nil {
			m.Ship = s
		}
	})
	c.When(decode.Equals("class", m.Class, ClassTorpedo), func() {
		decode.Enum8(c, "species", &m.Species, names.TorpedoSpecies, "which torpedo")
	})
	c.Vec3("position", &m.Position, "in the set, game units")
	c.Quat("orientation", &m.Orientation, "quaternion w, x, y, z; forward is +Y, up is +Z")
	c.Vec4f("velocity", &m.Velocity, "game units a second")
	c.Private(decode.PlayerName, func() { c.Str8("name", &m.Name, "object name; of a player's ship the player's name") })
	c.Str8("set", &m.Set, "the set in which it is, such as Multi1")
	c.When(decode.Equals("class", m.Class, ClassShip), func() {
		c.Text("ship", decode.Source{Is: decode.ClassOfSpecies, Of: "species"}, m.shipName(), "class of the ship, when known")
		if c.Reading() && m.Ship == nil && c.More() {
			c.Unresolved("snapshot", "the species has no known list")
			return
		}
		c.Attempt(&m.Fits, func() { m.snapshot(c) })
	})
	c.When(decode.Equals("class", m.Class, ClassTorpedo), func() { m.torpedo(c) })
}

func (m *Object) torpedo(c *decode.Codec) {
	c.Object("owner_id", &m.Torpedo.Owner, "the ship that fired")
	c.Object("target_id", &m.Torpedo.Target, "0 for none")
	c.Player8("firing_player", &m.Torpedo.FiringPlayer, decode.ByIDStock, "network id of the shooter")
	c.U8("lifetime", &m.Torpedo.Lifetime, "seconds")
	c.Vec4b("target_offset", &m.Torpedo.Offset, "point aimed at, from the target's centre")
}

type objectClasses struct{}

// Values implements [decode.Lister].
func (n objectClasses) Values() iter.Seq2[uint64, string] {
	return func(yield func(uint64, string) bool) {
		_ = yield(uint64(ClassShip), n.Name(uint64(ClassShip))) && yield(uint64(ClassTorpedo), n.Name(uint64(ClassTorpedo)))
	}
}

// Name implements [decode.Names].
func (objectClasses) Name(v uint64) string {
	switch uint32(v) {
	case ClassShip:
		return "ship"
	case ClassTorpedo:
		return "torpedo"
	}
	return ""
}

// ObjectCreateOpenBC is the ship creation of OpenBC's battle test.
type ObjectCreateOpenBC struct {
	Slot        uint8
	Player      uint8
	ID          wire.ObjectID
	Species     uint8
	Position    [3]wire.F32
	Orientation [4]wire.F32
	Forward     [3]wire.F32
	Up          [3]wire.F32
	Speed       wire.F32
	Hull        wire.F32
	Shields     [6]wire.F32
	Subsystems  []wire.F32
	Cloak       uint8
	TorpedoType uint8
}

// Reset prepares the message for reuse.
func (m *ObjectCreateOpenBC) Reset() { *m = ObjectCreateOpenBC{Subsystems: m.Subsystems[:0]} }

// Created implements [Creation].
func (m *ObjectCreateOpenBC) Created() (id wire.ObjectID, slot uint8) { return m.ID, m.Slot }

// Walk implements [decode.Message].
func (m *ObjectCreateOpenBC) Walk(c *decode.Codec) {
	c.Player8("slot", &m.Slot, decode.BySlot, "player slot of the owner")
	c.Player8("net_player", &m.Player, decode.ByIDStock, "the team, as far as is known")
	c.Object("object_id", &m.ID, "the new ship")
	decode.Enum8(c, "species", &m.Species, names.Species, "which ship")
	c.Vec3("position", &m.Position, "game units")
	c.Quat("orientation", &m.Orientation, "quaternion")
	c.Vec3("forward", &m.Forward, "direction of flight")
	c.Vec3("up", &m.Up, "direction of the ship's top")
	c.F32("speed", &m.Speed, "game units a second")
	c.F32("hull", &m.Hull, "condition of the hull")
	c.Struct("shields", "strength of each facing", func() {
		for i, facing := range facingNames {
			c.F32(facing, &m.Shields[i], "strength")
		}
	})
	decode.List16(c, "conditions", &m.Subsystems, 4, "condition of each subsystem", func(e *wire.F32) {
		c.F32("condition", e, "as the sender counts it")
	})
	c.U8("cloak_state", &m.Cloak, "as the sender counts it")
	c.U8("torpedo_type", &m.TorpedoType, "selected ammunition")
}

var facingNames = [6]string{"front", "rear", "top", "bottom", "left", "right"}
