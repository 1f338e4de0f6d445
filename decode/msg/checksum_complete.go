package msg

import "github.com/bcdissect/bcdissect/decode"

// OpChecksumComplete is the opcode of [ChecksumComplete].
const OpChecksumComplete decode.Opcode = 0x28

var checksumCompleteSpec = decode.Spec{
	Code:     OpChecksumComplete,
	Name:     "ChecksumComplete",
	Constant: "SEND_FILE_COMPLETED",
	Dir:      decode.FromHost,
	Reliable: true,
	Step:     decode.StepLoad,
	Evidence: decode.OnWire,
	Topic:    decode.TopicFiles,
	Doc:      "The files are checked, and copied where that was needed. Settings (00) and GameInit (01) follow.",
	Layout:   decode.LayoutOf[ChecksumComplete](),
}

// ChecksumComplete (SEND_FILE_COMPLETED) tells a joining client that its files
// are checked.
type ChecksumComplete struct{}

// Walk implements [decode.Message].
func (*ChecksumComplete) Walk(*decode.Codec) {}
