package conform

import (
	"testing"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/measure"
)

// How many of 1,000 unreliable messages may be lost, by the numbered ones that were.
func TestMostLost(t *testing.T) {
	for _, tt := range []struct {
		line measure.Loss
		low  int
		high int
	}{
		{measure.Loss{}, 1000, 1000},
		{measure.Loss{Numbers: 2000, Sent: 2000}, 1, 40},
		{measure.Loss{Numbers: 1000, Missing: 20, Sent: 980}, 40, 160},
		{measure.Loss{Numbers: 50000, Missing: 500, Sent: 50000, Unanswered: 500}, 40, 100},
		{measure.Loss{Numbers: 20, Missing: 10, Sent: 10}, 1000, 1000},
	} {
		tt.line.Dir = dissect.FromHost
		all := rates{line: []measure.Loss{tt.line, tt.line}}
		all.line[1].Dir = dissect.ToHost
		most := 0
		for most < 1000 && likely(most+1, 1000, all.loses()) {
			most++
		}
		if most < tt.low || most > tt.high {
			t.Errorf("%+v: got %d, want %d to %d", tt.line, most, tt.low, tt.high)
		}
	}
}
