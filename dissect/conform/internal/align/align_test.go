package align

import (
	"fmt"
	"strings"
	"testing"
)

// list returns an element for each letter: a question mark is wild, a small letter
// need not have a counterpart but equals the large one.
func list(text string) (all []Element) {
	for _, c := range text {
		all = append(all, Element{Key: uint64(strings.ToUpper(string(c))[0]), Wild: c == '?', Free: c >= 'a', Pair: -1})
	}
	return all
}

// The pairs and costs were worked out by hand.
func TestGrid(t *testing.T) {
	for _, tt := range []struct {
		x, y         string
		begins, ends bool
		cost         int32
		pairs        string // for each entry of X, the index of its pair in Y, or - for none
	}{
		{"", "", false, false, 0, ""},
		{"ABC", "ABC", false, false, 0, "012"},
		{"ABC", "AC", false, false, CostSingle, "0-1"},
		{"AbC", "AC", false, false, 0, "0-1"},
		{"ABC", "A?C", false, false, CostWild, "012"},
		{"A?C", "A?C", false, false, 0, "0-2"},
		{"AB", "BA", false, false, 2 * CostSingle, ""},
		{"XAB", "AB", true, false, 0, "-01"},
		{"ABX", "AB", false, true, 0, "01-"},
		{"ABX", "AB", true, false, CostSingle, "01-"},
	} {
		g := Grid{X: list(tt.x), Y: list(tt.y), Begins: tt.begins, Ends: tt.ends}
		if cost := g.Cost(); cost != tt.cost {
			t.Errorf("%s, %s: %d, want %d", tt.x, tt.y, cost, tt.cost)
		}
		g.Trace()
		pairs := ""
		for i, e := range g.X {
			if e.Pair < 0 {
				pairs += "-"
				continue
			}
			if g.Y[e.Pair].Pair != i {
				t.Errorf("%s, %s: the counterpart of %d is %d, whose counterpart is %d", tt.x, tt.y, i, e.Pair, g.Y[e.Pair].Pair)
			}
			pairs += fmt.Sprint(e.Pair)
		}
		if tt.pairs != "" && pairs != tt.pairs {
			t.Errorf("%s, %s: got %s, want %s", tt.x, tt.y, pairs, tt.pairs)
		}
	}
}

func TestRising(t *testing.T) {
	for _, tt := range []struct{ y, want string }{
		{"", "[]"}, {"0", "[{0 0}]"}, {"012", "[{0 0} {1 1} {2 2}]"}, {"2013", "[{1 0} {2 1} {3 3}]"}, {"00", "[{1 0}]"}, {"10", "[{1 0}]"},
	} {
		var all []Pair
		for i, c := range tt.y {
			all = append(all, Pair{i, int(c - '0')})
		}
		if got := fmt.Sprint(Rising(all)); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.y, got, tt.want)
		}
	}
}
