package bots

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/modfile"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/ship"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/impair"
	"github.com/bcdissect/bcdissect/dissect/relay"
	"github.com/bcdissect/bcdissect/dissect/relay/relaytest"
	"github.com/bcdissect/bcdissect/fixtures"
)

var (
	began    = time.Date(2002, 2, 19, 12, 0, 0, 0, time.UTC)
	hostAddr = netip.MustParseAddrPort("192.0.2.1:22101")
)

// A world is a host behind impaired lines, in virtual time.
type world struct {
	t       *testing.T
	now     time.Time
	host    *relay.Host
	deaf    bool // no datagram reaches the host or comes from it
	next    time.Time
	impair  [2]impair.Config
	clients []netip.AddrPort
	lines   map[netip.AddrPort][2]*impair.Line[[]byte]
	opened  int
	sent    map[netip.AddrPort][]time.Time

	pipeline *dissect.Pipeline // reads what the host gets and sends
	frames   int
	seen     map[string]int // messages of the clients by name
	faulty   int
}

func newWorld(t *testing.T, cfg relay.Config, flags ...string) *world {
	t.Helper()
	both, err := impair.Parse(append([]string{"delay=20ms"}, flags...))
	if err != nil {
		t.Fatal(err)
	}
	cfg.Random = rand.New(rand.NewPCG(1, 2)).Uint32
	if cfg.Players == 0 {
		cfg.Players = 8
	}
	return &world{
		t: t, now: began, host: relay.NewHost(cfg), impair: both, lines: map[netip.AddrPort][2]*impair.Line[[]byte]{},
		sent: map[netip.AddrPort][]time.Time{}, pipeline: dissect.New(dissect.Config{}), seen: map[string]int{},
	}
}

func (w *world) Now() time.Time              { return w.now }
func (w *world) Host() netip.AddrPort        { return hostAddr }
func (w *world) Listen(netip.AddrPort) error { return errors.New("not here") }
func (w *world) Refused() error              { return nil }
func (w *world) Close(local netip.AddrPort)  { delete(w.lines, local) }

func (w *world) Open() (netip.AddrPort, error) {
	w.opened++
	a := netip.AddrPortFrom(netip.MustParseAddr("198.51.100.7"), uint16(40000+w.opened))
	w.lines[a] = [2]*impair.Line[[]byte]{
		impair.NewLine[[]byte](w.impair[0], impair.ToServer, w.opened), impair.NewLine[[]byte](w.impair[1], impair.ToClient, w.opened),
	}
	w.clients = append(w.clients, a)
	return a, nil
}

func (w *world) Send(local netip.AddrPort, d []byte) error {
	w.sent[local] = append(w.sent[local], w.now)
	w.put(local, impair.ToServer, d)
	return nil
}

func (w *world) put(client netip.AddrPort, to impair.Direction, d []byte) {
	if lines, ok := w.lines[client]; ok {
		lines[to].Send(w.now, append([]byte(nil), d...), len(d))
	}
}

// note decodes a datagram that the host gets or sends.
func (w *world) note(from, to netip.AddrPort, d []byte) {
	w.frames++
	err := w.pipeline.Push(&dissect.Datagram{Number: w.frames, Time: w.now, Digits: 6, Src: from, Dst: to, Payload: d, Full: len(d)}, func(r *dissect.Record) error {
		switch {
		case r.Status == dissect.StatusMalformed, r.Status == dissect.StatusUnknown, r.Status == dissect.StatusTrailing:
			if w.faulty++; w.faulty < 5 {
				w.t.Errorf("frame %d: %v: %v %v", w.frames, r.Status, r.Err, r.Message)
			}
		case r.Spec != nil && r.Dir == dissect.ToHost && r.Status == dissect.StatusOK:
			if _, ok := r.Opcode(); ok {
				w.seen[r.Spec.Name]++
			}
			if chat, ok := r.Message.(*msg.Chat); ok {
				w.seen[chat.Text.String()]++
			}
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// turn lets the host send all that waits.
func (w *world) turn() {
	w.next = w.host.Advance(w.now)
	for {
		to, d, ok := w.host.Send()
		if !ok {
			return
		}
		if !w.deaf {
			w.note(hostAddr, to, d)
			w.put(to, impair.ToClient, d)
		}
	}
}

func (w *world) Receive(until time.Time) (relay.Arrival, bool) {
	for {
		for _, c := range w.clients { // in their order, so that each run is the same
			lines, ok := w.lines[c]
			if !ok {
				continue
			}
			for {
				d, r, ok := lines[impair.ToServer].Receive(w.now)
				if !ok {
					break
				}
				for range r.Copies {
					if !w.deaf {
						w.note(c, hostAddr, d)
						w.host.Receive(w.now, c, d)
					}
				}
				w.turn()
			}
			if d, _, ok := lines[impair.ToClient].Receive(w.now); ok {
				return relay.Arrival{At: w.now, From: hostAddr, To: c, Datagram: d}, true
			}
		}
		if !w.now.Before(until) {
			return relay.Arrival{}, false
		}
		times := []time.Time{w.next}
		for _, lines := range w.lines {
			times = append(times, lines[0].Next(), lines[1].Next())
		}
		w.now = relaytest.Wake(w.now, until, times...)
		if !w.next.IsZero() && !w.next.After(w.now) {
			w.turn()
		}
	}
}

func plays(t *testing.T, w *world, o Options) *Report {
	t.Helper()
	rep, err := Run(w, o)
	if err != nil {
		t.Fatal(err)
	}
	if n := w.host.Status().Players; n > 0 || len(w.lines) > 0 {
		t.Errorf("%d players are still in the game, %d sockets are open", n, len(w.lines))
	}
	for c, times := range w.sent {
		for i := 2 * perSecond; i < len(times); i++ { // a second may begin anywhere
			if times[i].Sub(times[i-2*perSecond]) < time.Second {
				t.Fatalf("%v sends more than %d datagrams a second", c, perSecond)
			}
		}
	}
	return rep
}

// On a perfect line bots of either dialect do all that players do, and miss nothing. All that
// they send can be decoded. Their game is the same each time.
func TestPerfectLine(t *testing.T) {
	for _, dialect := range []string{"stock", "openbc", "mixed"} {
		t.Run(dialect, func(t *testing.T) {
			o := Options{Bots: 6, Seed: 7, For: time.Minute, Dialect: dialect}
			w := newWorld(t, relay.Config{Mode: relay.Playable})
			rep := plays(t, w, o)
			a := &rep.All
			if a.Joins < 8 || a.JoinsFailed > 0 || a.PutOut > 0 || a.Leaves < 8 || a.Deaths == 0 || a.Shots < 80 || a.Hits < 10 || a.Lines < 20 || a.Ships <= 6 {
				t.Errorf("got %+v", a)
			}
			if a.LinesMissing > 0 || a.UpdatesMissing > 0 || a.HostUpdates > 0 || a.UpdatesSeen < 5*a.Updates*7/10 || a.LinesSeen < a.Lines*4 {
				t.Errorf("on a perfect line: %+v", a)
			}
			// There and back takes 40 ms, and the bots look every 100 ms at most.
			if a.ChatTime.Median < 39 || a.ChatTime.Max > 150 || a.Gap.Median < 95 || a.Gap.Median > 105 || a.Gap.Max > 205 || a.JoinTime.Median < 200 {
				t.Errorf("chat %+v, updates %+v, joins %+v", a.ChatTime, a.Gap, a.JoinTime)
			}
			for _, name := range []string{"ObjectCreateTeam", "StateUpdate", "TorpedoFire", "PulseFire", "StartFiring", "StopFiring", "Chat", "ClientReady"} {
				if w.seen[name] == 0 {
					t.Errorf("the host got no %s: %v", name, w.seen)
				}
			}
			if again := plays(t, newWorld(t, relay.Config{Mode: relay.Playable}), o); !reflect.DeepEqual(again, rep) {
				t.Errorf("another run with the same seed: %+v, want %+v", again.All, rep.All)
			}
		})
	}
}

// On a bad line the report says what the line did: each update passes two lines, so that with 5 %
// loss on each 9.75 % are missing; the delays show in chat. Chat itself gets through, unless its author leaves at once.
func TestBadLine(t *testing.T) {
	w := newWorld(t, relay.Config{Mode: relay.Playable}, "loss=5%,delay=40ms,jitter=10ms,seed=3")
	rep := plays(t, w, Options{Bots: 8, Seed: 7, For: time.Minute, Dialect: "mixed"})
	a := &rep.All
	const want = 1 - 0.95*0.95
	if share, ok := a.Share(); !ok || share < want-0.01 || share > want+0.01 {
		t.Errorf("%.4f of the updates are missing, want %.4f", share, want)
	}
	if a.LinesMissing > a.LinesSeen/100 || a.ChatTime.Median < 70 || a.ChatTime.Median > 110 || a.ChatTime.P95 < 110 || a.Gap.Median < 90 || a.Gap.P95 < 190 || a.Resent == 0 {
		t.Errorf("got %+v", a)
	}
	if a.Joins < 8 || a.PutOut > 0 {
		t.Errorf("got %+v", a)
	}
}

// If a host doesn't pass on updates, as the stock game's, none count as missing: the bots can't
// know which ones it should have sent.
func TestStrictHost(t *testing.T) {
	rep := plays(t, newWorld(t, relay.Config{Mode: relay.Strict}), Options{Bots: 3, Seed: 1, For: 20 * time.Second})
	if _, ok := rep.All.Share(); ok || rep.All.Gap.N > 0 || rep.All.LinesSeen == 0 {
		t.Errorf("got %+v", rep.All)
	}
}

// Bots beyond the limit of players, or with a wrong password, try again and again, and the report
// says why they are not let in.
func TestRefused(t *testing.T) {
	rep := plays(t, newWorld(t, relay.Config{Players: 2}), Options{Bots: 3, Seed: 1, For: 20 * time.Second, Scripts: []Script{{
		Steps: []Step{{Verb: Join}, {Verb: Wait, For: time.Minute}},
	}}})
	if p := rep.Players[2]; p.Joins != 0 || p.JoinsFailed < 2 || p.JoinsFailed > 5 || !strings.Contains(p.Reason, "full") {
		t.Errorf("got %+v", p)
	}
	rep = plays(t, newWorld(t, relay.Config{Password: "Kobayashi"}), Options{Bots: 1, Seed: 1, For: 10 * time.Second, Password: "Maru"})
	if p := rep.Players[0]; p.Joins != 0 || p.JoinsFailed == 0 || p.Reason == "" {
		t.Errorf("got %+v", p)
	}
	rep = plays(t, newWorld(t, relay.Config{Password: "Kobayashi"}), Options{Bots: 1, Seed: 1, For: 10 * time.Second, Password: "Kobayashi"})
	if p := rep.Players[0]; p.Joins == 0 {
		t.Errorf("got %+v", p)
	}
}

// If no host answers, the run soon ends with an error. A run can be interrupted: the bots leave.
func TestEnds(t *testing.T) {
	w := newWorld(t, relay.Config{})
	w.deaf = true
	if _, err := Run(w, Options{Bots: 2, Seed: 1, For: time.Hour}); !errors.Is(err, ErrSilent) || w.now.Sub(began) > 15*time.Second {
		t.Errorf("got %v after %v", err, w.now.Sub(began))
	}
	w = newWorld(t, relay.Config{})
	told := 0
	rep := plays(t, w, Options{
		Bots: 2, Seed: 1, For: time.Hour, Stopped: func() bool { return w.now.Sub(began) > 20*time.Second },
		Progress: func(inGame int, _ time.Duration) { told = max(told, inGame) },
	})
	if !rep.Stopped || rep.Seconds < 20 || rep.Seconds > 22 || told != 2 {
		t.Errorf("got %+v, %d told", rep, told)
	}
}

// A host that ends in the middle puts all out; they try to come back, and the report has the gap.
func TestHostEnds(t *testing.T) {
	w := newWorld(t, relay.Config{Mode: relay.Playable})
	rep, err := Run(w, Options{Bots: 2, Seed: 1, For: 100 * time.Second, Scripts: []Script{{
		Steps: []Step{{Verb: Join}, {Verb: Fly, For: time.Hour}},
	}}, Progress: func(_ int, left time.Duration) { w.deaf = left < 70*time.Second }})
	if err != nil {
		t.Fatal(err)
	}
	if rep.All.PutOut != 2 || rep.All.JoinsFailed != 2 || rep.Players[0].Reason != "not let in before the end" || rep.All.Gap.Max < 10_000 {
		t.Errorf("got %+v", rep)
	}
}

const example = `
[bots]
Kirk = ["join", "fly 2s", "fire", "fly 500ms", "hit", "chat Größe: 5 €", "die", "wait 3s", "fly 1s", "leave", "wait 1s", "repeat"]
Bot2 = ["dialect openbc", "join", "wait 10s"]
`

// A script is played exactly: its steps in their order, at their times.
func TestScript(t *testing.T) {
	scripts, err := ReadScripts(modfile.File{Name: "bots.toml", Data: []byte(example)})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, relay.Config{Mode: relay.Playable})
	rep := plays(t, w, Options{Bots: 3, Seed: 1, For: 24 * time.Second, Scripts: scripts, Dialect: "stock"})
	kirk, second, third := rep.Players[0], rep.Players[1], rep.Players[2]
	// A round takes 7.5 s, 50 ms for each of the other steps, and the times to join and leave.
	if kirk.Name != "Kirk" || kirk.Joins != 3 || kirk.Shots != 6 || kirk.Hits != 3 || kirk.Lines != 3 || kirk.Deaths != 3 || kirk.Ships != 6 || kirk.Leaves < 3 {
		t.Errorf("got %+v", kirk)
	}
	if second.Name != "Bot2" || second.Dialect != "openbc" || second.Joins != 1 || second.Ships != 0 || second.Leaves != 1 || second.LinesSeen == 0 {
		t.Errorf("got %+v", second)
	}
	if third.Name != "Kirk3" || third.Joins != 3 || third.Dialect != "stock" {
		t.Errorf("got %+v", third)
	}
	if n := w.seen["Größe: 5 €"]; n < 3 {
		t.Errorf("the host got the text %d times: %v", n, w.seen)
	}
	// A run ends when all bots are done.
	rep = plays(t, newWorld(t, relay.Config{}), Options{Bots: 1, Seed: 1, For: time.Hour, Scripts: scripts[1:]})
	if rep.Seconds < 10 || rep.Seconds > 12 || rep.Stopped {
		t.Errorf("it took %v s", rep.Seconds)
	}
}

func TestScriptErrors(t *testing.T) {
	for text, want := range map[string]string{
		``:                       "x.toml: has 0 players; name 1 to 16 in the table [bots]",
		"[bots]\nA=[]":           "x.toml:2: A: is empty",
		"[bots]\nA=[\n\"jion\"]": `x.toml:2: A, step 1, "jion": no such step (did you mean join?); choose from dialect, join, fly, wait, fire, hit, chat, die, leave, repeat`,
		"[bots]\nA=[\"fly 3s\"]": `x.toml:2: A, step 1, "fly 3s": the bot isn't in the game; join comes first`,
		"[bots]\nA=[\"join\"]\nB=[\"join\",\"die\"]":         `x.toml:3: B, step 2, "die": the bot has no ship; fly comes first`,
		"[bots]\nA=[\"join\",\"fly 1s\",\"die\",\"hit\"]":    `x.toml:2: A, step 4, "hit": the bot has no ship`,
		"[bots]\nA=[\"join\",\"fly 1s\",\"leave\",\"fire\"]": `x.toml:2: A, step 4, "fire": the bot has no ship`,
		"[bots]\nA=[\"join\",\"fly\"]":                       `x.toml:2: A, step 2, "fly": give a time up to 24h0m0s, such as fly 3s`,
		"[bots]\nA=[\"wait -3s\"]":                           `x.toml:2: A, step 1, "wait -3s": give a time`,
		"[bots]\nA=[\"join now\"]":                           `x.toml:2: A, step 1, "join now": join takes nothing after it`,
		"[bots]\nA=[\"join\",\"chat\"]":                      `x.toml:2: A, step 2, "chat": give a text of 1 to 200 bytes, such as chat hello`,
		"[bots]\nA=[\"dialect klingon\"]":                    `x.toml:2: A, step 1, "dialect klingon": choose dialect stock or dialect openbc`,
		"[bots]\nA=[3]":                                      "x.toml:2: A must be an array of texts",
		"[bots]\nA=\"join\"":                                 "x.toml:2: A must be an array, not a text in quotes",
		"[bots]\n\"A B\"=[\"join\"]":                         "x.toml:2: A B: a name has letters, digits, - and _ only",
		"[bot]\nA=[\"join\"]":                                `x.toml:1: the file has no key "bot" (did you mean bots?)`,
		"[bots]\n" + many(17):                                "x.toml: has 17 players; name 1 to 16 in the table [bots]",
	} {
		if _, err := ReadScripts(modfile.File{Name: "x.toml", Data: []byte(text)}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

func many(n int) (text string) {
	for i := range n {
		text += fmt.Sprintf("A%d=[\"join\"]\n", i)
	}
	return text
}

// The steps of a bot without a script follow from seed and bot.
func TestInvented(t *testing.T) {
	take := func(seed uint64, bot int) (steps []Step) {
		next := invented(seed, bot)
		for range 500 {
			s, _ := next()
			steps = append(steps, s)
		}
		return steps
	}
	one := take(7, 1)
	if !reflect.DeepEqual(one, take(7, 1)) || reflect.DeepEqual(one, take(8, 1)) || reflect.DeepEqual(one, take(7, 2)) {
		t.Error("the steps don't follow from seed and bot")
	}
	counts := map[Verb]int{}
	for _, s := range one {
		counts[s.Verb]++
	}
	for _, v := range []Verb{Join, Fly, Wait, Fire, Hit, Chat, Die, Leave} {
		if counts[v] == 0 {
			t.Errorf("none of 500 steps is %s", v)
		}
	}
}

// All updates and actions of all ships can be written, in either dialect.
func TestAllShips(t *testing.T) {
	for i, class := range fleet() {
		for _, openBC := range []bool{false, true} {
			r := &run{o: Options{Seed: 1}, began: began, ships: nil}
			b := &bot{run: r, index: i%MostBots + 1, openBC: openBC}
			var got []relay.Message
			b.client = relay.NewClient(relay.ClientConfig{Name: "x", OpenBC: openBC, Sent: func(m relay.Message) { got = append(got, m) }})
			b.client.Slot = 2
			b.craft = &craft{id: 0x4007FFFF, class: class, owner: b, born: began, alive: true, copies: map[string]int{}}
			for n := range 40 {
				b.flies(began.Add(time.Duration(n) * updateEvery))
			}
			for _, target := range []uint32{0, 0x3FFFFFFF} {
				for range 3 {
					b.hits(began, objectOf(target))
				}
			}
			b.stops(began)
			b.dies(began)
			if b.client.Err != nil || len(got) < 40+12+2 {
				t.Errorf("%s: %v, %d messages", class.Name, b.client.Err, len(got))
			}
			for _, m := range got {
				spec := msg.Catalog().Lookup(decode.Opcode(m.Body[0]))
				if res := decode.NewDecoder().ReadAs(spec, m.Body, map[bool]decode.Dialect{false: decode.Stock, true: decode.OpenBC}[openBC], ships{class}); !res.Exact() {
					t.Errorf("%s: %s %X: %v", class.Name, spec.Name, m.Body, res.Err)
				}
			}
		}
	}
}

func objectOf(id uint32) wire.ObjectID { return wire.ObjectID(id) }

// ships are all of one class.
type ships struct{ class *ship.Class }

func (s ships) Ship(wire.ObjectID) *ship.Class            { return s.class }
func (s ships) Base(wire.ObjectID) (p wire.Vec3, ok bool) { return p, true }

// The example of the documentation is a script, and can be played.
func TestExample(t *testing.T) {
	const name = "example-bots.toml"
	data, err := os.ReadFile(filepath.Join(filepath.Dir(fixtures.Dir()), "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	scripts, err := ReadScripts(modfile.File{Name: name, Data: data})
	if err != nil {
		t.Fatal(err)
	}
	rep := plays(t, newWorld(t, relay.Config{Mode: relay.Playable}), Options{Bots: len(scripts), Seed: 1, For: time.Minute, Scripts: scripts})
	if a := rep.All; len(rep.Players) != 3 || a.Joins < 4 || a.Deaths < 2 || a.Hits < 10 || a.Lines < 8 || a.PutOut+a.JoinsFailed+a.LinesMissing > 0 {
		t.Errorf("got %+v", a)
	}
}

// Who is far away gets all updates also while others come and go all the time. The messages that
// tell of them wait for acknowledgements, which OpenBC's clients never send.
func TestFarAway(t *testing.T) {
	w := newWorld(t, relay.Config{Mode: relay.Playable, Public: true}, "delay=600ms")
	rep, err := Run(w, Options{Bots: 8, Seed: 7, For: 4 * time.Minute, Dialect: "openbc"})
	if err != nil {
		t.Fatal(err)
	}
	if a := &rep.All; a.Joins < 40 || a.PutOut > 0 || a.UpdatesSeen < 3*a.Updates || a.UpdatesMissing > 0 || a.Gap.Max > 205 {
		t.Errorf("after %d joins %d were put out; of %d updates the bots got %d copies and miss %d, for up to %.0f ms", a.Joins, a.PutOut, a.Updates, a.UpdatesSeen, a.UpdatesMissing, a.Gap.Max)
	}
}

// Bots watch the ships of a long game to the end, though they remember only so many.
func TestManyShips(t *testing.T) {
	scripts, err := ReadScripts(modfile.File{Name: "short lives", Data: []byte("[bots]\nPilot = [\"join\", \"fly 2s\", \"die\", \"wait 3s\", \"repeat\"]\n")})
	if err != nil {
		t.Fatal(err)
	}
	rep := plays(t, newWorld(t, relay.Config{Mode: relay.Playable}), Options{Bots: 3, Seed: 7, For: 10 * time.Minute, Dialect: "openbc", Scripts: scripts})
	if a := &rep.All; a.Deaths < 3*100 || a.UpdatesMissing > 0 || a.UpdatesSeen < 2*a.Updates*9/10 {
		t.Errorf("of %d ships there were %d updates; the bots got %d, %d are missing", a.Ships, a.Updates, a.UpdatesSeen, a.UpdatesMissing)
	}
}

// A line that a player never saw is told with its author and number. A player who joined
// later, or left, misses nothing; of lines with the same text the first that came counts.
func TestMissingLines(t *testing.T) {
	r := &run{began: began}
	for i, name := range []string{"Kirk", "Spock", "Sulu"} {
		r.bots = append(r.bots, &bot{run: r, index: i + 1, name: name, state: playing, since: began})
	}
	kirk, spock, sulu := r.bots[0], r.bots[1], r.bots[2]
	say := func(seconds float64, text string) time.Time {
		now := began.Add(time.Duration(seconds * float64(time.Second)))
		kirk.counts.Lines++
		r.says(now, kirk, text)
		r.lineReceived(now, kirk, text)
		return now
	}
	r.lineReceived(say(1, "aye"), spock, "aye")
	sulu.state = offline
	say(2, "lost")
	r.lineReceived(say(3, "aye"), spock, "aye")
	spock.since, sulu.state = began.Add(4*time.Second), playing
	say(4, "last")
	kirk.settled = began.Add(3500 * time.Millisecond)
	r.abandons(kirk)
	for i := range r.lines {
		r.misses(&r.lines[i])
	}
	// Spock came again after 4 s, so that "lost" is not expected of him.
	want := []Missing{{"Sulu", "Kirk", 1, 1, "aye", false}, {"Spock", "Kirk", 4, 4, "last", true}, {"Sulu", "Kirk", 4, 4, "last", true}}
	if !reflect.DeepEqual(r.missing, want) || spock.counts.LinesMissing != 1 || sulu.counts.LinesMissing != 2 || kirk.counts.LinesMissing != 0 {
		t.Errorf("got %+v, want %+v", r.missing, want)
	}
}
