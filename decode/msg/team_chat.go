package msg

import "github.com/bcdissect/bcdissect/decode"

// OpTeamChat is the opcode of [TeamChat].
const OpTeamChat decode.Opcode = 0x2D

var teamChatSpec = decode.Spec{
	Code:     OpTeamChat,
	Name:     "TeamChat",
	Constant: "TEAM_CHAT",
	Dir:      decode.Either,
	Reliable: true,
	Relay:    decode.RelayTeam,
	Evidence: decode.FromGame,
	Topic:    decode.TopicTalk,
	Doc:      "A player says something to the team.",
	Brief:    []string{"sender", "text"},
	Harmless: []string{"sender"},
	Layout:   decode.LayoutOf[TeamChat](),
	Habits:   []decode.Habit{slotAsSender},
	Deviations: []decode.Deviation{{
		Dialect: decode.OpenBC, Relay: decode.RelayEcho, Rule: decode.Rule{
			Name: "team-chat-to-all",
			Text: "sends team chat to all players; the stock host sends it to the team",
		},
	}},
}

// TeamChat is a line of chat for the author's team.
type TeamChat struct{ Chat }
