package msg

import (
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/wire"
)

// OpVerifyExitedWarp is the opcode of [VerifyExitedWarp].
const OpVerifyExitedWarp decode.Opcode = 0x1F

var verifyExitedWarpSpec = decode.Spec{
	Code:     OpVerifyExitedWarp,
	Name:     "VerifyExitedWarp",
	Constant: "VERIFY_EXITED_WARP",
	Aliases:  []string{"EnterSet"},
	Dir:      decode.FromHost,
	Reliable: true,
	Relay:    decode.RelayConsume,
	Evidence: decode.FromGame,
	Topic:    decode.TopicObjects,
	Doc:      "A ship left warp and is in this set now.",
	Brief:    []string{"object_id", "set"},
	Layout:   decode.LayoutOf[VerifyExitedWarp](),
}

// VerifyExitedWarp is VERIFY_EXITED_WARP. A client that has the object moves it;
// one that has not asks with 0x1E.
type VerifyExitedWarp struct {
	Object wire.ObjectID
	Set    []byte
}

// Walk implements [decode.Message].
func (m *VerifyExitedWarp) Walk(c *decode.Codec) {
	c.Object("object_id", &m.Object, "the ship")
	c.Str32z("set", &m.Set, "where it is, such as Multi1")
}
