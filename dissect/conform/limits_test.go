package conform

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode/msg"
)

// Old memories go first; all go if most are young.
func TestForget(t *testing.T) {
	start := time.Unix(1e9, 0)
	at := func(t *time.Time) time.Time { return *t }
	times := func(from, n int) (list []time.Time) {
		for i := range n {
			list = append(list, start.Add(time.Duration(from+i)*time.Second))
		}
		return list
	}
	lists := map[int][]time.Time{1: times(0, 5), 2: times(3, 4), 3: times(0, 10)}
	left, dropped := forget(lists, at, start.Add(5*time.Second), 16)
	if left != 7 || dropped != 0 || len(lists) != 2 || !slices.Equal(lists[2], times(5, 2)) || !slices.Equal(lists[3], times(5, 5)) {
		t.Errorf("%d left, %d dropped: %v", left, dropped, lists)
	}
	if left, dropped = forget(lists, at, start, 8); left != 0 || dropped != 7 || len(lists) != 0 {
		t.Errorf("%d left, %d dropped: %v", left, dropped, lists)
	}
}

// The report names each limit that was reached, and no other.
func TestLimitNotes(t *testing.T) {
	for l := range limits {
		var r reached
		r[l] = 12345
		if notes := r.notes(); len(notes) != 1 || !strings.HasPrefix(notes[0], "12345 ") || strings.Contains(notes[0], "%!") {
			t.Errorf("limit %d: %q", l, notes)
		}
	}
	r := New(Config{})
	r.begin()
	to := &Client{}
	for range maxDoubted + 3 {
		r.cmp.doubts.extraLast(to, &got{Event: &Event{}})
		r.cmp.doubts.last(&expect{src: &source{}, to: to})
	}
	for i := range maxGroups + 5 {
		r.cmp.doubts.tally(group{from: &Client{index: i}})
	}
	h := &holes{}
	for i := range maxHoles + 1 {
		h.lose(hole{lo: int64(2 * i), hi: int64(2*i + 1)})
	}
	r.t.all = []*Client{{sent: [2]holes{*h}}}
	d := newDestination(to, &r.t.reached)
	for i := range maxSighted + 1 {
		d.sights(uint64(i)+1, sighting{})
	}
	for i := range uint64(2000) {
		d.new(i)
	}
	r.notes()
	for _, want := range []string{
		"6 messages have no verdict", "5 messages were counted together", "512 gaps", "8192 messages were forgotten", "976 names",
	} {
		if !slices.ContainsFunc(r.rep.Notes, func(n string) bool { return strings.HasPrefix(n, want) }) {
			t.Errorf("no note %q in %q", want, r.rep.Notes)
		}
	}
}

// Messages that came wait for one before them only as long as there is room.
func TestQueueIsBounded(t *testing.T) {
	c := newComparer(newTimeline(msg.Catalog(), func(*Event) {}), &Report{}, stockModel, stockModel)
	d := c.dest(&Client{})
	for i := range maxQueued + 100 {
		x := &expect{to: d.client, src: &source{}, key: uint64(i) + 1, number: int64(i), done: i > 0}
		d.expects = append(d.expects, x)
		c.await(d.byKey.at(x.key), x)
		c.queued++
		for c.full() && c.relieve() {
		}
	}
	if len(d.expects) != maxQueued || c.queued != maxQueued || d.byKey.used != maxQueued || c.evict != 1 {
		t.Errorf("%d messages wait, %d are counted, %d keys, %d judged early", len(d.expects), c.queued, d.byKey.used, c.evict)
	}
}
