package match_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestPlayerResults has what matches were for players, worked out by hand. Who never
// flew takes no part.
func TestPlayerResults(t *testing.T) {
	for _, tt := range []struct{ name, play, want string }{
		{"won", duel + "Ann kills Ben 1 100\nhost ends 1", "ann won played true 1/0; ben lost played true 0/1"},
		{"draw", duel + "host ends 1", "ann draw played true 0/0; ben draw played true 0/0"},
		{"stopped", duel + "Ann kills Ben 1 100\nhost closes", "ann undecided played true 1/0; ben undecided played true 0/1"},
		{"cut", duel + "Ann kills Ben 1 100", "ann unknown played true 1/0; ben unknown played true 0/1"},
		{"a spectator", duel + "Cid joins\nAnn kills Ben 1 100\nhost ends 1", "ann won played true 1/0; ben lost played true 0/1; cid lost played false 0/0"},
		{"teams", teams + "host counts 0 1 200\nhost counts 1 0 0\nAnn kills Ben 1 200\nhost ends 1", "ann won played true 1/0; ben lost played true 0/1; cid won played true 0/0; dan lost played true 0/0"},
	} {
		s := newStage(t)
		for line := range strings.SplitSeq(tt.play, "\n") {
			s.play(line)
		}
		var got []string
		for _, r := range s.b.Matches()[0].Results() {
			got = append(got, fmt.Sprintf("%s %s played %v %d/%d", r.Key, r.Outcome, r.Played, r.Kills, r.Deaths))
		}
		if all := strings.Join(got, "; "); all != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, all, tt.want)
		}
	}
}
