package msg

import (
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/names"
)

var bootPlayerSpec = decode.Spec{
	Code:        OpUnused04,
	Name:        "BootPlayer",
	Dir:         decode.FromHost,
	Evidence:    decode.FromProse,
	Topic:       decode.TopicLeaving,
	HostDialect: decode.OpenBC,
	Doc:         "An OpenBC server refuses or removes a client. The game's host uses the transport message boot (04).",
	Brief:       []string{"reason"},
	Phrase:      func(m decode.Message) string { return names.OpenBCBoot(m.(*BootPlayer).Reason) },
	Harmless:    []string{"reason"},
	Layout:      decode.LayoutOf[BootPlayer](),
}

// BootPlayer is the OpenBC server's unreliable message to a client that it
// refuses or removes.
type BootPlayer struct{ Reason uint8 }

// Walk implements [decode.Message].
func (m *BootPlayer) Walk(c *decode.Codec) {
	decode.Enum8(c, "reason", &m.Reason, names.OpenBCBootReasons, "why")
}
