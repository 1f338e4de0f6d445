package msg

import (
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/wire"
)

// OpChecksumFailed is the opcode of [ChecksumFailed].
const OpChecksumFailed decode.Opcode = 0x22

var checksumFailedSpec = decode.Spec{
	Code:     OpChecksumFailed,
	Name:     "ChecksumFailed",
	Constant: "SYSTEM_CHECKSUM_FAILED",
	Aliases:  []string{"VersionMismatch"},
	Dir:      decode.FromHost,
	Reliable: true,
	Made:     decode.MadeByFiles,
	Step:     decode.StepFiles,
	Evidence: decode.FromGame,
	Topic:    decode.TopicFiles,
	Doc:      "A file of the client differs from the host's. The host removes the client.",
	Brief:    []string{"text"},
	Layout:   decode.LayoutOf[ChecksumFailed](),
}

// ChecksumFailed (SYSTEM_CHECKSUM_FAILED) tells a client that one of its files
// differs from the host's.
type ChecksumFailed struct{ Text wire.Chars }

// Walk implements [decode.Message].
func (m *ChecksumFailed) Walk(c *decode.Codec) {
	c.Str16("text", &m.Text, "name of the file")
}
