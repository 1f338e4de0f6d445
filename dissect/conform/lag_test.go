package conform

import (
	"math"
	"testing"
	"time"
)

// The range that a relay latency is counted in tells it to a sixteenth, however
// long it is.
func TestLagRanges(t *testing.T) {
	for d := time.Microsecond; d > 0; d *= 3 {
		for _, d := range []time.Duration{d - 1, d, d + 1} {
			if got := lagOf(lagIndex(d)); (got - d).Abs() > d/16+time.Microsecond {
				t.Errorf("%v is counted as %v", d, got)
			}
		}
	}
	if got := lagOf(lagIndex(math.MaxInt64)); got < math.MaxInt64/16*15 {
		t.Errorf("the longest is counted as %v", got)
	}
}
