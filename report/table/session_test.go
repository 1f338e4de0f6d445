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

// An empty line of chat, the ways to leave, and the host's numbers where they
// differ are told in words.
func TestSessionWords(t *testing.T) {
	over, left := 60.0, 80.0
	zero := 0
	m := &match.Match{
		Over: &over, EndedBy: "time up", Vantage: match.VantageHost,
		Players: []match.Player{
			{Name: "Ann", Slot: -1, Left: &left, LeftHow: "host", HostSays: &match.HostSays{Kills: &zero, Deaths: &zero}},
			{Name: "Ben", Slot: -1, Left: &left, LeftHow: "disconnect"},
		},
		Chat: []match.Talk{{Player: 0, Text: " "}, {Player: 1, Text: "gg"}},
	}
	text := func() string {
		var b strings.Builder
		if err := Session(&b, []*match.Match{m}, nil, SessionOptions{}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	got := text()
	for _, want := range []string{"Ann: (empty)\n", "Ben: gg\n", "game over", "disconnected"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing from\n%s", want, got)
		}
	}
	if strings.Contains(got, "host says") {
		t.Errorf("the host's numbers add nothing to\n%s", got)
	}
	m.Over, m.Players[0].Kills = nil, 1
	if got = text(); !strings.Contains(got, "host says k/d") || !strings.Contains(got, "0/0") || !strings.Contains(got, "host reports") {
		t.Errorf("the host's other numbers, or who says that Ann left, are missing from\n%s", got)
	}
}
