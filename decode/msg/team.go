package msg

import (
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/names"
)

// OpTeam is the opcode of [Team].
const OpTeam decode.Opcode = 0x41

var teamSpec = decode.Spec{
	Code:     OpTeam,
	Name:     "Team",
	Constant: "TEAM",
	Dir:      decode.Either,
	Reliable: true,
	Relay:    decode.RelayEcho,
	Evidence: decode.FromGame,
	Topic:    decode.TopicMatch,
	Doc:      "A player chose a team.",
	Brief:    []string{"player", "team"},
	Harmless: []string{"player", "team"},
	Layout:   decode.LayoutOf[Team](),
	Deviations: []decode.Deviation{{
		Dialect: decode.OpenBC, Relay: decode.RelayForward, Rule: decode.Rule{
			Name: "team-not-echoed",
			Text: "does not send Team back to its sender; the stock host does",
		},
	}},
}

// Team is a player's choice of team.
type Team struct {
	Player int32
	Team   uint8
}

// Walk implements [decode.Message].
func (m *Team) Walk(c *decode.Codec) {
	c.Player32("player", &m.Player, decode.Itself, "network id")
	decode.Enum8(c, "team", &m.Team, names.Teams, "0 or 1")
}
