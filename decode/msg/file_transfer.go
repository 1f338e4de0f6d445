package msg

import (
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/wire"
)

// OpFileTransfer is the opcode of [FileTransfer].
const OpFileTransfer decode.Opcode = 0x25

var fileTransferSpec = decode.Spec{
	Code:     OpFileTransfer,
	Name:     "FileTransfer",
	Constant: "FILE",
	Dir:      decode.FromHost,
	Reliable: true,
	Made:     decode.MadeByFiles,
	Step:     decode.StepFiles,
	Evidence: decode.FromGame,
	Topic:    decode.TopicFiles,
	Doc:      "The host sends a file that the client lacks or has otherwise.",
	Brief:    []string{"name"},
	Layout:   decode.LayoutOf[FileTransfer](),
}

// FileTransfer (FILE) has a file that the client lacks or that differs from the
// host's.
type FileTransfer struct {
	Name wire.Chars
	Data []byte
}

// Walk implements [decode.Message].
func (m *FileTransfer) Walk(c *decode.Codec) {
	c.Str16("name", &m.Name, "of the file")
	c.Bytes("data", &m.Data, "its content")
}
