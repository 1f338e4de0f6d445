package msg

import (
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/names"
)

// OpTeamScore is the opcode of [TeamScore].
const OpTeamScore decode.Opcode = 0x40

var teamScoreSpec = decode.Spec{
	Code:      OpTeamScore,
	Name:      "TeamScore",
	Constant:  "TEAM_SCORE",
	Dir:       decode.FromHost,
	Broadcast: true,
	Reliable:  true,
	Made:      decode.MadeByScores,
	Evidence:  decode.FromGame,
	Topic:     decode.TopicMatch,
	Doc:       "The present score of a team.",
	Brief:     []string{"team", "kills", "score"},
	Harmless:  []string{"team", "kills", "score"},
	Layout:    decode.LayoutOf[TeamScore](),
}

// TeamScore is the score of a team.
type TeamScore struct {
	Team  uint8
	Kills int32
	Score int32
}

// Walk implements [decode.Message].
func (m *TeamScore) Walk(c *decode.Codec) {
	decode.Enum8(c, "team", &m.Team, names.Teams, "0 or 1")
	c.I32("kills", &m.Kills, "ships destroyed")
	c.I32("score", &m.Score, "a tenth of the damage done")
}
