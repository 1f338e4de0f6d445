package msg

import "github.com/bcdissect/bcdissect/decode"

// OpUnused04 is an opcode that the game does not use.
const OpUnused04 decode.Opcode = 0x04

var unused04Spec = decode.Spec{
	Code:     OpUnused04,
	Name:     "Unused04",
	Constant: "DESTROY_OBJECT",
	Dir:      decode.Nobody,
	Evidence: decode.Open,
	Doc:      "The game neither sends nor handles it.",
	// OpenBC uses the opcode for [BootPlayer].
	Alternatives: []*decode.Spec{&bootPlayerSpec},
}
