package match

import (
	"reflect"
	"testing"
)

// TestDebrief has friends, damage to oneself, shots after the end, and a ship that is
// lost again and again. The fold of recorded matches is in TestDebriefing.
func TestDebrief(t *testing.T) {
	t.Parallel()
	yes, no, over := true, false, 50.0
	amount := func(x float64) *float64 { return &x }
	m := &Match{
		Over:    &over,
		Players: []Player{{Name: "Ann"}, {Name: "Ben"}},
		Lives: []Life{
			{Player: 0},
			{Player: 1, Condition: []Condition{{T: 2, Hull: 0.5}, {T: 30, Hull: 0.25}, {T: 35, Hull: 0}}, Systems: []System{{"Bridge", []Level{{22, 0.5}, {23, 0}, {24, 1}, {30, 0}, {60, 1}, {61, 0}}}}},
			{Player: 1, Late: true, Systems: []System{{"Bridge", []Level{{40, 0.5}, {41, 0.25}}}}},
		},
		Shots: []Shot{
			{T: 1, Player: 0, Kind: Torpedo, Target: 1, Hit: &yes, Friendly: true},
			{T: 20, Player: 0, Kind: Torpedo, Target: 1, Hit: &no, Friendly: true},
			{T: 21, Player: 0, Weapon: "Tube", Kind: Torpedo, Target: 1},
			{T: 22, Player: 0, Kind: Beam, Target: NoLife},
			{T: 40.5, Player: 0, Kind: Beam, Target: 2},
			{T: 60, Player: 0, Kind: Beam, Target: 1, After: true},
		},
		Damage: []Damage{
			{T: 1.5, Player: 0, Victim: 1, Life: 1, Shot: 0, Weapon: "torpedo", Amount: amount(10), Friendly: true},
			{T: 30, Player: 1, Victim: 1, Life: 1, Shot: -1, Amount: amount(5)},
			{T: 31, Player: 1, Victim: 1, Life: 1, Shot: -1},
			{T: 60, Player: 0, Victim: 1, Life: 1, Shot: -1, Amount: amount(7), After: true},
		},
		Kills: []Kill{{T: 35, Victim: 1, Life: 1}, {T: 36, Victim: 1, Life: NoLife}},
	}
	m.debrief()
	m.debrief() // a match that goes on is shown again and again
	own := Fire{Player: 1, Victim: 1, Amount: amount(5)}
	tube := Fire{Player: 0, Weapon: "Tube", Victim: 1, Shots: 1, Unknown: 1}
	for _, tt := range []struct{ got, want any }{
		{m.Fire, []Fire{
			tube,
			{Player: 0, Weapon: "beam", Victim: 1, Shots: 1, Unknown: 1},
			{Player: 0, Weapon: "beam", Victim: NoPlayer, Shots: 1, Unknown: 1},
			{Player: 0, Weapon: "torpedo", Victim: 1, Friendly: true, Shots: 2, Hits: 1, Misses: 1, Amount: amount(10)},
			own,
		}},
		{m.Wear, []Wear{
			{Victim: 1, System: "Bridge", Player: 0, Lost: 1 + 0.25, Out: 1},
			{Victim: 1, System: "Bridge", Player: NoPlayer, Lost: 1, Out: 1},
		}},
		{m.Kills[0].Fire, []Fire{tube, {Player: 0, Weapon: "torpedo", Victim: 1, Friendly: true, Shots: 1, Misses: 1}, own}},
		{m.Kills[0].Falls, []Fall{{System: Hull, Before: 0.5, After: 0, Gone: amount(35)}, {System: "Bridge", Before: 1, After: 0, Gone: amount(23)}}},
		{m.Kills[1].Fire, []Fire(nil)},
	} {
		if !reflect.DeepEqual(tt.got, tt.want) {
			t.Errorf("got\n%+v, not\n%+v", tt.got, tt.want)
		}
	}
	m.Kills = nil
	for range 2 * mostLosses {
		m.Kills = append(m.Kills, Kill{T: 35, Victim: 1, Life: 1})
	}
	if m.debrief(); m.Kills[mostLosses-1].Fire == nil || m.Kills[mostLosses].Fire != nil {
		t.Errorf("what led to a loss is told without bound, or not at all")
	}
}
