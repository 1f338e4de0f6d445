package league

import (
	"math"
	"testing"
)

// TestRate has the results of the module openskill 5.0.1 from npm, with its default
// options, for rate(teams, {rank}).
func TestRate(t *testing.T) {
	t.Parallel()
	fresh := Skill{25, 25.0 / 3}
	for _, tt := range []struct {
		name  string
		rank  []int
		teams [][]Skill
		want  [][]Skill
	}{
		{"a duel", []int{1, 2}, [][]Skill{{fresh}, {fresh}}, [][]Skill{{{27.635389493140497, 8.06590141354368}}, {{22.364610506859503, 8.06590141354368}}}},
		{
			"four, two equal",
			[]int{1, 2, 2, 4},
			[][]Skill{{fresh}, {fresh}, {fresh}, {fresh}},
			[][]Skill{
				{{27.795252672501135, 8.263571791259416}},
				{{24.689416369722096, 8.17961798837266}},
				{{24.689416369722096, 8.17961798837266}},
				{{22.825914588054673, 8.17961798837266}},
			},
		},
		{
			"teams, the second one won",
			[]int{2, 1},
			[][]Skill{{fresh, {30, 2}}, {{20, 5}, fresh}},
			[][]Skill{
				{{21.737306911237923, 8.141039540874834}, {29.811761432635166, 1.9990939234797858}},
				{{21.17477830343288, 4.953806077751265}, {28.262693088762077, 8.114875508775937}},
			},
		},
		{
			"a draw of three",
			[]int{1, 1, 1},
			[][]Skill{{{29, 3}}, {{20, 5}}, {fresh}},
			[][]Skill{{{28.914183462756224, 2.9959733935279673}}, {{20.227771562521323, 4.972984278817473}}, {{25.029133932830035, 8.055029805235229}}},
		},
		{
			"three against one",
			[]int{1, 1},
			[][]Skill{{fresh, fresh, fresh}, {{33, 1.5}}},
			[][]Skill{
				{{23.067083660102682, 8.2683007264027}, {23.067083660102682, 8.2683007264027}, {23.067083660102682, 8.2683007264027}},
				{{33.062813499696695, 1.5022732829180827}},
			},
		},
	} {
		var sides []side
		for i, team := range tt.teams {
			s := side{rank: tt.rank[i]}
			for k := range team {
				s.players = append(s.players, &team[k])
			}
			sides = append(sides, s)
		}
		rate(sides)
		for i, team := range tt.teams {
			for k, got := range team {
				if want := tt.want[i][k]; math.Abs(got.Mu-want.Mu) > 1e-9 || math.Abs(got.Sigma-want.Sigma) > 1e-9 {
					t.Errorf("%s: player %d of team %d is %v, want %v", tt.name, k, i, got, want)
				}
			}
		}
	}
}
