package measure

import (
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/decode/wire"
)

// figureOf returns the figure with a name.
func figureOf(tb testing.TB, h *Habits, group, name string) Figure {
	tb.Helper()
	all := h.Figures()
	i := slices.IndexFunc(all, func(f Figure) bool { return f.Group == group && f.Name == name })
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

	for i, want := range []struct {
		n        int64
		min, max float64
		frames   string
	}{{10, 0, 2973.0, "[18 19]"}, {3, 992.4, 1071.2, "[49 51]"}, {2, 993.0, 1100.6, "[51 121]"}, {1, 995.7, 995.7, "[121 230]"}} {
		f := figureOf(t, &h, "resends", fmt.Sprintf("repetition %d of a message", i+1))
		check(t, f.Name, f.N, want.n)
		near(f.Name+", shortest", math.Floor(f.Min), math.Floor(want.min))
		near(f.Name+", longest", f.Max, want.max)
		check(t, f.Name, fmt.Sprint(f.Frames), want.frames)
		check(t, f.Name, f.Known, fmt.Sprintf("%d,000 ms", i+1))
	}

	f = figureOf(t, &h, "updates", "Galaxy (XFS01 Dauntless) to Kirk")
	check(t, "updates", f.N, 42)
	near("median", f.Median, 99.25)
	near("shortest", f.Min, 98)
	near("longest", f.Max, 207.4)
	check(t, "longest", fmt.Sprint(f.Frames), "[299 301]")
	f = figureOf(t, &h, "updates", "Galaxy (XFS01 Dauntless) to Kirk, at rest")
	check(t, "at rest", f.N, 42) // all its updates hold subsystems alone

	for name, want := range map[string]string{
		"0x2C Chat": "8 copies, 6 other players", "0x07 StartFiring": "4 copies, 4 other players", "0x19 TorpedoFire": "2 copies, 4 other players",
		"0x2A ClientReady": "3 copies, 3 other players", "0x13 SelfDestructRequest": "0 copies, 1 other players",
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
	check(t, "copies", f.Values, "4 copies, 4 other players") // of 2, each to 2 others
	check(t, "each", f.Median, 2)
	for _, f := range h.Figures() {
		if strings.Contains(f.Name, "Galor") && strings.Contains(f.Name, "cloaked") {
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
	f := figureOf(t, &h, "blocks", "Sovereign, own ship")
	check(t, "starts", f.Values, "0 (1), 4 (2)")
	check(t, "frames", fmt.Sprint(f.Frames), "[283 121]")
	check(t, "known", f.Known, "2, 6, 8, 10")
}

// State stays bounded: what is full is begun anew, or takes no more.
func TestHabitsBounds(t *testing.T) {
	var h Habits
	each(t, "stock_client.pcap", h.Record)
	streams := len(h.streams)
	clear(h.streams)
	for i := range maxHabitStreams - streams + 1 { // room for all but one
		h.streams[shipKey{ship: wire.ObjectID(i)}] = new(updates)
	}
	for i := range maxHabitFrames {
		h.originals[-i] = true
	}
	each(t, "stock_client.pcap", h.Record)
	if len(h.originals) > maxHabitFrames/2 || len(h.streams) != maxHabitStreams || h.GivenUp < 2 {
		t.Errorf("%d originals, %d streams, %d given up", len(h.originals), len(h.streams), h.GivenUp)
	}
	for i := range 2 * maxHabitPlayers {
		for j := range 3 {
			client := netip.AddrPortFrom(kirk.Addr(), uint16(i))
			h.enter(netip.AddrPortFrom(host.Addr(), uint16(i*j)), client)
		}
	}
	if len(h.hosts) > maxHabitHosts || len(h.hosts[netip.AddrPortFrom(host.Addr(), 0)]) > maxHabitPlayers {
		t.Errorf("%d hosts", len(h.hosts))
	}
}
