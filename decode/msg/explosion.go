package msg

import (
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/wire"
)

// OpExplosion is the opcode of [Explosion].
const OpExplosion decode.Opcode = 0x29

var explosionSpec = decode.Spec{
	Code:      OpExplosion,
	Name:      "Explosion",
	Constant:  "DAMAGE_VOLUME",
	Dir:       decode.FromHost,
	Broadcast: true,
	Reliable:  true,
	Relay:     decode.RelayConsume,
	Need:      decode.NeedAll,
	Made:      decode.MadeBySimulation,
	Evidence:  decode.OnWire,
	Topic:     decode.TopicDamage,
	Doc:       "A damaged sphere of a ship that a client has just been sent: with the ships of a newcomer, or in answer to RequestObject (1E).",
	Brief:     []string{"object_id", "damage", "radius"},
	Harmless:  []string{"object_id", "position", "radius", "damage"},
	Layout:    decode.LayoutOf[Explosion](),
	Deviations: []decode.Deviation{{
		Dialect: decode.OpenBC, Relay: decode.RelayForward, Rule: decode.Rule{
			Name: "passes-explosion",
			Text: "passes a client's Explosion on to the other players; the stock host does not",
		},
	}},
}

// Explosion (DAMAGE_VOLUME) is a damaged sphere of a ship. A client that
// receives an already damaged ship also receives its damage, one volume a
// message.
type Explosion struct {
	Object   wire.ObjectID
	Position wire.Vec4h
	Radius   wire.CF16
	Damage   wire.CF16
}

// Actor returns the damaged ship. The relay takes the message only from the
// ship's owner, but OpenBC's test clients send it for the ships that they hit,
// and OpenBC's server passes that on.
func (m *Explosion) Actor() wire.ObjectID { return m.Object }

// Walk implements [decode.Message].
func (m *Explosion) Walk(c *decode.Codec) {
	c.Object("object_id", &m.Object, "the damaged ship")
	c.Vec4h("position", &m.Position, "centre of the sphere, from the ship's centre")
	c.CF16("radius", &m.Radius, "of the sphere, game units")
	c.CF16("damage", &m.Damage, "amount")
}
