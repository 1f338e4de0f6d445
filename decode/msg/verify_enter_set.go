package msg

import (
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/wire"
)

// OpVerifyEnterSet is the opcode of [VerifyEnterSet].
const OpVerifyEnterSet decode.Opcode = 0x1D

var verifyEnterSetSpec = decode.Spec{
	Code:      OpVerifyEnterSet,
	Name:      "VerifyEnterSet",
	Constant:  "VERIFY_ENTER_SET",
	Aliases:   []string{"ObjNotFound"},
	Dir:       decode.FromHost,
	Broadcast: true,
	Reliable:  true,
	Relay:     decode.RelayAnswer,
	Made:      decode.MadeByState,
	Evidence:  decode.OnWire,
	Topic:     decode.TopicObjects,
	Doc:       "The receiver should have this object. If it does not, it asks for it with RequestObject (1E).",
	Brief:     []string{"object_id"},
	Harmless:  []string{"object_id"},
	Layout:    decode.LayoutOf[VerifyEnterSet](),
	Habits: []decode.Habit{{Dialect: decode.OpenBC, Rule: decode.Rule{
		Name: "no-verify-enter-set",
		Text: "sends no VerifyEnterSet when a ship is created; the stock host sends one to every player",
	}}},
}

// VerifyEnterSet (VERIFY_ENTER_SET) names an object that the receiver should
// have. A receiver that lacks it sends a [RequestObject].
type VerifyEnterSet struct{ Object wire.ObjectID }

// Walk implements [decode.Message].
func (m *VerifyEnterSet) Walk(c *decode.Codec) {
	c.Object("object_id", &m.Object, "the object that entered a set")
}
