package conform

import (
	"testing"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/measure"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

func TestPieces(t *testing.T) {
	for _, c := range []struct {
		name   string
		index  []uint8
		broken bool
	}{
		{"in order", []uint8{0, 1, 2}, false},
		{"doubled", []uint8{0, 0, 1, 1, 2}, true},
		{"reversed", []uint8{2, 1, 0}, true},
		{"first missing", []uint8{1, 2, 0}, true},
	} {
		var p pieces
		var got bool
		for i, x := range c.index {
			got = p.take(&transport.Header{Seq: 7, Index: x}, i == len(c.index)-1)
		}
		if got != c.broken {
			t.Errorf("%s: got %v, want %v", c.name, got, c.broken)
		}
		if p.take(&transport.Header{Seq: 8}, true) {
			t.Errorf("%s: the next message is broken, too", c.name)
		}
	}
}

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
		all := rates{line: []measure.Loss{tt.line, {Dir: dissect.ToHost, Numbers: 100}}}
		most := 0
		for most < 1000 && likely(most+1, 1000, all.loses(dissect.FromHost)) {
			most++
		}
		if most < tt.low || most > tt.high {
			t.Errorf("%+v: got %d, want %d to %d", tt.line, most, tt.low, tt.high)
		}
	}
}
