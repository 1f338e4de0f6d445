package table

import (
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/dissect/bots"
)

// The report of bots: a row for each and one for all, and what is left of it on a narrow terminal.
func TestBots(t *testing.T) {
	one := bots.Player{
		Name: "Kirk", Dialect: "stock", Joins: 2, JoinsFailed: 1, Leaves: 2, Reason: "removed by the host: the game is full\x1b", JoinTime: bots.Times{N: 2, Median: 280, P95: 281.04, Max: 281.04},
		Lines: 3, LinesSeen: 5, LinesMissing: 1, ChatTime: bots.Times{N: 5, Median: 40, P95: 1050.25, Max: 1100},
		Updates: 200, UpdatesSeen: 90, UpdatesMissing: 10, HostUpdates: 4, Gap: bots.Times{N: 94, Median: 100, P95: 200, Max: 350}, Resent: 7,
	}
	r := &bots.Report{Host: "127.0.0.1:22101", Seed: 7, Seconds: 20.04, Stopped: true, Players: []bots.Player{one, {Name: "Bot2", Dialect: "openbc"}}, All: one, Missing: []bots.Missing{{Player: "Kirk", From: "Bot2", Line: 3, Seconds: 12.44, Text: "Fire\x1b"}, {Player: "Kirk", From: "Bot2", Line: 4, Seconds: 13, Text: "bye", AuthorLeft: true}}}
	r.All.Name, r.All.Dialect, r.All.Reason = "all", "mixed", ""
	var b strings.Builder
	if err := Bots(&b, r, Options{}); err != nil {
		t.Fatal(err)
	}
	const want = `2 bots played on 127.0.0.1:22101 for 20.0 s, seed 7

 joins  dialect  joined  failed  left  removed  median ms  95% ms  longest ms  why not
─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
 Kirk   stock         2       1     2        0      280.0   281.0       281.0  removed by the host: the game is full\x1b
 Bot2   openbc        0       0     0        0          -       -           -
 all    mixed         2       1     2        0      280.0   281.0       281.0

 chat  sent  seen  missing  median ms  95% ms  longest ms
──────────────────────────────────────────────────────────
 Kirk     3     5        1       40.0  1050.2      1100.0
 Bot2     0     0        0          -       -           -
 all      3     5        1       40.0  1050.2      1100.0

 ship updates  sent  seen  missing   share  host's own  gap median ms  95% ms  longest ms  resent
──────────────────────────────────────────────────────────────────────────────────────────────────
 Kirk           200    90       10  10.00%           4          100.0   200.0       350.0       7
 Bot2             0     0        0       -           0              -       -           -       0
 all            200    90       10  10.00%           4          100.0   200.0       350.0       7

Kirk never saw line 3 of Bot2, said after 12.4 s: Fire\x1b
Kirk never saw line 4 of Bot2, said after 13.0 s: bye
  Bot2 left before the host acknowledged it

interrupted: the bots left early
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	b.Reset()
	const narrow = 70
	if err := Bots(&b, r, Options{Width: narrow}); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if n := len([]rune(strings.TrimRight(line, "\n"))); n > narrow {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	for _, column := range []string{"removed", "missing", "share", "longest ms"} {
		if !strings.Contains(b.String(), column) {
			t.Errorf("a narrow terminal has no %q: %s", column, b.String())
		}
	}
}
