package relay

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/dissect/relay/arq"
	"github.com/bcdissect/bcdissect/dissect/transport"
	"github.com/bcdissect/bcdissect/fixtures"
)

func seconds(n float64) time.Time { return start.Add(time.Duration(n * float64(time.Second))) }

func TestBucket(t *testing.T) {
	b := bucket{rate: Rate{PerSecond: 2, Burst: 4}}
	for i, step := range []struct {
		at    float64
		do    string
		n     float64
		ok    bool // result of take or holds
		level float64
	}{
		{0, "take", 4, true, 0}, // it begins full
		{0, "take", 1, false, 0},
		{0, "holds", 0, false, 0},
		{0.25, "take", 1, false, 0.5},
		{0.5, "take", 1, true, 0},
		{0.25, "take", 1, false, 0}, // time does not go back
		{1, "holds", 0, true, 1.5},
		{9, "holds", 0, true, 4}, // no more than it can hold
		{9, "charge", 1, true, 3},
		{9, "charge", 9, true, -4},
		{9, "holds", 0, false, -4},
		{11, "holds", 0, false, 0},
		{11.25, "holds", 0, true, 0.5},
		{11.25, "earn", 3, true, 3.5},
		{11.25, "earn", 3, true, 4},
	} {
		ok := true
		switch step.do {
		case "take":
			ok = b.take(seconds(step.at), step.n)
		case "holds":
			ok = b.holds(seconds(step.at))
		case "charge":
			b.charge(seconds(step.at), step.n)
		case "earn":
			b.earn(seconds(step.at), step.n)
		}
		if ok != step.ok || b.level != step.level {
			t.Errorf("step %d, %s: got %v, level %v; want %v, %v", i, step.do, ok, b.level, step.ok, step.level)
		}
	}
}

// Addresses beyond the limit wait until others, with full buckets, are forgotten.
func TestRates(t *testing.T) {
	r := newRates(Rate{PerSecond: 1, Burst: 2}, 2)
	a, b, c := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2"), netip.MustParseAddr("10.0.0.3")
	for i, step := range []struct {
		at   float64
		addr netip.Addr
		want bool
	}{
		{0, a, true},
		{0, a, true},
		{0, a, false}, // the first address has used up its own
		{0, b, true},
		{0, c, false},    // no room for a third address
		{0.5, c, false},  // nor now
		{0.99, c, false}, // the second one is not full
		{1, c, true},     // now it is, and is forgotten
		{1.5, b, false},  // full ones are looked for once a second
		{2.5, b, true},
		{2.5, a, true}, // both are full and forgotten
		{2.5, c, false},
	} {
		if got := r.take(seconds(step.at), step.addr); got != step.want {
			t.Errorf("step %d: got %v", i, got)
		}
	}
}

// Each message to a client gives it room for nine acknowledgements of five bytes.
func TestAnswerBudget(t *testing.T) {
	b := newBudget(&Limits{PeerRate: Rate{0, 100}, PeerBytes: Rate{0, 1000}, MessageRate: Rate{0, 1000}})
	b.datagrams.take(start, 100)
	b.bytes.take(start, 1000)
	b.messages.take(start, 1000)
	b.answer(start, 2)
	if b.datagrams.level != 2 || b.bytes.level != 90 || b.messages.level != 18 {
		t.Errorf("%v datagrams, %v bytes, %v messages; want 2, 90, 18", b.datagrams.level, b.bytes.level, b.messages.level)
	}
}

// waitingPeer returns a client for which so many messages wait, sent at start.
func waitingPeer(t *testing.T, n int) *peer {
	t.Helper()
	p := &peer{proved: true, trusted: true, phase: Playing, link: arq.New(2, arq.Limits{})}
	for range n {
		if err := p.link.Queue(start, arq.Message{Type: transport.Standard, Reliable: true, Body: []byte("x")}); err != nil {
			t.Fatal(err)
		}
	}
	for _, ok := p.link.Datagram(start, nil); ok; _, ok = p.link.Datagram(start, nil) {
	}
	return p
}

func TestDeaf(t *testing.T) {
	const tick = 1e-9
	for _, tt := range []struct {
		waiting        int
		stalled, heard float64 // seconds ago
		want           string
	}{
		{1, 30, 0, "sends, but acknowledges nothing"},
		{1, 30 - tick, 0, ""},
		{1, 30, 10, ""},
		{1, 30, 10 - tick, "sends, but acknowledges nothing"},
		{muchWaiting, 10, 0, ""},
		{muchWaiting + 1, 10, 0, "too much waits"},
		{muchWaiting + 1, 10, 20, "too much waits"},
		{muchWaiting + 1, 10 - tick, 0, ""},
	} {
		h, p := NewHost(Config{}), waitingPeer(t, tt.waiting)
		h.now = seconds(tt.stalled)
		p.lastReceived = h.now.Add(-time.Duration(tt.heard * float64(time.Second)))
		got := h.deaf(p)
		if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%d wait for %v s, heard %v s ago: %q, want %q", tt.waiting, tt.stalled, tt.heard, got, tt.want)
		}
		if p.phase = Leaving; h.deaf(p) != "" {
			t.Error("a client that has left is deaf")
		}
	}
}

// Updates are not sent to who would only be hindered by them.
func TestOutdated(t *testing.T) {
	for _, tt := range []struct {
		waiting int
		trusted bool
		heard   time.Duration // ago
		want    bool
	}{
		{muchWaiting, true, 0, false},
		{muchWaiting + 1, true, 0, true},
		{someWaiting, false, 0, false},
		{someWaiting + 1, false, 0, true},
		{someWaiting + 1, true, 0, false},
		{0, true, quietFor, false},
		{0, true, quietFor + 1, true},
	} {
		for _, captured := range []bool{false, true} {
			h, p := NewHost(Config{Captured: captured}), waitingPeer(t, tt.waiting)
			h.now, p.lastReceived, p.trusted = start.Add(tt.heard), start, tt.trusted
			if got := h.outdated(p); got != (tt.want && !captured) {
				t.Errorf("%+v, captured %v: got %v", tt, captured, got)
			}
		}
	}
}

// When a client is given up.
func TestDeadline(t *testing.T) {
	born, heard, left := seconds(100), seconds(130), seconds(140)
	for _, tt := range []struct {
		name string
		p    peer
		want float64
	}{
		{"has proved nothing", peer{phase: Checking}, 100 + 10},
		{"joins", peer{phase: Loading, proved: true}, 100 + 60},
		{"plays", peer{phase: Playing, proved: true}, 130 + 45},
		{"was let in without proof", peer{phase: Playing, assumed: firstID}, 130 + 45},
		{"has left", peer{phase: Leaving, proved: true}, 140 + 15},
		{"was turned away", peer{phase: Leaving}, 140 + 2},
	} {
		tt.p.born, tt.p.lastReceived, tt.p.left = born, heard, left
		if got := tt.p.deadline(&Config{Limits: Limits{}.orDefault()}); !got.Equal(seconds(tt.want)) {
			t.Errorf("%s: got %v s, want %v s", tt.name, got.Sub(start).Seconds(), tt.want)
		}
	}
	quiet := peer{phase: Loading, proved: true, born: born, lastReceived: seconds(101)} // silence ends before the time to join
	if got := quiet.deadline(&Config{Limits: Limits{}.orDefault()}); !got.Equal(seconds(101 + 45)) {
		t.Errorf("joins in silence: got %v s", got.Sub(start).Seconds())
	}
	captured := peer{phase: Playing, proved: true, born: born, lastReceived: heard} // the captured host decides
	if got := captured.deadline(&Config{Captured: true, Limits: Limits{}.orDefault()}); got.Before(heard.AddDate(1, 0, 0)) {
		t.Errorf("in a capture: got %v s", got.Sub(start).Seconds())
	}
}

// At its deadline, not before, a client is given up, and the event says why.
func TestLate(t *testing.T) {
	g := newGame(t, Config{})
	c := g.join(1001)
	c.deaf = true
	p := g.peerAt(c.addr)
	g.host.Advance(p.lastReceived.Add(arq.SilenceLimit - 1))
	if g.has(TimedOut, "") {
		t.Error("given up too early")
	}
	g.host.Advance(p.lastReceived.Add(arq.SilenceLimit))
	if !g.has(TimedOut, "it was silent for too long") {
		t.Errorf("events %q", g.events)
	}
}

// Each drop is counted under its own name and in one sum.
func TestDropSums(t *testing.T) {
	for why := range Drops {
		h := NewHost(Config{})
		h.drop(why)
		s := h.Stats()
		want := [3]int{0, 0, 1}
		switch why {
		case DropMalformed:
			want = [3]int{1, 0, 0}
		case DropStranger, DropWrongID, DropForged:
			want = [3]int{0, 1, 0}
		}
		if got := [3]int{s.Malformed, s.Strangers, s.Limited}; got != want || s.Dropped[why] != 1 {
			t.Errorf("%v: got %v, want %v", why, got, want)
		}
	}
}

// A message costs the client that causes it its bytes and a few more, for each
// that receives it.
func TestFanOutCost(t *testing.T) {
	h := NewHost(Config{Limits: Limits{FanOut: Rate{0, 1000}}})
	cause := &peer{budget: newBudget(&h.cfg.Limits)}
	cause.budget.fanOut.fill(start)
	h.now, h.cause = start, cause
	for i := range 3 {
		p := waitingPeer(t, 0)
		h.queue(p, arq.Message{Type: transport.Standard, Reliable: true, Body: make([]byte, 100)})
		if got, want := cause.budget.fanOut.level, 1000-108*float64(i+1); got != want || !p.awake || p.link.Stats().Waiting != 1 {
			t.Errorf("after %d: %v left, want %v", i+1, got, want)
		}
	}
	gone := waitingPeer(t, 0)
	gone.phase = Leaving
	h.queue(gone, arq.Message{Type: transport.Standard, Reliable: true, Body: []byte("x")})
	if gone.link.Stats().Waiting != 0 {
		t.Error("who has left is sent a game message")
	}
	h.queue(gone, arq.Message{Type: transport.BootPlayer, Body: []byte("x")})
	if gone.link.Stats().Waiting != 1 {
		t.Error("who has left is not sent a control message")
	}
}

// How much may be sent to a client that is not trusted.
func TestRoom(t *testing.T) {
	h := NewHost(Config{})
	for _, tt := range []struct {
		p    peer
		want int
	}{{peer{got: 100}, 400}, {peer{got: 100, gave: 150}, 250}, {peer{got: 100, gave: 150, proved: true}, 250 + 1024}} {
		if got := h.room(&tt.p); got != tt.want {
			t.Errorf("got %d, gave %d, proved %v: %d, want %d", tt.p.got, tt.p.gave, tt.p.proved, got, tt.want)
		}
	}
	to := netip.MustParseAddrPort("10.0.0.1:1")
	for range directLimit + 1 {
		h.sendDirect(to, []byte("x"))
	}
	if n := len(h.direct); n != directLimit || h.stats.Dropped[DropSend] != 1 {
		t.Errorf("%d answers wait, %d are dropped; want %d, 1", n, h.stats.Dropped[DropSend], directLimit)
	}
}

// Ids are given in turn, without the one that begins GameSpy text, from the last
// to the first.
func TestFreeID(t *testing.T) {
	h := NewHost(Config{})
	var got []uint8
	for {
		id, ok := h.freeID(new(peer))
		if !ok {
			break
		}
		h.ids[id] = &peer{}
		got = append(got, id)
	}
	var want []uint8
	for id := firstID; id <= lastID; id++ {
		if id != skippedID {
			want = append(want, uint8(id))
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
	h.ids[lastID], h.ids[firstID] = nil, nil
	h.nextID = lastID
	for _, want := range []uint8{lastID, firstID, lastID} {
		if id, ok := h.freeID(new(peer)); !ok || id != want {
			t.Errorf("got %d, %v, want %d", id, ok, want)
		}
	}
}

// The mission's rules, in the game and for server browsers.
func TestLimitsOfMission(t *testing.T) {
	for _, tt := range []struct {
		time, frags uint8
		init        string
		status      string
	}{
		{msg.Unlimited, msg.Unlimited, "350801FFFF", `\timelimit\-1\fraglimit\-2\`},
		{20, 7, "350801" + "14" + "B0040000" + "07", `\timelimit\20\fraglimit\7\`},
	} {
		g := newGame(t, Config{})
		g.host.cfg.TimeLimit, g.host.cfg.FragLimit = tt.time, tt.frags
		c := g.join(1001)
		if !slices.Contains(c.take(), tt.init) {
			t.Errorf("%d minutes: not sent %s", tt.time, tt.init)
		}
		g.host.Receive(g.now, netip.MustParseAddrPort("10.0.0.9:9"), []byte(`\status\`))
		_, d, _ := g.host.Send()
		if !strings.Contains(string(d), tt.status) || !strings.Contains(string(d), `\numplayers\1\`) {
			t.Errorf("browsers are told %s", d)
		}
	}
}

// An empty message does no harm.
func TestEmptyMessage(t *testing.T) {
	g := newGame(t, Config{})
	c := g.join(1001)
	c.say("")
	c.send(arq.Message{Type: transport.NameChange, Body: nil})
	if !g.has(Ignored, "an unreadable name") {
		t.Errorf("events %q", g.events)
	}
}

// A dice is a row of random numbers.
type dice struct {
	floats []float64
	ints   []int64
}

func (d *dice) Float64() (x float64) {
	x, d.floats = d.floats[0], d.floats[1:]
	return x
}

func (d *dice) Int64N(n int64) (x int64) {
	x, d.ints = d.ints[0], d.ints[1:]
	if x >= n {
		panic(fmt.Sprint(x, " of ", n))
	}
	return x
}

func (d *dice) IntN(n int) int { return int(d.Int64N(int64(n))) }

func TestTrouble(t *testing.T) {
	const ms = time.Millisecond
	trouble := Trouble{Loss: 0.1, Duplicate: 0.2, Reorder: 0.3, Delay: 50 * ms, Jitter: 10 * ms}
	for _, tt := range []struct {
		name   string
		t      Trouble
		floats []float64
		ints   []int64
		want   []time.Duration
	}{
		{"lost", trouble, []float64{0.09}, nil, nil},
		{"just not lost, not doubled", trouble, []float64{0.1, 0.2, 0.3}, []int64{int64(3 * ms)}, []time.Duration{53 * ms}},
		{"doubled", trouble, []float64{0.5, 0.19, 0.3, 0.3}, []int64{0, int64(9 * ms)}, []time.Duration{50 * ms, 59 * ms}},
		{"overtaken", trouble, []float64{0.5, 0.5, 0.29}, []int64{int64(ms), int64(99 * ms)}, []time.Duration{150 * ms}},
		{"without jitter", Trouble{Delay: ms, Reorder: 1}, []float64{0, 0}, nil, []time.Duration{ms}},
	} {
		if got := tt.t.Copies(&dice{tt.floats, tt.ints}); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
	damage := Trouble{Cut: 0.1, Flip: 0.2}
	for _, tt := range []struct {
		name, datagram string
		floats         []float64
		ints           []int64
		want           string
	}{
		{"none", "abc", []float64{0.1, 0.2}, nil, "abc"},
		{"cut", "abc", []float64{0.09, 0.2}, []int64{2}, "ab"},
		{"flipped", "abc", []float64{0.1, 0.19}, []int64{2, 1}, "aba"},
		{"cut to nothing", "abc", []float64{0.09}, []int64{0}, ""},
		{"nothing", "", nil, nil, ""},
	} {
		if got := string(damage.Damage(&dice{tt.floats, tt.ints}, []byte(tt.datagram))); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// Datagrams arrive by their time and, at one time, in the order in which they
// were sent; none before its time.
func TestArrivals(t *testing.T) {
	n := Network{Rand: &dice{}}
	from, to := netip.MustParseAddrPort("10.0.0.1:1"), netip.MustParseAddrPort("10.0.0.2:2")
	random := &dice{}
	n.Rand = random
	for i, delay := range []time.Duration{3, 1, 1, 2, 1, 3} {
		random.floats = []float64{0, 0, 0, 0}
		n.Send(start, from, to, []byte{byte('a' + i)}, &Trouble{Delay: delay * time.Second})
	}
	if _, ok := n.Receive(seconds(1 - 1e-9)); ok {
		t.Error("a datagram arrives before its time")
	}
	got := ""
	for _, now := range []float64{1, 3} {
		for a, ok := n.Receive(seconds(now)); ok; a, ok = n.Receive(seconds(now)) {
			if a.From != from || a.To != to {
				t.Errorf("from %v to %v", a.From, a.To)
			}
			got += string(a.Datagram)
		}
		got += " "
	}
	if got != "bce daf " {
		t.Errorf("arrived %q, want %q", got, "bce daf ")
	}
}

// Joins of an address that are not finished, and the one that stands still for
// longest.
func TestUnfinished(t *testing.T) {
	mine := netip.MustParseAddr("10.0.0.1")
	now := seconds(100)
	ago := func(s float64) time.Time { return now.Add(-time.Duration(s * float64(time.Second))) }
	at := func(port uint16) netip.AddrPort { return netip.AddrPortFrom(mine, port) }
	for _, tt := range []struct {
		name  string
		peers []*peer
		n     int
		idle  int // index, -1 for none
	}{
		{"nobody", nil, 0, -1},
		{"each phase", []*peer{
			{addr: at(2), phase: Checking, proved: true, moved: now},
			{addr: at(3), phase: Loading, proved: true, moved: now},
			{addr: at(4), phase: Playing, proved: true},
			{addr: at(5), phase: Leaving, proved: true},
		}, 2, -1},
		{"the same port", []*peer{{addr: at(1), proved: true}}, 0, -1},
		{"another address", []*peer{{addr: netip.MustParseAddrPort("10.0.0.2:2"), proved: true}}, 0, -1},
		{"just not forgotten", []*peer{{addr: at(2), born: ago(2)}}, 1, -1},
		{"forgotten", []*peer{{addr: at(2), born: ago(2.001)}}, 0, -1},
		{"not idle yet", []*peer{{addr: at(2), proved: true, born: ago(50), moved: ago(9.999)}}, 1, -1},
		{"idle", []*peer{{addr: at(2), proved: true, born: ago(50), moved: ago(10)}}, 1, 0},
		{"idle without proof", []*peer{{addr: at(2), assumed: firstID, born: ago(50), moved: ago(10)}}, 1, 0},
		{"idle longest", []*peer{
			{addr: at(2), proved: true, moved: ago(11)}, {addr: at(3), proved: true, moved: ago(12)}, {addr: at(4), proved: true, moved: ago(11)},
		}, 3, 1},
	} {
		h := NewHost(Config{})
		h.now, h.peers = now, tt.peers
		n, idle := h.unfinished(at(1))
		if n != tt.n || slices.Index(tt.peers, idle) != tt.idle {
			t.Errorf("%s: got %d, %d; want %d, %d", tt.name, n, slices.Index(tt.peers, idle), tt.n, tt.idle)
		}
	}
}

// Who has to wait when slots are scarce, and who has taken too many.
func TestScarceSlots(t *testing.T) {
	now := seconds(100)
	mine := netip.MustParseAddr("10.0.0.1")
	for _, tt := range []struct {
		name     string
		players  int // slots
		playing  int // clients at other addresses that play
		joining  int // clients at this address that join
		idle     bool
		crowded  bool
		intruder bool
	}{
		{"room for all", 8, 0, 3, false, false, false},
		{"half are free with these", 8, 3, 2, false, true, false}, // 3 of 8 are free
		{"more than half are free", 8, 1, 2, false, false, false}, // 5 of 8
		{"half are free", 8, 2, 2, false, true, false},            // 4 of 8
		{"one join", 8, 5, 1, false, false, false},
		{"a quarter joins", 8, 6, 2, false, true, false},
		{"a quarter joins, one stands still", 8, 6, 2, true, false, false},
		{"more than a quarter joins", 8, 5, 3, false, true, false},
		{"more than a quarter joins, one stands still", 8, 5, 3, true, false, true},
		{"two slots, one join", 2, 1, 1, false, true, false},
		{"two slots, two joins, one stands still", 2, 0, 2, true, false, true},
	} {
		g := newGame(t, Config{Players: tt.players})
		h := g.host
		h.now = now
		add := func(addr netip.AddrPort, phase Phase, moved time.Time) *peer {
			slot := h.freeSlot(&peer{})
			p := &peer{addr: addr, id: uint8(slot + 2), phase: phase, proved: true, slot: slot, moved: moved, lastReceived: now, born: now, link: arq.New(1, arq.Limits{})}
			h.slots[slot], h.peers, h.ids[p.id] = p, append(h.peers, p), p
			return p
		}
		for i := range tt.playing {
			add(netip.AddrPortFrom(netip.MustParseAddr("10.0.1.1"), uint16(i+1)), Playing, now)
		}
		var first *peer
		for i := range tt.joining {
			moved := now
			if i == 0 && tt.idle {
				moved = now.Add(-idleJoin)
			}
			if p := add(netip.AddrPortFrom(mine, uint16(i+1)), Loading, moved); i == 0 {
				first = p
			}
		}
		if got := h.intruder(nil); (got != nil) != tt.intruder || got != nil && got != first {
			t.Errorf("%s: intruder %+v, want %v", tt.name, got, tt.intruder)
		}
		if got := h.crowded(netip.AddrPortFrom(mine, 99)); got != tt.crowded {
			t.Errorf("%s: crowded is %v", tt.name, got)
		}
		if out := first.phase == Leaving; out != (tt.idle && !tt.crowded) {
			t.Errorf("%s: put out is %v", tt.name, out)
		}
		for _, p := range h.peers {
			p.slot = -1
		}
		if h.intruder(nil) != nil {
			t.Errorf("%s: who has no slot is an intruder", tt.name)
		}
	}
}

// A slot is put by for a client that has proved nothing, and it loses it to one
// that has.
func TestSlotPutBy(t *testing.T) {
	g := newGame(t, Config{Players: 1})
	stranger := netip.MustParseAddrPort("10.0.0.1:1")
	g.raw(stranger, stockConnect(1))
	p := g.peerAt(stranger)
	if p == nil || p.slot != 0 || g.host.slots[0] != p || p.trusted {
		t.Fatalf("a stranger: %+v", p)
	}
	c := g.connect(1001)
	own := g.peerAt(c.addr)
	if own.slot != 0 || g.host.slots[0] != own || p.slot != -1 {
		t.Errorf("slot %d for the client, %d for the stranger", own.slot, p.slot)
	}
	if !own.proved || own.trusted {
		t.Errorf("proved is %v, trusted %v before it plays", own.proved, own.trusted)
	}
	for _, a := range answers {
		c.say(a)
	}
	if own.trusted {
		t.Error("trusted while it loads")
	}
	if c.say("2A 20"); !own.trusted {
		t.Error("not trusted though it plays")
	}
}

// The host remembers four sessions of one address that have proved nothing, in
// addition to a session that has.
func TestPending(t *testing.T) {
	for _, known := range []bool{false, true} {
		g := newGame(t, Config{})
		addr := netip.MustParseAddrPort("10.10.10.239:1001")
		want := pendingMost
		if known {
			g.join(addr.Port())
			want++
		}
		for nonce := range uint32(7) {
			g.raw(addr, stockConnect(100+nonce))
			list := g.host.byAddr[addr]
			if len(list) > want {
				t.Errorf("known %v: %d sessions after %d, want at most %d", known, len(list), nonce+1, want)
			}
			if last := list[len(list)-1]; last.nonce != 100+nonce {
				t.Errorf("the last session has nonce %d", last.nonce)
			}
			if known && !list[0].known() {
				t.Error("the session that is known is forgotten")
			}
		}
		if n := len(g.host.byAddr[addr]); n != want {
			t.Errorf("known %v: %d sessions, want %d", known, n, want)
		}
	}
}

// When all ids are given, one that proves nothing is taken back.
func TestAllIDs(t *testing.T) {
	g := newGame(t, Config{})
	addr := func(i int) netip.AddrPort { return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 1, byte(i)}), 1) }
	const ids = lastID - firstID // one is skipped
	for i := range ids + 1 {
		g.raw(addr(i), stockConnect(1))
		if n := len(g.host.peers); n != min(i+1, ids) {
			t.Fatalf("%d sessions after %d", n, i+1)
		}
		if p := g.peerAt(addr(i)); p == nil {
			t.Fatalf("number %d is not let in", i+1)
		}
	}
	if g.peerAt(addr(0)) != nil || g.peerAt(addr(1)) == nil {
		t.Error("not the first one is forgotten")
	}
}

// A session that has been silent for a second pauses when its address asks to be
// let in again.
func TestPause(t *testing.T) {
	for silent, want := range map[time.Duration]bool{leastSilence - 1: false, leastSilence: true} {
		g := newGame(t, Config{})
		c := g.join(1001)
		p := g.peerAt(c.addr)
		g.now = p.lastReceived.Add(silent)
		g.raw(c.addr, stockConnect(77))
		if got := !p.pause.IsZero(); got != want || got && !p.pause.Equal(g.now.Add(pauseAtMost)) {
			t.Errorf("silent for %v: pauses until %v", silent, p.pause)
		}
	}
}

// A playable host repeats by the round trip, a strict one after a second.
func TestModeOfLinks(t *testing.T) {
	for mode, want := range map[Mode]bool{Playable: true, Strict: false} {
		g := newGame(t, Config{Mode: mode})
		c := g.join(1001)
		g.wait(3 * time.Second)
		g.host.Say(g.now, "hello")
		g.sentTo(c.addr)
		g.now = g.now.Add(500 * time.Millisecond)
		if got := g.sentTo(c.addr) > 0; got != want {
			t.Errorf("%v: repeated after half a second is %v", mode, got)
		}
	}
}

// OpenBC's clients may give a name to id 0, or to their slot.
func TestNamedID(t *testing.T) {
	for _, tt := range []struct {
		id     string
		openBC bool
		want   bool // a correction
	}{{"03", true, false}, {"00", true, false}, {"01", true, false}, {"02", true, true}, {"03", false, false}, {"00", false, true}, {"01", false, true}} {
		g := newGame(t, Config{})
		g.join(1001)
		c := g.connect(1002) // id 3, slot 1
		if tt.openBC {
			g.raw(c.addr, []byte{3, 1, byte(transport.Acknowledge), 0, 0, 0x80})
		}
		g.events = nil
		c.send(arq.Message{Type: transport.NameChange, Body: fixtures.Unhex(t, tt.id+"0A0A0AEF 42006F0062000000")})
		if got := g.has(Corrected, "it gives itself a name"); got != tt.want || !g.has(Named, "") {
			t.Errorf("id %s, OpenBC %v: events %q", tt.id, tt.openBC, g.events)
		}
	}
}

// A goodbye is passed on unchanged if it is the client's own.
func TestGoodbye(t *testing.T) {
	const own = "05: 020A0A0AEF" // the id, and the address that it gave when it connected
	for body, want := range map[string]string{
		"02 0A0A0AEF": own, "02 01020304": "05: 0201020304", "02 01020304 05": own, "02": own, "": own, "03 01020304": own,
	} {
		g := newGame(t, Config{})
		c, other := g.join(1001), g.join(1002)
		other.take()
		c.leave(body)
		if got := other.take(); !slices.Contains(got, want) {
			t.Errorf("goodbye %q: the other is sent %q, want %s", body, got, want)
		}
	}
}

// A name in a game message has a byte a letter, others are question marks.
func TestNameInBytes(t *testing.T) {
	g := newGame(t, Config{})
	c, other := g.join(1001), g.join(1002)
	c.send(arq.Message{Type: transport.NameChange, Body: fixtures.Unhex(t, "02 0A0A0AEF 4200 FF00 0001 6900 0000")})
	other.take()
	c.leave("02 0A0A0AEF")
	if got, want := other.take(), "1804000000"+"42FF3F69"; !slices.Contains(got, want) {
		t.Errorf("sent %q, want %s", got, want)
	}
}

// A client may say a few times more that it is ready.
func TestReadyAgain(t *testing.T) {
	g := newGame(t, Config{})
	c := g.join(1001)
	c.take()
	for n := range 5 {
		c.say("2A 20")
		sent := slices.Contains(c.take(), "350801FFFF")
		if again := n < int(readyRate.Burst); sent != again || g.has(Limited, "it says too often that it is ready") == again {
			t.Errorf("said %d times more: the mission is sent again is %v, events %q", n+1, sent, g.events)
		}
	}
}

// OpenBC's host tells all of a player who is ready, and the player of those who
// are.
func TestOpenBCAnnounces(t *testing.T) {
	g := newGame(t, Config{Like: decode.OpenBC})
	announced := func(c *client) (ids []string) {
		for _, m := range c.take() {
			if strings.HasPrefix(m, "17") {
				ids = append(ids, m[len(m)-2:])
			}
		}
		return ids
	}
	a := g.join(1001)
	if got := announced(a); !slices.Equal(got, []string{"02"}) {
		t.Errorf("the first is told of %v", got)
	}
	loading := g.connect(1003) // takes a slot, and is not announced
	for _, body := range answers {
		loading.say(body)
	}
	g.connect(1004) // has not told of its files, and has no score
	b := g.join(1002)
	var scores []string
	for _, m := range b.got {
		if strings.HasPrefix(m, "37") {
			scores = append(scores, m[2:4])
		}
	}
	if !slices.Equal(scores, []string{"02", "03", "05"}) {
		t.Errorf("the second is told the scores of %v", scores)
	}
	if got := announced(b); !slices.Equal(got, []string{"05", "02"}) {
		t.Errorf("the second is told of %v", got)
	}
	if got := announced(a); !slices.Equal(got, []string{"05"}) {
		t.Errorf("then the first is told of %v", got)
	}
}

// Full-width characters look like their ASCII counterparts, from the first to
// the last.
func TestSkeleton(t *testing.T) {
	for _, same := range [][2]string{{"！", "!"}, {"～", "~"}, {"Ａｚ０", "Az0"}, {"a b", "AB"}} {
		if a, b := Skeleton(same[0]), Skeleton(same[1]); a != b || a == "" {
			t.Errorf("%q has %q, %q has %q", same[0], a, same[1], b)
		}
	}
	for _, other := range []string{"\uFF00", "\uFF5F"} { // before and after them
		if a := Skeleton(other); a == "\u0020" || a == "\u007F" {
			t.Errorf("%q has %q", other, a)
		}
	}
}

func TestKnows(t *testing.T) {
	g := newGame(t, Config{})
	c := g.connect(1001)
	if !g.host.Knows(c.addr) || g.host.Knows(netip.MustParseAddrPort("10.0.0.9:1001")) {
		t.Error("the address of a session is not known, or another one is")
	}
}

// A connect in the name of a player brings the player no question: it would have
// number 0, which is a future one to a client that is far on, and take the place of a
// message when the numbers begin again.
func TestConnectInPlayersName(t *testing.T) {
	random := uint32(0)
	g := newGame(t, Config{Public: true, Random: func() uint32 { random++; return random }})
	a := g.join(1001)
	asked := func() (yes bool) {
		g.host.Advance(g.now)
		for {
			_, d, ok := g.host.Send()
			if !ok {
				return yes
			}
			split, err := transport.Split(cipher.Decrypt(nil, d))
			for more := err == nil; more; {
				var m transport.Message
				if m, more, err = split.Next(); err != nil {
					t.Fatal(err)
				}
				yes = yes || more && m.Type == transport.Standard && len(m.Body) > 0 && decode.Opcode(m.Body[0]) == msg.OpChecksumRequest
			}
		}
	}
	g.raw(a.addr, stockConnect(99))
	if asked() {
		t.Error("the player is asked for its files")
	}
	// Its game has begun again, and uses the id.
	list := g.host.byAddr[a.addr]
	again := &client{g: g, addr: a.addr, link: arq.New(list[len(list)-1].id, arq.Limits{})}
	g.clients[a.addr] = again
	g.wait(2 * time.Second)
	if len(list) != 2 || !slices.ContainsFunc(again.got, func(m string) bool { return strings.HasPrefix(m, "20") }) {
		t.Errorf("%d sessions; the new one is not asked for its files: %q", len(list), again.got)
	}
}

// Whoever guesses at the id of a client that joins neither ends its session nor
// takes the connects of its address.
func TestGuesses(t *testing.T) {
	g := newGame(t, Config{Public: true, Random: func() uint32 { return 5 }})
	addr := netip.MustParseAddrPort("10.0.0.1:1")
	g.raw(addr, stockConnect(1))
	for id := uint8(100); id < 120; id++ {
		g.raw(addr, []byte{id, 1, byte(transport.DoNothing)})
	}
	p := g.peerAt(addr)
	if p == nil || p.known() || len(g.events) > 0 {
		t.Fatalf("events %q", g.events)
	}
	g.raw(addr, []byte{p.id, 1, byte(transport.DoNothing)})
	g.raw(netip.AddrPortFrom(addr.Addr(), 2), stockConnect(2))
	if !p.proved || len(g.host.peers) != 2 {
		t.Errorf("proved: %v; %d sessions", p.proved, len(g.host.peers))
	}
}

// True acknowledgements cost nothing, and messages to a client give it room for as
// many datagrams.
func TestHonestAcknowledgements(t *testing.T) {
	g := newGame(t, Config{Limits: Limits{PeerRate: Rate{0.001, 1000}}})
	c := g.join(1001)
	p := g.peerAt(c.addr)
	for n := range 20 {
		p.budget.datagrams.level = 0
		c.deaf = true
		g.host.Say(g.now, "x")
		g.sentTo(c.addr)
		if got := p.budget.datagrams.level; got < 1 || got > 1.1 {
			t.Errorf("room for %v datagrams after one message", got)
		}
		c.deaf = false
		g.raw(c.addr, []byte{p.id, 0})
		p.budget.datagrams.level = 100
		g.wait(2 * time.Second)
		if !p.link.Idle() || p.bogus != 0 || p.budget.bogus.level != 0 && p.budget.bogus.level < bogusRate.Burst {
			t.Fatalf("message %d: idle %v, %d are bogus, %v may be", n, p.link.Idle(), p.bogus, p.budget.bogus.level)
		}
	}
}

// TestOpenBCHost: the messages that the OpenBC server passes on, and their forms,
// as in captures of it.
func TestOpenBCHost(t *testing.T) {
	const ship = "03 00 02 08800000 FFFFFF3F 01 000000000000000000000000 0000803F000000000000000000000000 00000000000000 0143 0153"
	plain := func(s string) string { return strings.ReplaceAll(s, " ", "") }
	other := strings.Replace(ship, "03 00", "03 01", 1)
	for _, tt := range []struct {
		name   string
		before string // is sent first
		body   string
		own    string // message that the sender gets
		others string
	}{
		{"a ship of its own", "", ship, "", plain(ship)},
		{"a ship of another", "", other, "", ""},
		{"a creation that is cut before its slot", "", "03", "", "03"},
		{"subsystems of a ship that is known", ship, "1C FFFFFF3F 0000A041 20 00", "", ""},
		{"subsystems and more", ship, "1C FFFFFF3F 0000A041 A0 00", "", "1CFFFFFF3F0000A041A000"},
		{"subsystems of a ship that is not known", "", "1C FFFFFF3F 0000A041 20 00", "", "1CFFFFFF3F0000A041" + "2000"},
		{"a shot that does not read", "", "19 01", "", ""},
		{"chat with an id", "", "2C 02000000 0100 78", "2C00000000010078", "2C00000000010078"},
		{"chat with three bytes of something", "", "2C 02112233 0100 78", "2C00112233010078", "2C00112233010078"},
		{"chat that does not read", "", "2C 02000000 0500 78", "2C02000000050078", "2C02000000050078"},
		{"a request for a ship", ship, "1E FFFFFF3F", plain(ship), ""},
		{"a request for another object of its range", ship, "1E 05000040", plain(ship), ""},
		{"a request for an object before its range", ship, "1E FEFFFF3F", "1DFEFFFF3F", ""},
		{"a request for a ship that is not known", "", "1E FFFFFF3F", "1DFFFFFF3F", ""},
		{"a request for what nobody has", ship, "1E 05000000", "1D05000000", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newGame(t, Config{Like: decode.OpenBC, Captured: true})
			a, b := g.join(1001), g.join(1002)
			if tt.before != "" {
				a.say(tt.before)
			}
			a.take()
			b.take()
			a.say(tt.body)
			if got := strings.Join(a.take(), " "); got != tt.own {
				t.Errorf("the sender gets %s, want %s", got, tt.own)
			}
			if got := strings.Join(b.take(), " "); got != tt.others {
				t.Errorf("the other gets %s, want %s", got, tt.others)
			}
		})
	}
}

func TestEventKinds(t *testing.T) {
	routine := []EventKind{Refused, Limited, Ignored, Corrected, Named}
	seen := map[string]bool{"unknown": true}
	for k := range EventKinds {
		if k.Routine() != slices.Contains(routine, k) {
			t.Errorf("%v: routine is %v", k, k.Routine())
		}
		if seen[k.String()] {
			t.Errorf("kind %d is called %v", k, k)
		}
		seen[k.String()] = true
	}
	if got := EventKinds.String(); got != "unknown" {
		t.Errorf("got %q", got)
	}
}
