package match

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// What led to a loss names the players of the recording that gets it, and its times.
func TestTranslate(t *testing.T) {
	gone := 7.0
	theirs := []Fire{{Player: 0, Victim: 1}, {Player: 2, Victim: NoPlayer}}
	k := Kill{Fire: theirs, Falls: []Fall{{Gone: &gone}, {}}}
	f := filler{at: []int{1, 0, -1}, later: 5}
	f.translate(&k)
	if a, b := k.Fire[0], k.Fire[1]; a.Player != 1 || a.Victim != 0 || b.Player != NoPlayer || b.Victim != NoPlayer {
		t.Errorf("got %+v", k.Fire)
	}
	if *k.Falls[0].Gone != 12 || k.Falls[1].Gone != nil || gone != 7 || theirs[0].Player != 0 {
		t.Errorf("got %+v, the other recording has %v %v", k.Falls, gone, theirs)
	}
}

// TestCounterparts has players who come back and have changed slots, as Pilot1 and
// Pilot6 of a recorded game. Another recording knows them only by their first slots.
func TestCounterparts(t *testing.T) {
	host := &Match{
		Players: []Player{{Name: "Ann", Slot: 1}, {Name: "Ben", Slot: 0}, {Name: "Cid", Slot: 2}},
		Lives:   []Life{{Player: 0, Object: 10, Begin: 1}, {Player: 1, Object: 20, Begin: 2}, {Player: 2, Object: 30, Begin: 3}, {Player: 0, Object: 21, Begin: 60}},
	}
	atCid := &Match{
		Players: []Player{{Slot: 0}, {Slot: 1, Name: "Federation", ShipNamed: true}, {Name: "cid", Slot: 2}},
		Lives:   []Life{{Player: 0, Object: 10, Begin: 101.2}, {Player: 1, Object: 20, Begin: 101.9}},
	}
	if got := host.counterparts(atCid, -100); !slices.Equal(got, []int{0, 1, 2}) {
		t.Errorf("the players at Cid are %v of the host's", got)
	}
	if atAnn := (&Match{Players: []Player{{Name: "Ann", Slot: 0}, {Slot: 1}}}); host.others(atAnn) || atAnn.others(host) {
		t.Error("Ann's recording shows others, since she had another slot at first")
	}
	if !host.others(&Match{Players: []Player{{Name: "Uli", Slot: 0}, {Name: "Vic", Slot: 1}, {Name: "Ann", Slot: 2}}}) {
		t.Error("Uli and Vic are Ann and Ben")
	}
}

// TestFillKills has losses that another recording tells later, without a killer, or only
// because it does not know that the player left.
func TestFillKills(t *testing.T) {
	with := func(kills ...Kill) *Match {
		return &Match{
			Players: []Player{{Name: "Ann"}, {Name: "Ben", Slot: 1}, {Name: "Cid", Slot: 2}},
			Lives:   []Life{{Player: 0, Object: 10}, {Player: 1, Object: 20, End: 50, EndHow: "left"}, {Player: 2, Object: 30}},
			Kills:   kills,
		}
	}
	for _, tt := range []struct {
		name        string
		here, there []Kill
		want        string
	}{
		{"seen late", []Kill{{T: 10, Victim: 1, Killer: 0, Life: 1}}, []Kill{{T: 16, Victim: 1, Killer: 0, Life: 1}}, "1/0/10"},
		{"seen late without its killer", []Kill{{T: 10, Victim: 1, Killer: 0, Life: 1}}, []Kill{{T: 16, Victim: 1, Killer: NoPlayer, Life: 1}}, "1/0/10"},
		{"by another killer", []Kill{{T: 10, Victim: 1, Killer: 0, Life: 1}}, []Kill{{T: 16, Victim: 1, Killer: 2, Life: 1}}, "1/0/10 1/2/16"},
		{"the killer", []Kill{{T: 10, Victim: 1, Killer: NoPlayer, Life: 1}}, []Kill{{T: 10.1, Victim: 1, Killer: 2, Life: 1}}, "1/2/10"},
		{"of a ship whose player left", nil, []Kill{{T: 50, Victim: 1, Killer: NoPlayer, Life: 1}}, ""},
		{"before its player left", nil, []Kill{{T: 20, Victim: 1, Killer: NoPlayer, Life: 1}}, "1/-1/20"},
	} {
		to := with(tt.here...)
		(&filler{to: to, from: with(tt.there...), at: []int{0, 1, 2}}).kills()
		var got []string
		for i := range to.Kills {
			got = append(got, fmt.Sprintf("%d/%d/%g", to.Kills[i].Victim, to.Kills[i].Killer, to.Kills[i].T))
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: %q, not %q", tt.name, got, tt.want)
		}
	}
}
