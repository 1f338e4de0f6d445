package names

import (
	"slices"
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	among := []string{"TorpedoFire", "TorpedoTypeChange", "Chat", "TeamChat", "f32", "i32", "u32", "StateUpdate"}
	for word, want := range map[string][]string{
		"f23":          {"f32"},
		"f3":           {"f32"},
		"torpedofire":  {"TorpedoFire"},
		"TropedoFire":  {"TorpedoFire"},
		"torpedo":      {"TorpedoFire", "TorpedoTypeChange"},
		"torpeod":      {"TorpedoFire", "TorpedoTypeChange"},
		"chat":         {"Chat", "TeamChat"},
		"StateUdpates": {"StateUpdate"},
		"x":            nil,
		"":             nil,
		"quite other":  nil,
	} {
		if got := Nearest(word, among); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", word, got, want)
		}
	}
	long := strings.Repeat("a", maxMeant)
	if got := Nearest(long, []string{long + "b"}); len(got) != 1 {
		t.Errorf("a word of %d bytes: got %q", maxMeant, got)
	}
	if got := Nearest(long+"a", []string{long + "b"}); got != nil {
		t.Errorf("a longer word: got %q", got)
	}
	// First those with few other letters, then those that begin so, then those
	// that nearly begin so, then those that contain it, shorter ones first.
	list := []string{"big_speed_of", "spede_of_x", "speed_of_x", "speed_of", "speeds", "big_speed"}
	for n, want := range [][]string{
		{"speeds", "speed_of", "speed_of_x"}, {"speed_of", "speed_of_x", "spede_of_x"}, {"speed_of_x", "spede_of_x", "big_speed"},
	} {
		rest := slices.DeleteFunc(slices.Clone(list), func(s string) bool { return n > 0 && s == "speeds" || n > 1 && s == "speed_of" })
		if got := Nearest("speed", rest); !slices.Equal(got, want) {
			t.Errorf("speed: got %q, want %q", got, want)
		}
	}
	if got := Nearest("abc", []string{"abcdefghi", "xxabcyyyy", "abdefghij"}); !slices.Equal(got, []string{"abcdefghi", "xxabcyyyy"}) {
		t.Errorf("three letters: got %q", got)
	}
	if got, want := DidYouMean("torpedo", among), " (did you mean TorpedoFire or TorpedoTypeChange?)"; got != want {
		t.Errorf("got %q", got)
	}
}
