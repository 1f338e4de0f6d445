package msg

import "github.com/bcdissect/bcdissect/decode"

var unused26Spec = decode.Spec{
	Code:     0x26,
	Name:     "Unused26",
	Constant: "DIRECTORY",
	Dir:      decode.Nobody,
	Evidence: decode.Open,
	Doc:      "The game neither sends nor handles it.",
}
