package conform

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/event"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect/conform/result"
	"github.com/bcdissect/bcdissect/dissect/measure"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// Limits of the messages about scores.
const (
	maxScored  = 1 << 14
	maxUpdates = 16 // players in one message
	maxShares  = 256
)

// scoreOps are the messages with scores, and those after which scores are
// unknown.
var scoreOps = []decode.Opcode{msg.OpScoreChange, msg.OpScore, msg.OpScoreInit, msg.OpTeamScore, msg.OpRestartGame, msg.OpPlayerAnnounce, msg.OpExplosion}

// A scored is one of these messages, with values.
type scored struct {
	to     *destination
	op     decode.Opcode
	frame  int
	number int64
	killer int32
}

// A counter is one of a player's numbers.
type counter struct {
	player int32
	of     string
}

// The numbers of a player.
const (
	kills  = "kills"
	deaths = "deaths"
	points = "score"
)

// A count is the value of a counter that a client was told.
type count struct {
	is int32
	by *scored // the message that told it
}

// A share is what a player scores for a part in another's kill: the scores
// before and after.
type share struct{ player, from, to int32 }

// sums are the scores that the host sends, and the damages.
type sums struct {
	count  int                 // number of messages about scores
	shares map[share][]*scored // for each client that was told of it, the message that told the score before
	sure   map[share]bool      // one of these clients was certainly told nothing in between
	hit    float64             // a tenth of the damage of which the damages of all explosions are multiples
	teams  bool
}

// told compares the scores in a message of the host with those before. After a
// gap in the capture, a difference proves nothing. It leaves out a message that
// comes late, or may be a retransmission.
func (s *sums) told(c *comparer, d *destination, g *got) {
	if !g.standard() || g.Number < 0 || s.count >= maxScored || !slices.Contains(scoreOps, g.Op) || d.line[1].aliased(g.Number, g.key) {
		return
	}
	s.count++
	late := g.Number < d.scoredAt
	if late && c.actsOnArrival() || d.unseen(1, d.scoredAt, g.Number) { // if it acts on arrival, the number may be another one
		d.scoresGap = max(g.Number, d.scoredAt+1)
	}
	if late {
		return
	}
	d.scoredAt = g.Number
	o := &scored{to: d, op: g.Op, frame: g.Frame, number: g.Number}
	switch m := c.t.bodies.game(g.Body).(type) {
	case *msg.ScoreChange:
		if o.killer = m.Killer; m.Killer != 0 {
			s.says(c, o, counter{m.Killer, kills}, m.Kills)
			s.says(c, o, counter{m.Killer, points}, m.Score)
		}
		s.says(c, o, counter{m.Victim, deaths}, m.Deaths)
		for _, u := range m.Updates[:min(len(m.Updates), maxUpdates)] {
			s.says(c, o, counter{u.Player, points}, u.Score)
		}
	case *msg.Score:
		s.says(c, o, counter{m.Player, kills}, m.Kills)
		s.says(c, o, counter{m.Player, deaths}, m.Deaths)
		s.says(c, o, counter{m.Player, points}, m.Score)
	case *msg.ScoreInit, *msg.TeamScore:
		s.teams = true // members of a team also lose points
	case *msg.Explosion:
		s.divide(float64(m.Damage.Float()) / 10)
	case *msg.PlayerAnnounce:
		maps.DeleteFunc(d.scores, func(k counter, _ count) bool { return m.Class != event.ClassPlayer || k.player == int32(m.Player) })
	default: // a restart, or it does not decode
		clear(d.scores)
	}
}

// divide makes a hit the greatest common divisor of it and a damage, apart from
// rounding.
func (s *sums) divide(damage float64) {
	for damage > 1 {
		s.hit, damage = damage, math.Abs(math.Remainder(s.hit, damage))
	}
}

// says compares a value with the one before.
func (s *sums) says(c *comparer, o *scored, k counter, is int32) {
	was := o.to.scores[k]
	o.to.scores[k] = count{is, o}
	if was.by == nil {
		return
	}
	sure := was.by.number >= o.to.scoresGap
	if sure && !s.follows(c, o, k, was.is, is) {
		s.differs(c, o, fmt.Sprintf("the %s of player %d: %d after %d", k.of, k.player, is, was.is))
	}
	if k.of == points && k.player != o.killer && was.is < is && len(s.shares) < maxShares {
		part := share{k.player, was.is, is}
		s.shares[part], s.sure[part] = append(s.shares[part], was.by), sure || s.sure[part]
	}
}

// follows reports whether a value can follow the one before.
func (s *sums) follows(c *comparer, o *scored, k counter, was, is int32) bool {
	switch {
	case k.of == points && s.teams:
		return true
	case o.op == msg.OpScore: // when a name comes late, OpenBC's host gives its player back an earlier score
		return is == was || c.actsOnArrival()
	case k.of == points:
		return is >= was
	}
	return is == was+1
}

func (s *sums) differs(c *comparer, o *scored, detail string) {
	row := c.rep.Row(transport.Standard, o.op)
	row.NotComparable--
	c.rep.Differ(result.Difference{Kind: "differs", Frame: o.frame, Opcode: o.op, Type: row.Type, To: o.to.client.Addr, Detail: detail, What: "wrong about scores"})
}

// judge judges the scores for kills. Explosions tell the damage of a hit,
// and a share in another's kill is a number of whole hits. Suppose that the
// shares after another share are whole hits, and the shares after a kill are
// not, and each of those lacks the same part of a hit. Then the host sends
// other scores after a kill than it counts.
func (s *sums) judge(c *comparer) {
	if s.hit == 0 || s.teams {
		return
	}
	var sound measure.Trials // shares after another share
	var after []*scored      // kills before the other shares
	n, least, most := 0.0, s.hit, 0.0
	for k, list := range s.shares {
		points := float64(k.to - k.from)
		rest, rounding := math.Mod(points, s.hit), 1+points/1000
		whole := rest <= rounding || rest >= s.hit-rounding
		switch {
		case len(list) < 2 && !s.sure[k]: // another message may have come in between
		case slices.ContainsFunc(list, func(o *scored) bool { return o.killer != k.player }):
			if sound.Of++; !whole {
				sound.Failed++
			}
		case whole:
			return
		default:
			n, least, most = n+1, min(least, rest), max(most, rest)
			after = append(after, list...)
		}
	}
	const rounding = 2
	chance := math.Pow(float64(sound.Failed+1)/float64(sound.Of+2), n) * math.Pow((2*rounding+1)/s.hit, n-1)
	if n == 0 || most-least > rounding || chance > unlikely {
		return
	}
	for _, o := range after {
		s.differs(c, o, fmt.Sprintf("the killer's later scores show that this one is wrong by %+.0f points, or by that and whole hits of %.0f", s.hit-most, s.hit))
	}
}

// unlikely is the highest probability that counts as impossible.
const unlikely = 1e-4
