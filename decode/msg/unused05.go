package msg

import "github.com/bcdissect/bcdissect/decode"

// OpUnused05 is an opcode that the game does not use.
const OpUnused05 decode.Opcode = 0x05

var unused05Spec = decode.Spec{
	Code:     OpUnused05,
	Name:     "Unused05",
	Constant: "TORPEDO_POSITION",
	Dir:      decode.Nobody,
	Evidence: decode.Open,
	Doc:      "The game neither sends nor handles it.",
}
