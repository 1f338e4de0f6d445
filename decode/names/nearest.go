package names

import (
	"cmp"
	"slices"
	"strings"
)

// How much is done to find out what a word was meant to be.
const (
	maxNearest = 3
	maxMeant   = 64 // bytes of a word beyond which nobody asks
	leastPart  = 3  // bytes of a word that may be a part of what was meant
)

// Nearest returns the words among candidates that word may have been meant to
// be, the likeliest first and not many: those that differ in few letters, and
// those that begin with it or hold it.
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

// DidYouMean returns the nearest candidates as the end of an error message,
// " (did you mean A or B?)", empty if there is none.
func DidYouMean(word string, candidates []string) string {
	near := Nearest(word, candidates)
	if len(near) == 0 {
		return ""
	}
	last := len(near) - 1
	if last == 0 {
		return " (did you mean " + near[0] + "?)"
	}
	return " (did you mean " + strings.Join(near[:last], ", ") + " or " + near[last] + "?)"
}

// distance returns how many letters must be changed, added, left out or
// exchanged with a neighbour to make b of a; more than limit if it is that many.
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
