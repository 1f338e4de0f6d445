package msg

import "github.com/bcdissect/bcdissect/decode"

// OpScript is the opcode of [Script].
const OpScript decode.Opcode = 0x2B

var scriptSpec = decode.Spec{
	Code:     OpScript,
	Name:     "Script",
	Dir:      decode.Either,
	Reliable: true,
	Relay:    decode.RelayConsume,
	Evidence: decode.FromGame,
	Doc:      "Any opcode from 0x2B on that no other message has: a mod's own message, without a common layout.",
	Brief:    []string{"body"},
	Layout:   decode.LayoutOf[Script](),
	CatchAll: true,
}

// Script is a message of a mod's scripts.
type Script struct {
	Op   decode.Opcode
	Body []byte
}

// Opcode returns the opcode of the message. The spec has the lowest opcode that
// it covers.
func (m *Script) Opcode() decode.Opcode { return m.Op }

// Walk implements [decode.Message].
func (m *Script) Walk(c *decode.Codec) {
	if c.Reading() {
		m.Op = c.Opcode()
	}
	c.When(c.Remain(len(m.Body) > 0), func() {
		c.Bytes("body", &m.Body, "defined by the mod")
	})
}
