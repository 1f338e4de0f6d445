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
	maxWeapon  = 3 // damages that explosions report
	maxHits    = 8 // hits of one weapon in one share
)

// A scored is a message of the host about scores, or one after which scores are
// unknown.
type scored struct {
	to     *destination
	key    uint64
	number int64
	frame  int
	gains  []standing
	whole  bool  // it has absolute scores, not changes
	clears int32 // player whose scores are unknown afterwards, 0 for all
}

// The numbers of a player.
const (
	kills = iota
	deaths
	points
)

var countNames = [...]string{"kills", "deaths", "score"}

// A standing is a player's numbers, as far as the host has sent them.
type standing struct {
	player int32
	are    [len(countNames)]int32
	told   [len(countNames)]bool
	doubt  [len(countNames)]bool // the capture may lack a later number
	kill   *scored               // latest message with the player's score if it was about a kill, otherwise nil
}

// A shareKey is a player's share in another's kill: the scores before and
// after.
type shareKey struct{ player, from, to int32 }

// sums are the scores that the host sends, and the damages.
type sums struct {
	count   int                    // number of messages about scores
	shares  map[shareKey][]*scored // for each share, the message about a kill that sent the score before, or nil
	weapons []float64              // tenths of the damages of explosions
	teams   bool
}

// told handles a message of the host.
func (s *sums) told(c *comparer, d *destination, e *got) {
	if !e.standard() || e.Number < 0 || s.count >= maxScored {
		return
	}
	o := scored{to: d, key: e.key, number: e.Number, frame: e.Frame}
	switch e.Op {
	case msg.OpScoreChange, msg.OpScore, msg.OpScoreInit, msg.OpTeamScore, msg.OpRestartGame, msg.OpPlayerAnnounce, msg.OpExplosion:
	default:
		return
	}
	switch m := c.t.bodies.game(e.Body).(type) {
	case *msg.ScoreChange:
		if m.Killer != 0 {
			o.gains = append(o.gains, standing{m.Killer, [3]int32{kills: m.Kills, points: m.Score}, [3]bool{kills: true, points: true}, [3]bool{}, nil})
		}
		o.gains = append(o.gains, standing{m.Victim, [3]int32{deaths: m.Deaths}, [3]bool{deaths: true}, [3]bool{}, nil})
		for _, u := range m.Updates[:min(len(m.Updates), maxUpdates)] {
			o.gains = append(o.gains, standing{u.Player, [3]int32{points: u.Score}, [3]bool{points: true}, [3]bool{}, nil})
		}
	case *msg.Score:
		o.whole, o.gains = true, []standing{{m.Player, [3]int32{m.Kills, m.Deaths, m.Score}, [3]bool{true, true, true}, [3]bool{}, nil}}
	case *msg.ScoreInit, *msg.TeamScore:
		s.teams = true // members of a team also lose points
		return
	case *msg.Explosion:
		s.weapon(float64(m.Damage.Float()) / 10)
		return
	case *msg.PlayerAnnounce:
		if o.clears = int32(m.Player); m.Class != event.ClassPlayer {
			o.clears = 0
		}
	}
	d.scored = append(d.scored, o)
	s.count++
}

// weapon records a tenth of the damage of an explosion.
func (s *sums) weapon(q float64) {
	near := func(w float64) bool { return math.Abs(w-q) < 1 }
	if q >= 1 && len(s.weapons) <= maxWeapon && !slices.ContainsFunc(s.weapons, near) {
		s.weapons = append(s.weapons, q)
	}
}

// judge judges the scores that the host sent each client, in the order in which
// it made the messages.
func (s *sums) judge(c *comparer) {
	s.shares = map[shareKey][]*scored{}
	next := map[[2]uint64]int{} // number of clients that received the two messages one after the other
	for _, d := range c.order {
		slices.SortStableFunc(d.scored, func(a, b scored) int { return int(a.number - b.number) })
		for i := 1; i < len(d.scored); i++ {
			next[[2]uint64{d.scored[i-1].key, d.scored[i].key}]++
		}
	}
	for _, d := range c.order {
		known, last, seen := map[int32]standing{}, scored{number: -1}, map[uint64]bool{}
		for i := range d.scored {
			o := &d.scored[i]
			if d.client.cut || d.unseen(1, last.number, o.number) {
				doubt(known, !d.client.cut && next[[2]uint64{last.key, o.key}] > 1)
			}
			if c.actsOnArrival() && (o.frame < last.frame || i+1 < len(d.scored) && d.scored[i+1].frame < o.frame) { // its number may be another one
				clear(known)
				continue
			}
			if last = *o; o.gains == nil {
				if delete(known, o.clears); o.clears == 0 {
					clear(known)
					clear(seen)
				}
			}
			if seen[o.key] && !o.whole { // the message was retransmitted, and was taken for another one
				continue
			}
			seen[o.key] = true
			for k := range o.gains {
				s.gain(c, o, known, &o.gains[k])
			}
		}
	}
	s.judgeKills(c)
}

// doubt handles a gap in the capture. Unless other clients confirm that no
// message is missing, it forgets what is known. Confirmed numbers remain, but a
// single difference from them proves nothing.
func doubt(known map[int32]standing, confirmed bool) {
	if !confirmed {
		clear(known)
	}
	for player, is := range known {
		is.doubt = [len(countNames)]bool{true, true, true}
		known[player] = is
	}
}

// gain compares what a message says about a player with what is known.
func (s *sums) gain(c *comparer, o *scored, known map[int32]standing, g *standing) {
	was := known[g.player]
	is, step := was, int32(1)
	if o.whole {
		step = 0
	}
	for i, now := range g.are {
		if !g.told[i] {
			continue
		}
		before := was.are[i]
		right := now == before+step
		if i == points {
			right = s.teams || now == before || now > before && !o.whole
		}
		restored := o.whole && c.t.sender == decode.OpenBC // when a name comes late, the host gives its player back an earlier score
		if was.told[i] && !was.doubt[i] && !right && !restored {
			s.differs(c, o, fmt.Sprintf("the %s of player %d: %d after %d", countNames[i], g.player, now, before))
		}
		is.are[i], is.told[i], is.doubt[i] = now, true, false
	}
	if g.told[points] {
		is.kill = s.share(o, &was, g)
	}
	known[g.player] = is
}

// share records a player's share in another's kill. It returns the message if
// that is about a kill of the player.
func (s *sums) share(o *scored, was, g *standing) *scored {
	if g.told[kills] && !o.whole {
		return o
	}
	k := shareKey{g.player, was.are[points], g.are[points]}
	if was.told[points] && k.from < k.to && len(s.shares) < maxShares {
		s.shares[k] = append(s.shares[k], was.kill)
	}
	return nil
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

// hits reports whether a share consists of whole hits of some weapons.
func hits(share float64, weapons []float64, near float64) bool {
	if math.Abs(share) <= near {
		return true
	}
	for i, w := range weapons {
		for n := 1; n <= maxHits && float64(n)*w <= share+near; n++ {
			if hits(share-float64(n)*w, weapons[i+1:], near) {
				return true
			}
		}
	}
	return false
}

// whole reports whether a share can consist of whole hits.
func (s *sums) whole(share int32) bool {
	return share > 0 && (float64(share) > maxHits*slices.Max(s.weapons) || hits(float64(share), s.weapons, 1+float64(share)/1000))
}

// judgeKills judges the scores for kills. Explosions tell the damage of a hit,
// and a share in another's kill is a number of whole hits, except for the last
// hit. Suppose that the shares after another share are whole hits, and the
// shares after a kill are not. Suppose also that all of the latter would be, if
// each kill had given the same number of points less or more. Then the host
// sends other scores than it counts.
func (s *sums) judgeKills(c *comparer) {
	if len(s.weapons) == 0 || len(s.weapons) > maxWeapon || s.teams {
		return
	}
	var sound measure.Trials // shares after another share
	var after []shareKey
	for k, list := range s.shares {
		fits := s.whole(k.to - k.from)
		switch {
		case list[0] == nil:
			if sound.Of++; !fits {
				sound.Failed++
			}
		case fits:
			return
		default:
			after = append(after, k)
		}
	}
	n := float64(len(after))
	if n == 0 || math.Pow(float64(sound.Failed+1)/float64(sound.Of+2), n)*s.fit(n) > unlikely {
		return
	}
	by := s.surplus(after)
	for _, k := range after {
		for _, o := range s.shares[k] {
			if by != 0 {
				s.differs(c, o, fmt.Sprintf("the killer's score is %+d points of what the host counts, by what it tells later", by))
			}
		}
	}
}

// fit returns the probability that some number explains n random shares.
func (s *sums) fit(n float64) float64 {
	span, dense := 2*slices.Max(s.weapons), 0.0
	for share := 1.0; share <= span; share++ {
		if s.whole(int32(share)) {
			dense++
		}
	}
	return min(1, span*math.Pow(dense/span, n))
}

// unlikely is the highest probability that counts as impossible.
const unlikely = 1e-4

// surplus returns how many points too many each kill gave, or 0 if no number
// explains the shares after them. If several do, it returns the one with which
// most shares equal others of their player.
func (s *sums) surplus(after []shareKey) (best int32) {
	alike, most := 0, int32(slices.Max(s.weapons))
	for by := -most; by <= most; by++ {
		n := 1
		for _, k := range after {
			share := k.to - k.from + by
			if !s.whole(share) {
				n = 0
				break
			}
			for o, list := range s.shares {
				if off := max(share-o.to+o.from, o.to-o.from-share); list[0] == nil && o.player == k.player && off <= 1 {
					n += 2 - int(off)
				}
			}
		}
		if n > alike {
			best, alike = by, n
		}
	}
	return best
}
