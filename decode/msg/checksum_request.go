package msg

import (
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/wire"
)

// OpChecksumRequest is the opcode of [ChecksumRequest].
const OpChecksumRequest decode.Opcode = 0x20

var checksumRequestSpec = decode.Spec{
	Code:     OpChecksumRequest,
	Name:     "ChecksumRequest",
	Constant: "DO_CHECKSUM",
	Dir:      decode.FromHost,
	Reliable: true,
	Step:     decode.StepAsk,
	Evidence: decode.OnWire,
	Topic:    decode.TopicFiles,
	Doc:      "The host asks for the hashes of files, one directory a round.",
	Brief:    []string{"round", "dir", "filter", "recursive"},
	Harmless: []string{"round", "recursive"},
	Layout:   decode.LayoutOf[ChecksumRequest](),
}

// LastRound is the number of the final round, after round 3.
const LastRound = 255

// ChecksumRequest (DO_CHECKSUM) asks a joining client for the hashes of the
// files in a directory.
type ChecksumRequest struct {
	Round     uint8
	Dir       wire.Chars
	Filter    wire.Chars
	Recursive bool
}

// Walk implements [decode.Message].
func (m *ChecksumRequest) Walk(c *decode.Codec) {
	c.U8("round", &m.Round, "0 to 3, then 255")
	c.Str16("dir", &m.Dir, "directory")
	c.Str16("filter", &m.Filter, "which files")
	c.Bit("recursive", &m.Recursive, "with the directories in it")
}
