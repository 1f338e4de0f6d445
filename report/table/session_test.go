package table

import (
	"net/netip"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/bcdissect/bcdissect/dissect/match"
)

// TestSessionHostile has names and chat of people who attack terminals.
func TestSessionHostile(t *testing.T) {
	evil := "\x1b[2J\u202Eevil\r\n<b>" + strings.Repeat("x", 300)
	m := &match.Match{
		Host: netip.MustParseAddrPort("10.0.0.1:22101"), Name: evil, Mission: evil, Map: evil, EndedBy: evil, Origin: time.Unix(0, 0),
		Vantage: 0, Leaders: []int{0},
		Players: []match.Player{{Name: evil, Slot: 0, LeftHow: evil, Left: new(float64)}},
		Lives:   []match.Life{{Player: 0, Ship: evil}},
		Kills:   []match.Kill{{Victim: 0, Killer: 0, Weapon: evil, Ship: evil, Assists: []match.Assist{{Player: 0}}}},
		Chat:    []match.Talk{{Player: 0, Text: evil}},
		Events:  []match.Event{{Player: 0, Kind: match.EventChat, Text: evil}},
		Lines:   []match.Line{{Player: 0, Verdict: "round trip 1 ms"}},
		Unusual: []match.Finding{{Player: 0, Text: evil}},
	}
	for _, events := range []bool{false, true} {
		var b strings.Builder
		if err := Session(&b, []*match.Match{m, m}, match.League([]*match.Match{m}), SessionOptions{Events: events}); err != nil {
			t.Fatal(err)
		}
		for _, r := range b.String() {
			if r != '\n' && !unicode.IsGraphic(r) {
				t.Fatalf("%q in %q", r, b.String())
			}
		}
		if !strings.Contains(b.String(), `\x1b[2J\u{202e}evil`) {
			t.Errorf("the name is missing: %q", b.String())
		}
	}
}
