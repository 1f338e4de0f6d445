package measure

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/decode/ship"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/capture"
	"github.com/bcdissect/bcdissect/fixtures"
)

// figureOf returns the figure with a name.
func figureOf(tb testing.TB, h *Habits, group, name string) Figure {
	tb.Helper()
	all := h.Figures()
	i := slices.IndexFunc(all, func(f Figure) bool { return f.Group == group && f.Name.Raw() == name })
	if i < 0 {
		tb.Fatalf("no figure %s, %s", group, name)
	}
	return all[i]
}

// The expected values were counted in the JSON of "read" by another program.
func TestHabits(t *testing.T) {
	var h Habits
	each(t, "stock_client.pcap", h.Record)
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > want/31 {
			t.Errorf("%s: got %v, want %v", what, got, want)
		}
	}

	f := figureOf(t, &h, "datagrams", "messages in a datagram of clients")
	check(t, "datagrams of clients", f.N, 180)
	check(t, "most", f.Max, 2)
	check(t, "with the most", fmt.Sprint(f.Frames), "[137]")
	check(t, "shares", f.Values, "1: 99 %, 2: 1 %, 3: 0 %, more: 0 %") // 178 and 2 of 180
	f = figureOf(t, &h, "datagrams", "messages in a datagram of the host")
	check(t, "datagrams of the host", f.N, 162)
	check(t, "most", f.Max, 8)
	check(t, "shares", f.Values, "1: 33 %, 2: 40 %, 3: 15 %, more: 12 %") // 53, 65, 25 and 19 of 162

	for _, want := range []struct {
		by       string
		n        int64
		min, max float64
		frames   string
	}{{"the host", 4, 2776.2, 2973.0, "[18 19]"}, {"clients", 3, 0, 0.02, "[258 259]"}} {
		f := figureOf(t, &h, "retransmissions", "retransmission 1 of a message by "+want.by)
		check(t, f.Name.Raw(), f.N, want.n)
		near(f.Name.Raw()+", shortest", math.Floor(f.Min), math.Floor(want.min))
		near(f.Name.Raw()+", longest", math.Floor(f.Max), math.Floor(want.max))
		check(t, f.Name.Raw(), fmt.Sprint(f.Frames), want.frames)
		check(t, f.Name.Raw(), f.Known, "1,000 ms")
	}
	for _, f := range h.Figures() { // frames 48, 49, 51, 121, 128 and others repeat names, the host's keepalives
		if f.Group == "retransmissions" && !strings.HasPrefix(f.Name.Raw(), "retransmission 1 ") {
			t.Errorf("%s: %d", f.Name, f.N)
		}
	}

	f = figureOf(t, &h, "updates", "Galaxy (XFS01 Dauntless) to Kirk")
	check(t, "updates", f.N, 42)
	near("median", f.Median, 99.25)
	near("shortest", f.Min, 98)
	near("longest", f.Max, 207.4)
	check(t, "longest", fmt.Sprint(f.Frames), "[299 301]")
	// All updates of this ship hold only subsystems. So do the updates to its owner,
	// Kirk, which tell nothing of the ship's motion.
	f = figureOf(t, &h, "updates", "Galaxy (XFS01 Dauntless) to Cady2, at rest")
	check(t, "at rest", f.N, 42)
	if f := h.Figures(); slices.ContainsFunc(f, func(f Figure) bool { return f.Name == "Galaxy (XFS01 Dauntless) to Kirk, at rest" }) {
		t.Error("an owner's own ship is said to rest")
	}

	for name, want := range map[string]string{
		"0x2C Chat": "4 of 6 to other players, 4 to the author", "0x07 StartFiring": "4 of 4 to other players",
		"0x19 TorpedoFire": "2 of 4 to other players", "0x2A ClientReady": "2 of 3 to other players", "0x13 SelfDestructRequest": "0 of 1 to other players",
	} {
		check(t, name, figureOf(t, &h, "copies", name).Values, want)
	}
	f = figureOf(t, &h, "copies", "0x2C Chat")
	check(t, "frames", fmt.Sprint(f.Frames), "[115 116 117]")
	check(t, "known", f.Known, "one to each player (N)")
	check(t, "known", figureOf(t, &h, "copies", "0x15 CollisionEffect").Known, "none")

	f = figureOf(t, &h, "joins", "accept after connect")
	check(t, "joins", f.N, 2)
	check(t, "frames", fmt.Sprint(f.Frames), "[4 5]")
	check(t, "joins to the end", figureOf(t, &h, "joins", "own ship after mission").N, 2)
	check(t, "given up", h.GivenUp, 0)
}

// Bot0 of networked_battle.pcap flies a Bird of Prey, sends 600 updates, and is
// cloaked for a time that it begins with StartCloaking.
func TestHabitsOfBattle(t *testing.T) {
	var h Habits
	each(t, "networked_battle.pcap", h.Record)
	f := figureOf(t, &h, "updates", "Bird of Prey (Bot0) to the host")
	check(t, "intervals", f.N, 599)
	f = figureOf(t, &h, "updates", "Bird of Prey (Bot0) to the host, cloaked")
	if f.N == 0 || f.N >= 599 {
		t.Errorf("%d intervals cloaked", f.N)
	}
	f = figureOf(t, &h, "copies", "0x0E StartCloaking")
	check(t, "copies", f.Values, "4 of 4 to other players") // 2 messages, each to 2 others
	check(t, "each", f.Median, 2)
	for _, f := range h.Figures() {
		if strings.Contains(f.Name.Raw(), "Galor") && strings.Contains(f.Name.Raw(), "cloaked") {
			t.Errorf("%s: it has no cloaking device", f.Name)
		}
	}
}

// The figures of nothing are none, and reading them twice changes nothing.
func TestHabitsTwice(t *testing.T) {
	var h Habits
	if all := h.Figures(); len(all) != 0 {
		t.Errorf("%+v", all)
	}
	each(t, "forged_small.pcap", h.Record)
	if a, b := fmt.Sprint(h.Figures()), fmt.Sprint(h.Figures()); a != b {
		t.Errorf("got %s, then %s", a, b)
	}
	// Frame 283 holds start 0, and 121 the first of two with start 4.
	f := figureOf(t, &h, "blocks", "Sovereign to the host")
	check(t, "starts", f.Values, "0 (1), 4 (2)")
	check(t, "frames", fmt.Sprint(f.Frames), "[283 121]")
	check(t, "known", f.Known, "none")
}

// State stays bounded: a full table is begun anew, or takes no more.
func TestHabitsBounds(t *testing.T) {
	var h Habits
	each(t, "stock_client.pcap", h.Record)
	streams := len(h.streams)
	clear(h.streams)
	for i := range maxHabitStreams - streams + 1 { // room for all but one
		h.streams[shipKey{ship: wire.ObjectID(i)}] = new(updates)
	}
	for i := range 3 * maxHabitFrames {
		h.originals.put(-i, moment{}, maxHabitFrames)
		if _, ok := h.originals.get(-i + min(i, maxHabitFrames)); !ok {
			t.Fatal("a value is lost too early")
		}
	}
	each(t, "stock_client.pcap", h.Record)
	if n := len(h.originals.now) + len(h.originals.before); n > 2*maxHabitFrames || len(h.streams) != maxHabitStreams || h.GivenUp < 1 {
		t.Errorf("%d originals, %d streams, %d given up", n, len(h.streams), h.GivenUp)
	}
	for i := range 2 * maxHabitPlayers {
		for j := range 3 {
			client := netip.AddrPortFrom(kirk.Addr(), uint16(i))
			h.enter(netip.AddrPortFrom(host.Addr(), uint16(i*j)), client, 1)
		}
	}
	if len(h.hosts) > maxHabitHosts || len(h.hosts[netip.AddrPortFrom(host.Addr(), 0)].members) > maxHabitPlayers {
		t.Errorf("%d hosts", len(h.hosts))
	}
}

// habitsOf measures some datagrams of a fixture.
func habitsOf(tb testing.TB, name string, keep func(*dissect.Datagram) bool) *Habits {
	tb.Helper()
	src, err := capture.Open(fixtures.Path(name), nil)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = src.Close() }() // nothing was written
	h, p := new(Habits), dissect.New(dissect.Config{})
	for {
		d, err := src.Next()
		if errors.Is(err, io.EOF) {
			return h
		}
		if err != nil {
			tb.Fatal(err)
		}
		if keep(d) {
			if err := p.Push(d, h.Record); err != nil {
				tb.Fatal(err)
			}
		}
	}
}

// A capture of only one side, or with holes, is not said to hold copies,
// repetitions or joins that it does not hold.
func TestHabitsOfParts(t *testing.T) {
	part := func(keep func(*dissect.Datagram) bool) *Habits {
		return habitsOf(t, "captures/networked_battle.pcap", keep)
	}
	groups := func(h *Habits) (all []string) {
		for _, f := range h.Figures() {
			if !slices.Contains(all, f.Group) {
				all = append(all, f.Group)
			}
		}
		return all
	}
	whole := part(func(*dissect.Datagram) bool { return true })
	check(t, "missing", whole.Missing, 0)
	var host, client netip.AddrPort
	part(func(d *dissect.Datagram) bool {
		if d.Number == 4 { // a connect
			client, host = d.Src, d.Dst
		}
		return true
	})

	fromClients := part(func(d *dissect.Datagram) bool { return d.Dst == host })
	check(t, "of the clients alone", fmt.Sprint(groups(fromClients)), "[datagrams updates]")
	// A capture at a client has only that player's connection, so no copy of its messages is due.
	atClient := part(func(d *dissect.Datagram) bool { return d.Src == client || d.Dst == client })
	if g := groups(atClient); slices.Contains(g, "copies") || !slices.Contains(g, "joins") {
		t.Errorf("at a client: %v", g)
	}

	// One player chats in stock_replay.pcap, and no other is there.
	var alone Habits
	each(t, "stock_replay.pcap", alone.Record)
	if g := groups(&alone); slices.Contains(g, "copies") || !slices.Contains(g, "blocks") {
		t.Errorf("one player alone: %v", g)
	}

	// Without the first request for checksums no other is taken for it.
	late := part(func(d *dissect.Datagram) bool { return d.Number != 5 })
	check(t, "joins", figureOf(t, whole, "joins", "first checksum request after accept").N, 3)
	check(t, "joins without the first", figureOf(t, late, "joins", "first checksum request after accept").N, 2)
}

// The host's timer and the clients' have separate rows. The numbers were counted
// by another program in the JSON of "read".
func TestHabitsByRole(t *testing.T) {
	var h Habits
	each(t, "field/c21.host.pcap.gz", h.Record)
	for name, want := range map[string][3]int64{ // number, shortest and longest in milliseconds
		"retransmission 1 of a message by the host": {352, 98, 2976},
		"retransmission 2 of a message by the host": {190, 2001, 3011},
		"retransmission 7 of a message by the host": {3, 2022, 2976},
		"retransmission 1 of a message by clients":  {121, 800, 4295},
		"retransmission 6 of a message by clients":  {2, 801, 804},
	} {
		f := figureOf(t, &h, "retransmissions", name)
		check(t, name, [3]int64{f.N, int64(f.Min), int64(f.Max)}, want)
	}
}

// If the capture lacks a message, its first repetition does not count as the
// message: the times after it are not measured.
func TestHabitsOfHoles(t *testing.T) {
	const name = "captures/reliability/st_mix_fix_drx.pcap.gz"
	of := func(number int) *Habits {
		return habitsOf(t, name, func(d *dissect.Datagram) bool { return d.Number != number })
	}
	type number struct {
		conv int
		dir  dissect.Dir
		seq  uint16
	}
	first, lost := map[number]int{}, 0 // frames in which the game's messages first came, and the one to remove
	each(t, "reliability/st_mix_fix_drx.pcap.gz", func(r *dissect.Record) error {
		n := number{r.Conversation, r.Dir, r.Transport.Seq}
		switch {
		case lost > 0 || r.Kind != dissect.KindMessage || len(r.Payload) == 0 && !r.Repeat || r.Transport.Control() || !r.Transport.Reliable:
		case r.Repeat:
			lost = first[n]
		default:
			first[n] = r.Datagram.Number
		}
		return nil
	})
	whole, hole := of(0), of(lost)
	if lost == 0 || hole.Hole == 0 {
		t.Errorf("frame %d is missing, and not mentioned", lost)
	}
	for i := 1; i < 4; i++ {
		name := fmt.Sprintf("retransmission %d of a message by the host", i)
		f, g := figureOf(t, whole, "retransmissions", name), figureOf(t, hole, "retransmissions", name)
		if g.N > f.N || i == 1 && g.N == f.N || g.Max > f.Max || g.Min < f.Min {
			t.Errorf("%s: %d from %v to %v ms, with the hole %d from %v to %v ms", name, f.N, f.Min, f.Max, g.N, g.Min, g.Max)
		}
	}
}

// A log that mixes clients tells nothing of repetitions and joins; one without
// transport messages tells of updates. The snap length of a capture says
// nothing about the number of messages in a datagram.
func TestHabitsOfLogs(t *testing.T) {
	read := func(name string) *Habits { return habitsOf(t, name, func(*dissect.Datagram) bool { return true }) }
	for _, f := range read("logs/stock_client.message_trace.log").Figures() {
		if f.Group != "updates" && f.Group != "blocks" {
			t.Errorf("a mixed log has %s, %s", f.Group, f.Name)
		}
	}
	f := figureOf(t, read("logs/stock_client.obctrace"), "updates", "Galaxy (XFS01 Dauntless) to client 1, address unknown")
	check(t, "updates", f.N, 42)
	check(t, "ticks", math.Round(f.Median), 100) // 100 ms are three ticks of a thirtieth of a second
	whole, short := read("captures/join_flow.pcap"), read("captures/variants/join_flow-snap60.pcap")
	for _, way := range []string{"of clients", "of the host"} {
		a, b := figureOf(t, whole, "datagrams", "largest datagram "+way), figureOf(t, short, "datagrams", "largest datagram "+way)
		check(t, "largest "+way, b.Max, a.Max)
	}
	const name = "messages in a datagram of clients"
	if n, left := figureOf(t, whole, "datagrams", name).N, figureOf(t, short, "datagrams", name).N; left >= n || left == 0 {
		t.Errorf("%d of %d datagrams counted", left, n)
	}
}

// The start indices of the stock game's blocks: the cycle, and the blocks before
// it begins anew.
func TestCycleOf(t *testing.T) {
	for species, want := range map[uint8]string{1: "2, 6, 8; at first 0", 6: "0, 2, 5", 13: "5, 8, 3; at first 0, 4"} {
		check(t, "cycle", cycleOf(ship.BySpecies(species)), want)
	}
	check(t, "of nothing", cycleOf(new(ship.Class)), "-")
}

// Updates have a row for each ship, sender and receiver. The numbers were counted
// by another program in the JSON of "read": 60 updates of 39 such streams. Twelve
// have a second update, two of them only after a new connect, in frame 19.
func TestForgedStreams(t *testing.T) {
	var h Habits
	each(t, "forged_small.pcap", h.Record)
	var toHost, toClients, cloaked []int64
	for _, f := range h.Figures() {
		switch {
		case f.Group != "updates":
		case strings.HasSuffix(f.Name.Raw(), ", cloaked"):
			cloaked = append(cloaked, f.N)
		case strings.HasSuffix(f.Name.Raw(), " to the host"):
			toHost = append(toHost, f.N)
		default:
			toClients = append(toClients, f.N)
		}
	}
	for _, list := range [][]int64{toHost, toClients, cloaked} {
		slices.Sort(list)
	}
	check(t, "to the host", fmt.Sprint(toHost), "[1 1 1 1 2 2 5]")
	check(t, "to clients", fmt.Sprint(toClients), "[1 1 2]")
	check(t, "cloaked", fmt.Sprint(cloaked), "[1 2]")
}
