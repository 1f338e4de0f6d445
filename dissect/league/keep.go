// Not part of the library: package league sums matches into tables of seasons,
// players with ratings, ships, rivalries and records.
package league

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"net/netip"

	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/match"
)

// A Kept is a match without the data that only its replay needs, so that
// thousands fit into memory. Merging treats it as the whole match.
type Kept struct {
	*match.Match

	Fired  [][3]Fired // shots of each player, indexed by [match.ShotKind]
	Replay string     // name of the replay's data
}

// Fired counts shots.
type Fired struct{ Shots, Hits, Misses int }

// Keep returns the parts of a match that a league needs.
func Keep(m *match.Match) Kept {
	less := *m
	k := Kept{Match: &less, Fired: make([][3]Fired, len(m.Players))}
	for i := range m.Shots {
		s := &m.Shots[i]
		if s.Player < 0 || m.Over != nil && s.T > *m.Over {
			continue
		}
		f := &k.Fired[s.Player][s.Kind]
		f.Shots++
		switch {
		case s.Hit == nil:
		case *s.Hit:
			f.Hits++
		default:
			f.Misses++
		}
	}
	less.Shots, less.Damage, less.Events, less.Lines, less.Unusual, less.Fire, less.Wear = nil, nil, nil, nil, nil, nil, nil
	less.Lives = append([]match.Life(nil), m.Lives...)
	for i := range less.Lives {
		l := &less.Lives[i]
		l.Condition, l.Systems, l.Repairs, l.Track = nil, nil, nil, nil
		l.MaxSpeed = finite(l.MaxSpeed)
	}
	less.Kills = append([]match.Kill(nil), m.Kills...)
	for i := range less.Kills {
		x := &less.Kills[i]
		if x.At, x.Fire = nil, nil; x.Distance != nil && finite(*x.Distance) != *x.Distance {
			x.Distance = nil
		}
	}
	less.Chat = append([]match.Talk(nil), m.Chat...)
	for i := range less.Chat { // merging compares the lines, but they must not be readable
		sum := sha256.Sum256([]byte(less.Chat[i].Text.Raw()))
		less.Chat[i].Text = wire.Untrusted(hex.EncodeToString(sum[:4]))
	}
	return k
}

// finite returns a number from the network, or 0 if it is infinite or NaN,
// which JSON cannot represent.
func finite(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	return x
}

// Scrub removes addresses and chat from a match, unless the settings publish
// them.
func (s *Settings) Scrub(m *match.Match) {
	if !s.Addresses {
		scrubAddresses(m)
	}
	if s.Chat {
		return
	}
	m.Chat = nil
	kept := m.Events[:0:0]
	for i := range m.Events {
		if m.Events[i].Kind != match.EventChat {
			kept = append(kept, m.Events[i])
		}
	}
	m.Events = kept
}

// scrubAddresses removes the addresses of host and players, and texts that
// contain them. These are, for example, the refusal of a client without a name,
// or the name of a recording.
func scrubAddresses(m *match.Match) {
	all := map[string]bool{m.Host.Addr().String(): true}
	none := netip.AddrPort{}
	m.Host = none
	players := append([]match.Player(nil), m.Players...)
	for i := range players {
		p := &players[i]
		all[p.Address.Addr().String()] = true
		p.Address = none
		p.Visits = append([]match.Visit(nil), p.Visits...)
		for k := range p.Visits {
			all[p.Visits[k].Address.Addr().String()] = true
			p.Visits[k].Address = none
		}
	}
	m.Players = players
	m.Lines = append([]match.Line(nil), m.Lines...)
	for i := range m.Lines {
		all[m.Lines[i].Address.Addr().String()] = true
		m.Lines[i].Address = none
	}
	delete(all, netip.Addr{}.String())
	m.Events = append([]match.Event(nil), m.Events...)
	for i := range m.Events {
		m.Events[i].Text = hide(m.Events[i].Text, all)
	}
	m.Places = append([]match.Place(nil), m.Places...)
	for i := range m.Places {
		p := &m.Places[i]
		p.At = hide(p.At, all)
		p.Files = append([]string(nil), p.Files...)
		for k, name := range p.Files {
			p.Files[k] = hideInFile(name, all)
		}
	}
	m.Unusual = append([]match.Finding(nil), m.Unusual...)
	for i := range m.Unusual {
		m.Unusual[i].Text = hide(m.Unusual[i].Text, all)
	}
}
