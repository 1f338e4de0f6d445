// Package event defines the game's serialised events. Sixteen opcodes carry
// exactly one event: class, code, source, destination, and a body that depends
// on the class. Any class may come with any of these opcodes.
//
// Byte slices of an [Event] share memory with the message they were read from.
package event

import (
	_ "embed"
	"slices"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/names"
	"github.com/bcdissect/bcdissect/decode/wire"
)

// Codes are the names of the event codes, and Classes the names of the class
// ids.
var (
	Codes   = names.Parse(codesText, 16)
	Classes = names.Parse(classesText, 16)

	//go:embed codes.txt
	codesText string
	//go:embed classes.txt
	classesText string
)

// A Class determines the body of an event.
type Class uint32

// The classes with a known body. TGStringEvent and WeaponHitEvent exist in the
// game, but no such event has been captured.
const (
	ClassPlain     Class = 0x0101 // TGEvent
	ClassBool      Class = 0x0104 // TGBoolEvent
	ClassChar      Class = 0x0105 // TGCharEvent
	ClassShort     Class = 0x0106 // TGShortEvent
	ClassInt       Class = 0x0107 // TGIntEvent
	ClassFloat     Class = 0x0108 // TGFloatEvent
	ClassObject    Class = 0x010C // TGObjPtrEvent
	ClassPlayer    Class = 0x0866 // TGPlayerEvent
	ClassCollision Class = 0x8124 // CollisionEvent
	ClassFiring    Class = 0x8128 // StartFiringEvent
	ClassExploding Class = 0x8129 // ObjectExplodingEvent
	ClassWarp      Class = 0x812A // WarpEvent
)

// String returns the class's name, or "" if it has none.
func (c Class) String() string { return Classes.Name(uint64(c)) }

// knownClasses are the classes with a known body.
var knownClasses = []Class{
	ClassPlain, ClassBool, ClassChar, ClassShort, ClassInt, ClassFloat, ClassObject, ClassPlayer,
	ClassCollision, ClassFiring, ClassExploding, ClassWarp,
}

// known reports whether the class has a known body.
func (c Class) known() bool { return slices.Contains(knownClasses, c) }

// A Code is the kind of occurrence that an event reports.
type Code uint32

// The codes seen on the wire. The receiver handles a code that ends in Notify
// as the code next to it.
const (
	CodeDeletePlayer             Code = 0x00060005
	CodeObjectExploding          Code = 0x0080004E
	CodeObjectCollision          Code = 0x00800050
	CodeTargetWasChanged         Code = 0x00800058
	CodeRepairCompleted          Code = 0x00800074
	CodeRepairCannotBeCompleted  Code = 0x00800075
	CodeRepairIncreasePriority   Code = 0x00800076
	CodeStartFiringNotify        Code = 0x008000D8
	CodeStopFiringNotify         Code = 0x008000DA
	CodeStopFiringAtTargetNotify Code = 0x008000DC
	CodeSubsystemStateNotify     Code = 0x008000DD
	CodeAddToRepairList          Code = 0x008000DF
	CodeSetPhaserLevel           Code = 0x008000E0
	CodeStartCloakingNotify      Code = 0x008000E2
	CodeStopCloakingNotify       Code = 0x008000E4
	CodeStartWarpNotify          Code = 0x008000EC
	CodeNewPlayerInGame          Code = 0x008000F1
	CodeTorpedoTypeChangedNotify Code = 0x008000FE
)

// String returns the code's name, or "" if it has none.
func (c Code) String() string { return Codes.Name(uint64(c)) }

// Harmless are the fields of events whose numbers tell nothing about people or
// hosts.
var Harmless = []string{
	"class", "code", "source", "dest", "enabled", "value", "amount", "object", "player", "contacts_count",
	"direction", "ratio", "force", "target", "firing_player", "explosion_time", "exit", "duration",
}

// An Event is any of the game's serialised events. Of the fields below Dest,
// only the fields of its class are meaningful.
type Event struct {
	Class  Class
	Code   Code
	Source wire.ObjectID // 0 if there is none
	Dest   wire.ObjectID // the object that the event is about

	Byte         uint8         // ClassBool, ClassChar
	Short        int16         // ClassShort
	Int          int32         // ClassInt
	Float        wire.F32      // ClassFloat
	Object       wire.ObjectID // ClassObject
	Player       uint8         // ClassPlayer
	Contacts     []wire.Vec4b  // ClassCollision
	Force        wire.F32      // ClassCollision
	Target       wire.ObjectID // ClassFiring
	Offset       wire.Vec4b    // ClassFiring
	FiringPlayer int32         // ClassExploding
	Lifetime     wire.F32      // ClassExploding
	Set          wire.Chars    // ClassWarp
	Exit         [3]wire.F32   // ClassWarp
	Duration     wire.F32      // ClassWarp
	Body         []byte        // any other class
}

// Reset prepares the event for reuse.
func (m *Event) Reset() { *m = Event{Contacts: m.Contacts[:0]} }

// Actor returns the object that acts in an event that a client sends about its
// ship. It is a system of the ship.
func (m *Event) Actor() wire.ObjectID { return m.Dest }

// Walk implements [decode.Message].
func (m *Event) Walk(c *decode.Codec) {
	decode.Enum32(c, "class", &m.Class, Classes, "decides the body")
	decode.Enum32(c, "code", &m.Code, Codes, "the kind of event")
	c.Object("source", &m.Source, "the object that caused it, 0 for none")
	c.Object("dest", &m.Dest, "the object concerned; 0 for none, 0xFFFFFFFF for any")
	m.when(c, ClassBool, func() {
		c.Bool8("enabled", &m.Byte, "for a subsystem: 1 switched on, 0 off")
	})
	m.when(c, ClassChar, func() {
		decode.Enum8(c, "value", &m.Byte, m.values(c), "for a phaser system its power level, for a torpedo system the ammunition slot")
	})
	m.when(c, ClassShort, func() {
		c.I16("value", &m.Short, "meaning depends on the code")
	})
	m.when(c, ClassInt, func() {
		c.I32("value", &m.Int, "meaning depends on the code")
	})
	m.when(c, ClassFloat, func() {
		c.F32("amount", &m.Float, "meaning depends on the code")
	})
	m.when(c, ClassObject, func() {
		c.Object("object", &m.Object, "a second object: target, former target, subsystem; 0 for none or all")
	})
	m.when(c, ClassPlayer, func() {
		c.Player8("player", &m.Player, decode.ByID, "network id of the player")
	})
	m.when(c, ClassCollision, func() {
		decode.List8(c, "contacts", &m.Contacts, 4, "points of contact, from the centre of dest in its own axes", func(e *wire.Vec4b) {
			c.Dir3("direction", &e.Dir, "from the centre")
			c.Ratio8("ratio", &e.Len, "distance as a share of the bounding radius")
		})
		c.F32("force", &m.Force, "of the impact")
	})
	m.when(c, ClassFiring, func() {
		c.Object("target", &m.Target, "the object fired at, 0 for none")
		c.Vec4b("target_offset", &m.Offset, "point aimed at, from the target's centre")
	})
	m.when(c, ClassExploding, func() {
		c.Player32("firing_player", &m.FiringPlayer, decode.ByID, "network id of the shooter, 0 for none")
		c.F32("explosion_time", &m.Lifetime, "length of the explosion in seconds")
	})
	m.when(c, ClassWarp, func() {
		c.Str8("set", &m.Set, "where the warp leads")
		c.Vec3("exit", &m.Exit, "three numbers, perhaps the point of arrival")
		c.F32("duration", &m.Duration, "a number, perhaps seconds")
	})
	if !m.Class.known() || c.Describing() {
		m.unless(c, knownClasses, func() {
			c.When(c.Remain(len(m.Body) > 0), func() { c.Bytes("body", &m.Body, "not decoded") })
		})
	}
}

// unless runs body if the event is of none of the classes.
func (m *Event) unless(c *decode.Codec, classes []Class, body func()) {
	if len(classes) == 0 {
		body()
		return
	}
	c.When(decode.Differs("class", m.Class, classes[0]), func() { m.unless(c, classes[1:], body) })
}

// when runs body if the event is of the class. It calls the codec only if that
// changes the result, since there are many classes.
func (m *Event) when(c *decode.Codec, class Class, body func()) {
	if m.Class == class || c.Describing() {
		c.When(decode.Equals("class", m.Class, class), body)
	}
}

// values returns the value names of a TGCharEvent, or nil if it has none. While
// describing it returns those that can occur.
func (m *Event) values(c *decode.Codec) decode.Names {
	if m.Code == CodeSetPhaserLevel || c.Describing() {
		return names.PhaserLevels
	}
	return nil
}
