package capture

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/bcdissect/bcdissect/fixtures"
)

// FuzzReader reads anything. Besides what datagrams checks, reading ends, no
// more bytes come out than go in, and what fails does so in one of the known
// ways.
func FuzzReader(f *testing.F) {
	for _, name := range allCaptures(f) {
		if b := fixtures.Read(f, name); len(b) < 20<<10 {
			f.Add(b)
			f.Add(b[:min(len(b), 600)])
		}
	}
	pieces := fragments4(udp(numbers(100)), 7, 40)
	frames := pcapOf(linkRaw, pieces[2], pieces[0], pieces[0], pieces[1], piece6(9, 60, 0, true, pieces[0][:24]))
	f.Add(frames)
	f.Add(gz(f, frames))
	f.Add(zst(f, frames))
	for _, link := range []uint32{linkEthernet, linkPPP, linkPPPHDLC, linkPPPoE, linkNull, linkSLL2} {
		f.Add(pcapOf(link,
			hexBytes(f, macs+"88 a8 00 07 81 00 00 05 08 00"+hi4), hexBytes(f, macs+"88 64  11 00 00 2a 00 20  00 21"+hi4),
			hexBytes(f, "ff 03 00 57"+hi6), hexBytes(f, "11 00 00 2a 00 20  00 21"+hi4), hexBytes(f, "1e 00 00 00"+hi6)))
	}
	for _, o := range []order{little, big} {
		f.Add(join(section(o), iface(o, linkRaw, 20, option(o, 9, 0xc0), option(o, 14, 1, 2, 3, 4, 5, 6, 7, 8)),
			enhanced(o, 0, 1<<60, hexBytes(f, hi4), 30, option(o, 1, 'c')), simple(o, hexBytes(f, hi6), 50),
			block(o, ngPacket, make([]byte, 20)), block(o, 0x0bad, make([]byte, 20))))
	}

	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := NewReader("fuzz", bytes.NewReader(b))
		if err != nil {
			if !errors.Is(err, ErrNotCapture) && !errors.Is(err, ErrEmpty) && !errors.Is(err, ErrCut) && !errors.Is(err, ErrDamaged) && !errors.Is(err, errWindow) {
				t.Fatalf("got %v", err)
			}
			return
		}
		defer r.Close()
		if r.packed {
			// A few bytes may unpack to millions; the rest is the same.
			for range 1000 {
				if _, err := r.Next(); err != nil {
					return
				}
			}
			return
		}
		all, err := datagrams(t, r)
		if err != nil && !errors.Is(err, ErrCut) && !errors.Is(err, ErrDamaged) {
			t.Fatalf("got %v", err)
		}
		size := 0
		for _, d := range all {
			size += len(d.Payload)
		}
		if size > len(b) {
			t.Errorf("got %d bytes out of %d", size, len(b))
		}
		checkJoiner(t, &r.decoder.joiner)
		if n := r.Stats().Frames; n > len(b)/12 {
			t.Errorf("got %d frames out of %d bytes", n, len(b))
		}
	})
}

// FuzzFrame takes single frames apart, of any link type.
func FuzzFrame(f *testing.F) {
	for _, link := range []uint16{
		linkNull, linkEthernet, linkPPP, linkRawBSD, linkPPPHDLC, linkPPPoE, linkRaw, linkLoop, linkSLL, linkIPv6, linkSLL2,
	} {
		for _, text := range []string{
			hi4, hi6, macs + "81 00 00 05 08 00" + hi4, macs + "88 64  11 00 00 2a 00 20  00 21" + hi4, macs + "88 47  00 01 01 40" + hi4,
			"ff 03 00 57" + hi6, "1e 00 00 00" + hi6, "86 dd 00 00 00 00 00 02 00 01 00 06 02 00 00 00 00 01 00 00" + hi6,
		} {
			f.Add(link, uint8(0), hexBytes(f, text))
		}
	}
	for i, p := range fragments4(udp(numbers(100)), 7, 40) {
		f.Add(uint16(linkRaw), uint8(i), p)
	}
	f.Add(uint16(linkRaw), uint8(3), piece6(9, 60, 0, true, join([]byte{17, 0, 0, 0, 0, 0, 0, 0}, udp(nil))))
	f.Fuzz(func(t *testing.T, link uint16, cut uint8, b []byte) {
		var d decoder
		// Twice, so that pieces meet.
		for range 2 {
			f := frame{link: link, data: b, full: len(b) + int(cut)}
			if !d.decode(&f) {
				continue
			}
			if got := &d.datagram; got.Full < len(got.Payload) || len(got.Payload)+udpHeader > len(b) {
				t.Fatalf("got %d of %d bytes out of %d", len(got.Payload), got.Full, len(b))
			}
		}
		checkJoiner(t, &d.joiner)
	})
}

// checkJoiner checks the bounds and that both indexes agree.
func checkJoiner(t *testing.T, j *joiner) {
	t.Helper()
	if len(j.order) != len(j.parts) || len(j.order) > maxUnfinished || len(j.order)+len(j.free) > maxUnfinished+1 {
		t.Fatalf("got %d unfinished, %d in the map, %d free", len(j.order), len(j.parts), len(j.free))
	}
	for _, u := range j.order {
		if j.parts[u.key] != u || len(u.spans) == 0 || len(u.spans) > maxSpans || cap(u.data) > maxWhole {
			t.Fatalf("got %+v", u)
		}
		last := -1
		for _, s := range u.spans {
			if s.lo <= last || s.hi <= s.lo || s.hi > len(u.data) {
				t.Fatalf("got %+v", u.spans)
			}
			last = s.hi
		}
	}
}

// Random cuts of random data come together in any order.
func FuzzFragments(f *testing.F) {
	f.Add([]byte{0, 5, 5, 5, 10, 9})
	f.Add([]byte{3, 3, 0, 2, 1, 4, 2, 20})
	f.Fuzz(func(t *testing.T, plan []byte) {
		whole := udp(numbers(120)) // 128 bytes, 16 units
		b := pcapStart(little, pcapMicro, 0, linkRaw)
		var have [16]bool
		done, frames := 0, 0
		for len(plan) >= 2 && done == 0 {
			lo := int(plan[0]) % 16
			hi := lo + 1 + int(plan[1])%(16-lo)
			plan = plan[2:]
			p := piece4(7, lo*8, hi < 16, whole[lo*8:hi*8])
			if lo == 0 && hi == 16 {
				break // not a fragment
			}
			b = pcapAppend(b, little, 0, 0, p, len(p))
			frames++
			all := true
			for i := range have {
				have[i] = have[i] || lo <= i && i < hi
				all = all && have[i]
			}
			if all {
				done = frames
			}
		}
		r, err := NewReader("fuzz", bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		d, err := r.Next()
		switch {
		case done == 0 && !errors.Is(err, io.EOF):
			t.Errorf("got %v, want %v", err, io.EOF)
		case done > 0 && (err != nil || d.Number != done || !bytes.Equal(d.Payload, numbers(120))):
			t.Errorf("got %+v and %v, want all of frame %d", d, err, done)
		}
	})
}
