package msg

import "github.com/bcdissect/bcdissect/decode"

// OpScoreChange is the opcode of [ScoreChange].
const OpScoreChange decode.Opcode = 0x36

var scoreChangeSpec = decode.Spec{
	Code:      OpScoreChange,
	Name:      "ScoreChange",
	Constant:  "SCORE_CHANGE",
	Dir:       decode.FromHost,
	Broadcast: true,
	Reliable:  true,
	Made:      decode.MadeBySimulation,
	Evidence:  decode.OnWire,
	Topic:     decode.TopicDamage,
	Doc:       "A ship was destroyed: the new scores.",
	Brief:     []string{"victim", "killer", "deaths", "kills", "score", "updates"},
	Harmless:  []string{"killer", "kills", "score", "victim", "deaths", "updates_count", "player"},
	Layout:    decode.LayoutOf[ScoreChange](),
}

// ScoreChange has the scores that a ship's destruction changed. Players are
// network ids.
type ScoreChange struct {
	Killer  int32 // 0 if no player destroyed the ship
	Kills   int32 // absent if Killer is 0
	Score   int32 // absent if Killer is 0
	Victim  int32
	Deaths  int32
	Updates []ScoreUpdate
}

// A ScoreUpdate is the score of a player with a share in the kill.
type ScoreUpdate struct {
	Player int32
	Score  int32 // absent if Player is 0
}

// Reset prepares the message for reuse.
func (m *ScoreChange) Reset() { *m = ScoreChange{Updates: m.Updates[:0]} }

// Walk implements [decode.Message].
func (m *ScoreChange) Walk(c *decode.Codec) {
	c.Player32("killer", &m.Killer, decode.ByID, "network id, 0 for none")
	c.When(decode.Differs("killer", uint32(m.Killer), 0), func() {
		c.I32("kills", &m.Kills, "the killer's kills")
		c.I32("score", &m.Score, "the killer's score")
	})
	c.Player32("victim", &m.Victim, decode.ByID, "network id of the player who lost the ship")
	c.I32("deaths", &m.Deaths, "the victim's deaths")
	decode.List8(c, "updates", &m.Updates, 4, "other players with a share in the damage", func(e *ScoreUpdate) {
		c.Player32("player", &e.Player, decode.ByID, "network id")
		c.When(decode.Differs("player", uint32(e.Player), 0), func() {
			c.I32("score", &e.Score, "the player's score")
		})
	})
}
