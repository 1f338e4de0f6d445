package msg

import (
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/event"
)

// OpCollisionEffect is the opcode of [CollisionEffect].
const OpCollisionEffect decode.Opcode = 0x15

var collisionEffectSpec = decode.Spec{
	Code:     OpCollisionEffect,
	Name:     "CollisionEffect",
	Constant: "CLIENT_COLLISION",
	Dir:      decode.FromClient,
	Reliable: true,
	Relay:    decode.RelayConsume,
	Need:     decode.NeedOpenBC,
	Evidence: decode.OnWire,
	Topic:    decode.TopicDamage,
	Doc:      "A ship ran into something.",
	Brief:    []string{"dest", "source", "force"},
	Harmless: event.Harmless,
	Layout:   decode.LayoutOf[CollisionEffect](),
	Deviations: []decode.Deviation{{
		Dialect: decode.OpenBC, Relay: decode.RelayForward, Rule: decode.Rule{
			Name: "passes-collision",
			Text: "passes CollisionEffect on to the other players; the stock host does not",
		},
	}},
}

// CollisionEffect (CLIENT_COLLISION) reports a collision. The destination is
// the reporting ship. The source is the other object, or 0 for planets and
// asteroids.
type CollisionEffect struct{ event.Event }
