package msg

import (
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/names"
)

// OpScoreInit is the opcode of [ScoreInit].
const OpScoreInit decode.Opcode = 0x3F

var scoreInitSpec = decode.Spec{
	Code:     OpScoreInit,
	Name:     "ScoreInit",
	Constant: "SCORE_INIT",
	Dir:      decode.FromHost,
	Reliable: true,
	Made:     decode.MadeByScores,
	Evidence: decode.FromGame,
	Topic:    decode.TopicMatch,
	Doc:      "The present score of a player, for a client that joins a team game.",
	Brief:    []string{"player", "team", "kills", "deaths", "score"},
	Harmless: []string{"player", "kills", "deaths", "score", "team"},
	Layout:   decode.LayoutOf[ScoreInit](),
}

// ScoreInit is a player's score in a team game.
type ScoreInit struct {
	Player int32
	Kills  int32
	Deaths int32
	Score  int32
	Team   uint8
}

// Walk implements [decode.Message].
func (m *ScoreInit) Walk(c *decode.Codec) {
	c.Player32("player", &m.Player, decode.ByID, "network id")
	c.I32("kills", &m.Kills, "ships destroyed")
	c.I32("deaths", &m.Deaths, "ships lost")
	c.I32("score", &m.Score, "a tenth of the damage done")
	decode.Enum8(c, "team", &m.Team, names.Teams, "0 or 1, 255 for none")
}
