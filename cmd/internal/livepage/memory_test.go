package livepage

import (
	"math/rand/v2"
	"net/netip"
	"os"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bcdissect/bcdissect/decode/modfile"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/bots"
	"github.com/bcdissect/bcdissect/dissect/measure"
	"github.com/bcdissect/bcdissect/dissect/relay"
	"github.com/bcdissect/bcdissect/dissect/relay/relaytest"
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
				w := &tap{World: relaytest.NewWorld(relay.NewHost(relay.Config{Random: rand.New(rand.NewPCG(1, 2)).Uint32, Players: 8}))}
				began, since := w.Now(), time.Now()
				k := s.Sink(new(measure.Tally), began)
				p := dissect.New(dissect.Config{})
				p.Need(s.story.Needs())
				frames := 0
				w.tell = func(from, to netip.AddrPort, d []byte) {
					frames++
					time.Sleep(w.Now().Sub(began) - time.Since(since))
					if err := p.Push(&dissect.Datagram{Number: frames, Time: w.Now(), Digits: 6, Src: from, Dst: to, Payload: d, Full: len(d)}, k.Record); err != nil {
						t.Fatal(err)
					}
				}
				w.Out = func(to netip.AddrPort, d []byte) [][]byte {
					w.tell(w.Host(), to, d)
					return [][]byte{d}
				}
				if _, err := bots.Run(w, bots.Options{Bots: 8, Seed: 1, For: c.length, Dialect: "stock", Scripts: c.scripts}); err != nil {
					t.Fatal(err)
				}
				w.World = nil
				used := heap() - before
				runtime.KeepAlive(p)
				size, _ := s.journal.extent()
				_, open := s.story.Watch()
				m := open[0]
				t.Logf("%v of play, %d datagrams, %d ships, %d shots: %d KiB in memory, %d KiB on disk", c.length, frames, len(m.Lives), len(m.Shots), used>>10, size>>10)
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
				if err := k.Close(); err != nil {
					t.Error(err)
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
