package match

import (
	"cmp"
	"math"
	"slices"
	"strconv"
)

// A filler adds to a match what only another recording of it shows.
type filler struct {
	to, from *Match
	at       []int   // index in this recording of each player of the other one, or negative
	later    float64 // seconds to add to the other recording's times
	told     map[loss]int
}

// A loss is the key that finds the event of a kill.
type loss struct{ frame, victim int }

// fill adds chat, losses and weapons of kills that this recording lacks. What
// it adds has no frame, since frame numbers belong to a file.
func (f *filler) fill() {
	f.chat()
	defer func() {
		slices.SortStableFunc(f.to.Events, func(a, b Event) int { return cmp.Compare(a.T, b.T) })
	}()
	if f.kills() && f.to.Result.Rests == ByKills {
		f.to.Result.Winner, f.to.Result.Team, f.to.Result.Winners, f.to.Result.Value = NoPlayer, -1, nil, Unknown
		f.to.lead()
		f.to.Result.settle(f.to)
	}
}

// player returns the index in this recording of a player of the other one.
func (f *filler) player(i int) int {
	if i < 0 || i >= len(f.at) || f.at[i] < 0 {
		return NoPlayer
	}
	return f.at[i]
}

// seen has the times of what a recording shows, in ascending order. The key is
// equal in all recordings.
type seen map[string][]sight

type sight struct {
	t float64
	i int
}

// take returns the first index whose time is close to the given one and that it
// has not returned before, or -1.
func (s seen) take(key string, t float64) int {
	all := s[key]
	for len(all) > 0 && all[0].t < t-delay {
		all = all[1:]
	}
	found := -1
	if len(all) > 0 && all[0].t <= t+delay {
		found, all = all[0].i, all[1:]
	}
	s[key] = all
	return found
}

// chatKey returns the key of a player's line of chat.
func chatKey(c *Talk, player int) string {
	return digits(player) + strconv.FormatBool(c.Team) + c.Text.Raw()
}

// chat adds lines of chat.
func (f *filler) chat() {
	here := seen{}
	for i := range f.to.Chat {
		key := chatKey(&f.to.Chat[i], f.to.Chat[i].Player)
		here[key] = append(here[key], sight{f.to.Chat[i].T, i})
	}
	for i := range f.from.Chat {
		c := f.from.Chat[i]
		c.T += f.later
		c.Player = f.player(c.Player)
		if c.Player == NoPlayer || here.take(chatKey(&c, c.Player), c.T) >= 0 || here.take(chatKey(&c, NoPlayer), c.T) >= 0 || len(f.to.Chat) >= MaxChat {
			continue
		}
		c.Frame = 0
		f.to.Chat = append(f.to.Chat, c)
		f.add(Event{T: c.T, Kind: EventChat, Player: c.Player, Text: f.to.Said(&c)})
	}
	slices.SortStableFunc(f.to.Chat, func(a, b Talk) int { return cmp.Compare(a.T, b.T) })
}

// kills adds losses, and the killers and weapons of losses that both recordings
// show. It reports whether that changes the numbers of the match.
func (f *filler) kills() (counts bool) {
	here := seen{}
	for i := range f.to.Kills {
		key := digits(f.to.Kills[i].Victim)
		here[key] = append(here[key], sight{f.to.Kills[i].T, i})
	}
	for i := range f.from.Kills {
		k := f.from.Kills[i]
		killed := k.Killer != NoPlayer
		k.Victim, k.Killer = f.owner(k.Life, k.Victim), f.owner(f.from.flown(k.Killer, k.T), k.Killer)
		k.T += f.later
		k.Life = f.life(k.Life)
		if n := here.take(digits(k.Victim), k.T); n >= 0 {
			counts = f.same(&f.to.Kills[n], &k) || counts
			continue
		}
		unknown := k.Victim == NoPlayer || killed && k.Killer == NoPlayer
		if unknown || len(f.to.Kills) >= MaxKills || f.lost(&k) || !killed && f.removed(k.Life, k.T) {
			continue
		}
		k.Frame, k.Assists = 0, nil
		f.translate(&k)
		if k.After = f.to.Over != nil && k.T > *f.to.Over; !k.After {
			counts = true
			f.count(&k)
		}
		f.to.Kills = append(f.to.Kills, k)
		kind := EventLoss
		if killed {
			kind = EventKill
		}
		f.add(Event{T: k.T, Kind: kind, Player: k.Victim, Text: f.to.Tell(&k)})
	}
	slices.SortStableFunc(f.to.Kills, func(a, b Kill) int { return cmp.Compare(a.T, b.T) })
	return counts
}

// same adds to a loss what another recording knows about it. It reports whether
// that is a killer.
func (f *filler) same(k, other *Kill) (killer bool) {
	switch {
	case k.Killer == other.Killer && k.Weapon == "":
		k.Weapon = other.Weapon
	case k.Killer == NoPlayer && other.Killer != NoPlayer: // its report did not reach this place
		k.Killer, k.Weapon, k.With, k.Distance, k.Friendly = other.Killer, other.Weapon, other.With, other.Distance, other.Friendly
		if k.Life >= 0 {
			f.to.Lives[k.Life].Killer = k.Killer
		}
		if killer = !k.After; killer {
			f.credit(k)
		}
	default:
		return false
	}
	f.retell(k)
	return killer
}

// lost reports whether this recording has the loss of a ship by the same
// killer, or by any if the other one knows none. Over a bad line, the report of
// a loss may come many seconds later.
func (f *filler) lost(k *Kill) bool {
	return slices.ContainsFunc(f.to.Kills, func(o Kill) bool {
		return k.Life >= 0 && o.Life == k.Life && (k.Killer == NoPlayer || k.Killer == o.Killer)
	})
}

// removed reports whether this recording shows that a ship ended at a time
// without being lost. The host deletes such a ship, which looks like a loss if
// the notice of its player's leaving is not recorded.
func (f *filler) removed(life int, t float64) bool {
	if life < 0 {
		return false
	}
	l := &f.to.Lives[life]
	return slices.Contains([]string{"left", "removed", "restarted"}, l.EndHow) && math.Abs(l.End-t) <= delay
}

// translate converts the players and times in the account of a loss to this
// recording.
func (f *filler) translate(k *Kill) {
	k.Fire, k.Falls = slices.Clone(k.Fire), slices.Clone(k.Falls)
	for i := range k.Fire {
		at := &k.Fire[i]
		at.Player, at.Victim = f.player(at.Player), f.player(at.Victim)
	}
	for i := range k.Falls {
		if gone := k.Falls[i].Gone; gone != nil {
			t := *gone + f.later
			k.Falls[i].Gone = &t
		}
	}
}

// retell rewrites the event of a kill.
func (f *filler) retell(k *Kill) {
	if f.told == nil {
		f.told = map[loss]int{}
		for i := range f.to.Events {
			if e := &f.to.Events[i]; e.Kind == EventKill || e.Kind == EventLoss {
				f.told[loss{e.Frame, e.Player}] = i
			}
		}
	}
	if i, ok := f.told[loss{k.Frame, k.Victim}]; ok {
		e := &f.to.Events[i]
		if e.Text = f.to.Tell(k); k.Killer != NoPlayer {
			e.Kind = EventKill
		}
	}
}

// count adds a loss to the numbers of its players.
func (f *filler) count(k *Kill) {
	f.to.Players[k.Victim].Deaths++
	f.credit(k)
}

// credit adds a loss to the numbers of its killer.
func (f *filler) credit(k *Kill) {
	all := f.to.Players
	switch {
	case k.Killer == NoPlayer || k.Killer == k.Victim:
	case k.Friendly:
		all[k.Killer].TeamKills++
	default:
		all[k.Killer].Kills++
	}
	for _, i := range []int{k.Victim, k.Killer} {
		f.to.Result.Differs = f.to.Result.Differs || i != NoPlayer && all[i].Differs()
	}
}

// life returns the index in this recording of a ship of the other one.
func (f *filler) life(i int) int {
	if i < 0 {
		return NoLife
	}
	return f.to.ship(&f.from.Lives[i], f.later)
}

// owner returns the player in this recording of a ship of the other one. If
// this recording does not have the ship, it is the counterpart of the player
// there, who may be several people that had one slot.
func (f *filler) owner(life, player int) int {
	if i := f.life(life); i >= 0 && f.to.Lives[i].Player >= 0 {
		return f.to.Lives[i].Player
	}
	return f.player(player)
}

// flown returns the ship that a player had at a time, or NoLife.
func (m *Match) flown(player int, t float64) int {
	found := NoLife
	for i := range m.Lives {
		if l := &m.Lives[i]; player >= 0 && l.Player == player && l.Begin <= t {
			found = i
		}
	}
	return found
}

// add adds an event. Events are sorted after all are added.
func (f *filler) add(e Event) {
	if len(f.to.Events) < MaxEvents {
		f.to.Events = append(f.to.Events, e)
	}
}
