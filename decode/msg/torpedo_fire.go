package msg

import (
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/wire"
)

// OpTorpedoFire is the opcode of [TorpedoFire].
const OpTorpedoFire decode.Opcode = 0x19

// unreadShots tells how OpenBC's hosts treat shots.
var unreadShots = decode.Deviation{
	Dialect: decode.OpenBC, Relay: decode.RelayForward, Only: decode.OnlyReadable, Rule: decode.Rule{
		Name: "drops-unread-shots",
		Text: "drops TorpedoFire and PulseFire that it cannot read in its own layout; the stock host passes them on",
	},
}

var torpedoFireSpec = decode.Spec{
	Code:     OpTorpedoFire,
	Name:     "TorpedoFire",
	Constant: "CREATE_TORP",
	Dir:      decode.Either,
	Reliable: true,
	Relay:    decode.RelayForward,
	Made:     decode.MadeNever,
	Evidence: decode.OnWire,
	Topic:    decode.TopicWeapons,
	Doc:      "A ship launched a torpedo.",
	Brief:    []string{"tube", "target"},
	Harmless: []string{"tube", "firing_player", "flags", "direction", "target", "ratio", "target_point"},
	Layout:   decode.LayoutOf[TorpedoFire](),
	Forms: []decode.Form{{
		Dialect: decode.OpenBC,
		Doc:     "Flag bit 1 means that there is a target; its offset has a CF16 length, 5 bytes.",
		Layout:  decode.LayoutOf[TorpedoFireOpenBC](),
	}},
	Deviations: []decode.Deviation{unreadShots},
}

// TorpedoFlags are the flags of a torpedo launch.
type TorpedoFlags uint8

// The torpedo flags.
const (
	TorpedoBit0     TorpedoFlags = 0x01 // probably the skewed launch geometry
	TorpedoBit1     TorpedoFlags = 0x02 // probably whether the launch is audible
	TorpedoNoTarget TorpedoFlags = 0x04 // neither target nor offset follows the direction
)

var torpedoFlagNames = decode.FlagNames{"bit0", "bit1", "no_target"}

// TorpedoFire (CREATE_TORP) reports that a ship launched a torpedo. It does not
// contain the torpedo's type: that is the type selected in the tube's system.
type TorpedoFire struct {
	Tube         wire.ObjectID
	FiringPlayer uint8
	Flags        TorpedoFlags
	Direction    wire.Dir3
	Target       wire.ObjectID // absent with TorpedoNoTarget
	Offset       wire.Vec4b    // absent with TorpedoNoTarget
}

// Actor returns the tube.
func (m *TorpedoFire) Actor() wire.ObjectID { return m.Tube }

// Walk implements [decode.Message].
func (m *TorpedoFire) Walk(c *decode.Codec) {
	c.Object("tube", &m.Tube, "the tube that fired, a child of the torpedo system")
	c.Player8("firing_player", &m.FiringPlayer, decode.ByIDStock, "network id of the shooter")
	decode.Flags8(c, "flags", &m.Flags, torpedoFlagNames, "how it was launched")
	c.Dir3("direction", &m.Direction, "launch direction in the world")
	c.When(decode.Lacks("flags", m.Flags, TorpedoNoTarget), func() {
		c.Object("target", &m.Target, "the object aimed at")
		c.Vec4b("target_offset", &m.Offset, "point aimed at, from the target's centre")
	})
}

// torpedoOpenBCTarget is the flag that OpenBC's test clients set if a target
// follows.
const torpedoOpenBCTarget TorpedoFlags = 0x02

// TorpedoFireOpenBC is the torpedo launch of OpenBC's test clients.
type TorpedoFireOpenBC struct {
	Tube         wire.ObjectID
	FiringPlayer uint8
	Flags        TorpedoFlags
	Direction    wire.Dir3
	Target       wire.ObjectID
	Offset       wire.Vec4h
}

// Actor returns the tube.
func (m *TorpedoFireOpenBC) Actor() wire.ObjectID { return m.Tube }

// Walk implements [decode.Message].
func (m *TorpedoFireOpenBC) Walk(c *decode.Codec) {
	c.Object("tube", &m.Tube, "the tube that fired")
	c.U8("firing_player", &m.FiringPlayer, "not the network id of the shooter; meaning not known")
	decode.Flags8(c, "flags", &m.Flags, torpedoOpenBCFlagNames, "how it was launched")
	c.Dir3("direction", &m.Direction, "launch direction in the world")
	c.When(decode.Has("flags", m.Flags, torpedoOpenBCTarget), func() {
		c.Object("target", &m.Target, "the object aimed at")
		c.Vec4h("target_point", &m.Offset, "point aimed at, from the target's centre")
	})
}

var torpedoOpenBCFlagNames = decode.FlagNames{"bit0", "target"}
