package badline

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/bots"
	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/dissect/conform"
	"github.com/bcdissect/bcdissect/dissect/conform/suite"
	"github.com/bcdissect/bcdissect/dissect/impair"
	"github.com/bcdissect/bcdissect/dissect/relay"
	"github.com/bcdissect/bcdissect/dissect/relay/relaytest"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// plays has bots play with the program's own host, whose datagrams a function may change.
func plays(t *testing.T, n int, length time.Duration, line string, out func(to netip.AddrPort, d []byte) [][]byte) (*Game, map[string]suite.Outcome) {
	t.Helper()
	return playsSeed(t, 7, n, length, line, out)
}

// playsSeed does so with other random numbers.
func playsSeed(t *testing.T, seed uint64, n int, length time.Duration, line string, out func(to netip.AddrPort, d []byte) [][]byte) (*Game, map[string]suite.Outcome) {
	t.Helper()
	both, err := impair.Parse([]string{fmt.Sprintf("delay=20ms,seed=%d", seed), line})
	if err != nil {
		t.Fatal(err)
	}
	cfg := relay.Config{Mode: relay.Playable, Players: 16, Random: rand.New(rand.NewPCG(seed, 2)).Uint32}
	w := relaytest.NewWorld(relay.NewHost(cfg))
	w.Out = out
	logged := map[impair.Fate]int{}
	g, err := Play(w, Options{
		Bots: bots.Options{Bots: n, Seed: seed, For: length}, Line: both, First: 100,
		Judge: conform.Config{Game: relay.Config{Mode: relay.Playable}},
		Log:   func(r impair.Report) { logged[r.Fate]++ },
	})
	if err != nil {
		t.Fatal(err)
	}
	all := g.Passed + g.Lost
	t.Logf("%d datagrams, %d lost, %d frames kept, %d not, %d messages compared", all, g.Lost, len(g.Frames), g.Left, g.Reports[0].Compared())
	if logged[impair.Passed] != g.Passed || logged[impair.Lost]+logged[impair.Unsent] != g.Lost || len(g.Frames)+g.Left < all*9/10 || g.Frames[0].Number != 100 {
		t.Errorf("the log has %v, and there are %d frames", logged, len(g.Frames))
	}
	by := map[string]suite.Outcome{}
	for _, o := range g.Outcomes(length) {
		by[o.ID] = o
	}
	return g, by
}

// sound expects that nothing is wrong with the host, although the lines lose as much as they should.
func sound(t *testing.T, g *Game, by map[string]suite.Outcome) {
	t.Helper()
	for _, id := range Cases() {
		if o := by[id]; o.Came != "" || o.Skip != "" {
			t.Errorf("%s: %s%s %q", id, o.Came, o.Skip, o.More)
		}
	}
	for _, r := range g.Reports {
		if !r.Conforms() || r.Compared() < 1000 {
			t.Errorf("%d differences of %d messages, findings %v", r.Found, r.Compared(), r.Findings)
		}
	}
	t.Logf("%d messages are not settled, %d frames were judged", len(g.copies.by), g.Judged)
	if part := float64(g.Lost) / float64(g.Passed+g.Lost); part < 0.045 || part > 0.055 {
		t.Errorf("the lines lost %.4f", part)
	}
	for _, m := range g.Bots.Missing { // copied judges what came to the host
		if !m.AuthorLeft {
			t.Errorf("missing: %+v", m)
		}
	}
	if len(g.Bots.Missing) < g.Bots.All.LinesMissing {
		t.Errorf("%d lines are missing, too many to list", g.Bots.All.LinesMissing)
	}
}

// The own host loses and doubles nothing on lines that lose 5 % each way.
func TestBadLine(t *testing.T) {
	t.Parallel()
	g, by := plays(t, 8, time.Minute, "loss=5%", nil)
	sound(t, g, by)
}

// The same for 16 bots in ten minutes of virtual time, for make nightly.
func TestLongGame(t *testing.T) {
	if os.Getenv("BCDISSECT_LONG") == "" {
		t.Skip("takes minutes: set BCDISSECT_LONG")
	}
	g, by := plays(t, 16, 10*time.Minute, "loss=5%", nil)
	sound(t, g, by)
}

// The judge blames the own host for nothing, whatever waits for lost messages: leaves,
// ships and lines of chat. For make nightly.
func TestGames(t *testing.T) {
	if os.Getenv("BCDISSECT_LONG") == "" {
		t.Skip("takes minutes: set BCDISSECT_LONG")
	}
	for seed := range uint64(5) {
		for _, n := range []int{8, 16} {
			for _, loss := range []int{2, 5, 10} {
				line := fmt.Sprintf("loss=%d%%,jitter=20ms,reorder=2%%,duplicate=1%%", loss)
				g, _ := playsSeed(t, seed+1, n, 3*time.Minute, line, nil)
				for _, r := range g.Reports {
					if !r.Conforms() || r.Compared() < 10_000 {
						t.Errorf("seed %d, %d bots, %d %%: %d differences of %d messages, findings %v", seed+1, n, loss, r.Found, r.Compared(), r.Findings)
					}
				}
			}
		}
	}
}

// A host that sends nothing again loses what the lines lose.
func TestNothingAgain(t *testing.T) {
	t.Parallel()
	type sent struct {
		to  netip.AddrPort
		seq uint16
	}
	seen := map[sent]bool{}
	_, by := plays(t, 4, time.Minute, "loss=5%", func(to netip.AddrPort, d []byte) [][]byte {
		again := false
		s, err := transport.Split(cipher.Decrypt(nil, d))
		for err == nil {
			m, ok, e := s.Next()
			if e != nil || !ok {
				break
			}
			if m.Type == transport.Standard && m.HasSeq {
				again = again || seen[sent{to, m.Seq}]
				seen[sent{to, m.Seq}] = true
			}
		}
		if again {
			return nil
		}
		return [][]byte{d}
	})
	if o := by[delivered]; !strings.Contains(o.Came, "sent 1 times, and none came through") || len(o.Frames) == 0 {
		t.Errorf("%+v", o)
	}
}

// A host that changes what players say is found, whatever the lines lose.
func TestChanged(t *testing.T) {
	t.Parallel()
	_, by := plays(t, 4, time.Minute, "loss=5%", func(to netip.AddrPort, d []byte) [][]byte {
		if plain := cipher.Decrypt(nil, d); to.Port()%2 == 0 && bytes.Contains(plain, []byte("line ")) {
			return [][]byte{cipher.Encrypt(nil, bytes.ReplaceAll(plain, []byte("line "), []byte("lime ")))}
		}
		return [][]byte{d}
	})
	if o := by[alike]; !strings.Contains(o.Came, "Chat: differs") {
		t.Errorf("%+v", o)
	}
	if o := by[once]; !strings.Contains(o.Came, "Chat came to the host 1 times, and was sent to 198.51.100.7:") {
		t.Errorf("%+v", o)
	}
}

// One copy of a message goes to each client that is in the game all the time: not two.
func TestTwice(t *testing.T) {
	begun := time.Date(2002, 2, 19, 12, 0, 0, 0, time.UTC)
	author, one, two, late := client(1), client(2), client(3), client(4)
	for name, tt := range map[string]struct {
		to   []netip.AddrPort // receivers of the copies
		want string
	}{
		"sound":    {[]netip.AddrPort{one, two}, ""},
		"twice":    {[]netip.AddrPort{one, two, two}, "Chat came to the host 1 times, and was sent to 198.51.100.3:4000 2 times"},
		"missing":  {[]netip.AddrPort{one}, "Chat came to the host 1 times, and was sent to 198.51.100.3:4000 0 times"},
		"too late": {[]netip.AddrPort{one, two, late, late}, ""},
		"nowhere":  {nil, ""},
	} {
		c := newCopies()
		for _, in := range []netip.AddrPort{author, one, two} {
			c.since[in] = begun.Add(-time.Minute)
		}
		c.since[late] = begun
		record := func(dir dissect.Dir, client netip.AddrPort) {
			c.takes(client, &dissect.Record{
				Datagram: &dissect.Datagram{Number: 1, Time: begun}, Kind: dissect.KindMessage, Dir: dir, Payload: []byte("text"),
				Spec: msg.Catalog().Lookup(msg.OpChat), Transport: transport.Header{HasSeq: true},
			})
		}
		record(dissect.ToHost, author)
		for _, to := range tt.to {
			record(dissect.FromHost, to)
		}
		c.settles(begun.Add(settled))
		got := ""
		for _, f := range c.faults {
			got += f.text
		}
		if !strings.HasSuffix(got, tt.want) || tt.want == "" && got != "" || len(c.by) > 0 {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func client(n byte) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 51, 100, n}), 4000)
}

// No bot gets into the game of a host that answers nothing.
func TestNobodyIn(t *testing.T) {
	t.Parallel()
	silent := func(netip.AddrPort, []byte) [][]byte { return nil }
	w := relaytest.NewWorld(relay.NewHost(relay.Config{Random: rand.New(rand.NewPCG(1, 2)).Uint32}))
	w.Out = silent
	if _, err := Play(w, Options{Bots: bots.Options{Bots: 2, For: time.Minute}}); err == nil || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("got %v", err)
	}
}
