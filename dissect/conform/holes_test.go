package conform

import (
	"math/rand/v2"
	"testing"
	"time"
)

// TestHoles: which numbers are missing, and when they can have been sent.
func TestHoles(t *testing.T) {
	var h holes
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	h.begin(at(0))
	h.take(2, 0, false, at(1)) // 0 and 1 are missing
	h.take(3, 0, false, at(2))
	h.take(7, 3, false, at(4)) // 4, 5 and 6
	h.take(5, 0, true, at(5))  // sent again
	if h.lost != 4 || h.late != 1 || h.seen != 4 {
		t.Errorf("%d lost, %d late, %d seen; want 4, 1, 4", h.lost, h.late, h.seen)
	}
	for _, c := range []struct {
		lo, hi     int64
		from, till int
		want       bool
	}{
		{-1, 3, 0, 1, true}, {1, 3, 0, 9, false}, {3, 5, 3, 3, true}, {4, 6, 3, 3, false}, {5, 7, 3, 3, true}, {3, 7, 5, 9, false},
	} {
		if got := h.between(c.lo, c.hi, at(c.from), at(c.till)); got != c.want {
			t.Errorf("between %d and %d, %d s to %d s: %v", c.lo, c.hi, c.from, c.till, got)
		}
	}
}

// Of many holes, those that are too early, too late or of other numbers do not
// hide the one that is asked for.
func TestAmongHoles(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same holes each time
	start := time.Unix(1e9, 0)
	now, number, found := start, int64(0), 0
	var h holes
	h.begin(start)
	for range 300 {
		now = now.Add(time.Duration(r.Int64N(int64(500 * time.Millisecond))))
		if r.IntN(4) == 0 && number > 20 {
			h.take(number-1-r.Int64N(20), 0, true, now)
			continue
		}
		gap := r.IntN(4)
		number += int64(gap) + 1
		h.take(number-1, gap, false, now)
	}
	for range 20_000 {
		lo := r.Int64N(number+20) - 10
		hi := lo + r.Int64N(number)
		from := start.Add(time.Duration(r.Int64N(int64(now.Sub(start)))))
		till := from.Add(time.Duration(r.Int64N(int64(3 * time.Second))))
		want := false
		for i := range h.list {
			o := &h.list[i]
			want = want || o.lo < hi && o.hi > lo+1 && !o.from.After(till) && !o.till.Before(from)
		}
		if want {
			found++
		}
		if got := h.between(lo, hi, from, till); got != want {
			t.Fatalf("between %d and %d, %v to %v: %v, want %v", lo, hi, from.Sub(start), till.Sub(start), got, want)
		}
	}
	if found == 0 || len(h.list) < 50 {
		t.Errorf("%d of 20000 questions find one of %d holes", found, len(h.list))
	}
}

// TestJumps: a long hole is one, but its numbers are not counted.
func TestJumps(t *testing.T) {
	var h holes
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	h.begin(at(0))
	h.take(0, 0, false, at(1))
	h.take(1+maxGap, maxGap, false, at(2))
	if h.lost != maxGap || h.jumps != 0 || !h.lacking() {
		t.Errorf("%d lost and %d jumps, want %d and none", h.lost, h.jumps, maxGap)
	}
	h.take(60000, 60000-maxGap-2, false, at(3))
	h.take(50000, 0, true, at(4)) // sent again
	if h.lost != maxGap || h.jumps != 1 || h.late != 1 {
		t.Errorf("%d lost, %d jumps and %d late, want %d, 1 and 1", h.lost, h.jumps, h.late, maxGap)
	}
	if !h.between(40000, 40002, at(2), at(3)) || h.between(49999, 50001, at(2), at(3)) {
		t.Error("a long hole excuses its numbers, but not those that came")
	}
}

// TestSentBefore: a message may have been sent first when its number was skipped, or
// behind the one before it if the receiver has acknowledged it already.
func TestSentBefore(t *testing.T) {
	var h holes
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	h.begin(at(0))
	for i, step := range []struct {
		name   string
		number int64
		gap    int
		late   bool
		acked  uint16 // before
		want   time.Time
	}{
		{"the first", 0, 0, false, 0, time.Time{}},
		{"behind a hole", 3, 2, false, 0, time.Time{}},
		{"in the hole", 1, 0, true, 3, at(1)},
		{"the next", 4, 0, false, 3, time.Time{}},
		{"acknowledged before it came", 5, 0, false, 5, at(4)},
	} {
		if step.acked > 0 {
			h.acknowledged(step.acked, at(9))
		}
		h.take(step.number, step.gap, step.late, at(1+i))
		if !h.since.Equal(step.want) {
			t.Errorf("%s: since %v, want %v", step.name, h.since, step.want)
		}
	}
}

// TestProvenHoles: an acknowledgement proves that the capture lacks a message
// although none follows.
func TestProvenHoles(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	for _, c := range []struct {
		name  string
		last  int64 // number that came
		seq   uint16
		want  int
		after int64 // number that comes then, 0 for none
		left  int
	}{
		{"the last that came", 300, 44, 0, 0, 0},
		{"the next, in 8 bits", 300, 45, 1, 0, 1},
		{"one further, in 16 bits", 300, 303, 3, 0, 3},
		{"long before", 300, 40, 0, 0, 0},
		{"long before, or far ahead", 300, 200, 0, 0, 0},
		{"across the end of 8 bits", 511, 2, 3, 0, 3},
		{"it comes after all", 300, 45, 1, 301, 0},
	} {
		var h holes
		h.acknowledged(c.seq, at(1))
		if h.missing() != 0 {
			t.Errorf("%s: an acknowledgement before all messages proves %d", c.name, h.missing())
		}
		h.take(c.last, 0, false, at(2))
		h.acknowledged(c.seq, at(4))
		if got := h.missing(); got != c.want {
			t.Errorf("%s: %d are missing, want %d", c.name, got, c.want)
		}
		if got := h.during(at(3), at(3)); got != (c.want > 0) {
			t.Errorf("%s: missing in time: %v", c.name, got)
		}
		if got := h.between(c.last, lastNumber, at(3), at(3)); got != (c.want > 0) {
			t.Errorf("%s: missing by number: %v", c.name, got)
		}
		if h.during(at(5), at(6)) || h.between(c.last, lastNumber, at(5), at(6)) || h.between(firstNumber, c.last, at(0), at(6)) {
			t.Errorf("%s: missing at another time, or with another number", c.name)
		}
		if c.after > 0 {
			h.take(c.after, 0, false, at(5))
		}
		if got := h.missing(); got != c.left {
			t.Errorf("%s: %d are left, want %d", c.name, got, c.left)
		}
	}
}

// TestManyHoles: holes are bounded, and 100,000 of them take no time.
func TestManyHoles(t *testing.T) {
	var h holes
	begun := time.Now()
	for i := range 100_000 {
		n := int64(2 * i)
		h.take(n, min(i, 1), false, time.Unix(int64(i), 0))
		if i%3 == 2 {
			h.take(n-1, 0, true, time.Unix(int64(i), 0))
		}
		if len(h.list) > maxHoles {
			t.Fatalf("%d holes are kept", len(h.list))
		}
	}
	if d := time.Since(begun); d > time.Second {
		t.Errorf("it took %v", d)
	}
}
