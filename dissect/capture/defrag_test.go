package capture

import (
	"bytes"
	"slices"
	"testing"
)

// fragments4 cuts an IPv4 payload into fragments of at most size bytes.
func fragments4(payload []byte, id uint16, size int) [][]byte {
	var all [][]byte
	for at := 0; at < len(payload); at += size {
		end := min(at+size, len(payload))
		all = append(all, piece4(id, at, end < len(payload), payload[at:end]))
	}
	return all
}

// piece4 returns an IPv4 fragment from 10.0.0.1 to 10.0.0.2.
func piece4(id uint16, offset int, more bool, payload []byte) []byte {
	place := uint16(offset / 8)
	if more {
		place |= 0x2000
	}
	b := []byte{0x45, 0}
	b = big.AppendUint16(b, uint16(20+len(payload)))
	b = big.AppendUint16(b, id)
	b = big.AppendUint16(b, place)
	b = append(b, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2)
	return append(b, payload...)
}

// piece6 returns an IPv6 fragment with a payload that begins with the given
// header.
func piece6(id uint32, next byte, offset int, more bool, payload []byte) []byte {
	place := uint16(offset)
	if more {
		place |= 1
	}
	b := []byte{0x60, 0, 0, 0}
	b = big.AppendUint16(b, uint16(8+len(payload)))
	b = append(b, 44, 64)
	b = append(b, bytes.Repeat([]byte{0xfd}, 32)...)
	b = append(b, next, 0)
	b = big.AppendUint16(b, place)
	b = big.AppendUint32(b, id)
	return append(b, payload...)
}

// numbers returns n bytes that differ between multiples of 8.
func numbers(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i/8*37 + i)
	}
	return b
}

func TestFragments(t *testing.T) {
	payload := numbers(100)
	whole := udp(payload) // 108 bytes
	piece := func(lo, hi int) []byte { return piece4(7, lo, hi < len(whole), whole[lo:hi]) }
	wrong := func(lo, hi int) []byte {
		return piece4(7, lo, hi < len(whole), bytes.Repeat([]byte{0xee}, hi-lo))
	}
	piece6of := func(lo, hi int) []byte { return piece6(9, 17, lo, hi < len(whole), whole[lo:hi]) }
	behind := join([]byte{17, 0, 1, 4, 0, 0, 0, 0}, whole) // a destination option first
	tests := []struct {
		name   string
		frames [][]byte
		number int // frame that completes the datagram, 0 for none
		other  Other
	}{
		{"in order", [][]byte{piece(0, 40), piece(40, 80), piece(80, 108)}, 3, Other{Fragments: 2}},
		{"reversed", [][]byte{piece(80, 108), piece(40, 80), piece(0, 40)}, 3, Other{Fragments: 2}},
		{"first comes last", [][]byte{piece(40, 80), piece(80, 108), piece(0, 40)}, 3, Other{Fragments: 2}},
		{"middle comes last", [][]byte{piece(0, 40), piece(80, 108), piece(40, 80)}, 3, Other{Fragments: 2}},
		{"first missing", [][]byte{piece(40, 80), piece(80, 108)}, 0, Other{Fragments: 2}},
		{"last missing", [][]byte{piece(0, 40), piece(40, 80)}, 0, Other{Fragments: 2}},
		{"repeated", [][]byte{piece(0, 40), piece(0, 40), piece(40, 80), piece(40, 80), piece(80, 108)}, 5, Other{Fragments: 4}},
		{"repeated with other bytes", [][]byte{piece(0, 40), wrong(0, 40), piece(40, 80), wrong(40, 80), piece(80, 108)}, 5, Other{Fragments: 4}},
		{"repeated when done", [][]byte{piece(0, 56), piece(56, 108), piece(56, 108)}, 2, Other{Fragments: 2}},
		{"overlap behind", [][]byte{piece(0, 40), wrong(0, 40), join(piece4(7, 32, true, join(wrong(0, 8)[20:], whole[40:80]))), piece(80, 108)}, 4, Other{Fragments: 3}},
		{"overlap before", [][]byte{piece(40, 80), piece4(7, 0, true, join(whole[:40], wrong(0, 16)[20:])), piece(80, 108)}, 3, Other{Fragments: 2}},
		{"one over all", [][]byte{piece(16, 24), piece(40, 48), piece4(7, 0, true, join(whole[:16], wrong(0, 8)[20:], whole[24:40], wrong(0, 8)[20:], whole[48:80])), piece(80, 108)}, 4, Other{Fragments: 3}},
		{"pieces of 8", fragments4(whole, 7, 8), 14, Other{Fragments: 13}},
		{"two at once", [][]byte{piece(0, 40), piece4(8, 0, true, whole[:40]), piece(40, 108)}, 3, Other{Fragments: 2}},
		{"padded", [][]byte{join(piece(0, 40), []byte{1, 2, 3}), join(piece(40, 108), []byte{4})}, 2, Other{Fragments: 1}},
		{"two ends", [][]byte{piece4(7, 80, false, whole[80:96]), piece(80, 108), piece(0, 40), piece(40, 80)}, 0, Other{Fragments: 3, Malformed: 1}},
		{"beyond the end", [][]byte{piece4(7, 40, false, whole[40:80]), piece(80, 108), piece(0, 40)}, 0, Other{Fragments: 2, Malformed: 1}},
		{"end before what is there", [][]byte{piece(40, 80), piece4(7, 24, false, whole[24:40])}, 0, Other{Fragments: 1, Malformed: 1}},
		{"not a multiple of 8", [][]byte{piece4(7, 0, true, whole[:41])}, 0, Other{Malformed: 1}},
		{"empty", [][]byte{piece4(7, 40, true, nil)}, 0, Other{Malformed: 1}},
		{"beyond 64 KiB", [][]byte{piece4(7, 0xfff8, false, whole[:8])}, 0, Other{Malformed: 1}},
		{"IPv6", [][]byte{piece6of(0, 40), piece6of(40, 80), piece6of(80, 108)}, 3, Other{Fragments: 2}},
		{"IPv6, reversed", [][]byte{piece6of(80, 108), piece6of(40, 80), piece6of(0, 40)}, 3, Other{Fragments: 2}},
		{"IPv6, options behind the fragment header", [][]byte{
			piece6(9, 60, 40, false, behind[40:]), piece6(9, 60, 0, true, behind[:40]),
		}, 2, Other{Fragments: 1}},
		{"IPv6, the first piece's next header counts", [][]byte{
			piece6(9, 60, 0, true, behind[:40]), piece6(9, 17, 40, false, behind[40:]),
		}, 2, Other{Fragments: 1}},
		{"IPv6, fragment inside", [][]byte{
			piece6(9, 60, 0, true, join([]byte{44, 0, 1, 4, 0, 0, 0, 0}, piece6of(0, 40)[40:])), piece6(9, 60, 56, false, make([]byte, 8)),
		}, 0, Other{Fragments: 2}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			all, stats := mustRead(t, pcapOf(linkRaw, tt.frames...))
			got := stats.Other
			got.Links = nil
			if !sameOther(got, tt.other) {
				t.Errorf("got %+v, want %+v", got, tt.other)
			}
			if tt.number == 0 {
				if len(all) != 0 {
					t.Errorf("got %d datagrams, want none", len(all))
				}
				return
			}
			if len(all) != 1 {
				t.Fatalf("got %d datagrams, want 1", len(all))
			}
			d := all[0]
			if d.Number != tt.number || d.Time.Unix() != int64(999+tt.number) {
				t.Errorf("got frame %d at %v, want %d", d.Number, d.Time, tt.number)
			}
			if !bytes.Equal(d.Payload, payload) || d.Full != len(payload) {
				t.Errorf("got % x of %d bytes, want % x", d.Payload, d.Full, payload)
			}
			if d.Src.Port() != 1000 || d.Dst.Port() != 2000 {
				t.Errorf("got %v > %v", d.Src, d.Dst)
			}
		})
	}
}

func sameOther(a, b Other) bool {
	return a.Total() == b.Total() && a.NotIP == b.NotIP && a.NotUDP == b.NotUDP && a.Fragments == b.Fragments &&
		a.Cut == b.Cut && a.Malformed == b.Malformed && a.UnknownLink == b.UnknownLink
}

// The snap length cuts each fragment, so only the first counts.
func TestFragmentsCut(t *testing.T) {
	payload := numbers(100)
	whole := udp(payload)
	first, second := piece4(7, 0, true, whole[:80]), piece4(7, 80, false, whole[80:])
	b := pcapStart(little, pcapMicro, 68, linkRaw)
	b = pcapAppend(b, little, 0, 0, first[:68], len(first))
	b = pcapAppend(b, little, 0, 0, second, len(second))
	d := one(t, b)
	if !bytes.Equal(d.Payload, payload[:40]) || d.Full != 100 {
		t.Errorf("got %d of %d bytes, want 40 of 100", len(d.Payload), d.Full)
	}
}

// A fragment cut inside the UDP header makes no datagram.
func TestFragmentsCutInHeader(t *testing.T) {
	whole := udp(numbers(100))
	first, second := piece4(7, 0, true, whole[:80]), piece4(7, 80, false, whole[80:])
	b := pcapStart(little, pcapMicro, 24, linkRaw)
	b = pcapAppend(b, little, 0, 0, first[:24], len(first))
	b = pcapAppend(b, little, 0, 0, second, len(second))
	all, stats := mustRead(t, b)
	if len(all) != 0 || stats.Other.Fragments != 1 || stats.Other.Malformed+stats.Other.Cut != 1 {
		t.Errorf("got %d datagrams and %+v", len(all), stats)
	}
}

func TestFragmentsLargest(t *testing.T) {
	payload := numbers(65535 - 28)
	b := pcapStart(little, pcapMicro, 65535, linkRaw)
	for _, p := range fragments4(udp(payload), 7, 1480) {
		b = pcapAppend(b, little, 0, 0, p, len(p))
	}
	d := one(t, b)
	if !bytes.Equal(d.Payload, payload) {
		t.Errorf("got %d bytes, want %d", len(d.Payload), len(payload))
	}
}

func TestFragmentsEvicted(t *testing.T) {
	whole := udp(numbers(100))
	t.Run("too many", func(t *testing.T) {
		b := pcapStart(little, pcapMicro, 65535, linkRaw)
		for id := range uint16(300) {
			p := piece4(id, 0, true, whole[:80])
			b = pcapAppend(b, little, 0, 0, p, len(p))
		}
		for _, id := range []uint16{299, 44, 43} { // 256 remain, from 44 on
			p := piece4(id, 80, false, whole[80:])
			b = pcapAppend(b, little, 0, 0, p, len(p))
		}
		all, stats := mustRead(t, b)
		if len(all) != 2 || stats.Evicted != 44 || stats.Unfinished != 255 {
			t.Errorf("got %d datagrams, %d evicted, %d unfinished, want 2, 44, 255", len(all), stats.Evicted, stats.Unfinished)
		}
	})
	for _, tt := range []struct {
		name    string
		seconds []uint32
		want    int
		evicted int
	}{
		{"just in time", []uint32{1000, 1030}, 1, 0},
		{"too old", []uint32{1000, 1031}, 0, 1},
		{"time goes back", []uint32{1000, 995}, 1, 0},
		{"time goes far back", []uint32{1000, 900}, 0, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := pcapStart(little, pcapMicro, 65535, linkRaw)
			for i, p := range fragments4(whole, 7, 80) {
				b = pcapAppend(b, little, tt.seconds[i], 0, p, len(p))
			}
			all, stats := mustRead(t, b)
			if len(all) != tt.want || stats.Evicted != tt.evicted {
				t.Errorf("got %d datagrams and %d evicted, want %d and %d", len(all), stats.Evicted, tt.want, tt.evicted)
			}
		})
	}
	t.Run("too many gaps", func(t *testing.T) {
		b := pcapStart(little, pcapMicro, 65535, linkRaw)
		for i := range maxSpans + 1 {
			p := piece4(7, i*16, true, whole[:8])
			b = pcapAppend(b, little, 0, 0, p, len(p))
		}
		_, stats := mustRead(t, b)
		if stats.Evicted != 1 || stats.Other.Malformed != 1 || stats.Other.Fragments != maxSpans {
			t.Errorf("got %+v, want one evicted", stats)
		}
	})
}

// A reused buffer shows nothing of its earlier datagram.
func TestFragmentsReuse(t *testing.T) {
	short := udp([]byte("short"))
	frames := fragments4(udp(bytes.Repeat([]byte{0xee}, 2000)), 7, 1480)
	frames = append(frames, fragments4(short, 8, 8)...)
	all, _ := mustRead(t, pcapOf(linkRaw, frames...))
	if len(all) != 2 || string(all[1].Payload) != "short" {
		t.Errorf("got %d datagrams, the last %q", len(all), all[len(all)-1].Payload)
	}
}

// If the network doubles all fragments of a datagram, each in its place or one
// datagram after the other, there are two datagrams. Fragments that are doubled
// without others, or much later, make none, and nothing lacks fragments.
func TestFragmentsDoubled(t *testing.T) {
	whole := udp(numbers(100))
	first, second, other := piece4(7, 0, true, whole[:40]), piece4(7, 40, false, whole[40:]), piece4(7, 40, false, udp(numbers(60))[:60])
	for _, tt := range []struct {
		name   string
		frames [][]byte
		second []uint32 // seconds between the first frame and each
		want   []int    // frames that complete a datagram
	}{
		{"each fragment", [][]byte{first, first, second, second}, nil, []int{3, 4}},
		{"each fragment, the last first", [][]byte{second, second, first, first}, nil, []int{3, 4}},
		{"one behind the other", [][]byte{first, second, first, second}, nil, []int{2, 4}},
		{"only the first", [][]byte{first, first, second}, nil, []int{3}},
		{"three times", [][]byte{first, first, first, second}, nil, []int{4}},
		{"another one with the same identification", [][]byte{first, first, second, first, other}, []uint32{0, 0, 0, 9, 9}, []int{3, 5}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := pcapStart(little, pcapMicro, 65535, linkRaw)
			for i, frame := range tt.frames {
				b = pcapAppend(b, little, 1000+append(tt.second, 0, 0, 0, 0)[i], 0, frame, len(frame))
			}
			all, stats := mustRead(t, b)
			var got []int
			for _, d := range all {
				got = append(got, d.Number)
			}
			if !slices.Equal(got, tt.want) || stats.Unfinished != 0 || stats.Evicted != 0 || stats.Other.Malformed != 0 {
				t.Errorf("got %v, want %v, and %+v", got, tt.want, stats)
			}
		})
	}
}
