package engine

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/packet"
	"github.com/bcdissect/bcdissect/fixtures/recorded"
)

// datagramsOf returns the datagrams of a capture.
func datagramsOf(tb testing.TB, name string) (all []dissect.Datagram) {
	tb.Helper()
	recorded.Datagrams(tb, name, func(d *dissect.Datagram) {
		c := *d
		c.Payload, c.Digits, c.Time = slices.Clone(d.Payload), digits, d.Time.Truncate(time.Microsecond)
		all = append(all, c)
	})
	return all
}

// A frame shown again has the fields of the first pass, in whatever order frames are
// shown.
func TestAgain(t *testing.T) {
	all := datagramsOf(t, "battle_mix.pcap.gz")
	e := New(dissect.Config{})
	e.interval = 64
	for i := range all {
		d := all[i]
		if _, answer := e.Datagram(&d, false, e.Choose(nil)); answer == NotOurs {
			t.Fatalf("frame %d is not the game's", d.Number)
		}
	}
	want := make([][]byte, len(all)) // trailers of a pass in order, in which the players' names are known
	for i := range all {
		d := all[i]
		b, _ := e.Datagram(&d, true, nil)
		want[i] = slices.Clone(b)
	}
	rnd := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a fixed seed gives the same order in every run
	for range 300 {
		i := rnd.IntN(len(all))
		d := all[i]
		if got, answer := e.Datagram(&d, true, nil); !bytes.Equal(got, want[i]) || answer != Trailer {
			t.Fatalf("frame %d has other fields", d.Number)
		}
	}
}

// Checkpoints become fewer when they take too much memory.
func TestCheckpoints(t *testing.T) {
	all := datagramsOf(t, "battle_mix.pcap.gz")
	e := New(dissect.Config{})
	e.interval = 1
	for i := range all[:2500] {
		d := all[i]
		e.Datagram(&d, false, e.Choose(nil))
	}
	if e.cloned > maxCheckpoints || e.interval < 2 || len(e.checkpoints) < 100 {
		t.Errorf("%d checkpoints take %d bytes, at intervals of %d", len(e.checkpoints), e.cloned, e.interval)
	}
	for i := 1; i < len(e.checkpoints); i++ {
		if e.checkpoints[i].at-e.checkpoints[i-1].at != e.interval {
			t.Fatalf("checkpoints at %d and %d, at intervals of %d", e.checkpoints[i-1].at, e.checkpoints[i].at, e.interval)
		}
	}
}

// Traffic that is not the game's is not kept, and what has no room is not shown.
func TestNotOurs(t *testing.T) {
	e := New(dissect.Config{})
	d := dissect.Datagram{
		Number: 1, Time: time.Unix(1, 0), Payload: []byte("\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00"), Full: 10, WireLen: 52,
		Src: netip.MustParseAddrPort("10.0.0.1:5353"), Dst: netip.MustParseAddrPort("10.0.0.2:53"),
	}
	for _, again := range []bool{false, true} {
		if _, answer := e.Datagram(&d, again, nil); answer != NotOurs {
			t.Errorf("a query for a name: answer %d", answer)
		}
	}
	if len(e.held.all) != 0 {
		t.Error("a query for a name is taken for a datagram of the game")
	}
	game := datagramsOf(t, "stock_client.pcap")[10]
	e.held.size = maxHeld + 1
	if _, answer := e.Datagram(&game, false, nil); answer != NotOurs {
		t.Error("a datagram is shown that later passes can't show")
	}
}

// With a read filter, Wireshark gives the number of a frame that it drops to the next.
func TestSameNumber(t *testing.T) {
	all := datagramsOf(t, "stock_client.pcap")
	e, number := New(dissect.Config{}), 1
	for i := range all {
		d := all[i]
		d.Number = number
		e.Datagram(&d, false, e.Choose(nil))
		if i%3 == 2 {
			number++
		}
	}
	d := all[100]
	d.Number = 34
	if got := e.held.find(&d); got != 100 {
		t.Errorf("the datagram is at %d, want 100", got)
	}
	d.Payload = []byte("another")
	if got := e.held.find(&d); got >= 0 {
		t.Errorf("a datagram that was never seen is at %d", got)
	}
}

// Deciphered datagrams are told from others by their content.
func TestForm(t *testing.T) {
	clear, other := 0, 0
	e := New(dissect.Config{})
	for _, d := range datagramsOf(t, "clear/battle_large-1.pcap.zst")[:4000] {
		if d.Form = packet.Wire; e.formOf(&d) == packet.Clear {
			clear++
		}
	}
	e.Reset()
	for _, d := range datagramsOf(t, "battle_mix.pcap.gz") {
		if e.formOf(&d) == packet.Clear {
			other++
		}
	}
	if clear < 3990 || other > 0 {
		t.Errorf("%d of 4000 deciphered datagrams and %d others are taken as deciphered", clear, other)
	}
}

// The addresses are in the IP header before the datagram.
func TestHeader(t *testing.T) {
	payload := []byte{1, 2, 3}
	udp := []byte{0x75, 0x30, 0x56, 0x55, 0, 11, 0, 0, 1, 2, 3}
	ipv4 := []byte{0x46, 0, 0, 35, 0x12, 0x34, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 1, 1, 1, 0}
	ipv6 := append([]byte{0x60, 0, 0, 0, 0, 11, 17, 64}, make([]byte, 32)...)
	ipv6[23], ipv6[39] = 1, 2
	ether := make([]byte, 14)
	damaged := slices.Clone(ipv4)
	damaged[10] = 1
	icmp := slices.Concat(ether, []byte{0x45, 0, 0, 0, 0, 0, 0, 0, 64, 1, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2}, make([]byte, 8))
	for name, test := range map[string]struct {
		before   []byte
		src      string
		id       uint16
		damaged  bool
		quoted   bool
		unknown  bool
		fromElse bool
	}{
		"IPv4 with options": {before: slices.Concat(ether, ipv4), src: "10.0.0.1:30000", id: 0x1234},
		"damaged":           {before: slices.Concat(ether, damaged), src: "10.0.0.1:30000", id: 0x1234, damaged: true},
		"IPv6":              {before: slices.Concat(ether, ipv6), src: "[::1]:30000"},
		"quoted":            {before: slices.Concat(icmp, []byte{0x45}, ipv4[1:20]), src: "10.0.0.1:30000", id: 0x1234, quoted: true},
		"reassembled":       {unknown: true},
		"given":             {fromElse: true, src: "10.9.9.9:7"},
	} {
		f := Frame{Number: 3, Seconds: 1.5, WireLen: 99, Data: slices.Concat(test.before, udp), At: len(test.before) + 8, Len: 3, Full: 3}
		if test.fromElse {
			f.Src, f.Dst, f.SrcPort, f.DstPort = "10.9.9.9", "10.9.9.8", 7, 8
		}
		d, ok := f.Datagram()
		if ok == test.unknown {
			t.Errorf("%s: the addresses are known: %v", name, ok)
			continue
		}
		if ok && (d.Src.String() != test.src || d.IPID != test.id || d.Damaged != test.damaged || f.Quoted() != test.quoted) {
			t.Errorf("%s: %v, id %#x, damaged %v, quoted %v", name, d.Src, d.IPID, d.Damaged, f.Quoted())
		}
		if !bytes.Equal(d.Payload, payload) || d.Time.UnixMilli() != 1500 {
			t.Errorf("%s: payload %x at %v", name, d.Payload, d.Time)
		}
	}
	if sum := binary.BigEndian.Uint16(ipv4[10:]); sum != 0 || sound(ipv4) {
		t.Error("a header without a checksum is sound")
	}
}

// Wrong commands return an error as their answer and do not panic.
func TestCommands(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	c := NewConsole()
	for command, want := range map[string]string{
		"reset": "", "choose 1 2 999999 -7": "", "choose x": `error: choose: "x" is not a number`, "dance": `error: no command "dance"`,
		"config ports=1,70000": "error: ports 1,70000: ports go from 1 to 65535", "config colour=red": "error: colour red: no such preference",
		"config ports= dialect=auto hide=false names=true": "", "define": "",
	} {
		if got := c.Command(command); got != want {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
	sum := c.Command("sum")
	if got := c.Command("define no-such.toml"); !strings.HasPrefix(got, "error: no-such.toml") {
		t.Errorf("a missing file: %q", got)
	}
	lines := c.Command("define ../../../../docs/example-mod.toml")
	if !strings.Contains(lines, `"TradeOffer.price"`) || strings.Contains(lines, `"StateUpdate.speed"`) || c.Command("sum") == sum {
		t.Errorf("the fields of the mod are %.300q", lines)
	}
}

// The preferences choose what is the game's, and what the Info column says.
func TestPreferences(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	all := datagramsOf(t, "battle_mix.pcap.gz")[:2000]
	infos := func(config string) (shown, hidden, names int) {
		c := NewConsole()
		if said := c.Command(config); said != "" {
			t.Fatal(said)
		}
		for i := range all {
			d := &all[i]
			f := Frame{
				Number: d.Number, WireLen: d.WireLen, Data: d.Payload, Len: len(d.Payload), Full: d.Full, Src: d.Src.Addr().String(),
				Dst: d.Dst.Addr().String(), SrcPort: int(d.Src.Port()), DstPort: int(d.Dst.Port()),
			}
			if b, answer := c.Datagram(&f, false, false, false); answer != NotOurs {
				shown++
				if bytes.Contains(b, []byte(" ship update")) {
					hidden++
				}
			}
			names += len(c.Names())
		}
		return shown, hidden, names
	}
	if shown, hidden, names := infos("config"); shown != 2000 || hidden != 0 || names < 3 {
		t.Errorf("%d are shown, %d with hidden updates; %d names", shown, hidden, names)
	}
	if shown, hidden, names := infos("config hide=true names=false"); shown != 2000 || hidden < 500 || names != 0 {
		t.Errorf("with other preferences, %d are shown, %d with hidden updates; %d names", shown, hidden, names)
	}
	if shown, _, _ := infos("config ports=7"); shown != 0 {
		t.Errorf("%d datagrams of another port are shown", shown)
	}
}

// Reports are about the whole capture.
func TestReport(t *testing.T) {
	e := New(dissect.Config{})
	if text, err := e.Report("session"); err != nil || !strings.HasPrefix(text, "No datagram") {
		t.Errorf("of nothing: %q, %v", text, err)
	}
	for _, d := range datagramsOf(t, "battle_mix.pcap.gz") {
		e.Datagram(&d, false, e.Choose(nil))
	}
	for kind, want := range map[string][]string{ // battle_mix.truth.json: four bots, one host
		"session": {"Bot0", "Bot1", "Bot2", "Bot3"}, "connections": {"Bot0", "Bot3"}, "chat": {"Chat"},
	} {
		text, err := e.Report(kind)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range want {
			if !strings.Contains(text, part) {
				t.Errorf("%s lacks %s: %.300s", kind, part, text)
			}
		}
	}
	if _, err := e.Report("weather"); err == nil {
		t.Error("a report that is not known")
	}
}
