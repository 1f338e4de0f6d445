package conform_test

import (
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/conform"
	"github.com/bcdissect/bcdissect/dissect/conform/result"
	"github.com/bcdissect/bcdissect/dissect/relay"
)

// Games behind each other are judged like one, wherever the clock stands when the
// next begins.
func TestClockOfGames(t *testing.T) {
	const times, year = 3, 365 * 24 * time.Hour
	var games [times][]dissect.Datagram
	for i := range games {
		games[i] = battle(t, i, 20*time.Second)
	}
	once := replayed(t, games[0])
	for _, tt := range []struct {
		name string
		step time.Duration // time between the beginnings of two games
	}{
		{"set back to the same time", 0},
		{"set back by years", -5 * year},
		{"put forward by years", 5 * year},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var all []dissect.Datagram
			for i, game := range games {
				for _, d := range game {
					d.Number = len(all) + 1
					d.Time = d.Time.Add(time.Duration(i) * tt.step)
					all = append(all, d)
				}
			}
			r := replayed(t, all)
			if !r.Conforms() || r.Inputs != times*once.Inputs || len(r.Notes) > times*len(once.Notes) {
				t.Errorf("conforms %v, %d inputs, alone %d, notes %q", r.Conforms(), r.Inputs, once.Inputs, r.Notes)
			}
			for i, row := range r.Rows {
				if one := once.Rows[i]; row.Name != one.Name || row.Matched != times*one.Matched {
					t.Errorf("%s: %d matched; alone %s, %d", row.Name, row.Matched, one.Name, one.Matched)
				}
			}
		})
	}
}

// replayed returns the report on a game.
func replayed(t *testing.T, datagrams []dissect.Datagram) *result.Report {
	t.Helper()
	pipeline := dissect.New(dissect.Config{Ports: []uint16{22101}})
	hosts := conform.NewHosts(conform.Config{Game: relay.Config{Mode: relay.Playable}})
	for i := range datagrams {
		if err := pipeline.Push(&datagrams[i], hosts.Record); err != nil {
			t.Fatal(err)
		}
	}
	reports, _ := hosts.Reports()
	if len(reports) != 1 {
		t.Fatalf("%d reports", len(reports))
	}
	return reports[0]
}

// Where the clock of a capture stands still, queues are bounded all the same:
// messages that do not come hold up those behind them only for so long.
func TestStoppedClock(t *testing.T) {
	pipeline := dissect.New(dissect.Config{Ports: []uint16{22101}})
	hosts := conform.NewHosts(conform.Config{Game: relay.Config{Mode: relay.Playable}})
	most := 0
	datagrams := battle(t, 0, time.Minute)
	host := datagrams[0].Dst
	for i, d := range datagrams {
		if d.Src == host && i > 2000 && i%100 == 0 {
			continue // lost
		}
		d.Time = datagrams[0].Time
		if err := pipeline.Push(&d, hosts.Record); err != nil {
			t.Fatal(err)
		}
		most = max(most, hosts.Queued())
	}
	reports, _ := hosts.Reports()
	if matched := matches(reports[0], "StateUpdate"); most > 1<<16 || most < 1000 || matched < 30_000 {
		t.Errorf("up to %d messages waited, %d updates matched", most, matched)
	}
}

// matches returns how many messages of an opcode matched.
func matches(r *result.Report, name string) int {
	for _, row := range r.Rows {
		if row.Name == name {
			return row.Matched
		}
	}
	return 0
}
