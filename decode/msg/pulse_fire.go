package msg

import (
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/wire"
)

// OpPulseFire is the opcode of [PulseFire].
const OpPulseFire decode.Opcode = 0x1A

var pulseFireSpec = decode.Spec{
	Code:       OpPulseFire,
	Name:       "PulseFire",
	Constant:   "CREATE_PULSE",
	Aliases:    []string{"BeamFire"},
	Dir:        decode.Either,
	Reliable:   true,
	Relay:      decode.RelayForward,
	Made:       decode.MadeNever,
	Evidence:   decode.OnWire,
	Topic:      decode.TopicWeapons,
	Doc:        "A pulse weapon fired. Phaser beams have StartFiring (07).",
	Brief:      []string{"weapon", "target"},
	Harmless:   []string{"weapon", "firing_player", "direction", "flags", "target"},
	Layout:     decode.LayoutOf[PulseFire](),
	Deviations: []decode.Deviation{unreadShots},
}

// PulseFlags are the flags of a pulse.
type PulseFlags uint8

// The pulse flags.
const (
	PulseSound  PulseFlags = 0x01 // the shot is audible: it is the first of a series
	PulseTarget PulseFlags = 0x02 // there is a target
)

var pulseFlagNames = decode.FlagNames{"sound", "target"}

// PulseFire (CREATE_PULSE) reports that a pulse weapon fired. Paired cannons
// send one message each.
type PulseFire struct {
	Weapon       wire.ObjectID
	FiringPlayer uint8
	Direction    wire.Dir3
	Flags        PulseFlags
	Target       wire.ObjectID // only with PulseTarget
}

// Actor returns the weapon.
func (m *PulseFire) Actor() wire.ObjectID { return m.Weapon }

// Walk implements [decode.Message].
func (m *PulseFire) Walk(c *decode.Codec) {
	c.Object("weapon", &m.Weapon, "the weapon that fired, a child of the pulse system")
	c.Player8("firing_player", &m.FiringPlayer, decode.ByIDStock, "network id of the shooter")
	c.Dir3("direction", &m.Direction, "of flight, in the world")
	decode.Flags8(c, "flags", &m.Flags, pulseFlagNames, "how it was fired")
	c.When(decode.Has("flags", m.Flags, PulseTarget), func() {
		c.Object("target", &m.Target, "the object aimed at")
	})
}
