package msg

import (
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/wire"
)

// OpSettings is the opcode of [Settings].
const OpSettings decode.Opcode = 0x00

var settingsSpec = decode.Spec{
	Code:     OpSettings,
	Name:     "Settings",
	Constant: "GAME_INITIALIZE",
	Dir:      decode.FromHost,
	Reliable: true,
	Step:     decode.StepLoad,
	Evidence: decode.OnWire,
	Topic:    decode.TopicJoining,
	Doc:      "The host tells a joining client its slot and the rules of the game.",
	Brief:    []string{"slot", "mission", "game_time", "new_name"},
	HostFields: []decode.HostField{
		{Name: "game_time", From: decode.HostClock},
		{Name: "host_modem", From: decode.HostLine},
		{Name: "slot", From: decode.GivenSlot},
	},
	Harmless: []string{"game_time", "collisions", "host_modem", "slot", "renamed"},
	Layout:   decode.LayoutOf[Settings](),
}

// Settings (GAME_INITIALIZE) tells a joining client its slot and the rules of
// the game. Its three bits share one byte at the first bit's place.
type Settings struct {
	GameTime   wire.F32
	Collisions bool
	HostModem  bool
	Slot       uint8
	Mission    wire.Chars
	Renamed    bool
	NewName    wire.WideChars // only if Renamed
}

// Walk implements [decode.Message].
func (m *Settings) Walk(c *decode.Codec) {
	c.F32("game_time", &m.GameTime, "host's game clock in seconds")
	c.Bit("collisions", &m.Collisions, "collisions do damage")
	c.Bit("host_modem", &m.HostModem, "the host saves bandwidth")
	c.U8("slot", &m.Slot, "slot given to the client; its object ids follow from it")
	c.Str16("mission", &m.Mission, "mission script")
	c.Bit("renamed", &m.Renamed, "another player has the client's name already")
	c.When(decode.IsSet("renamed", m.Renamed), func() {
		c.Private(decode.PlayerName, func() { c.WStr32("new_name", &m.NewName, "the name that the client has from now on") })
	})
}
