package names

import (
	"slices"
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
	if got, want := DidYouMean("torpedo", among), " (did you mean TorpedoFire or TorpedoTypeChange?)"; got != want {
		t.Errorf("got %q", got)
	}
}
