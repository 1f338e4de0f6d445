package match

import "testing"

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
