package match

import (
	"cmp"
	"iter"
	"slices"
	"sort"
)

// A Fire is what a player fired at another player with a weapon, and its
// effect.
type Fire struct {
	Player   int      `json:"player+player_name,omitempty" as:"player" doc:"who fired"` // NoPlayer if unknown
	Weapon   string   `json:"weapon,omitempty" doc:"name of the subsystem, or else [beam], [torpedo] or [pulse]; absent for damage of unknown cause"`
	Victim   int      `json:"victim+victim_name,omitempty" as:"player" doc:"player of the target"` // NoPlayer if there is none
	Friendly bool     `json:"friendly,omitempty" doc:"at a ship of the same team"`
	Shots    int      `json:"shots" doc:"fired; [hits], [misses] and [unknown] add up to it"`
	Hits     int      `json:"hits" doc:"shots that hit"`
	Misses   int      `json:"misses" doc:"shots that hit nothing"`
	Unknown  int      `json:"unknown" doc:"shots of which the traffic doesn't tell"`
	Amount   *float64 `json:"damage,omitempty" digits:"3 1" doc:"in the units in which the ship's class has its condition"`
	Hull     *float64 `json:"hull_lost,omitempty" digits:"4 3" doc:"shares of hulls, in a match without damage messages"`
}

// Wear is how much condition a subsystem of a player's ships lost to one
// shooter.
type Wear struct {
	Victim   int     `json:"victim+victim_name,omitempty" as:"player" doc:"player of the ship"` // NoPlayer if unknown
	System   string  `json:"system" doc:"name of the subsystem"`
	Player   int     `json:"player+player_name,omitempty" as:"player" doc:"who fired last at the ship"` // NoPlayer if no player fired at it in the seconds before
	Friendly bool    `json:"friendly,omitempty" doc:"of the same team"`
	Lost     float64 `json:"lost" digits:"4 3" doc:"condition lost, as shares of the whole"`
	Out      int     `json:"out" doc:"times that its condition fell to nothing"`
}

// A Fall is how much condition a subsystem of a lost ship lost in the seconds
// before the loss.
type Fall struct {
	System string   `json:"system" doc:"name of the subsystem"`
	Before float32  `json:"before" digits:"4 3" doc:"condition when the time began, as a share of the whole"`
	After  float32  `json:"after" digits:"4 3" doc:"condition at the loss"`
	Gone   *float64 `json:"gone_t,omitempty" doc:"when its condition first fell to nothing"`
}

// LastSeconds is how long before a loss the account of its causes begins.
const LastSeconds = 15.0

// mostLosses is how many losses of one ship get such an account. A ship is
// normally lost once, or twice if its player goes on flying it.
const mostLosses = 8

// firing is the key by which fire is counted.
type firing struct {
	player, victim int
	weapon         string
	friendly       bool
}

// fires adds up shots and damage.
type fires map[firing]*Fire

func (f fires) at(k firing) *Fire {
	if f[k] == nil {
		f[k] = &Fire{Player: k.player, Weapon: k.weapon, Victim: k.victim, Friendly: k.friendly}
	}
	return f[k]
}

func (f fires) shot(m *Match, s *Shot) {
	at := f.at(firing{s.Player, m.pilot(s.Target), s.with(), s.Friendly})
	at.Shots++
	switch {
	case s.Hit == nil:
		at.Unknown++
	case *s.Hit:
		at.Hits++
	default:
		at.Misses++
	}
}

func (f fires) damage(d *Damage) {
	at := f.at(firing{d.Player, d.Victim, d.Weapon, d.Friendly})
	at.Amount, at.Hull = sum(at.Amount, d.Amount), sum(at.Hull, d.Hull)
}

// list returns all entries, in the order of players.
func (f fires) list() []Fire {
	all := make([]Fire, 0, len(f))
	for _, at := range f {
		all = append(all, *at)
	}
	slices.SortFunc(all, func(a, b Fire) int {
		return cmp.Or(cmp.Compare(uint(a.Player), uint(b.Player)), cmp.Compare(a.Weapon, b.Weapon), cmp.Compare(uint(a.Victim), uint(b.Victim)), last(a.Friendly, b.Friendly))
	})
	return all
}

// last orders hostile fire before friendly fire.
func last(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// sum adds a number, unless it is unknown.
func sum(to, x *float64) *float64 {
	switch {
	case x == nil:
		return to
	case to == nil:
		to = new(float64)
	}
	*to += *x
	return to
}

// with returns the weapon of a shot.
func (s *Shot) with() string { return cmp.Or(s.Weapon, s.Kind.String()) }

// pilot returns the player of a life, or NoPlayer if there is none.
func (m *Match) pilot(life int) int {
	if life < 0 || life >= len(m.Lives) {
		return NoPlayer
	}
	return m.Lives[life].Player
}

// debrief computes the results that depend on shots, damage and subsystems.
func (m *Match) debrief() {
	all := fires{}
	aimed, done := map[int][]*Shot{}, map[int][]*Damage{} // indexed by life
	for i := range m.Shots {
		s := &m.Shots[i]
		if s.Target != NoLife {
			aimed[s.Target] = append(aimed[s.Target], s)
		}
		if !s.After {
			all.shot(m, s)
		}
	}
	for i := range m.Damage {
		d := &m.Damage[i]
		done[d.Life] = append(done[d.Life], d)
		if !d.After {
			all.damage(d)
		}
	}
	for life := range aimed { // the shots are in order unless the capture's times are not
		slices.SortStableFunc(aimed[life], func(a, b *Shot) int { return cmp.Compare(a.T, b.T) })
	}
	for life := range done {
		slices.SortStableFunc(done[life], func(a, b *Damage) int { return cmp.Compare(a.T, b.T) })
	}
	m.Fire, m.Wear = all.list(), m.wear(aimed)
	told := map[int]int{}
	for i := range m.Kills {
		k := &m.Kills[i]
		k.Fire, k.Falls = nil, nil
		if told[k.Life]++; k.Life == NoLife || told[k.Life] > mostLosses {
			continue
		}
		last := fires{}
		for _, s := range lastOf(aimed[k.Life], k.T, LastSeconds, (*Shot).when) {
			last.shot(m, s)
		}
		for _, d := range lastOf(done[k.Life], k.T, LastSeconds, (*Damage).when) {
			last.damage(d)
		}
		k.Fire, k.Falls = last.list(), m.Lives[k.Life].falls(k.T)
	}
}

// lastOf returns the items of the given number of seconds before t, t included.
func lastOf[T any](all []T, t, seconds float64, when func(T) float64) []T {
	end := sort.Search(len(all), func(i int) bool { return when(all[i]) > t })
	begin := sort.Search(end, func(i int) bool { return when(all[i]) >= t-seconds })
	return all[begin:end]
}

// falls returns the subsystems that lost condition in the seconds before a
// loss, the hull first.
func (l *Life) falls(t float64) []Fall {
	var all []Fall
	hull := make([]Level, 0, len(l.Condition))
	for _, c := range l.Condition {
		if c.Hull >= 0 {
			hull = append(hull, Level{c.T, c.Hull})
		}
	}
	for _, s := range append([]System{{Hull, hull}}, l.Systems...) {
		f := Fall{System: s.Name, Before: -1}
		for i, h := range s.History {
			if h.T > t {
				break
			}
			if i == 0 && !l.Late {
				f.Before = 1
			}
			if h.T < t-LastSeconds || f.Before < 0 {
				f.Before = h.Value
			} else if f.Gone == nil && h.Value == 0 {
				f.Gone = &s.History[i].T
			}
			f.After = h.Value
		}
		if f.After < f.Before {
			all = append(all, f)
		}
	}
	return all
}

// Hull is the name of the hull among subsystems.
const Hull = "Hull"

// worn is the key by which wear is counted.
type worn struct {
	victim, player int
	system         string
	friendly       bool
}

// wear sums what subsystems lost up to the end of the match. A loss is
// attributed to the player who last fired at the ship, if the shot can have hit
// it by then.
func (m *Match) wear(aimed map[int][]*Shot) []Wear {
	sums := map[worn]*Wear{}
	for i := range m.Lives {
		l := &m.Lives[i]
		for _, s := range l.Systems {
			for was, now := range s.losses(l.Late) {
				if m.Over != nil && now.T > *m.Over {
					break
				}
				key := worn{victim: l.Player, player: NoPlayer, system: s.Name}
				if by := lastOf(aimed[i], now.T, flight, (*Shot).when); len(by) > 0 {
					last := by[len(by)-1]
					key.player, key.friendly = last.Player, last.Friendly
				}
				if sums[key] == nil {
					sums[key] = &Wear{Victim: key.victim, System: key.system, Player: key.player, Friendly: key.friendly}
				}
				sums[key].Lost += float64(was - now.Value)
				if now.Value == 0 {
					sums[key].Out++
				}
			}
		}
	}
	all := make([]Wear, 0, len(sums))
	for _, w := range sums {
		all = append(all, *w)
	}
	slices.SortFunc(all, func(a, b Wear) int {
		return cmp.Or(cmp.Compare(uint(a.Victim), uint(b.Victim)), cmp.Compare(a.System, b.System), cmp.Compare(uint(a.Player), uint(b.Player)), last(a.Friendly, b.Friendly))
	})
	return all
}

// losses yields the times at which a subsystem lost condition, with its
// condition before. It was at full condition when its ship was created. If the
// creation was not captured, the condition before is unknown.
func (s *System) losses(late bool) iter.Seq2[float32, Level] {
	return func(yield func(float32, Level) bool) {
		was := float32(1)
		for i, h := range s.History {
			if h.Value < was && (i > 0 || !late) && !yield(was, h) {
				return
			}
			was = h.Value
		}
	}
}

func (s *Shot) when() float64   { return s.T }
func (d *Damage) when() float64 { return d.T }

// DamageBy returns the damage that each player did to other players' ships, and
// the damage that each player took. It returns one number for each step of the
// given number of seconds since the beginning of the match. If there were more
// than most steps, it doubles their length. The result step is the length in
// seconds.
func (m *Match) DamageBy(seconds float64, most int) (done, taken [][]float64, step float64) {
	step = seconds
	for (m.End-m.Begin)/step > float64(most) {
		step *= 2
	}
	steps := int((m.End-m.Begin)/step) + 1
	for range m.Players {
		done, taken = append(done, make([]float64, steps)), append(taken, make([]float64, steps))
	}
	for i := range m.Damage {
		d := &m.Damage[i]
		at := int((d.T - m.Begin) / step)
		if d.Amount == nil || at < 0 || at >= steps {
			continue
		}
		if d.Player >= 0 && d.Player != d.Victim {
			done[d.Player][at] += *d.Amount
		}
		if d.Victim >= 0 {
			taken[d.Victim][at] += *d.Amount
		}
	}
	return done, taken, step
}
