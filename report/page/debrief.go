package page

import (
	"slices"

	"github.com/bcdissect/bcdissect/dissect/match"
)

// A debriefing has the number of rows in the columns of a match's debriefing.
// Words are the names of weapons and subsystems, which are numbers in the rows.
type debriefing struct {
	Words []string `page:"words,omitempty"`
	Fire  int      `page:"fire,omitempty"`
	Wear  int      `page:"wear,omitempty"`
	Bins  int      `page:"bins,omitempty"` // number of steps of damage for each player
	Step  float64  `page:"step,omitempty"` // seconds of a step
}

// Damage is shown in steps of binSeconds. The steps are longer if all players
// together would have more than mostBins, since a capture can claim to last for
// years.
const (
	binSeconds = 5.0
	mostBins   = 60_000
)

// debrief writes the columns of a match's debriefing.
func debrief(m *match.Match, c *columns) (d debriefing) {
	if c == nil {
		return d
	}
	d.Fire, d.Wear = len(m.Fire), len(m.Wear)
	d.addFire(c, m.Fire)
	add(c, m.Wear,
		func(w *match.Wear) int64 { return int64(w.Player) },
		func(w *match.Wear) int64 { return d.word(w.System) },
		func(w *match.Wear) int64 { return int64(w.Victim) },
		func(w *match.Wear) int64 { return thousandths(w.Lost) },
		func(w *match.Wear) int64 { return int64(w.Out) })
	add(c, m.Kills, func(k *match.Kill) int64 { return int64(len(k.Fire)) }, func(k *match.Kill) int64 { return int64(len(k.Falls)) })
	for i := range m.Kills {
		d.addFire(c, m.Kills[i].Fire)
		add(c, m.Kills[i].Falls,
			func(f *match.Fall) int64 { return d.word(f.System) },
			func(f *match.Fall) int64 { return share(f.Before) },
			func(f *match.Fall) int64 { return share(f.After) },
			func(f *match.Fall) int64 {
				if f.Gone == nil {
					return -1
				}
				return thousandths(*f.Gone)
			})
	}
	if len(m.Damage) == 0 {
		return d
	}
	done, taken, step := m.DamageBy(binSeconds, mostBins/max(len(m.Players), 1))
	d.Step = step
	for i := range done {
		d.Bins = len(done[i])
		add(c, done[i], func(x *float64) int64 { return whole(*x) })
		add(c, taken[i], func(x *float64) int64 { return whole(*x) })
	}
	return d
}

// addFire writes the number of shots of each weapon. Unknown values are -1.
func (d *debriefing) addFire(c *columns, all []match.Fire) {
	known := func(x *float64, scale float64) int64 {
		if x == nil {
			return -1
		}
		return whole(*x * scale)
	}
	add(c, all,
		func(f *match.Fire) int64 { return int64(f.Player) },
		func(f *match.Fire) int64 { return d.word(f.Weapon) },
		func(f *match.Fire) int64 { return int64(f.Victim) },
		func(f *match.Fire) int64 { return oneIf(f.Friendly) },
		func(f *match.Fire) int64 { return int64(f.Shots) },
		func(f *match.Fire) int64 { return int64(f.Hits) },
		func(f *match.Fire) int64 { return int64(f.Misses) },
		func(f *match.Fire) int64 { return known(f.Amount, 10) },
		func(f *match.Fire) int64 { return known(f.Hull, 1000) })
}

// word returns the number of a word, and adds the word if needed.
func (d *debriefing) word(text string) int64 {
	i := slices.Index(d.Words, text)
	if i < 0 {
		i = len(d.Words)
		d.Words = append(d.Words, text)
	}
	return int64(i)
}

// mostLevels is the maximum number of points in the histories of all subsystems
// of a page. Otherwise they would take most of a page.
const mostLevels = 12_000

// histories returns the seconds between points of subsystems that keep the
// number of points within the limit.
func histories(all []*match.Match) float64 {
	for step := 0.5; ; step *= 2 {
		n := 0
		for _, m := range all {
			for i := range m.Lives {
				for k := range m.Lives[i].Systems {
					n += len(thin(m.Lives[i].Systems[k].History, step))
				}
			}
		}
		if n <= mostLevels || step > 1000 {
			return step
		}
	}
}

// thin returns the last known level in each step. A step has the given length
// in seconds.
func thin(history []match.Level, step float64) (out []match.Level) {
	for _, l := range history {
		if !(l.Value >= 0) {
			continue
		}
		if n := len(out); n > 0 && int64(l.T/step) == int64(out[n-1].T/step) {
			out[n-1] = l
		} else {
			out = append(out, l)
		}
	}
	return out
}

// addHistory writes the history of a subsystem in hundredths of the whole. It
// returns the number of rows.
func (c *columns) addHistory(s *match.System) int {
	if c == nil {
		return 0
	}
	rows := thin(s.History, c.systems)
	add(c, rows, func(l *match.Level) int64 { return whole(l.T * 10) }, func(l *match.Level) int64 { return whole(float64(min(max(l.Value, 0), 1)) * 100) })
	return len(rows)
}
