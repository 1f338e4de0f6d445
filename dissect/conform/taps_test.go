package conform_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/bots"
	"github.com/bcdissect/bcdissect/dissect/conform"
	"github.com/bcdissect/bcdissect/dissect/conform/result"
	"github.com/bcdissect/bcdissect/dissect/impair"
	"github.com/bcdissect/bcdissect/dissect/relay"
	"github.com/bcdissect/bcdissect/dissect/relay/relaytest"
)

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

// A tapped game is played by bots in simulated time, and recorded at three places of
// their lines at once. It is the bots' driver.
type tapped struct {
	now   time.Time
	next  time.Time // when the host has something to do
	host  *relay.Host
	addr  netip.AddrPort
	both  [2]impair.Config
	order []netip.AddrPort
	ways  map[netip.AddrPort]*[2]way // by client: to the host, and to the client
	gone  map[netip.AddrPort]bool
	tapes [len(tapNames)]tape
	dead  func(c *carried, part int) bool // parts of lines on which nothing comes through for a while
}

func (g *tapped) Now() time.Time              { return g.now }
func (g *tapped) Host() netip.AddrPort        { return g.addr }
func (g *tapped) Listen(netip.AddrPort) error { return errors.New("bots do not listen") }
func (g *tapped) Refused() error              { return nil }
func (g *tapped) Close(local netip.AddrPort)  { g.gone[local] = true }

func (g *tapped) Open() (netip.AddrPort, error) {
	n := len(g.order) + 1
	local := netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 51, 100, byte(n)}), uint16(4000+n))
	w := &[2]way{}
	for dir := range w {
		for part := range w[dir] {
			w[dir][part] = impair.NewLine[carried](g.both[dir], impair.Direction(dir), 2*n+part)
		}
	}
	g.order, g.ways[local] = append(g.order, local), w
	return local, nil
}

func (g *tapped) Send(local netip.AddrPort, datagram []byte) error {
	g.sends(carried{local, g.addr, bytes.Clone(datagram)}, 2, &g.ways[local][impair.ToServer])
	return nil
}

// sends records a datagram at the place where its way begins.
func (g *tapped) sends(c carried, place int, w *way) {
	g.note(place, c)
	g.send(w, 0, c)
}

// send sends a datagram on a part of its way.
func (g *tapped) send(w *way, part int, c carried) {
	if g.dead == nil || !g.dead(&c, part) {
		w[part].Send(g.now, c, len(c.payload))
	}
}

// note records a datagram at a place.
func (g *tapped) note(place int, c carried) {
	n := len(g.tapes[place]) + 1
	g.tapes[place] = append(g.tapes[place], frame{dissect.Datagram{Number: n, Time: g.now, Src: c.from, Dst: c.to, Payload: c.payload, Full: len(c.payload)}, n})
}

// carry lets the router pass on what has come, and returns the next datagram that is at
// the end of its way, which is a place.
func (g *tapped) carry(w *way, place int) (c carried, ok bool) {
	for {
		c, r, ok := w[0].Receive(g.now)
		if !ok {
			break
		}
		for range r.Copies {
			g.note(1, c)
			g.send(w, 1, c)
		}
	}
	if c, _, ok = w[1].Receive(g.now); ok {
		g.note(place, c)
	}
	return c, ok
}

// turn lets the host send.
func (g *tapped) turn() {
	g.next = g.host.Advance(g.now)
	for {
		to, datagram, ok := g.host.Send()
		if !ok {
			return
		}
		g.sends(carried{g.addr, to, bytes.Clone(datagram)}, 0, &g.ways[to][impair.ToClient])
	}
}

func (g *tapped) Receive(until time.Time) (relay.Arrival, bool) {
	for {
		for _, local := range g.order {
			w := g.ways[local]
			for {
				c, ok := g.carry(&w[impair.ToServer], 0)
				if !ok {
					break
				}
				g.host.Receive(g.now, local, c.payload)
				g.turn()
			}
			if c, ok := g.carry(&w[impair.ToClient], 2); ok && !g.gone[local] {
				return relay.Arrival{At: g.now, From: g.addr, To: local, Datagram: c.payload}, true
			}
		}
		if !g.now.Before(until) {
			return relay.Arrival{}, false
		}
		g.sleep(until)
	}
}

// sleep lets time pass until something happens.
func (g *tapped) sleep(until time.Time) {
	times := []time.Time{g.next}
	for _, w := range g.ways {
		for dir := range w {
			times = append(times, w[dir][0].Next(), w[dir][1].Next())
		}
	}
	if g.now = relaytest.Wake(g.now, until, times...); !g.next.IsZero() && !g.next.After(g.now) {
		g.turn()
	}
}

// A pairing is a host, and the dialect of its players.
type pairing struct {
	name    string
	host    relay.Config
	players string
}

var pairings = []pairing{
	{"playable", relay.Config{Mode: relay.Playable}, "stock"},
	{"strict", relay.Config{Mode: relay.Strict}, "stock"},
	{"openbc", relay.Config{Mode: relay.Playable, Like: decode.OpenBC}, "openbc"},
	{"mixed", relay.Config{Mode: relay.Playable}, "mixed"},
	{"openbc, mixed", relay.Config{Mode: relay.Playable, Like: decode.OpenBC}, "mixed"},
}

// gamesBegin is when all games begin.
var gamesBegin = time.Date(2002, 2, 19, 12, 0, 0, 0, time.UTC)

// playTapped lets bots play. A seed decides everything.
func playTapped(tb testing.TB, p pairing, line string, seed, seconds int) *tapped {
	tb.Helper()
	return playInterrupted(tb, p, line, seed, seconds, nil)
}

// interruption returns what interrupts the line of one of the first three players for
// 2 to 56 seconds: before the router, behind it or both, and in one direction or both.
func interruption(seed int) func(g *tapped, c *carried, part int) bool {
	r := rand.New(rand.NewPCG(uint64(seed), 77)) //nolint:gosec // a fixed seed
	begins := gamesBegin.Add(time.Duration(15+r.IntN(30)) * time.Second)
	ends := begins.Add(time.Duration(2+r.IntN(55)) * time.Second)
	const both = 2
	who, where, way := r.IntN(3), r.IntN(both+1), r.IntN(both+1)
	return func(g *tapped, c *carried, part int) bool {
		client, dir := c.from, impair.ToServer
		if c.from == g.addr {
			client, dir = c.to, impair.ToClient
		}
		return len(g.order) > who && client == g.order[who] && !g.now.Before(begins) && g.now.Before(ends) &&
			(where == both || where == part) && (way == both || way == int(dir))
	}
}

// playInterrupted lets bots play. The argument dead reports whether a datagram gets lost
// on a part of its way, in addition to those that the line loses. It may be nil.
func playInterrupted(tb testing.TB, p pairing, line string, seed, seconds int, dead func(g *tapped, c *carried, part int) bool) *tapped {
	tb.Helper()
	both, err := impair.Parse([]string{fmt.Sprintf("%s,seed=%d", line, seed)})
	if err != nil {
		tb.Fatal(err)
	}
	cfg := p.host
	cfg.Random = rand.New(rand.NewPCG(uint64(seed), 2)).Uint32 //nolint:gosec // a fixed seed
	cfg.Players, cfg.Mission, cfg.System, cfg.TimeLimit, cfg.FragLimit = 8, "Multiplayer.Episode.Mission1.Mission1", 1, msg.Unlimited, msg.Unlimited
	g := &tapped{
		now: gamesBegin, host: relay.NewHost(cfg), addr: netip.MustParseAddrPort("192.0.2.1:22101"),
		both: both, ways: map[netip.AddrPort]*[2]way{}, gone: map[netip.AddrPort]bool{},
	}
	if dead != nil {
		g.dead = func(c *carried, part int) bool { return dead(g, c, part) }
	}
	if _, err := bots.Run(g, bots.Options{Bots: 2 + seed%5, Seed: uint64(seed), For: time.Duration(seconds) * time.Second, Dialect: p.players}); err != nil {
		tb.Fatal(err)
	}
	return g
}

// blamed returns what the host of a tape is blamed for, and the number of compared
// messages.
func (p *pairing) blamed(tb testing.TB, t tape) (list []result.Difference, compared int) {
	tb.Helper()
	for _, r := range t.judgedBy(tb, conform.Config{Game: relay.Config{Mode: p.host.Mode}}) {
		list, compared = append(list, r.Differences...), compared+r.Compared()
		for _, f := range r.Findings {
			tb.Errorf("%s: %s", f.Kind, f.Text)
		}
	}
	return list, compared
}

const badLine = "delay=40ms,jitter=20ms,reorder=2%,duplicate=1%"

// lineTable returns a table of false blame for recordings of the same games at several
// places of their bad lines. The last column is about lines that are interrupted.
func lineTable(tb testing.TB, shares []int, seeds int) (table string, total share) {
	tb.Helper()
	var b strings.Builder
	cells := make([][len(tapNames)]share, len(shares)+1)
	for i := range cells {
		for seed := 1; seed <= seeds; seed++ {
			for _, p := range pairings {
				percent := 1
				var g *tapped
				if i < len(shares) {
					percent = shares[i]
					g = playTapped(tb, p, fmt.Sprintf("%s,loss=%d%%", badLine, percent), seed, 30)
				} else {
					g = playInterrupted(tb, p, badLine+",loss=1%", seed, 100, interruption(seed))
				}
				for k, t := range g.tapes {
					list, compared := p.blamed(tb, t)
					if compared < 50 {
						tb.Errorf("%s, seed %d, recorded at the %s: %d messages were compared", p.name, seed, tapNames[k], compared)
					}
					for _, d := range list {
						tb.Logf("%s, %d %%, seed %d, recorded at the %s: %s %s in frame %d: %s", p.name, percent, seed, tapNames[k], d.Kind, d.Name, d.Frame, d.Detail)
					}
					cells[i][k].add(len(list) > 0)
					total.add(len(list) > 0)
				}
			}
		}
	}
	fmt.Fprint(&b, "| recorded at |")
	for _, percent := range shares {
		fmt.Fprintf(&b, " %d %% |", percent)
	}
	fmt.Fprintf(&b, " interrupted |\n|---|%s\n", strings.Repeat("---:|", len(cells)))
	for k, name := range tapNames {
		fmt.Fprintf(&b, "| the %s |", name)
		for i := range cells {
			fmt.Fprintf(&b, " %v |", cells[i][k])
		}
		fmt.Fprintln(&b)
	}
	return b.String(), total
}

// TestTaps: a sound host is blamed in none of the recordings at three places of bad
// lines. In these games something happens between the recording and the host.
func TestTaps(t *testing.T) {
	games := []struct {
		name, line       string
		pairing, seconds int
		seeds            []int
	}{
		{"all leave at once, and the host's answers are recorded in another order than it acts", "delay=40ms,jitter=20ms", 3, 8, []int{10, 25, 26, 30}},
		{"updates were on their way to a player who leaves", "delay=150ms,jitter=100ms,reorder=10%", 0, 20, []int{4}},
		{"several updates are lost in a row before the host", "delay=60ms,jitter=50ms,loss=5%,burst=4", 0, 20, []int{4}},
		{"a ClientReady is lost behind the recording, and comes seconds later", badLine + ",loss=3%", 0, 20, []int{19}},
		{"two joins cross", "delay=60ms,jitter=50ms,loss=5%,burst=4", 3, 20, []int{1}},
		{"a client does the same again, and its copies come late", badLine + ",loss=3%", 0, 20, []int{12, 14}},
		{"one of several messages with the same bytes waits for an earlier number until another player has joined", badLine + ",loss=5%", 3, 20, []int{44}},
		{"what a newcomer got is a copy of what was said before it joined", badLine + ",loss=15%", 1, 20, []int{34}},
	}
	for _, game := range games {
		t.Run(game.name, func(t *testing.T) {
			for _, seed := range game.seeds {
				tapsBlameless(t, pairings[game.pairing], game.line, seed, game.seconds)
			}
		})
	}
	if os.Getenv("BCDISSECT_LONG") == "" {
		return
	}
	for seed := 1; seed <= 60; seed++ {
		for _, p := range pairings {
			interruptedBlameless(t, p, seed)
		}
	}
	for seed := 100; seed < 120; seed++ {
		for i, p := range pairings {
			tapsBlameless(t, p, games[(seed+i)%len(games)].line, seed, 20)
		}
	}
}

func tapsBlameless(t *testing.T, p pairing, line string, seed, seconds int) {
	t.Helper()
	playTapped(t, p, line, seed, seconds).blameless(t, p, seed)
}

// blameless checks that the host is blamed in none of the recordings.
func (g *tapped) blameless(t *testing.T, p pairing, seed int) {
	t.Helper()
	for k, tape := range g.tapes {
		list, compared := p.blamed(t, tape)
		if compared < 50 {
			t.Errorf("%s, seed %d, recorded at the %s: %d messages were compared", p.name, seed, tapNames[k], compared)
		}
		for _, d := range list {
			t.Errorf("%s, seed %d, recorded at the %s: %s %s in frame %d to %v: %s", p.name, seed, tapNames[k], d.Kind, d.Name, d.Frame, d.To, d.Detail)
		}
	}
}

// TestInterruptedLines: a sound host is not blamed for what a player's line loses while it is
// interrupted, nor for what it holds back from a player who acknowledges nothing. In
// these games the host was blamed for missing updates, a ship of which a newcomer was
// not told, and a player whom it seemed to have dropped.
func TestInterruptedLines(t *testing.T) {
	for _, game := range []struct{ pairing, seed int }{{0, 1}, {2, 8}, {3, 24}, {0, 33}, {3, 39}, {3, 46}, {2, 60}, {0, 80}} {
		interruptedBlameless(t, pairings[game.pairing], game.seed)
	}
}

func interruptedBlameless(t *testing.T, p pairing, seed int) {
	t.Helper()
	line := fmt.Sprintf("%s,loss=%d%%", badLine, []int{0, 1, 5}[seed%3])
	playInterrupted(t, p, line, seed, 100, interruption(seed)).blameless(t, p, seed)
}

// TestUnknownLeaves: in a recording of one client the host tells of the leave of a player
// who was never named before.
func TestUnknownLeaves(t *testing.T) {
	p := &pairings[3]
	list, compared := p.blamed(t, playTapped(t, *p, "delay=150ms,jitter=100ms,reorder=10%", 5, 20).tapes[2].only(5))
	if len(list) > 0 || compared == 0 {
		t.Errorf("%d messages are compared, and the host is blamed for %v", compared, list)
	}
}

// TestTroubledTaps: recordings that also lack or delay frames. In one of them a player's
// message is missing, and a later one looks like an earlier one. In the other a leave
// comes after the host has told of it.
func TestTroubledTaps(t *testing.T) {
	for _, tt := range []struct {
		line               string
		pairing, seed, tap int
		trouble
	}{
		{"delay=150ms,jitter=100ms,reorder=10%", 3, 42, 2, trouble{"lost", 0.05}},
		{"delay=60ms,jitter=50ms,loss=5%,burst=4", 0, 32, 0, trouble{"delayed", 0.2}},
	} {
		p := &pairings[tt.pairing]
		list, compared := p.blamed(t, playTapped(t, *p, tt.line, tt.seed, 20).tapes[tt.tap].after(tt.trouble, uint64(tt.seed)))
		if len(list) > 0 || compared == 0 {
			t.Errorf("%s, seed %d, %v: %d messages are compared, and the host is blamed for %v", p.name, tt.seed, tt.trouble, compared, list)
		}
	}
}

// TestLateChat: OpenBC's host puts a player's id into chat. A recording that begins
// later does not show the id.
func TestLateChat(t *testing.T) {
	p := &pairings[2]
	late := playTapped(t, *p, badLine+",loss=5%", 32, 20).tapes[2].after(trouble{"begun late", 0}, 32)
	list, compared := p.blamed(t, late)
	if len(list) > 0 || compared == 0 {
		t.Errorf("%d messages are compared, and the host is blamed for %v", compared, list)
	}
}
