package msg

import "github.com/bcdissect/bcdissect/decode"

var unused05Spec = decode.Spec{
	Code:     0x05,
	Name:     "Unused05",
	Constant: "TORPEDO_POSITION",
	Dir:      decode.Nobody,
	Evidence: decode.Open,
	Doc:      "The game neither sends nor handles it.",
}
