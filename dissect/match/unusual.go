package match

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/bcdissect/bcdissect/decode/wire"
)

// Findings of the same kind and player are joined. They have the frame of the
// first one and the numbers of the worst one.
type oddKey struct {
	player int
	kind   string
	text   wire.Untrusted
}

// found records something unusual.
func (g *game) found(frame, player int, kind string, text wire.Untrusted, value, limit float64) {
	g.foundAt(g.b.now, frame, player, kind, text, value, limit)
}

func (g *game) foundAt(t float64, frame, player int, kind string, text wire.Untrusted, value, limit float64) {
	k := oddKey{player, kind, text}
	if i, ok := g.odd[k]; ok {
		f := &g.m.Unusual[i]
		f.Count++
		if value > f.Value {
			f.Value, f.Limit = value, limit
		}
		return
	}
	if len(g.m.Unusual) >= MaxFindings {
		g.m.Evicted.add("findings", 1)
		return
	}
	g.odd[k] = len(g.m.Unusual)
	g.m.Unusual = append(g.m.Unusual, Finding{
		T: t, Frame: frame, Player: player, Kind: kind, Text: text, Value: value, Limit: limit, Count: 1,
	})
}

// hashSeen is the integrity hash of the first ship of a class.
type hashSeen struct {
	hash   uint16
	player int
}

// hash compares the integrity hash of a ship with the known one of its class,
// or else with the class's other ships.
func (g *game) hash(frame, life int, hash uint16) {
	s, l := g.state[life], &g.m.Lives[life]
	if s.class == nil || s.class.Inferred || s.hashed == int(hash)+1 {
		return
	}
	s.hashed = int(hash) + 1
	if s.class.Hash != 0 {
		if hash != s.class.Hash {
			g.found(frame, l.Player, "hash", wire.Untrusted(fmt.Sprintf("flies a %s with integrity hash %04X, an unmodified one has %04X", l.Ship, hash, s.class.Hash)), 0, 0)
		}
		return
	}
	seen, ok := g.hashes[l.Ship]
	switch {
	case !ok && len(g.hashes) < MaxPlayers:
		g.hashes[l.Ship] = hashSeen{hash, l.Player}
	case ok && seen.hash != hash && seen.player != l.Player:
		g.found(frame, l.Player, "hash", wire.Untrusted(fmt.Sprintf("flies a %s with integrity hash %04X, that of %s has %04X", l.Ship, hash, g.m.NameOf(seen.player).Raw(), seen.hash)), 0, 0)
	}
}

// A jump tracks the absolute positions of a ship by its sender's clock.
type jump struct {
	at   [3]float32
	time float32 // sender's clock
	set  bool
}

// A ship moves according to its speed. jumpSlack allows for changes of speed
// between two updates, and jumpLeast for the low precision of the speed.
const (
	jumpSlack = 3.0
	jumpLeast = 100.0 // in game units
)

// jumps compares the distance between two absolute positions with the speed in
// the same updates.
func (g *game) jumps(frame, life int, at [3]float32, clock float32) {
	s, l := g.state[life], &g.m.Lives[life]
	j := &s.jump
	before := *j
	*j = jump{at, clock, true}
	dt := float64(clock) - float64(before.time)
	if !before.set || !(dt > 0 && dt < 5) {
		return
	}
	way := apart(&at, &before.at)
	most := max(l.MaxSpeed*dt*jumpSlack, jumpLeast)
	if way > most {
		g.found(frame, l.Player, "jump", "moves further between two positions than the fastest speed of the ship allows, in game units", way, most)
	}
}

// A peak is the maximum that a ship reached, and the frame that shows it.
type peak struct {
	most  float64
	frame int
	t     float64
	sum   float64 // sum over all measurements. Only a ship with a large enough sum shows the limits of its class.
}

// reach records a value.
func (g *game) reach(p *peak, frame int, value float64) {
	if value > p.most {
		p.most, p.frame, p.t = value, frame, g.b.now
	}
}

// A steady value counts only if it comes twice in a row, so that a single wrong
// one is ignored.
type steady struct {
	peak
	before float64
}

func (g *game) steadily(s *steady, frame int, value float64) {
	g.reach(&s.peak, frame, min(value, s.before))
	s.before = value
}

// A turn measures how fast a ship turns. It measures over windows of the
// sender's clock or the capture's clock, whichever took longer, for two
// reasons: late updates come too close together, and the clocks of some clients
// go too fast.
type turn struct {
	steady
	begun    bool
	t, clock float64 // times at which the window began
	forward  [3]float32
}

const (
	turnWindow = 0.5 // in seconds. The directions in updates are coarse.
	turnGap    = 2.0 // after so many seconds without a direction, a new window begins
)

// turns measures how fast a ship turned to a direction.
func (g *game) turns(frame, life int, forward [3]float32, clock float64) {
	w := &g.state[life].turn
	now := g.b.now
	past, sent := now-w.t, clock-w.clock
	switch {
	case !w.begun, !(past <= turnGap && sent >= 0 && sent <= 10*turnGap):
		w.before = 0
	case max(past, sent) < turnWindow:
		return
	default:
		angle := between(w.forward, forward)
		w.sum += angle
		g.steadily(&w.steady, frame, angle/max(past, sent))
	}
	w.begun, w.t, w.clock, w.forward = true, now, clock, forward
}

// between returns the angle between two directions in degrees.
func between(a, b [3]float32) float64 {
	dot, squares := 0.0, [2]float64{}
	for k := range a {
		x, y := float64(a[k]), float64(b[k])
		dot += float64(x * y) // the conversion rounds, which prevents fused multiply-add
		squares[0] += float64(x * x)
		squares[1] += float64(y * y)
	}
	n := math.Sqrt(squares[0] * squares[1])
	if !(n > 0) {
		return 0
	}
	return math.Acos(max(-1, min(1, dot/n))) * (180 / math.Pi)
}

type rateKey struct {
	life int
	kind ShotKind
}

// rateState counts the shots in a window.
type rateState struct {
	peak
	begin float64
	n     int
}

// Shots that were delayed on the network come too close together. Shots do not
// count while a ship's updates are missing, nor shortly afterwards.
const (
	rateWindow = 10.0 // in seconds
	rateGap    = 2.0  // in seconds without an update of the ship
	rateRest   = 1.0  // in seconds after such a gap
)

// rate counts the shots of a ship.
func (g *game) rate(frame, life int, kind ShotKind) {
	if life == NoLife {
		return
	}
	k := rateKey{life, kind}
	r := g.rates[k]
	if r == nil {
		r = &rateState{begin: g.b.now}
		g.rates[k] = r
	}
	s := g.state[life]
	if now := g.b.now; now-s.updated > rateGap || now < s.steadyFrom {
		r.begin, r.n = now, 0
		return
	} else if now-r.begin >= rateWindow {
		r.begin, r.n = now, 0
	}
	r.n++
	r.sum++
	g.reach(&r.peak, frame, float64(r.n))
}

// unarmed is damage that a player did without a shot.
type unarmed struct {
	t, most float64
	frame   int
	times   int
}

// A ship is unusual if its value is more than 1.5 times the maximum of other
// players' ships of its class, and above the maximum of all other ships. This
// needs enough other players whose ships showed the limits of the class, by
// flying, turning and firing long enough.
const (
	oddFactor = 1.5
	oddOthers = 2 // other players

	flownLeast  = 30.0  // seconds of flight with a known speed
	turnedLeast = 360.0 // degrees turned
	firedLeast  = 20.0  // shots fired
	hitsLeast   = 3     // hits without a shot
)

// unusual compares the ships of each class.
func (g *game) unusual() {
	m := g.m
	m.Unusual = slices.DeleteFunc(m.Unusual, func(f Finding) bool {
		return f.Kind == "speed" || f.Kind == "turn" || f.Kind == "fire_rate" || f.Kind == "damage"
	})
	g.indexOdd()
	g.compare("speed", "flies faster than any other ship of the class, in game units a second", flownLeast, 0.5, func(i int) *peak {
		return &g.state[i].speeds.peak
	})
	g.compare("turn", "turns faster than any other ship of the class, in degrees a second", turnedLeast, 3, func(i int) *peak {
		return &g.state[i].turn.peak
	})
	for kind := Beam; kind <= Pulse; kind++ {
		g.compare("fire_rate", wire.Untrusted("fires more often than any other ship of the class ("+kind.String()+", shots in ten seconds)"), firedLeast, 1, func(i int) *peak {
			if r := g.rates[rateKey{i, kind}]; r != nil {
				return &r.peak
			}
			return &peak{}
		})
	}
	for i := range m.Players {
		u := g.unarmed[i]
		if u == nil || u.times < hitsLeast || m.Players[i].Shots > 0 || m.misses(i) {
			continue
		}
		g.foundAt(u.t, u.frame, i, "damage", "does damage without a shot", u.most, 0)
	}
	slices.SortStableFunc(m.Unusual, func(a, b Finding) int { return cmp.Compare(a.T, b.T) })
	g.indexOdd()
}

// misses reports whether the capture lacks messages of a player.
func (m *Match) misses(player int) bool {
	return m.Late || slices.ContainsFunc(m.Lines, func(l Line) bool { return l.Player == player && l.Lost > 0 })
}

// indexOdd rebuilds the index of the findings by their keys.
func (g *game) indexOdd() {
	clear(g.odd)
	for i := range g.m.Unusual {
		f := &g.m.Unusual[i]
		g.odd[oddKey{f.Player, f.Kind, f.Text}] = i
	}
}

// compare reports the ships with a peak far above other players' ships of the
// class. The argument least is the sum that shows the limits of the class, and
// coarse is the precision of the measurement.
func (g *game) compare(kind string, text wire.Untrusted, least, coarse float64, of func(life int) *peak) {
	lives := g.m.Lives
	classes := map[string]*classMost{}
	var all classMost
	for i := range lives {
		if p := of(i); p.sum >= least && lives[i].Ship != "" && lives[i].Player != NoPlayer {
			c := classes[lives[i].Ship]
			if c == nil {
				c = new(classMost)
				classes[lives[i].Ship] = c
			}
			c.add(lives[i].Player, p.most)
			all.add(lives[i].Player, p.most)
		}
	}
	for i := range lives {
		c, p, player := classes[lives[i].Ship], of(i), lives[i].Player
		if c == nil || player == NoPlayer {
			continue
		}
		limit, others := c.others(player)
		fastest, _ := all.others(player)
		if others >= oddOthers && limit > 0 && p.most > limit*oddFactor+coarse && p.most > fastest {
			g.foundAt(p.t, p.frame, player, kind, text, p.most, limit)
		}
	}
}

// classMost is the maximum of all ships of a class, and the maximum of the
// ships that another player flew.
type classMost struct {
	most, second float64
	by           int // player who reached the maximum
	players      map[int]bool
}

func (c *classMost) add(player int, v float64) {
	if c.players == nil {
		c.by, c.players = NoPlayer, map[int]bool{}
	}
	c.players[player] = true
	switch {
	case player == c.by:
		c.most = max(c.most, v)
	case v > c.most:
		c.most, c.second, c.by = v, c.most, player
	default:
		c.second = max(c.second, v)
	}
}

// others returns the maximum of the ships of all players except one, and the
// number of these players.
func (c *classMost) others(player int) (most float64, n int) {
	most, n = c.most, len(c.players)
	if player == c.by {
		most = c.second
	}
	if c.players[player] {
		n--
	}
	return most, n
}
