package match

import (
	"slices"
	"testing"
)

// TestLeague adds up three evenings: one that Kirk won, one that a team won, and
// one with a capture that ends while Sulu leads.
func TestLeague(t *testing.T) {
	t.Parallel()
	over, red, blue := 60.0, 0, 1
	flown := func(n int) (lives []Life) {
		for i := range n {
			lives = append(lives, Life{Player: i})
		}
		return lives
	}
	evenings := []*Match{
		{
			Over: &over, Open: true, Leaders: []int{0}, Lives: flown(2),
			Players: []Player{{Name: "Kirk", Kills: 3}, {Name: "Sulu", Kills: 1, Deaths: 3}, {Name: "Watcher"}},
		},
		{
			EndedBy: "time", LeadingTeam: &red, Leaders: []int{1}, Lives: flown(3),
			Players: []Player{{Name: "Kirk", Team: &red}, {Name: "Sulu", Kills: 2, Team: &blue}, {Name: "Uhura", Team: &red}},
		},
		{
			Open: true, Leaders: []int{0}, Lives: flown(2),
			Players: []Player{{Name: "Sulu", Kills: 5}, {Name: "Kirk", Deaths: 5}},
		},
	}
	want := []Standing{
		{Name: "Kirk", Matches: 3, Wins: 2, Kills: 3, Deaths: 5},
		{Name: "Uhura", Matches: 1, Wins: 1},
		{Name: "Sulu", Matches: 3, Kills: 8, Deaths: 3},
	}
	if got := League(evenings); !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
