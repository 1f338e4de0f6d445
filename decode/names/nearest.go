package names

import (
	"cmp"
	"slices"
	"strings"

	"github.com/bcdissect/bcdissect/decode/plural"
)

// Limits of the search for suggestions.
const (
	maxNearest = 3
	maxMeant   = 64 // longest word to search for, in bytes
	leastPart  = 3  // shortest word to search for inside candidates, in bytes
)

// Nearest returns the few candidates most similar to word, best first: those
// that differ in few letters, and those that begin with word or contain it.
func Nearest(word string, candidates []string) []string {
	if word == "" || len(word) > maxMeant {
		return nil
	}
	type found struct {
		name string
		off  int
	}
	var all []found
	limit := 1 + min(len(word)/4, 2)
	folded := strings.ToLower(word)
	for _, c := range candidates {
		lower := strings.ToLower(c)
		d := distance(folded, lower, limit)
		switch {
		case d <= limit && d < len(folded):
			all = append(all, found{c, d})
		case len(word) >= leastPart && strings.HasPrefix(lower, folded):
			all = append(all, found{c, limit + 1})
		case len(word) > leastPart && len(lower) > len(word) && distance(folded, lower[:len(word)], 1) == 1:
			all = append(all, found{c, limit + 2})
		case len(word) >= leastPart && strings.Contains(lower, folded):
			all = append(all, found{c, limit + 3})
		}
	}
	slices.SortFunc(all, func(a, b found) int {
		return cmp.Or(cmp.Compare(a.off, b.off), cmp.Compare(len(a.name), len(b.name)), strings.Compare(a.name, b.name))
	})
	var names []string
	for _, f := range all {
		if len(names) < maxNearest && !slices.Contains(names, f.name) {
			names = append(names, f.name)
		}
	}
	return names
}

// DidYouMean returns the nearest candidates as the end of an error message, "
// (did you mean A or B?)", or "" if there is none.
func DidYouMean(word string, candidates []string) string {
	near := Nearest(word, candidates)
	if len(near) == 0 {
		return ""
	}
	return " (did you mean " + plural.Or(near) + "?)"
}

// distance returns the number of letters to change, insert, delete or swap with
// a neighbour to turn a into b, or a number above limit if it is greater.
func distance(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
