package livepage

import (
	"math"
	"math/rand/v2"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bcdissect/bcdissect/decode/modfile"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/bots"
	"github.com/bcdissect/bcdissect/dissect/match"
	"github.com/bcdissect/bcdissect/dissect/measure"
	"github.com/bcdissect/bcdissect/dissect/relay"
	"github.com/bcdissect/bcdissect/dissect/relay/relaytest"
	"github.com/bcdissect/bcdissect/report"
)

// A tap is a world that tells what the host gets and sends.
type tap struct {
	*relaytest.World
	tell func(from, to netip.AddrPort, d []byte)
}

func (w *tap) Send(local netip.AddrPort, d []byte) error {
	w.tell(local, w.Host(), d)
	return w.World.Send(local, d)
}

// played is a game of bots in virtual time, which a server follows.
type played struct {
	*tap
	host     *relay.Host
	sink     report.Sink
	pipeline *dissect.Pipeline
	frames   int
	during   func() // called with each datagram of a client
}

func newPlayed(t *testing.T, s *Server, next report.Sink) *played {
	t.Helper()
	p := &played{host: relay.NewHost(relay.Config{Random: rand.New(rand.NewPCG(1, 2)).Uint32, Players: 8, Mode: relay.Playable}), pipeline: dissect.New(dissect.Config{}), during: func() {}}
	w := &tap{World: relaytest.NewWorld(p.host)}
	p.tap = w
	began, since := w.Now(), time.Now()
	p.sink = s.Sink(next, began)
	p.pipeline.Need(s.story.Needs())
	w.tell = func(from, to netip.AddrPort, d []byte) {
		p.frames++
		time.Sleep(w.Now().Sub(began) - time.Since(since))
		if to == w.Host() {
			p.during()
		}
		if err := p.pipeline.Push(&dissect.Datagram{Number: p.frames, Time: w.Now(), Digits: 6, Src: from, Dst: to, Payload: d, Full: len(d)}, p.sink.Record); err != nil {
			t.Fatal(err)
		}
	}
	w.Out = func(to netip.AddrPort, d []byte) [][]byte {
		w.tell(w.Host(), to, d)
		return [][]byte{d}
	}
	return p
}

// heap returns how many bytes are in use.
func heap() int {
	runtime.GC()
	runtime.GC() // the first moved caches, this frees them
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// fighter is a script whose bots stay.
const fighter = `[bots]
Pilot = ["join", "fly 1s", "fire", "fly 2s", "hit", "fly 3s", "fire", "fly 2s", "chat one more", "fly 4s", "fire", "fly 5s", "hit", "fly 6s", "die", "wait 5s", "fly 1s", "repeat"]
`

// TestMemory has eight bots play in virtual time. They leave and come back from other
// addresses all the time: only what's known of the match stays in memory. It is an hour if
// BCDISSECT_LONG is set, also with bots that stay, and else five minutes.
func TestMemory(t *testing.T) {
	stay, err := bots.ReadScripts(modfile.File{Name: "fighter", Data: []byte(fighter)})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		length  time.Duration
		scripts []bots.Script
		limit   int // bytes
		long    bool
	}{
		{"come and go", 5 * time.Minute, nil, 10 << 20, false},
		{"come and go for an hour", time.Hour, nil, 20 << 20, true},
		{"stay for an hour", time.Hour, stay, 8 << 20, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.long && os.Getenv("BCDISSECT_LONG") == "" {
				t.Skip("takes minutes: set BCDISSECT_LONG")
			}
			synctest.Test(t, func(t *testing.T) {
				before := heap()
				s, err := New(5*time.Second, t.Errorf)
				if err != nil {
					t.Fatal(err)
				}
				p := newPlayed(t, s, new(measure.Tally))
				if _, err := bots.Run(p, bots.Options{Bots: 8, Seed: 1, For: c.length, Dialect: "stock", Scripts: c.scripts}); err != nil {
					t.Fatal(err)
				}
				p.World, p.host = nil, nil
				used := heap() - before
				runtime.KeepAlive(p)
				size, _ := s.journal.extent()
				_, open := s.story.Watch()
				m := open[0]
				t.Logf("%v of play, %d datagrams, %d ships, %d shots: %d KiB in memory, %d KiB on disk", c.length, p.frames, len(m.Lives), len(m.Shots), used>>10, size>>10)
				if used > c.limit {
					t.Errorf("%d bytes are in use", used)
				}
				points := 0
				for i := range m.Lines {
					points += len(m.Lines[i].Points)
				}
				if most := 8*int(c.length/(5*time.Second)) + 2*len(m.Lines); points > most {
					t.Errorf("the connections have %d points, at most %d of players who were there", points, most)
				}
				if err := p.sink.Close(); err != nil {
					t.Error(err)
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestRestart has the host restart the match while eight bots fly. What they send before they
// hear of it makes no ships in the next match, which has the same players and no deaths yet.
func TestRestart(t *testing.T) {
	stay, err := bots.ReadScripts(modfile.File{Name: "stay", Data: []byte("[bots]\nPilot = [\"join\", \"fly 5s\", \"die\", \"wait 6s\", \"fly 20s\", \"leave\"]\n")})
	if err != nil {
		t.Fatal(err)
	}
	for dialect, lost := range map[string]int{"stock": 0, "openbc": 8} { // the host does not destroy a stock client that asks for it
		t.Run(dialect, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, err := New(0, t.Errorf)
				if err != nil {
					t.Fatal(err)
				}
				story := match.New(time.Time{})
				p := newPlayed(t, s, story)
				began, restarted := p.Now(), time.Duration(0)
				p.during = func() {
					if now := p.Now(); restarted == 0 && now.Sub(began) > 20*time.Second {
						restarted = now.Sub(began)
						if n := p.host.Restart(now); n != 8 {
							t.Errorf("%d players are told", n)
						}
					}
				}
				r, err := bots.Run(p, bots.Options{Bots: 8, Seed: 1, For: time.Minute, Dialect: dialect, Scripts: stay})
				if err != nil {
					t.Fatal(err)
				}
				if r.All.Ships != 24 || r.All.Deaths != 8 || r.All.UpdatesSeen == 0 || r.All.UpdatesMissing > 0 {
					t.Errorf("the bots have %d ships and %d deaths, and miss %d of %d updates", r.All.Ships, r.All.Deaths, r.All.UpdatesMissing, r.All.UpdatesSeen)
				}
				if err := p.sink.Close(); err != nil {
					t.Error(err)
				}
				all := story.Matches()
				if len(all) != 2 {
					t.Fatalf("%d matches", len(all))
				}
				for i, want := range []struct{ lives, deaths int }{{16, lost}, {8, 0}} {
					m, deaths := all[i], 0
					for k := range m.Players {
						deaths += m.Players[k].Deaths
					}
					if len(m.Players) != 8 || len(m.Lives) != want.lives || deaths != want.deaths || len(m.Kills) != deaths {
						t.Errorf("match %d has %d players, %d ships, %d kills and %d deaths", i, len(m.Players), len(m.Lives), len(m.Kills), deaths)
					}
				}
				next := all[1]
				if all[0].EndedBy != match.EndRestart || math.Abs(next.Begin-restarted.Seconds()) > 1 || slices.ContainsFunc(next.Lives, func(l match.Life) bool { return l.Late }) {
					t.Errorf("the matches: %s, and the next from %v s on", all[0].EndedBy, next.Begin)
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
