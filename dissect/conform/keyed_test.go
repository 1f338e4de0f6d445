package conform

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// The table agrees with a map over any order of additions and removals, and
// shrinks again.
func TestKeyed(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var table keyed
	want := map[uint64][]*got{}
	check := func() {
		t.Helper()
		if table.used != len(want) {
			t.Fatalf("%d keys, want %d", table.used, len(want))
		}
		for key, list := range want {
			if got := table.gots(key); !slices.Equal(got, list) {
				t.Fatalf("key %x: %d messages, want %d", key, len(got), len(list))
			}
		}
	}
	for step := range 20000 {
		key := uint64(r.IntN(300)) << 8 // many want the same slot
		if key++; step%3 == 0 && step < 10000 || r.IntN(2) == 0 {
			g := new(got)
			s := table.at(key)
			s.gots = append(s.gots, g)
			want[key] = append(want[key], g)
		} else if s := table.find(key); s != nil {
			if s.gots = s.gots[1:]; len(s.gots) == 0 {
				table.tidy(key)
			}
			if want[key] = want[key][1:]; len(want[key]) == 0 {
				delete(want, key)
			}
		}
		if step%100 == 0 {
			check()
		}
	}
	check()
	for key := range want {
		table.find(key).gots = nil
		table.tidy(key)
		delete(want, key)
		check()
	}
	if len(table.slots) > fewestSlots || table.gots(1) != nil {
		t.Errorf("%d slots are left", len(table.slots))
	}
}

// Messages that have come leave the table, too, when they leave the queue behind
// one that has not.
func TestCompact(t *testing.T) {
	d := newDestination(&Client{}, new(reached))
	const n = 1000
	for i := range n {
		x := &expect{key: uint64(i) + 1, number: -1, done: i > 0}
		d.expects = append(d.expects, x)
		s := d.byKey.at(x.key)
		s.expects = append(s.expects, x)
		g := &got{Event: &Event{}, key: uint64(i) + n + 1, done: i > 0}
		d.gots = append(d.gots, g)
		s = d.byKey.at(g.key)
		s.gots = append(s.gots, g)
	}
	d.compact()
	if len(d.expects) != 1 || len(d.gots) != 1 || d.byKey.used != 2 {
		t.Errorf("%d and %d messages and %d keys are left, want one of each and both keys", len(d.expects), len(d.gots), d.byKey.used)
	}
}
