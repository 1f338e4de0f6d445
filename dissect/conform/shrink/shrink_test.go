package shrink

import (
	"slices"
	"testing"
)

// Whatever is needed is kept, in its order, and nothing else.
func TestList(t *testing.T) {
	var all []int
	for i := range 1000 {
		all = append(all, i)
	}
	for _, needed := range [][]int{{0}, {999}, {500}, {3, 4}, {0, 999}, {1, 250, 251, 640, 998}} {
		s := Search[int]{Shows: func(part []int) bool {
			for _, n := range needed {
				if !slices.Contains(part, n) {
					return false
				}
			}
			return true
		}}
		if got := s.List(all); !slices.Equal(got, needed) || s.Trials > 300 {
			t.Errorf("%v after %d trials, want %v", got, s.Trials, needed)
		}
	}
	// Elements that only go together.
	s := Search[int]{Shows: func(part []int) bool {
		return slices.Contains(part, 7) && slices.Contains(part, 100) == slices.Contains(part, 900)
	}}
	if got := s.List(all); !slices.Contains(got, 7) || len(got) > 3 {
		t.Errorf("got %v", got)
	}
	if len(all) != 1000 || all[3] != 3 {
		t.Error("the list has changed")
	}
}

// A search that is ended early returns what still shows it.
func TestEnough(t *testing.T) {
	s := Search[int]{Shows: func(part []int) bool { return slices.Contains(part, 2) }}
	s.Enough = func() bool { return s.Trials == 1 }
	if got := s.List([]int{1, 2, 3, 4}); !slices.Equal(got, []int{1, 2}) {
		t.Errorf("got %v", got)
	}
}
