package msg

import "github.com/bcdissect/bcdissect/decode"

// OpUnused24 is an opcode that the game does not use.
const OpUnused24 decode.Opcode = 0x24

var unused24Spec = decode.Spec{
	Code:     OpUnused24,
	Name:     "Unused24",
	Constant: "BEGIN_SEND_FILE",
	Dir:      decode.Nobody,
	Evidence: decode.Open,
	Doc:      "The game neither sends nor handles it.",
}
