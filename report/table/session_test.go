package table

import (
	"bytes"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/match"
	"github.com/bcdissect/bcdissect/fixtures"
	"github.com/bcdissect/bcdissect/fixtures/recorded"
)

// narrow fails for lines that are wider than the terminal.
func narrow(t *testing.T, text string, width int) {
	t.Helper()
	var w widths
	for line := range strings.Lines(text) {
		if n := w.of([]byte(strings.TrimSuffix(line, "\n"))); n > width {
			t.Errorf("%d columns on a terminal of %d: %s", n, width, line)
		}
	}
}

// TestSessionTerminal has the reports of captures as terminals of 80 and 120
// columns show them. Of other widths, they keep to the width and lose no kill.
func TestSessionTerminal(t *testing.T) {
	for _, name := range []string{"battle_mix.pcap.gz", "networked_battle.pcap", "stock_client.pcap", "opcode_tour.pcap", "two_teams.pcap"} {
		all := recorded.Matches(t, name)
		var league []match.Standing
		if len(all) > 1 {
			league = match.League(all)
		}
		short, _, _ := strings.Cut(name, ".")
		for _, events := range []bool{false, true} {
			for _, width := range []int{20, 40, 60, 80, 120, 200} {
				var b bytes.Buffer
				if err := Session(&b, all, league, SessionOptions{Options: Options{Width: width}, Events: events}); err != nil {
					t.Fatal(err)
				}
				narrow(t, b.String(), width)
				if (width == 80 || width == 120) && !events {
					fixtures.Golden(t, fmt.Sprintf("session/%s-%d.txt", short, width), b.Bytes())
				}
				if words := strings.Join(strings.Fields(b.String()), " "); width >= 40 && short == "battle_mix" && !strings.Contains(words, "1:12.6") {
					t.Errorf("the loss of 1:12.6 is missing from\n%s", b.String())
				}
			}
		}
	}
}

// Text is folded at spaces, or else where the line ends, and none is lost.
func TestFold(t *testing.T) {
	var w widths
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{
		{"", 5, ""},
		{"one two", 0, "one two"},
		{"one two", 7, "one two"},
		{"one two", 6, "one|two"},
		{"one two", 3, "one|two"},
		{"one two three", 9, "one two|three"},
		{"inconceivable", 5, "incon|ceiva|ble"},
		{"an inconceivable", 5, "an|incon|ceiva|ble"},
		{"漢字漢字", 5, "漢字|漢字"},
		{"漢字", 1, "漢|字"}, // wider than the line
		{"é e\u0301e\u0301", 3, "é|e\u0301e\u0301"},
	} {
		if got := strings.Join(w.fold(c.text, c.width, false), "|"); got != c.want {
			t.Errorf("%q in %d columns is %q, not %q", c.text, c.width, got, c.want)
		}
	}
}

// A long line of chat is folded below its beginning.
func TestSessionFold(t *testing.T) {
	m := &match.Match{Players: []match.Player{{Name: "Ann", Slot: -1}}, Chat: []match.Talk{{T: 83.5, Text: "one two three four five six seven eight"}}}
	var b strings.Builder
	if err := Session(&b, []*match.Match{m}, nil, SessionOptions{Options: Options{Width: 40}}); err != nil {
		t.Fatal(err)
	}
	if want := "  1:23.5  Ann: one two three four five\n          six seven eight\n"; !strings.Contains(b.String(), want) {
		t.Errorf("%q is missing from\n%s", want, b.String())
	}
}

// The report of several matches begins with their list. A match without any
// flight has a short report.
func TestSessionSeveral(t *testing.T) {
	team := 1
	all := []*match.Match{
		{
			Map: "Multi1", End: 65, Over: new(float64), EndedBy: "time up", Teams: true, LeadingTeam: &team, Result: match.Result{Value: match.Won, Winners: []int{1}}, Players: []match.Player{{Name: "Ann"}, {Name: "Ben"}},
			Lives: []match.Life{{Player: 0, Ship: "Galaxy", Killer: match.NoPlayer}}, Kills: []match.Kill{{Victim: 0, Killer: 1}},
		},
		{Map: "Multi2", Players: []match.Player{{Name: "Ann"}, {Name: "Ben"}}},
	}
	var b strings.Builder
	if err := Session(&b, all, match.League(all), SessionOptions{Options: Options{Width: 80}}); err != nil {
		t.Fatal(err)
	}
	got := b.String()
	for _, want := range []string{
		"\n     1  0001-01-01 00:00  1:05.0  Multi1        2      1  Team 2 won\n",
		"\n     2  0001-01-01 00:00  0:00.0  Multi2        2      0  Unknown: no player\n                                                          scored\n",
		"\nNo ship flew. Players: Ann, Ben.\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing from\n%s", want, got)
		}
	}
	if !strings.HasSuffix(got[strings.Index(got, "Match 2 of 2"):], "\nbcdissect league DIR makes a web site of a folder of captures, with ratings.\n") {
		t.Errorf("the league table is not the end of\n%s", got)
	}
}

// TestSessionHostile has names and chat of people who attack terminals.
func TestSessionHostile(t *testing.T) {
	evil := "\x1b[2J\u202Eevil\r\n<b>" + strings.Repeat("x", 300)
	m := &match.Match{
		Host: netip.MustParseAddrPort("10.0.0.1:22101"), Name: wire.Untrusted(evil), Mission: wire.Untrusted(evil), Map: evil, EndedBy: evil, Origin: time.Unix(0, 0),
		Vantage: 0, Leaders: []int{0},
		Players: []match.Player{{Name: wire.Untrusted(evil), Slot: 0, LeftHow: evil, Left: new(float64)}},
		Lives:   []match.Life{{Player: 0, Ship: evil}},
		Kills:   []match.Kill{{Victim: 0, Killer: 0, Weapon: evil, Ship: evil, Assists: []match.Assist{{Player: 0}}}},
		Chat:    []match.Talk{{Player: 0, Text: wire.Untrusted(evil)}},
		Events:  []match.Event{{Player: 0, Kind: match.EventChat, Text: wire.Untrusted(evil)}},
		Lines:   []match.Line{{Player: 0, Verdict: "round trip 1 ms"}},
		Unusual: []match.Finding{{Player: 0, Text: wire.Untrusted(evil)}},
	}
	for _, o := range []SessionOptions{{}, {Events: true}, {Options: Options{Width: 80}}, {Options: Options{Width: 80}, Events: true}} {
		var b strings.Builder
		if err := Session(&b, []*match.Match{m, m}, match.League([]*match.Match{m}), o); err != nil {
			t.Fatal(err)
		}
		if o.Width > 0 {
			narrow(t, b.String(), o.Width)
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
	if strings.Contains(got, "host counts") {
		t.Errorf("the host's numbers add nothing to\n%s", got)
	}
	m.Over, m.Players[0].Kills = nil, 1
	if got = text(); !strings.Contains(got, "The host counts other kills/deaths: Ann 0/0.") || !strings.Contains(got, "host reports") {
		t.Errorf("the host's other numbers, or who says that Ann left, are missing from\n%s", got)
	}
}
