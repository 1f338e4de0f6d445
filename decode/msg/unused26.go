package msg

import "github.com/bcdissect/bcdissect/decode"

// OpUnused26 is an opcode that the game does not use.
const OpUnused26 decode.Opcode = 0x26

var unused26Spec = decode.Spec{
	Code:     OpUnused26,
	Name:     "Unused26",
	Constant: "DIRECTORY",
	Dir:      decode.Nobody,
	Evidence: decode.Open,
	Doc:      "The game neither sends nor handles it.",
}
