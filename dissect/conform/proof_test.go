package conform

import (
	"testing"
	"time"
)

// parse reads a list of elements: a letter for a message that the other list must
// have, a capital for one that it may have, and ? for a lost number.
func parse(s string) (list []element) {
	for _, c := range s {
		switch {
		case c == '?':
			list = append(list, element{lost: true})
		case c < 'a':
			list = append(list, element{key: uint64(c) + 'a' - 'A'})
		default:
			list = append(list, element{key: uint64(c), must: true})
		}
	}
	return list
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"abc", "abc", 0},
		{"abc", "ac", 1},  // b is missing
		{"ac", "abc", 1},  // or one too many
		{"a?c", "abc", 0}, // a hole explains it
		{"a?c", "ac", 0},  // a lost number need not be of this list
		{"a?c", "abbc", 1},
		{"ab?", "axb", 1}, // the hole is elsewhere
		{"aXc", "ac", 0},
		{"aXc", "axc", 0},
		{"ab", "ba", 2}, // out of order
		{"aab", "ab", 1},
		{"abab?", "ababab", 1},
		{"abab??", "ababab", 0},
	} {
		if got := distance(parse(c.a), parse(c.b)); got != c.want {
			t.Errorf("%q and %q: got %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

// A row is a line of messages with one-letter bodies; a letter's twin is the
// first such one in the other row, unless it is a capital.
type row struct {
	text  string
	other string
}

func (r row) places() (list []int) {
	for i, c := range r.text {
		if c != '?' {
			list = append(list, i)
		}
	}
	return list
}

func (r row) len() int                 { return len(r.places()) }
func (r row) number(i int) int64       { return int64(r.places()[i]) }
func (r row) at(i int) time.Time       { return time.Unix(r.number(i), 0) }
func (r row) key(i int) (uint64, bool) { return uint64(r.text[r.number(i)] | 0x20), true }
func (r row) lost(lo, hi int64) int64  { return hi - lo - 1 }

func (r row) twin(i int) (number int64, firm, ok bool) {
	c := r.text[r.number(i)]
	for n := range r.other {
		if r.other[n] == c && c >= 'a' {
			return int64(n), true, true
		}
	}
	return 0, false, false
}

// TestLonely: X in the first row has no counterpart in the second. Only a hole
// where it should be can explain that.
func TestLonely(t *testing.T) {
	for _, c := range []struct {
		name     string
		row, not string
		want     proof
	}{
		{"missing", "abXcd", "abcd", proven},
		{"hole in its place", "abXcd", "ab?cd", holed},
		{"hole before it", "abXcd", "a?bcd", proven},
		{"hole behind it", "abXcd", "abc?d", proven},
		{"a hole for one of two", "abXYcd", "ab?cd", holed},
		{"others of the second row between", "abXcd", "abKLcd", proven},
		{"a neighbour is missing, too", "abZXcd", "abcd", proven},
		{"doubled", "abxXcd", "abxcd", proven},
		{"doubled, with a hole", "abxXcd", "abx?cd", holed},
		{"nothing behind it", "abX", "ab", unknown},
		{"nothing before it", "Xab", "ab", unknown},
	} {
		at := 0
		first := row{c.row, c.not}
		for first.text[first.number(at)] != 'X' {
			at++
		}
		if got := lonely(first, at, row{c.not, c.row}); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}

// TestLonelyLimits: a proof ends after a bounded number of messages.
func TestLonelyLimits(t *testing.T) {
	long := make([]byte, 0, 4*maxAligned)
	for range 2 * maxAligned {
		long = append(long, 'N')
	}
	text := "a" + string(long) + "X" + string(long) + "b"
	if got := lonely(row{text, "ab"}, 1+len(long), row{"ab", text}); got != unknown {
		t.Errorf("got %d, want %d", got, unknown)
	}
}
