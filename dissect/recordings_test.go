package dissect

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/fixtures"
)

// cut writes frames of a capture, a pcap file of little-endian numbers, to a file.
// Of n frames it takes those from first/parts to last/parts.
func cut(t *testing.T, capture, name string, first, last, parts int) string {
	t.Helper()
	all, err := os.ReadFile(fixtures.Path("captures/" + capture))
	if err != nil {
		t.Fatal(err)
	}
	const header, head = 24, 16
	var frames [][]byte
	for at := header; at < len(all); {
		end := at + head + int(binary.LittleEndian.Uint32(all[at+8:]))
		frames = append(frames, all[at:end])
		at = end
	}
	n := len(frames)
	name = filepath.Join(t.TempDir(), name)
	out := append(slices.Clone(all[:header]), slices.Concat(frames[n*first/parts:n*last/parts]...)...)
	if err := os.WriteFile(name, out, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// noisy puts many copies of the first frame of a capture before it, to and from the
// ports of another protocol.
func noisy(t *testing.T, file, name string) string {
	t.Helper()
	all, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const header, head, ethernet, ip = 24, 16, 14, 20
	end := header + head + int(binary.LittleEndian.Uint32(all[header+8:]))
	if link := binary.LittleEndian.Uint32(all[20:]); link != 1 || all[header+head+ethernet] != 0x45 {
		t.Fatalf("link type %d: the capture has to be of Ethernet and IPv4 without options", link)
	}
	frame := slices.Clone(all[header:end])
	udp := frame[head+ethernet+ip:]
	binary.BigEndian.PutUint16(udp, 40000)
	binary.BigEndian.PutUint16(udp[2:], 53)
	clear(udp[6:]) // no checksum, no game
	name = filepath.Join(t.TempDir(), name)
	out := slices.Concat(all[:header], slices.Repeat(frame, 2*headDatagrams), all[header:])
	if err := os.WriteFile(name, out, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestRecordings has parts of a ring buffer in any order, copies, and captures of
// other games.
func TestRecordings(t *testing.T) {
	t.Parallel()
	ring := func(n int) string {
		return cut(t, "networked_battle.pcap", "ring"+string(rune('0'+n))+".pcap", n, n+1, 3)
	}
	one, two, three := ring(0), ring(1), ring(2)
	noise := noisy(t, two, "noise.pcap")
	whole := cut(t, "networked_battle.pcap", "whole.pcap", 0, 1, 1)
	again := cut(t, "networked_battle.pcap", "again.pcap", 0, 1, 1)
	other, late := cut(t, "lossy.pcap", "other.pcap", 0, 1, 1), cut(t, "lossy.pcap", "late.pcap", 1, 2, 2)
	for _, tt := range []struct {
		names  []string
		want   string
		copies int
	}{
		{[]string{whole}, "whole", 0},
		{[]string{one, two, three}, "ring0 ring1 ring2", 0},
		{[]string{three, one, two}, "ring0 ring1 ring2", 0},
		{[]string{three, one}, "ring0 ring2", 0}, // 7 seconds are missing
		{[]string{three, two, other, one}, "ring0 ring1 ring2; other", 0},
		{[]string{late, three}, "ring2; late", 0},
		{[]string{noise, one}, "ring0 noise", 0}, // other traffic at its beginning
		{[]string{whole, again}, "whole", 1},
		{[]string{again, other, whole, again}, "again; other", 2},
		{[]string{"missing.pcap", whole}, "missing; whole", 0},
	} {
		groups, copies := Recordings(Config{}, tt.names)
		var got []string
		for _, g := range groups {
			var names []string
			for _, name := range g {
				names = append(names, strings.TrimSuffix(filepath.Base(name), ".pcap"))
			}
			got = append(got, strings.Join(names, " "))
		}
		if strings.Join(got, "; ") != tt.want || len(copies) != tt.copies {
			t.Errorf("%v: got %q and copies %v, want %q", tt.names, got, copies, tt.want)
		}
	}
}
