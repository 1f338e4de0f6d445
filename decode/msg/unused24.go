package msg

import "github.com/bcdissect/bcdissect/decode"

var unused24Spec = decode.Spec{
	Code:     0x24,
	Name:     "Unused24",
	Constant: "BEGIN_SEND_FILE",
	Dir:      decode.Nobody,
	Evidence: decode.Open,
	Doc:      "The game neither sends nor handles it.",
}
