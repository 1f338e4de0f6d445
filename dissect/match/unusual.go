package match

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Findings of one kind and player are one, with the frame of the first and the
// numbers of the worst.
type oddKey struct {
	player int
	kind   string
	text   string
}

// found takes note of something out of the ordinary.
func (g *game) found(frame, player int, kind, text string, value, limit float64) {
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
		g.m.Evicted.Findings++
		return
	}
	g.odd[k] = len(g.m.Unusual)
	g.m.Unusual = append(g.m.Unusual, Finding{
		T: g.b.now, Frame: frame, Player: player, Kind: kind, Text: text, Value: value, Limit: limit, Count: 1,
	})
}

// hashKey names the ships of a class.
type hashKey struct{ class string }

// hashSeen is the integrity hash that the first ship of a class had.
type hashSeen struct {
	hash   uint16
	player int
}

// hash compares the integrity hash of a ship with that of its class, or else
// with that of others of the class.
func (g *game) hash(frame, life int, hash uint16) {
	s, l := g.state[life], &g.m.Lives[life]
	if s.class == nil || s.class.Inferred || s.hashed == int(hash)+1 {
		return
	}
	s.hashed = int(hash) + 1
	if s.class.Hash != 0 {
		if hash != s.class.Hash {
			g.found(frame, l.Player, "hash", fmt.Sprintf("flies a %s with integrity hash %04X, an unmodified one has %04X", l.Ship, hash, s.class.Hash), 0, 0)
		}
		return
	}
	k := hashKey{l.Ship}
	seen, ok := g.hashes[k]
	switch {
	case !ok && len(g.hashes) < MaxPlayers:
		g.hashes[k] = hashSeen{hash, l.Player}
	case ok && seen.hash != hash && seen.player != l.Player:
		g.found(frame, l.Player, "hash", fmt.Sprintf("flies a %s with integrity hash %04X, that of %s has %04X", l.Ship, hash, g.m.NameOf(seen.player), seen.hash), 0, 0)
	}
}

// A jump follows the absolute positions of a ship on its sender's clock.
type jump struct {
	at   [3]float32
	time float32 // sender's clock
	set  bool
}

// A ship moves by its speed; jumpSlack allows for changes between two updates
// of the speed, and jumpLeast for the coarse speed itself.
const (
	jumpSlack = 3.0
	jumpLeast = 100.0 // game units
)

// jumps compares the way between two absolute positions with the speed that the
// same updates tell.
func (g *game) jumps(frame, life int, at [3]float32, clock float32) {
	s, l := g.state[life], &g.m.Lives[life]
	j := &s.jump
	before := *j
	*j = jump{at, clock, true}
	dt := float64(clock) - float64(before.time)
	if !before.set || !(dt > 0 && dt < 5) {
		return
	}
	sum := 0.0
	for k := range at {
		d := float64(at[k]) - float64(before.at[k])
		sum += float64(d * d) // rounded, lest some machine fuse it
	}
	way := math.Sqrt(sum)
	most := max(l.MaxSpeed*dt*jumpSlack, jumpLeast)
	if way > most {
		g.found(frame, l.Player, "jump", "moves further between two positions than the fastest speed of the ship allows, in game units", way, most)
	}
}

type rateKey struct {
	life int
	kind ShotKind
}

// rateState counts shots within a second.
type rateState struct {
	begin float64
	n     int
	most  int
	frame int
	at    float64
}

// rate counts the shots of a ship a second.
func (g *game) rate(frame, _, life int, kind ShotKind) {
	if life == NoLife {
		return
	}
	k := rateKey{life, kind}
	s := g.rates[k]
	if s == nil {
		s = &rateState{begin: g.b.now}
		g.rates[k] = s
	}
	if g.b.now-s.begin >= 1 {
		s.begin, s.n = g.b.now, 0
	}
	if s.n++; s.n > s.most {
		s.most, s.frame, s.at = s.n, frame, g.b.now
	}
}

// A ship is unusual if it exceeds by half the maximum of all other players'
// ships of its class, if there are so many.
const (
	oddFactor = 1.5
	oddOthers = 2
)

// unusual compares the ships of each class.
func (g *game) unusual() {
	m := g.m
	m.Unusual = slices.DeleteFunc(m.Unusual, func(f Finding) bool { return f.Kind == "speed" || f.Kind == "fire_rate" })
	clear(g.odd)
	for i := range m.Unusual {
		f := &m.Unusual[i]
		g.odd[oddKey{f.Player, f.Kind, f.Text}] = i
	}
	g.compare("speed", "flies faster than any other ship of the class, in game units a second", func(i int) (float64, int, float64) {
		return m.Lives[i].MaxSpeed, m.Lives[i].Frame, m.Lives[i].Begin
	})
	for kind := Beam; kind <= Pulse; kind++ {
		g.compare("fire_rate", "fires more often than any other ship of the class ("+kind.String()+", shots a second)", func(i int) (float64, int, float64) {
			if s := g.rates[rateKey{i, kind}]; s != nil {
				return float64(s.most), s.frame, s.at
			}
			return 0, 0, 0
		})
	}
	slices.SortStableFunc(m.Unusual, func(a, b Finding) int { return cmp.Compare(a.T, b.T) })
	clear(g.odd)
	for i := range m.Unusual {
		f := &m.Unusual[i]
		g.odd[oddKey{f.Player, f.Kind, f.Text}] = i
	}
}

// compare reports the lives with a value far above those of other players'
// ships of the class.
func (g *game) compare(kind, text string, of func(life int) (value float64, frame int, t float64)) {
	lives := g.m.Lives
	classes := map[string]*classMost{}
	for i := range lives {
		if v, _, _ := of(i); v > 0 && lives[i].Ship != "" {
			c := classes[lives[i].Ship]
			if c == nil {
				c = &classMost{by: NoPlayer, ships: map[int]int{}}
				classes[lives[i].Ship] = c
			}
			c.add(lives[i].Player, v)
		}
	}
	for i := range lives {
		c := classes[lives[i].Ship]
		value, frame, t := of(i)
		if c == nil || c.by != lives[i].Player || c.all-c.ships[c.by] < oddOthers || value <= c.second*oddFactor {
			continue
		}
		now := g.b.now
		g.b.now = t
		g.found(frame, lives[i].Player, kind, text, value, c.second)
		g.b.now = now
	}
}

// classMost is the most of all ships of a class, and the most of all that are
// not of the same player.
type classMost struct {
	most, second float64
	by           int
	all          int         // ships
	ships        map[int]int // by player
}

func (c *classMost) add(player int, v float64) {
	c.all++
	c.ships[player]++
	switch {
	case player == c.by:
		c.most = max(c.most, v)
	case v > c.most:
		c.most, c.second, c.by = v, c.most, player
	default:
		c.second = max(c.second, v)
	}
}
