package msg

import "github.com/bcdissect/bcdissect/decode"

// OpScore is the opcode of [Score].
const OpScore decode.Opcode = 0x37

var scoreSpec = decode.Spec{
	Code:     OpScore,
	Name:     "Score",
	Constant: "SCORE",
	Dir:      decode.FromHost,
	Reliable: true,
	Made:     decode.MadeByScores,
	Evidence: decode.OnWire,
	Topic:    decode.TopicMatch,
	Doc:      "The present score of a player, for a client that joins.",
	Brief:    []string{"player", "kills", "deaths", "score"},
	Harmless: []string{"player", "kills", "deaths", "score"},
	Layout:   decode.LayoutOf[Score](),
}

// Score is a player's score.
type Score struct {
	Player int32
	Kills  int32
	Deaths int32
	Score  int32
}

// Walk implements [decode.Message].
func (m *Score) Walk(c *decode.Codec) {
	c.Player32("player", &m.Player, decode.ByID, "network id")
	c.I32("kills", &m.Kills, "ships destroyed")
	c.I32("deaths", &m.Deaths, "ships lost")
	c.I32("score", &m.Score, "a tenth of the damage done")
}
