// Package align pairs the elements of two lists that should be equal, such as
// the messages of a client and a host's copies of them.
package align

import (
	"slices"
	"sort"
)

// An Element is an element of a list. Equal elements have the same key.
type Element struct {
	Key  uint64
	Wild bool // it can be any element, since the recording lacks it
	Free bool // it does not need a counterpart
	Pair int  // index of its counterpart in the other list, or -1 if there is none

	Index int // for the caller
}

// Costs of an alignment. Pairing with a wild element costs more than with an
// equal one.
const (
	CostWild   = 1
	CostSingle = 1 << 10 // for an element that lacks a counterpart and needs one
)

// A Grid pairs elements in their order at the least cost.
type Grid struct {
	X, Y         []Element
	Begins, Ends bool // what is before or after the lists is unknown

	cost []int32 // cost for the first elements of both lists
}

// Cost returns the least cost. Time and memory grow with the product of the
// lengths.
func (g *Grid) Cost() int32 {
	g.cost = make([]int32, (len(g.X)+1)*(len(g.Y)+1))
	for i := 0; i <= len(g.X); i++ {
		for j := 0; j <= len(g.Y); j++ {
			if i+j > 0 {
				*g.at(i, j) = g.least(i, j)
			}
		}
	}
	return *g.at(len(g.X), len(g.Y))
}

func (g *Grid) at(i, j int) *int32 { return &g.cost[i*(len(g.Y)+1)+j] }

// least returns the least cost for the first i and j elements.
func (g *Grid) least(i, j int) int32 {
	best := int32(1 << 30)
	if i > 0 {
		best = min(best, *g.at(i-1, j)+g.drop(&g.X[i-1], j, len(g.Y)))
	}
	if j > 0 {
		best = min(best, *g.at(i, j-1)+g.drop(&g.Y[j-1], i, len(g.X)))
	}
	if i > 0 && j > 0 {
		if m, ok := match(&g.X[i-1], &g.Y[j-1]); ok {
			best = min(best, *g.at(i-1, j-1)+m)
		}
	}
	return best
}

// drop returns the cost of an element without a counterpart. place is its place
// in the other list, and length that list's length.
func (g *Grid) drop(e *Element, place, length int) int32 {
	if e.Wild || e.Free || g.Begins && place == 0 || g.Ends && place == length {
		return 0
	}
	return CostSingle
}

// match returns the cost of a pair. If the two cannot be paired, ok is false.
func match(x, y *Element) (cost int32, ok bool) {
	switch {
	case x.Wild && y.Wild:
		return 0, false
	case x.Wild || y.Wild:
		return CostWild, true
	}
	return 0, x.Key == y.Key
}

// Trace sets the pairs that Cost has found, and marks the single elements
// without a cost as free. It can be called once.
func (g *Grid) Trace() {
	for i, j := len(g.X), len(g.Y); i > 0 || j > 0; {
		at := *g.at(i, j)
		if i > 0 && j > 0 {
			if m, ok := match(&g.X[i-1], &g.Y[j-1]); ok && at == *g.at(i-1, j-1)+m {
				i, j = i-1, j-1
				g.X[i].Pair, g.Y[j].Pair = j, i
				continue
			}
		}
		if i > 0 && at == *g.at(i-1, j)+g.drop(&g.X[i-1], j, len(g.Y)) {
			i--
			g.X[i].Free = g.drop(&g.X[i], j, len(g.Y)) == 0
		} else {
			j--
			g.Y[j].Free = g.drop(&g.Y[j], i, len(g.X)) == 0
		}
	}
	g.cost = nil // it may be large
}

// A Pair is the indices of an element in each list.
type Pair struct{ X, Y int }

// Rising returns the longest subsequence of pairs in which the indices of Y
// rise. The indices of X already rise.
func Rising(all []Pair) []Pair {
	var last []int // index of the pair that ends the best subsequence of each length
	before := make([]int, len(all))
	for k, p := range all {
		n := sort.Search(len(last), func(n int) bool { return all[last[n]].Y >= p.Y })
		before[k] = -1
		if n > 0 {
			before[k] = last[n-1]
		}
		if n == len(last) {
			last = append(last, k)
		} else {
			last[n] = k
		}
	}
	if len(last) == 0 {
		return nil
	}
	kept := make([]Pair, 0, len(last))
	for k := last[len(last)-1]; k >= 0; k = before[k] {
		kept = append(kept, all[k])
	}
	slices.Reverse(kept)
	return kept
}
