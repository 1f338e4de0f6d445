package msg

import "github.com/bcdissect/bcdissect/decode"

var fileTransferAckSpec = decode.Spec{
	Code:     0x27,
	Name:     "FileTransferAck",
	Constant: "FILE_RECEIVED_ACK",
	Dir:      decode.FromClient,
	Reliable: true,
	Relay:    decode.RelayConsume,
	Evidence: decode.FromGame,
	Doc:      "A client has stored the file and is ready for the next.",
	Layout:   decode.LayoutOf[FileTransferAck](),
}

// FileTransferAck is FILE_RECEIVED_ACK.
type FileTransferAck struct{}

// Walk implements [decode.Message].
func (*FileTransferAck) Walk(*decode.Codec) {}
