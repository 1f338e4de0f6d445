package conform_test

import (
	"bytes"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/conform"
	"github.com/bcdissect/bcdissect/dissect/impair"
	"github.com/bcdissect/bcdissect/dissect/relay"
)

// playable is the configuration for a host that passes updates on.
var playable = conform.Config{Game: relay.Config{Mode: relay.Playable}}

// tapNames are the places on a line where it is recorded.
var tapNames = [...]string{"host", "router", "clients"}

// A carried datagram is on its way.
type carried struct {
	from, to netip.AddrPort
	payload  []byte
}

// A way is one direction of the line of a client: two bad parts with a router between
// them.
type way [2]*impair.Line[carried]

// A tapped session is one over bad lines, which is recorded at three places at once.
type tapped struct {
	*session
	both  [2]impair.Config
	ways  map[netip.AddrPort]*[2]way // by client: to the host, and to the client
	tapes [len(tapNames)]tape
}

func newTapped(tb testing.TB, cfg relay.Config, lines string) *tapped {
	tb.Helper()
	both, err := impair.Parse([]string{lines})
	if err != nil {
		tb.Fatal(err)
	}
	return &tapped{session: newSession(tb, cfg), both: both, ways: map[netip.AddrPort]*[2]way{}}
}

// enter adds a client.
func (s *tapped) enter(name string) *guest {
	g := s.guest(name, false)
	w := &[2]way{}
	for dir := range w {
		for part := range w[dir] {
			w[dir][part] = impair.NewLine[carried](s.both[dir], impair.Direction(dir), 2*len(s.clients)+part)
		}
	}
	s.ways[g.addr] = w
	g.Connect(s.now, nil)
	return g
}

// note records a datagram at a place.
func (s *tapped) note(place int, c carried) {
	n := len(s.tapes[place]) + 1
	s.tapes[place] = append(s.tapes[place], frame{dissect.Datagram{Number: n, Time: s.now, Src: c.from, Dst: c.to, Payload: c.payload, Full: len(c.payload)}, n})
}

// carry takes what has arrived over both parts of a way. places are those before,
// between and behind them.
func (s *tapped) carry(w *way, places [3]int, arrived func(carried)) {
	for {
		c, _, ok := w[0].Receive(s.now)
		if !ok {
			break
		}
		s.note(places[1], c)
		w[1].Send(s.now, c, len(c.payload))
	}
	for {
		c, _, ok := w[1].Receive(s.now)
		if !ok {
			return
		}
		s.note(places[2], c)
		arrived(c)
	}
}

// pass lets time pass.
func (s *tapped) pass(d time.Duration) {
	for end := s.now.Add(d); s.now.Before(end); s.now = s.now.Add(5 * time.Millisecond) {
		for _, g := range s.clients {
			w := s.ways[g.addr]
			for {
				datagram, ok := g.Datagram(s.now)
				if !ok {
					break
				}
				c := carried{g.addr, s.addr, bytes.Clone(datagram)}
				s.note(2, c)
				w[impair.ToServer][0].Send(s.now, c, len(datagram))
			}
			s.carry(&w[impair.ToServer], [3]int{2, 1, 0}, func(c carried) { s.host.Receive(s.now, c.from, c.payload) })
			s.carry(&w[impair.ToClient], [3]int{0, 1, 2}, func(c carried) { g.Receive(s.now, c.payload) })
		}
		s.host.Advance(s.now)
		for {
			to, datagram, ok := s.host.Send()
			if !ok {
				break
			}
			c := carried{s.addr, to, bytes.Clone(datagram)}
			s.note(0, c)
			s.ways[to][impair.ToClient][0].Send(s.now, c, len(datagram))
		}
	}
}

// playTapped plays a game of some players, who leave at the same time.
func playTapped(tb testing.TB, cfg relay.Config, lines string, seconds int) *tapped {
	tb.Helper()
	s := newTapped(tb, cfg, lines)
	for _, name := range []string{"A", "B", "C"} {
		s.enter(name)
		s.pass(8 * time.Second)
	}
	for _, g := range s.clients {
		if !g.InGame {
			tb.Logf("%s has not joined", g.Name)
			continue
		}
		g.Say(s.now, msg.OpObjectCreateTeam, ship(g.Slot, g.Slot, g.ID))
		s.pass(time.Second)
	}
	for n := range seconds * 10 {
		for k, g := range s.clients {
			if !g.InGame || g.Phase == relay.ClientGone {
				continue
			}
			g.SendBody(s.now, false, update(wire.FirstObject(g.Slot), n))
			if (n+k)%10 == 0 {
				g.Say(s.now, msg.OpChat, &msg.Chat{Sender: int32(g.ID), Text: fmt.Appendf(nil, "%s %d", g.Name, n)})
			}
		}
		s.pass(100 * time.Millisecond)
	}
	s.pass(15 * time.Second)
	for _, g := range s.clients {
		g.Leave(s.now)
	}
	s.pass(15 * time.Second)
	return s
}

// lineTable returns a table of false blame for recordings of the same sessions at
// several places of their bad lines.
func lineTable(tb testing.TB, shares []int, seeds int) (table string, total share) {
	tb.Helper()
	var b strings.Builder
	cells := make([][len(tapNames)]share, len(shares))
	for i, percent := range shares {
		for seed := range seeds {
			s := playTapped(tb, relay.Config{Mode: relay.Playable}, fmt.Sprintf("loss=%d%%,delay=40ms,jitter=20ms,reorder=2%%,duplicate=1%%,seed=%d", percent, seed+1), 30)
			for k, t := range s.tapes {
				n := 0
				for _, r := range t.judgedBy(tb, playable) {
					if n += r.Found; r.Compared() < 100 {
						tb.Errorf("recorded at the %s: %d messages were compared", tapNames[k], r.Compared())
					}
					for _, d := range r.Differences {
						tb.Logf("%d %%, seed %d, recorded at the %s: %s %s in frame %d: %s", percent, seed+1, tapNames[k], d.Kind, d.Name, d.Frame, d.Detail)
					}
				}
				cells[i][k].add(n > 0)
				total.add(n > 0)
			}
		}
	}
	fmt.Fprint(&b, "| recorded at |")
	for _, percent := range shares {
		fmt.Fprintf(&b, " %d %% |", percent)
	}
	fmt.Fprintf(&b, "\n|---|%s\n", strings.Repeat("---:|", len(shares)))
	for k, name := range tapNames {
		fmt.Fprintf(&b, "| the %s |", name)
		for i := range shares {
			fmt.Fprintf(&b, " %v |", cells[i][k])
		}
		fmt.Fprintln(&b)
	}
	return b.String(), total
}

// TestTaps: a sound host is blamed in none of the recordings of one session at three
// places of its bad line.
func TestTaps(t *testing.T) {
	if table, total := lineTable(t, []int{3}, 1); total.is > 0 || total.of != len(tapNames) {
		t.Errorf("a sound host is blamed:\n%s", table)
	}
}

// TestCrossedJoins: behind the recording the ClientReady of one player is lost, so that
// the host gets it after another's; a join stops, and the next player gets its slot.
func TestCrossedJoins(t *testing.T) {
	blameless(t, "loss=15%,delay=40ms,jitter=20ms,reorder=2%,duplicate=1%", 3, 6)
}

// TestAllLeave: all players leave at the same time, and the recording shows the host's
// answers in another order than the host acts.
func TestAllLeave(t *testing.T) {
	blameless(t, "delay=40ms,jitter=20ms", 1, 2, 3, 4, 5, 6)
}

// blameless plays games over a line with these seeds, and checks that the host is never
// blamed.
func blameless(t *testing.T, line string, seeds ...int) {
	t.Helper()
	for _, seed := range seeds {
		s := playTapped(t, relay.Config{Mode: relay.Playable}, fmt.Sprintf("%s,seed=%d", line, seed), 5)
		for k, tape := range s.tapes {
			for _, r := range tape.judgedBy(t, playable) {
				for _, d := range r.Differences {
					t.Errorf("seed %d, recorded at the %s: %s %s in frame %d", seed, tapNames[k], d.Kind, d.Name, d.Frame)
				}
			}
		}
	}
}
