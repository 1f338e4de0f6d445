package match

import (
	"cmp"
	"path/filepath"
	"slices"

	"github.com/bcdissect/bcdissect/decode/wire"
)

// A Standing adds up a player's results in several captures.
type Standing struct {
	Name    wire.Untrusted `json:"name" page:"="`
	Matches int            `json:"matches" page:"="`
	Wins    int            `json:"wins" page:"="`
	Kills   int            `json:"kills" page:"="`
	Deaths  int            `json:"deaths" page:"="`
}

// Evenings are the captures of a report.
type Evenings struct {
	Captures []string   // file names of the captures without folders, in order
	League   []Standing // standings over all captures, nil if there is only one
}

// NewEvenings returns what a report of several captures has in addition to its
// matches.
func NewEvenings(names []string, all []*Match) (e Evenings) {
	for _, name := range names {
		e.Captures = append(e.Captures, filepath.Base(name))
	}
	if len(names) > 1 {
		e.League = League(all)
	}
	return e
}

// League adds up the results of players. Players with the same name, ignoring
// case, are one. The best comes first. A match counts for the players who flew
// a ship in it.
func League(all []*Match) []Standing {
	byName := map[string]*Standing{}
	for _, m := range all {
		for _, r := range m.Results() {
			if !r.Played {
				continue
			}
			s := byName[r.Key]
			if s == nil {
				s = &Standing{Name: m.Players[r.Player].Name}
				byName[r.Key] = s
			}
			s.Matches++
			s.Kills += r.Kills
			s.Deaths += r.Deaths
			if r.Outcome == PlayerWon {
				s.Wins++
			}
		}
	}
	var out []Standing
	for _, s := range byName {
		out = append(out, *s)
	}
	slices.SortFunc(out, func(a, b Standing) int {
		return cmp.Or(b.Wins-a.Wins, b.Kills-a.Kills, a.Deaths-b.Deaths, cmp.Compare(a.Name, b.Name))
	})
	return out
}
