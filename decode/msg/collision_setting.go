package msg

import "github.com/bcdissect/bcdissect/decode"

// OpCollisionSetting is the opcode of [CollisionSetting].
const OpCollisionSetting decode.Opcode = 0x16

var collisionSettingSpec = decode.Spec{
	Code:     OpCollisionSetting,
	Name:     "CollisionSetting",
	Constant: "COLLISION_ENABLED",
	Aliases:  []string{"UICollisionSetting"},
	Dir:      decode.FromHost,
	Reliable: true,
	Made:     decode.MadeByOptions,
	Evidence: decode.FromGame,
	Topic:    decode.TopicFlight,
	Doc:      "The host switched collision damage on or off.",
	Brief:    []string{"collisions"},
	Harmless: []string{"collisions"},
	Layout:   decode.LayoutOf[CollisionSetting](),
}

// CollisionSetting (COLLISION_ENABLED) switches collision damage on or off.
type CollisionSetting struct{ Collisions bool }

// Walk implements [decode.Message].
func (m *CollisionSetting) Walk(c *decode.Codec) {
	c.Bit("collisions", &m.Collisions, "collisions do damage")
}
