package match

import (
	"slices"
	"testing"
)

// TestLeague adds up three evenings: one that Kirk won, one that a team won, and
// one without a winner.
func TestLeague(t *testing.T) {
	t.Parallel()
	flown := func(n int) (lives []Life) {
		for i := range n {
			lives = append(lives, Life{Player: i})
		}
		return lives
	}
	evenings := []*Match{
		{
			Result: Result{Value: Won, Winners: []int{0}}, Lives: flown(2),
			Players: []Player{{Name: "Kirk", Kills: 3}, {Name: "Sulu", Kills: 1, Deaths: 3}, {Name: "Watcher"}},
		},
		{
			Result: Result{Value: Won, Winners: []int{0, 2}}, Lives: flown(3),
			Players: []Player{{Name: "Kirk"}, {Name: "Sulu", Kills: 2}, {Name: "Uhura"}},
		},
		{
			Result: Result{Value: Draw}, Leaders: []int{0}, Lives: flown(2),
			Players: []Player{{Name: "sulu", Kills: 5}, {Name: "KIRK", Deaths: 5}},
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

// TestRanks has players with equal scores, teams with a spectator, and a match
// without a winner.
func TestRanks(t *testing.T) {
	t.Parallel()
	one, two := 0, 1
	for name, tt := range map[string]struct {
		m    Match
		want []int
	}{
		"players": {Match{Result: Result{Value: Won, Rests: ByKills}, Players: []Player{{Kills: 1}, {Kills: 3}, {Kills: 1}, {}}}, []int{2, 1, 2, 4}},
		"teams": {
			Match{Teams: true, Result: Result{Value: Won, Rests: ByKills}, Players: []Player{{Kills: 2, Team: &one}, {Kills: 1, Team: &two}, {Kills: 3, Team: &two}, {Kills: 9}}},
			[]int{2, 1, 1, 0},
		},
		"undecided": {Match{Result: Result{Value: Undecided}, Players: []Player{{Kills: 1}}}, []int{0}},
	} {
		if got := tt.m.Ranks(); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, not %v", name, got, tt.want)
		}
	}
}
