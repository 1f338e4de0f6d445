package msg

import (
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/wire"
)

// OpDestroyObject is the opcode of [DestroyObject].
const OpDestroyObject decode.Opcode = 0x14

var destroyObjectSpec = decode.Spec{
	Code:      OpDestroyObject,
	Name:      "DestroyObject",
	Constant:  "DELETE_OBJECT_FROM_GAME",
	Dir:       decode.FromHost,
	Broadcast: true,
	Reliable:  true,
	Relay:     decode.RelayConsume,
	Need:      decode.NeedOpenBC,
	Made:      decode.MadeByLeave,
	Evidence:  decode.FromGame,
	Topic:     decode.TopicDamage,
	Doc:       "An object leaves the game. The game's host does not send it, neither for ships that are shot nor for those of players who left.",
	Brief:     []string{"object_id"},
	Harmless:  []string{"object_id"},
	Layout:    decode.LayoutOf[DestroyObject](),
	Deviations: []decode.Deviation{{
		Dialect: decode.OpenBC, Relay: decode.RelayForward, Rule: decode.Rule{
			Name: "passes-destroy-object",
			Text: "passes a client's DestroyObject on to the other players; the stock host does not",
		},
	}},
}

// DestroyObject (DELETE_OBJECT_FROM_GAME) removes an object from the game.
type DestroyObject struct{ Object wire.ObjectID }

// Walk implements [decode.Message].
func (m *DestroyObject) Walk(c *decode.Codec) {
	c.Object("object_id", &m.Object, "the object that is gone")
}
