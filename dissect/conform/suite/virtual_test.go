package suite

import (
	"errors"
	"math/rand/v2"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/names"
	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/dissect/relay"
	"github.com/bcdissect/bcdissect/dissect/transport"
	"github.com/bcdissect/bcdissect/fixtures"
)

var (
	began      = time.Date(2002, 2, 19, 12, 0, 0, 0, time.UTC)
	hostAddr   = netip.MustParseAddrPort("192.0.2.1:22101")
	masterAddr = netip.MustParseAddrPort("192.0.2.7:27900")
)

// A world is a host and a network in simulated time.
type world struct {
	now     time.Time
	host    *relay.Host
	network relay.Network
	trouble relay.Trouble
	open    map[netip.AddrPort]bool
	port    uint16
	next    time.Time // the host wants to be called
	refused error     // nothing listens at the host's address
	master  netip.AddrPort
	players int       // in the last heartbeat
	beats   time.Time // when the next one may go out

	// in and out, if not nil, change datagrams to and from the host. They return
	// the datagrams to go on with.
	in  func(now time.Time, from netip.AddrPort, d []byte) [][]byte
	out func(now time.Time, to netip.AddrPort, d []byte) [][]byte
}

func newWorld(seed uint64, cfg relay.Config, trouble relay.Trouble) *world {
	r := rand.New(rand.NewPCG(seed, 15))
	cfg.Random = r.Uint32
	w := &world{now: began, host: relay.NewHost(cfg), trouble: trouble, open: map[netip.AddrPort]bool{}, port: 40000}
	w.network.Rand = r
	return w
}

func (w *world) Now() time.Time { return w.now }

func (w *world) Host() netip.AddrPort { return hostAddr }

func (w *world) Open() (netip.AddrPort, error) {
	w.port++
	a := netip.AddrPortFrom(netip.MustParseAddr("192.0.2.7"), w.port)
	w.open[a] = true
	return a, nil
}

func (w *world) Listen(local netip.AddrPort) error {
	w.master, w.open[local] = local, true
	return nil
}

// beat announces a change of the game to the master server, as the host's server does.
func (w *world) beat() {
	const atMost = 10 * time.Second
	if n := w.host.Status().Players; w.master.IsValid() && n != w.players && !w.now.Before(w.beats) {
		w.players, w.beats = n, w.now.Add(atMost)
		w.sends(w.master, []byte(`\heartbeat\22101\gamename\bcommander\statechanged\1`))
	}
}

func (w *world) Refused() error { return w.refused }

func (w *world) Close(local netip.AddrPort) { delete(w.open, local) }

func (w *world) Send(local netip.AddrPort, d []byte) error {
	w.network.Send(w.now, local, hostAddr, d, &w.trouble)
	return nil
}

// turn lets the host send all that waits.
func (w *world) turn() {
	w.next = w.host.Advance(w.now)
	w.beat()
	for {
		to, d, ok := w.host.Send()
		if !ok {
			return
		}
		w.sends(to, d)
	}
}

// sends sends a datagram of the host.
func (w *world) sends(to netip.AddrPort, d []byte) {
	list := [][]byte{d}
	if w.out != nil {
		list = w.out(w.now, to, d)
	}
	for _, d := range list {
		w.network.Send(w.now, hostAddr, to, d, &w.trouble)
	}
}

// least is how far simulated time goes at least.
const least = 100 * time.Microsecond

func maxTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

func (w *world) Receive(until time.Time) (relay.Arrival, bool) {
	for {
		for {
			a, ok := w.network.Receive(w.now)
			if !ok {
				break
			}
			if a.To != hostAddr {
				if w.open[a.To] {
					return a, true
				}
				continue
			}
			list := [][]byte{a.Datagram}
			if w.in != nil {
				list = w.in(w.now, a.From, a.Datagram)
			}
			for _, d := range list {
				w.host.Receive(w.now, a.From, d)
			}
			w.turn()
		}
		if !w.now.Before(until) {
			return relay.Arrival{}, false
		}
		next := until
		for _, at := range []time.Time{w.network.Next(), w.next} {
			if !at.IsZero() && at.Before(next) {
				next = at
			}
		}
		w.now = maxTime(next, w.now.Add(least))
		if !w.next.IsZero() && !w.next.After(w.now) {
			w.turn()
		}
	}
}

// check accepts the files of a stock installation.
func check(m *msg.ChecksumResponse) string {
	for _, f := range m.Tree.Files {
		if f.Name == names.Hash("App.pyc") && f.Content != 0xF8A0A768 {
			return "App.pyc"
		}
	}
	return ""
}

// game is the host of the tests.
func gameOf(p Profile) relay.Config {
	cfg := relay.Config{
		Name: "Friday", Mission: "Multiplayer.Episode.Mission1.Mission1", Map: "DM", System: 9, Players: 8,
		Password: "Kobayashi", TimeLimit: msg.Unlimited, FragLimit: msg.Unlimited, Check: check,
	}
	if p == Playable {
		cfg.Mode, cfg.TimeLimit = relay.Playable, 20
	} else {
		cfg.Mission = "Multiplayer.Episode.Mission2.Mission2" // with teams
	}
	return cfg
}

// optionsOf returns options for tests, in which time costs nothing.
func optionsOf(p Profile, seed uint64, words ...string) Options {
	cases, _ := Select(words)
	return Options{Cases: cases, Profile: p, Slow: true, Long: slices.Contains(words, "T-31"), Password: "Kobayashi", Seed: seed, Master: masterAddr}
}

// silent are the cases that find nothing at the own host: it splits no reply, has
// no simulation, and is not stopped.
var silent = map[Profile][]string{
	Stock:    {"Q-6", "J-14", "U-2", "U-11", "L-6"},
	Playable: {"Q-6", "L-6"},
}

// expectSound reports the cases that the own host does not pass.
func expectSound(t *testing.T, p Profile, rep *Report, seed uint64) {
	t.Helper()
	for _, res := range rep.Results {
		if res.Case.Long {
			continue // TestLongNumbers
		}
		want := Pass
		if slices.Contains(silent[p], res.Case.ID) {
			want = NotSeen
		}
		if res.Verdict != want && !res.Case.Informs {
			t.Errorf("seed %d: %s is %s after %d attempts: %s %v", seed, res.Case.ID, res.Verdict, res.Attempts, res.Why, res.Came)
		}
	}
	if rep.Stopped != "" {
		t.Errorf("seed %d: stopped: %s", seed, rep.Stopped)
	}
}

// expectManners reports clients that send too much, or do not leave.
func expectManners(t *testing.T, w *world, rep *Report) {
	t.Helper()
	if n := w.host.Status().Players; n > 0 || len(w.open) > 0 {
		t.Errorf("%d players are still in the game, %d sockets are open", n, len(w.open))
	}
	sent := map[netip.AddrPort][]time.Time{}
	for _, f := range rep.Frames {
		if f.From == hostAddr || slices.Contains(f.Cases, "X-1") {
			continue
		}
		list := append(sent[f.From], f.At)
		sent[f.From] = list
		if n := len(list); n > perSecond && f.At.Sub(list[n-1-perSecond]) < time.Second {
			t.Errorf("%v: more than %d datagrams in a second, in %v", f.From, perSecond, f.Cases)
			return
		}
	}
}

// A client that always has something to send never falls silent, and keeps to
// its limit.
func TestPace(t *testing.T) {
	var c client
	var sent []time.Time
	begin := time.Unix(0, 0)
	for now := begin; now.Before(begin.Add(5 * time.Second)); now = now.Add(time.Millisecond) {
		if n := len(sent); n > 0 && now.Sub(sent[n-1]) > 2*time.Second/perSecond {
			t.Fatalf("silent after %d datagrams", n)
		}
		for !now.Before(c.leavesNext()) && len(sent) < 1000 {
			c.times[c.turn], c.turn = now, (c.turn+1)%perSecond
			if sent = append(sent, now); len(sent) > perSecond && now.Sub(sent[len(sent)-1-perSecond]) < time.Second {
				t.Fatalf("datagram %d is one too many in a second", len(sent))
			}
		}
	}
	if want := 5 * perSecond / 2; len(sent) < want || len(sent) > 5*perSecond {
		t.Errorf("%d datagrams in 5 s", len(sent))
	}
}

// The report on an interrupted run tells of the interruption, and the clients leave.
func TestInterrupted(t *testing.T) {
	w := newWorld(1, gameOf(Stock), relay.Trouble{Delay: 5 * time.Millisecond})
	o := optionsOf(Stock, 1)
	o.Stopped = func() bool { return w.now.Sub(began) > 20*time.Second }
	rep, err := Run(w, o)
	if err != nil {
		t.Fatal(err)
	}
	if rep.Stopped != "interrupted" || rep.Count(Skip) < 50 || rep.Count(Fail) > 0 || w.now.Sub(began) > 25*time.Second {
		t.Errorf("stopped %q after %v, %d skipped, %d failed", rep.Stopped, w.now.Sub(began), rep.Count(Skip), rep.Count(Fail))
	}
	tried := 0
	for i := range rep.Results {
		if rep.Results[i].Why != "interrupted" && !strings.Contains(rep.Results[i].Why, "--slow") {
			tried++
		}
	}
	if rep.Passed() || !rep.Interrupted() || rep.Tried() != tried || tried < 10 {
		t.Errorf("passed %v, interrupted %v, %d tried, want %d", rep.Passed(), rep.Interrupted(), rep.Tried(), tried)
	}
	expectManners(t, w, rep)

	o.Stopped = func() bool { return true }
	if rep, err := Run(newWorld(1, gameOf(Stock), relay.Trouble{}), o); rep != nil || err == nil || !strings.Contains(err.Error(), "interrupted") {
		t.Errorf("interrupted at once: %v, %v", rep, err)
	}
}

// A host that floods fails the case in which it does so, and the run ends. A host that lets no
// client connect fails T-1, and no case waits for clients that cannot come.
func TestFloodAndSilence(t *testing.T) {
	w := newWorld(1, gameOf(Stock), relay.Trouble{Delay: 5 * time.Millisecond})
	datagrams := 0
	w.in = func(now time.Time, from netip.AddrPort, d []byte) [][]byte {
		if datagrams++; datagrams == 200 {
			for range floodedBy + 1 {
				w.network.Send(now, hostAddr, from, cipher.Encrypt(nil, datagram(transport.HostPeer, []byte{byte(transport.DoNothing)})), &w.trouble)
			}
		}
		return [][]byte{d}
	}
	rep, err := Run(w, optionsOf(Stock, 1))
	if err != nil {
		t.Fatal(err)
	}
	failed := slices.IndexFunc(rep.Results, func(res Result) bool { return res.Verdict == Fail })
	if rep.Count(Fail) != 1 || !strings.Contains(rep.Results[failed].Why, "the host floods") || rep.Stopped != rep.Results[failed].Why || rep.Count(Skip) < 50 {
		t.Errorf("%d failed, %d skipped, stopped %q", rep.Count(Fail), rep.Count(Skip), rep.Stopped)
	}

	w = newWorld(1, gameOf(Stock), relay.Trouble{Delay: 5 * time.Millisecond})
	w.in = func(_ time.Time, _ netip.AddrPort, d []byte) [][]byte {
		if d[0] != '\\' {
			return nil
		}
		return [][]byte{d}
	}
	o := optionsOf(Stock, 1)
	o.Slow, o.Budget = false, 80*time.Second
	if rep, err = Run(w, o); err != nil {
		t.Fatal(err)
	}
	for _, res := range rep.Results {
		if res.Verdict == Fail != (res.Case.ID == "T-1") {
			t.Errorf("%s is %s: %s", res.Case.ID, res.Verdict, res.Why)
		}
	}
	if took := w.now.Sub(began); rep.Stopped != "" || took > 80*time.Second {
		t.Errorf("stopped %q after %v", rep.Stopped, took)
	}
}

// A host that answers later than the timeout is not tried.
func TestSlowHost(t *testing.T) {
	w := newWorld(1, gameOf(Stock), relay.Trouble{Delay: 1500 * time.Millisecond})
	if rep, err := Run(w, optionsOf(Stock, 1)); !errors.Is(err, ErrNoHost) || !strings.Contains(err.Error(), "give a longer --timeout") || w.now.Sub(began) > 10*time.Second {
		t.Errorf("report %v, error %v after %v", rep, err, w.now.Sub(began))
	}
}

// The own host passes every case of its profile.
func TestSound(t *testing.T) {
	for _, p := range []Profile{Stock, Playable} {
		t.Run(p.String(), func(t *testing.T) {
			w := newWorld(1, gameOf(p), relay.Trouble{Delay: 10 * time.Millisecond})
			rep, err := Run(w, optionsOf(p, 1))
			if err != nil {
				t.Fatal(err)
			}
			expectSound(t, p, rep, 1)
			if n := len(rep.Results); n < 100 {
				t.Errorf("only %d cases were tried", n)
			}
			expectManners(t, w, rep)
			expectProven(t, p, rep)
		})
	}
}

// Each case and each group can be run without the others.
func TestAlone(t *testing.T) {
	for _, p := range []Profile{Stock, Playable} {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			var words []string
			for _, c := range Cases() {
				if c.LeftOut == "" && c.With == "" && c.Profiles&p != 0 && !c.Long {
					words = append(words, c.ID)
				}
			}
			for _, word := range append(words, Groups()...) {
				rep, err := Run(newWorld(5, gameOf(p), relay.Trouble{Delay: 10 * time.Millisecond}), optionsOf(p, 5, word))
				if err != nil {
					t.Fatalf("%s: %v", word, err)
				}
				for _, res := range rep.Results {
					alone := res.Case.run == nil && res.Verdict == NotSeen // its occasion did not arise
					if res.Verdict != Pass && !res.Case.Long && !alone && !res.Case.Informs {
						t.Errorf("%s: %s is %s: %s %v", word, res.Case.ID, res.Verdict, res.Why, res.Came)
					}
				}
				if len(rep.Results) == 0 && !slices.Contains([]string{"simulation", "bots", "fuzz"}, word) { // these need captures or a flag
					t.Errorf("%s: no case was tried", word)
				}
			}
		})
	}
}

// readBack returns the verdicts on the recording of a run, of those frames that a function
// keeps.
func readBack(t *testing.T, p Profile, rep *Report, keep func() bool) []Result {
	t.Helper()
	g := NewReading(Cases(), p)
	whole := rep.Frames
	rep.Frames = slices.DeleteFunc(slices.Clone(whole), func(Frame) bool { return !keep() })
	if err := rep.Decode(g.Record); err != nil {
		t.Fatal(err)
	}
	rep.Frames = whole
	read, ok := g.Report("run", rep.Begun, rep.Begun.Add(rep.Took))
	if !ok || len(read.Results) < 35 {
		t.Errorf("%v, %d cases", ok, len(read.Results))
	}
	return read.Results
}

func all() bool { return true }

// expectProven reports the cases that the recording of a run does not answer as the run did.
func expectProven(t *testing.T, p Profile, rep *Report) {
	t.Helper()
	for _, res := range readBack(t, p, rep, all) {
		unseen := slices.Contains(silent[p], res.Case.ID) || res.Case.LeftOut != "" || res.Case.ID == "U-1" // the host sends no updates
		unseen = unseen && (p == Stock || res.Case.ID != "U-1")
		if want := map[bool]Verdict{true: NotSeen, false: Pass}[unseen]; res.Verdict != want {
			t.Errorf("the recording: %s is %s: %s %v", res.Case.ID, res.Verdict, res.Why, res.Came)
		}
	}
}

// expectNoBlame reports the cases that blame the host of a recording for the network, or
// for frames that the recording lacks.
func expectNoBlame(t *testing.T, p Profile, rep *Report, seed uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 16))
	for _, hole := range []float64{0, 0.02, 0.1} {
		passed := 0
		for _, res := range readBack(t, p, rep, func() bool { return r.Float64() >= hole }) {
			switch res.Verdict {
			case Fail, Known:
				if hole > 0 && res.Case.Informs {
					continue
				}
				t.Errorf("seed %d, without %g of the frames: %s is %s: %s %v", seed, hole, res.Case.ID, res.Verdict, res.Why, res.Came)
			case Pass:
				passed++
			}
		}
		if least := map[bool]int{true: 10, false: 25}[hole > 0]; passed < least {
			t.Errorf("seed %d, without %g of the frames: only %d cases pass", seed, hole, passed)
		}
	}
}

// A host that imitates OpenBC breaks rules, but only such as its profile documents.
// It imitates no echo of names, since captures have none.
func TestOpenBC(t *testing.T) {
	cfg := gameOf(Stock)
	cfg.Like = decode.OpenBC
	rep, err := Run(newWorld(1, cfg, relay.Trouble{Delay: 5 * time.Millisecond}), optionsOf(OpenBC, 1))
	if err != nil {
		t.Fatal(err)
	}
	for _, res := range rep.Results {
		if res.Verdict == Fail && res.Case.ID != "T-3" && res.Case.ID != "J-16" {
			t.Errorf("%s: %s %v", res.Case.ID, res.Why, res.Came)
		}
	}
	if n := rep.Count(Known); n < 20 {
		t.Errorf("only %d documented differences were found", n)
	}
	stock, err := Run(newWorld(1, cfg, relay.Trouble{Delay: 5 * time.Millisecond}), optionsOf(Stock, 1))
	if err != nil {
		t.Fatal(err)
	}
	if stock.Passed() || stock.Count(Fail) < 20 {
		t.Errorf("only %d rules of the stock game are broken", stock.Count(Fail))
	}
}

// trouble is a network that loses, doubles and reorders.
var trouble = relay.Trouble{Loss: 0.05, Duplicate: 0.02, Reorder: 0.02, Delay: 15 * time.Millisecond, Jitter: 5 * time.Millisecond}

// troubled are the options for it: an answer may take several retransmissions of the
// game.
func troubled(p Profile, seed uint64) Options {
	o := optionsOf(p, seed)
	o.Timeout, o.Attempts = 12*time.Second, 8
	return o
}

// The own host passes every case on a network that loses 5 % of all datagrams,
// repeats and reorders some.
func TestSoundInTrouble(t *testing.T) { soundInTrouble(t, 1, 3) }

// It does so a hundred times of a hundred, of which most are tried, and their
// recordings read back, if BCDISSECT_LONG is set.
func TestSoundOften(t *testing.T) {
	fixtures.System(t)
	most := uint64(12)
	if os.Getenv("BCDISSECT_LONG") != "" {
		most = 100
	}
	soundInTrouble(t, 3, most)
}

func soundInTrouble(t *testing.T, from, to uint64) {
	t.Helper()
	for _, p := range []Profile{Stock, Playable} {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			for seed := from; seed < to; seed++ {
				rep, err := Run(newWorld(seed, gameOf(p), trouble), troubled(p, seed))
				if err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				expectSound(t, p, rep, seed)
				if seed < 20 || os.Getenv("BCDISSECT_LONG") != "" {
					expectNoBlame(t, p, rep, seed)
				}
			}
		})
	}
}
