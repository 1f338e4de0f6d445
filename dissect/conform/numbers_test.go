package conform

import (
	"testing"

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
		loss loss
		low  int
		high int
	}{
		{loss{}, 1000, 1000},
		{loss{of: 2000}, 1, 10},
		{loss{of: 980, lost: 20}, 40, 160},
		{loss{of: 98000, lost: 2000}, 40, 80},
		{loss{of: 10, jumps: 10}, 1000, 1000},
	} {
		most := 0
		for most < 1000 && likely(most+1, 1000, tt.loss.part()) {
			most++
		}
		if most < tt.low || most > tt.high {
			t.Errorf("%+v: got %d, want %d to %d", tt.loss, most, tt.low, tt.high)
		}
	}
}
