package capture

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/bcdissect/bcdissect/fixtures"
)

// battle returns all frames of the longest capture, unpacked.
func battle(tb testing.TB, name string) []byte {
	tb.Helper()
	inner, err := unpack(newBuffer(bytes.NewReader(fixtures.Read(tb, name))))
	if err != nil || inner == nil {
		tb.Fatal(err)
	}
	b, err := io.ReadAll(inner)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func BenchmarkNextPcap(b *testing.B) { benchmarkNext(b, battle(b, "captures/battle_mix.pcap.gz")) }

func BenchmarkNextPcapng(b *testing.B) {
	benchmarkNext(b, battle(b, "captures/battle_mix.pcapng.gz"))
}

func BenchmarkNextVLAN(b *testing.B) {
	benchmarkNext(b, bytes.Clone(fixtures.Read(b, "captures/variants/join_flow-vlan.pcap")))
}

// An endless repeats a capture after its header.
type endless struct {
	rest, all []byte
	header    int
}

func (e *endless) Read(p []byte) (int, error) {
	if len(e.rest) == 0 {
		e.rest = e.all[e.header:]
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

// benchmarkNext measures one call of Next. A pcapng file begins a new section
// on each repetition.
func benchmarkNext(b *testing.B, capture []byte) {
	b.Helper()
	header := pcapHeader
	if capture[0] == 0x0a {
		header = 0
	}
	f, err := NewReader("bench", &endless{rest: capture, all: capture, header: header})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := f.Next(); err != nil {
			b.Fatal(err)
		}
	}
}

// TestAllocations checks that reading a frame does not allocate, in either
// format and with unusual headers.
func TestAllocations(t *testing.T) {
	for _, name := range []string{
		"captures/battle_mix.pcap.gz", "captures/battle_mix.pcapng.gz", "captures/battle_mix-s96.pcap.gz",
	} {
		t.Run(name, func(t *testing.T) { noAllocations(t, battle(t, name)) })
	}
	for _, name := range []string{"vlan.pcap", "sll2.pcap", "null.pcap", "two-interfaces.pcapng"} {
		t.Run(name, func(t *testing.T) {
			noAllocations(t, fixtures.Read(t, "captures/variants/join_flow-"+name))
		})
	}
	t.Run("fragments", func(t *testing.T) {
		noAllocations(t, pcapOf(linkRaw, fragments4(udp(make([]byte, 3000)), 7, 1480)...))
	})
}

func noAllocations(t *testing.T, capture []byte) {
	t.Helper()
	header := pcapHeader
	if capture[0] == 0x0a {
		header = 0
	}
	f, err := NewReader("test", &endless{rest: capture, all: capture, header: header})
	if err != nil {
		t.Fatal(err)
	}
	next := func() {
		if _, err := f.Next(); err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
	}
	next()
	if n := testing.AllocsPerRun(1000, next); n != 0 {
		t.Errorf("got %v allocations a datagram, want 0", n)
	}
}
