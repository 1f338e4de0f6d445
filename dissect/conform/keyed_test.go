package conform

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/conform/result"
)

// The table agrees with a map over any order of additions and removals, and
// shrinks again.
func TestKeyed(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	table := keyed[*got]{}
	want := map[uint64][]*got{}
	check := func() {
		t.Helper()
		if len(table) != len(want) {
			t.Fatalf("%d keys, want %d", len(table), len(want))
		}
		for key, list := range want {
			if got := table[key]; !slices.Equal(got, list) {
				t.Fatalf("key %x: %d messages, want %d", key, len(got), len(list))
			}
		}
	}
	for step := range 20000 {
		key := uint64(r.IntN(300)) << 8 // many want the same slot
		if key++; step%3 == 0 && step < 10000 || r.IntN(2) == 0 {
			g := new(got)
			table.add(key, g)
			want[key] = append(want[key], g)
		} else if list := table[key]; len(list) > 0 {
			list[0].done = true
			table.drop(key)
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
		for _, g := range want[key] {
			g.done = true
		}
		table.drop(key)
		delete(want, key)
		check()
	}
	if len(table) > 0 {
		t.Errorf("%d keys are left", len(table))
	}
}

// Messages that have come leave the lists, also behind one that has not.
func TestDoneLeave(t *testing.T) {
	c := newComparer(newTimeline(msg.Catalog(), func(*Event) {}), result.New(0, msg.Catalog()), stockModel, stockModel)
	d := c.dest(&Client{})
	const n, key = 1000, 7
	for i := range n {
		x := &expect{key: key, to: d.client, src: &source{client: d.client}, why: whyLate, done: i > 0}
		d.expects = append(d.expects, x)
		d.awaited.add(key, x)
		g := &got{Event: &Event{Number: -1}, key: key + 1, done: i > 0}
		d.gots = append(d.gots, g)
		d.causeless.add(g.key, g)
	}
	if x := c.choose(d, &got{Event: &Event{Number: -1}, key: key}); x != d.expects[0] {
		t.Error("the message that has not come is not found")
	}
	if g := d.firstGot(key+1, d.expects[0]); g != d.gots[0] {
		t.Error("the message that nothing asked for is not found")
	}
	if left := len(d.awaited[key]); left != 1 {
		t.Errorf("%d messages with the key are left, want 1", left)
	}
	var l load
	if d.tidy(&l); len(d.expects) != 1 || len(d.gots) != 1 || l.messages != 2 {
		t.Errorf("%d and %d messages are left, %d are counted; want one of each", len(d.expects), len(d.gots), l.messages)
	}
}

// A host that tells of many explosions does not fill the memory.
func TestExplosionsAreLimited(t *testing.T) {
	c := newComparer(newTimeline(msg.Catalog(), func(*Event) {}), result.New(0, msg.Catalog()), stockModel, stockModel)
	client := &Client{}
	for n := range int64(maxExplosions + 10) {
		c.explodes(&Event{Client: client, Number: n}, wire.ObjectID(n)) //nolint:gosec // a small number
	}
	if n := len(c.explosions); n != maxExplosions || c.t.noted[result.LimitMemory] != 10 {
		t.Errorf("%d are remembered, want %d; %d are counted, want 10", n, maxExplosions, c.t.noted[result.LimitMemory])
	}
}
