package msg

import "github.com/bcdissect/bcdissect/decode"

// OpSelfDestructRequest is the opcode of [SelfDestructRequest].
const OpSelfDestructRequest decode.Opcode = 0x13

var selfDestructRequestSpec = decode.Spec{
	Code:     OpSelfDestructRequest,
	Name:     "SelfDestructRequest",
	Constant: "SELF_DESTRUCT_REQUEST",
	Aliases:  []string{"HostMsg"},
	Dir:      decode.FromClient,
	Reliable: true,
	Relay:    decode.RelayConsume,
	Evidence: decode.OnWire,
	Topic:    decode.TopicDamage,
	Doc:      "A player destroys their own ship.",
	Layout:   decode.LayoutOf[SelfDestructRequest](),
}

// SelfDestructRequest (SELF_DESTRUCT_REQUEST) asks the host to destroy the
// player's ship.
type SelfDestructRequest struct{}

// Walk implements [decode.Message].
func (*SelfDestructRequest) Walk(*decode.Codec) {}
