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
	Harmless: []string{"object_id", "end"},
	Layout:   decode.LayoutOf[VerifyExitedWarp](),
	Forms: []decode.Form{{
		Dialect: decode.OpenBC,
		Doc:     "The length of the name does not count the 00 at its end, which may be missing.",
		Common:  true,
		Layout:  decode.LayoutOf[VerifyExitedWarpBare](),
	}},
}

// VerifyExitedWarp (VERIFY_EXITED_WARP) reports that a ship has left warp. A
// client that has the ship moves it to the set. Others send a [RequestObject].
type VerifyExitedWarp struct {
	Object wire.ObjectID
	Set    wire.Chars
}

// Walk implements [decode.Message].
func (m *VerifyExitedWarp) Walk(c *decode.Codec) {
	c.Object("object_id", &m.Object, "the ship")
	c.Str32z("set", &m.Set, "where it is, such as Multi1")
}

// VerifyExitedWarpBare is the form of senders whose length of the name excludes
// the terminator.
type VerifyExitedWarpBare struct {
	Object wire.ObjectID
	Set    wire.Chars
	Ended  bool
	End    uint8 // only if Ended
}

// Walk implements [decode.Message].
func (m *VerifyExitedWarpBare) Walk(c *decode.Codec) {
	c.Object("object_id", &m.Object, "the ship")
	at := c.Offset()
	c.Str32("set", &m.Set, "where it is, such as Multi1")
	if c.Reading() {
		if n := len(m.Set); n > 0 && m.Set[n-1] == 0 {
			c.Reject("set", at, "the length counts the 00 at its end")
		}
	}
	c.When(c.Remain(m.Ended), func() {
		m.Ended = true
		c.U8("end", &m.End, "the 00 at the end of the name")
	})
}
