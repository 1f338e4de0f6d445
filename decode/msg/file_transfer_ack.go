package msg

import "github.com/bcdissect/bcdissect/decode"

// OpFileTransferAck is the opcode of [FileTransferAck].
const OpFileTransferAck decode.Opcode = 0x27

var fileTransferAckSpec = decode.Spec{
	Code:     OpFileTransferAck,
	Name:     "FileTransferAck",
	Constant: "FILE_RECEIVED_ACK",
	Dir:      decode.FromClient,
	Reliable: true,
	Relay:    decode.RelayConsume,
	Step:     decode.StepFiles,
	Evidence: decode.FromGame,
	Topic:    decode.TopicFiles,
	Doc:      "A client has stored the file and is ready for the next.",
	Layout:   decode.LayoutOf[FileTransferAck](),
}

// FileTransferAck (FILE_RECEIVED_ACK) tells the host that the client has stored
// the file.
type FileTransferAck struct{}

// Walk implements [decode.Message].
func (*FileTransferAck) Walk(*decode.Codec) {}
