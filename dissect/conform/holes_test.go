package conform

import (
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
