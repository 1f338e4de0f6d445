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
	Captures []string   // their files without folders, in order
	League   []Standing // over all of them, nil for one capture
}

// NewEvenings returns what a report of matches says about their captures.
func NewEvenings(names []string, all []*Match) (e Evenings) {
	for _, name := range names {
		e.Captures = append(e.Captures, filepath.Base(name))
	}
	if len(names) > 1 {
		e.League = League(all)
	}
	return e
}

// League adds up the results of players by name, the best first. A match counts
// for those who flew a ship in it. If it is decided, it is won by the leader, or
// by all of the leading team.
func League(all []*Match) []Standing {
	byName := map[wire.Untrusted]*Standing{}
	for _, m := range all {
		flew := map[int]bool{}
		for i := range m.Lives {
			flew[m.Lives[i].Player] = true
		}
		for i := range m.Players {
			p := &m.Players[i]
			if !flew[i] && p.Kills+p.Deaths == 0 || p.Name == "" {
				continue
			}
			s := byName[p.Name]
			if s == nil {
				s = &Standing{Name: p.Name}
				byName[p.Name] = s
			}
			s.Matches++
			s.Kills += p.Kills
			s.Deaths += p.Deaths
			if m.Won(i) {
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

// Decided reports whether the match has ended within the capture: the host said
// so, or all players left.
func (m *Match) Decided() bool { return m.Over != nil || m.EndedBy != "" || !m.Open }

// Result says who won, or who leads a match that isn't decided.
func (m *Match) Result(name func(player int) wire.Untrusted) wire.Untrusted {
	verb := wire.Untrusted(" leads")
	if m.Decided() {
		verb = " won"
	}
	var leaders []wire.Untrusted
	for _, p := range m.Leaders {
		leaders = append(leaders, name(p))
	}
	switch {
	case m.LeadingTeam != nil:
		return wire.Untrusted("Team "+digits(*m.LeadingTeam+1)) + verb
	case len(leaders) == 0:
		return "Nobody scored"
	case len(leaders) == 1:
		return leaders[0] + verb
	}
	return "Nobody" + verb + ": " + wire.Join(leaders, " and ") + " are equal"
}

// Won reports whether a player is the only leader of a match that is decided, or
// of its leading team.
func (m *Match) Won(player int) bool {
	if !m.Decided() {
		return false
	}
	if m.LeadingTeam != nil {
		team := m.Players[player].Team
		return team != nil && *team == *m.LeadingTeam
	}
	return len(m.Leaders) == 1 && m.Leaders[0] == player
}
