package msg

import "github.com/bcdissect/bcdissect/decode"

var selfDestructRequestSpec = decode.Spec{
	Code:     0x13,
	Name:     "SelfDestructRequest",
	Constant: "SELF_DESTRUCT_REQUEST",
	Aliases:  []string{"HostMsg"},
	Dir:      decode.FromClient,
	Reliable: true,
	Relay:    decode.RelayConsume,
	Evidence: decode.OnWire,
	Doc:      "A player has the ship destroy itself.",
	Layout:   decode.LayoutOf[SelfDestructRequest](),
}

// SelfDestructRequest is SELF_DESTRUCT_REQUEST.
type SelfDestructRequest struct{}

// Walk implements [decode.Message].
func (*SelfDestructRequest) Walk(*decode.Codec) {}
