package msg

import "github.com/bcdissect/bcdissect/decode"

// OpClientReady is the opcode of [ClientReady].
const OpClientReady decode.Opcode = 0x2A

var clientReadySpec = decode.Spec{
	Code:        OpClientReady,
	Name:        "ClientReady",
	Constant:    "CLIENT_READY",
	Aliases:     []string{"NewPlayerInGame"},
	Dir:         decode.FromClient,
	Reliable:    true,
	Relay:       decode.RelayAnswer,
	Step:        decode.StepReady,
	Evidence:    decode.OnWire,
	HostDialect: decode.OpenBC,
	Topic:       decode.TopicJoining,
	Doc:         "A client has loaded the mission; the host sends it the game as it is.",
	Brief:       []string{"modem"},
	Harmless:    []string{"modem"},
	Layout:      decode.LayoutOf[ClientReady](),
	Deviations: []decode.Deviation{{
		Dialect: decode.OpenBC, Relay: decode.RelayForward, Rule: decode.Rule{
			Name: "passes-client-ready",
			Text: "passes ClientReady on to the other players; the stock host does not",
		},
	}},
}

// ClientReady (CLIENT_READY) tells the host that the client has loaded the
// mission.
type ClientReady struct{ Modem bool }

// Walk implements [decode.Message].
func (m *ClientReady) Walk(c *decode.Codec) {
	c.Bit("modem", &m.Modem, "the client saves bandwidth")
}
