package packet

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// Without jumps the clock is the capture's, except for datagrams in disorder.
func TestClock(t *testing.T) {
	const year = 365 * 24 * 3600
	for _, tt := range []struct {
		name      string
		leap      time.Duration
		raw, want []float64 // seconds
		skipped   float64
	}{
		{"forwards", 0, []float64{0, 1, year}, []float64{0, 1, year}, 0},
		{"forwards by leaps", 2 * time.Second, []float64{0, 1, 4, year, year + 1}, []float64{0, 1, 3, 5, 6}, year - 5},
		{"in disorder", 0, []float64{0, 1, 0.1, 2, 1, 2.5}, []float64{0, 1, 1, 2, 2, 2.5}, 0},
		{"stopped", 0, []float64{3, 3, 3}, []float64{3, 3, 3}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := Clock{Leap: tt.leap}
			var got []float64
			for _, raw := range tt.raw {
				got = append(got, c.Read(time.Unix(1e9, int64(raw*1e9))).Sub(time.Unix(1e9, 0)).Seconds())
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
			if n, _ := c.Jumps(); n != 0 {
				t.Errorf("%d jumps, want none", n)
			}
			if got := c.Skipped().Seconds(); got != tt.skipped {
				t.Errorf("skipped %v s, want %v", got, tt.skipped)
			}
		})
	}
}

// Where the capture's clock jumps, time goes on, about as fast as it does if the
// clocks can be told apart, and not at all if they cannot.
func TestClockJumps(t *testing.T) {
	const (
		datagrams = 5000
		gap       = 10 * time.Millisecond
		leap      = 2500 * time.Millisecond
		hour      = time.Hour
	)
	random := rand.New(rand.NewPCG(1, 2))
	for _, tt := range []struct {
		name  string
		off   func(i int) time.Duration
		least time.Duration
	}{
		{"every other datagram an hour ahead", func(i int) time.Duration { return time.Duration(i%2) * hour }, 49 * time.Second},
		{"every other datagram two seconds back", func(i int) time.Duration { return time.Duration(i%2) * -2 * time.Second }, 49 * time.Second},
		{"three clocks", func(i int) time.Duration { return time.Duration(i%3) * hour }, 49 * time.Second},
		{"a datagram in a hundred an hour ahead", func(i int) time.Duration { return time.Duration(i%100/99) * hour }, 49 * time.Second},
		{"set back an hour", func(i int) time.Duration { return time.Duration(i/2500) * -hour }, 49 * time.Second},
		{"set ahead and back again and again", func(i int) time.Duration { return time.Duration(i/300%2) * hour }, 49 * time.Second},
		{"within hours", func(int) time.Duration { return time.Duration(random.Int64N(int64(hour))) }, 0},
		{"within ten seconds", func(int) time.Duration { return time.Duration(random.Int64N(int64(10 * time.Second))) }, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := Clock{Leap: leap}
			start := time.Unix(1e9, 0)
			first := c.Read(start.Add(tt.off(0)))
			last := first
			for i := 1; i < datagrams; i++ {
				at := c.Read(start.Add(time.Duration(i)*gap + tt.off(i)))
				if at.Before(last) || at.Sub(last) > leap {
					t.Fatalf("datagram %d: %v after the one before", i, at.Sub(last))
				}
				last = at
			}
			if passed, most := last.Sub(first), datagrams*gap+2*leap; passed < tt.least || passed > most {
				t.Errorf("%v passed, want %v to %v", passed, tt.least, most)
			}
			if n, _ := c.Jumps(); n == 0 {
				t.Error("no jump")
			}
		})
	}
}

// A clock that jumps by more than a duration can hold also goes on afterwards.
func TestClockJumpsByMillennia(t *testing.T) {
	const gap, leap = 10 * time.Millisecond, 2500 * time.Millisecond
	for _, leaps := range []time.Duration{0, leap} {
		for _, years := range []int{3000, -1900} {
			c := Clock{Leap: leaps}
			start := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
			c.Read(start)
			raw := start.AddDate(years, 0, 0)
			jumped := c.Read(raw)
			var last time.Time
			for i := range 5000 {
				if last = c.Read(raw.Add(time.Duration(i) * gap)); last.Before(jumped) {
					t.Fatalf("%d years: time goes back", years)
				}
			}
			if passed := last.Sub(jumped); passed < 49*time.Second || passed > 51*time.Second {
				t.Errorf("%d years: after the jump %v pass, want about 50 s", years, passed)
			}
			if leaps > 0 && jumped.Sub(start) > leap {
				t.Errorf("%d years: the jump counts %v", years, jumped.Sub(start))
			}
			if leaps > 0 && years > 0 && c.Skipped() < 290*365*24*time.Hour {
				t.Errorf("%d years: %v are skipped, want all that a duration holds", years, c.Skipped())
			}
		}
	}
}
