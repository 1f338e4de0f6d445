package conform

import (
	"fmt"
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

// A scored is one of these messages.
type scored struct {
	to     *destination
	key    uint64
	number int64
	frame  int
	killer int32
	counts []count
	whole  bool  // it has absolute scores, not changes
	clears int32 // player whose scores are unknown afterwards, 0 for all
}

// A counter is one of a player's numbers.
type counter struct {
	player int32
	of     int
}

// The numbers of a player.
const (
	kills = iota
	deaths
	points
)

var countNames = [...]string{"kills", "deaths", "score"}

// A count is the value of a counter.
type count struct {
	counter
	is   int32
	at   int     // index of the message that told it
	kill *scored // that message, if it told the score after a kill of the player
}

// A share is what a player scores for a part in another's kill: the scores
// before and after.
type share struct{ player, from, to int32 }

// sums are the scores that the host sends, and the damages.
type sums struct {
	count  int                 // number of messages about scores
	shares map[share][]*scored // for each share, the message about a kill that sent the score before, or nil
	hit    float64             // a tenth of the damage of which the damages of all explosions are multiples
	teams  bool
}

// told handles a message of the host.
func (s *sums) told(c *comparer, d *destination, e *got) {
	if !e.standard() || e.Number < 0 || s.count >= maxScored || !slices.Contains(scoreOps, e.Op) {
		return
	}
	o := scored{to: d, key: e.key, number: e.Number, frame: e.Frame}
	says := func(player int32, of int, is int32) {
		o.counts = append(o.counts, count{counter: counter{player, of}, is: is})
	}
	switch m := c.t.bodies.game(e.Body).(type) {
	case *msg.ScoreChange:
		if o.killer = m.Killer; m.Killer != 0 {
			says(m.Killer, kills, m.Kills)
			says(m.Killer, points, m.Score)
		}
		says(m.Victim, deaths, m.Deaths)
		for _, u := range m.Updates[:min(len(m.Updates), maxUpdates)] {
			says(u.Player, points, u.Score)
		}
	case *msg.Score:
		o.whole = true
		says(m.Player, kills, m.Kills)
		says(m.Player, deaths, m.Deaths)
		says(m.Player, points, m.Score)
	case *msg.ScoreInit, *msg.TeamScore:
		s.teams = true // members of a team also lose points
		return
	case *msg.Explosion:
		s.divide(float64(m.Damage.Float()) / 10)
		return
	case *msg.PlayerAnnounce:
		if m.Class == event.ClassPlayer {
			o.clears = int32(m.Player)
		}
	}
	d.scored = append(d.scored, o)
	s.count++
}

// divide makes a hit the greatest common divisor of it and a damage, apart from
// rounding.
func (s *sums) divide(damage float64) {
	for damage > 1 {
		s.hit, damage = damage, math.Abs(math.Remainder(s.hit, damage))
	}
}

// judge judges the scores that the host sent each client, in the order in which
// it made the messages.
func (s *sums) judge(c *comparer) {
	s.shares = map[share][]*scored{}
	next := map[[2]uint64]int{} // number of clients that received the two messages one after the other
	for _, d := range c.order {
		slices.SortStableFunc(d.scored, func(a, b scored) int { return int(a.number - b.number) })
		for i := 1; i < len(d.scored); i++ {
			next[[2]uint64{d.scored[i-1].key, d.scored[i].key}]++
		}
	}
	for _, d := range c.order {
		if !d.client.cut {
			s.follow(c, d, next)
		}
	}
	s.judgeKills(c)
}

// follow compares the scores that the host sent a client with those before. In
// a gap of the capture, other clients may confirm that no message about scores
// is missing. A single difference from what was told before such a gap proves
// nothing.
func (s *sums) follow(c *comparer, d *destination, next map[[2]uint64]int) {
	known, last, gap := map[counter]count{}, scored{number: -1}, 0
	for i := range d.scored {
		o := &d.scored[i]
		if d.unseen(1, last.number, o.number) {
			if gap = i; next[[2]uint64{last.key, o.key}] < 2 {
				clear(known)
			}
		}
		switch late := i+1 < len(d.scored) && d.scored[i+1].frame < o.frame; {
		case c.actsOnArrival() && (o.frame < last.frame || late): // its number may be another one
			clear(known)
			continue
		case d.line[1].aliased(o.number, o.key): // it may be a retransmission
			continue
		case o.counts == nil && o.clears == 0:
			clear(known)
		case o.counts == nil:
			for of := range countNames {
				delete(known, counter{o.clears, of})
			}
		}
		last = *o
		for _, now := range o.counts {
			was, ok := known[now.counter]
			if ok && was.at >= gap && !s.follows(c, o, was, now) {
				s.differs(c, o, fmt.Sprintf("the %s of player %d: %d after %d", countNames[now.of], now.player, now.is, was.is))
			}
			if now.at = i; now.of == points && now.player == o.killer {
				now.kill = o
			} else if now.of == points && ok && was.is < now.is && len(s.shares) < maxShares {
				k := share{now.player, was.is, now.is}
				s.shares[k] = append(s.shares[k], was.kill)
			}
			known[now.counter] = now
		}
	}
}

// follows reports whether a value can follow the one before.
func (s *sums) follows(c *comparer, o *scored, was, now count) bool {
	switch {
	case now.of == points && s.teams:
		return true
	case o.whole: // when a name comes late, OpenBC's host gives its player back an earlier score
		return now.is == was.is || c.t.sender == decode.OpenBC
	case now.of == points:
		return now.is >= was.is
	}
	return now.is == was.is+1
}

func (s *sums) differs(c *comparer, o *scored, detail string) {
	op := msg.OpScoreChange
	if o.whole {
		op = msg.OpScore
	}
	row := c.rep.Row(transport.Standard, op)
	row.NotComparable--
	c.rep.Differ(result.Difference{Kind: "differs", Frame: o.frame, Opcode: op, Type: row.Type, To: o.to.client.Addr, Detail: detail, What: "wrong about scores"})
}

// judgeKills judges the scores for kills. Explosions tell the damage of a hit,
// and a share in another's kill is a number of whole hits. Suppose that the
// shares after another share are whole hits, and the shares after a kill are
// not, and each of those lacks the same part of a hit. Then the host sends
// other scores after a kill than it counts.
func (s *sums) judgeKills(c *comparer) {
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
		case slices.Contains(list, nil):
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
