package conform

import (
	"slices"
	"testing"
	"time"
)

// The clock follows that of a capture, small disorder included, but never goes
// back further.
func TestClock(t *testing.T) {
	const year = 365 * 24 * time.Hour
	for _, tt := range []struct {
		name      string
		raw, want []time.Duration // since the first datagram
	}{
		{"forwards", []time.Duration{0, time.Second, year}, []time.Duration{0, time.Second, year}},
		{"out of order", []time.Duration{0, time.Second, time.Millisecond, 2 * time.Second}, []time.Duration{0, time.Second, time.Millisecond, 2 * time.Second}},
		{"set back", []time.Duration{0, 10 * time.Second, 5 * time.Second, 6 * time.Second}, []time.Duration{0, 10 * time.Second, 10 * time.Second, 11 * time.Second}},
		{"back in steps", []time.Duration{0, -disorder, -2 * disorder, -2*disorder + 1}, []time.Duration{0, -disorder, 0, 1}},
		{"back and forth", []time.Duration{0, year, 0, year, 0, 1}, []time.Duration{0, year, year, 2 * year, 2 * year, 2*year + 1}},
		{"stopped", []time.Duration{0, 0, 0}, []time.Duration{0, 0, 0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			start := time.Unix(1e9, 0)
			var c clock
			var got []time.Duration
			for _, raw := range tt.raw {
				got = append(got, c.read(start.Add(raw)).Sub(start))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}
