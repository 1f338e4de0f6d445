package capture

import (
	"bytes"
	"errors"
	"io"
	bigint "math/big"
	"reflect"
	"slices"
	"testing"
	"testing/iotest"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/bcdissect/bcdissect/dissect/packet"
	"github.com/bcdissect/bcdissect/fixtures"
)

// FuzzReader reads arbitrary bytes, and checks the datagrams. It also checks that
// reading ends, returns no more bytes than the input has, fails only with known
// errors, and has bounded memory. The result does not change if the input comes
// a byte at a time, and a truncated input gives a prefix of it.
func FuzzReader(f *testing.F) {
	add := func(b []byte) { f.Add(b, uint16(len(b)/2)) }
	for _, name := range allCaptures(f) {
		if b := fixtures.Read(f, name); len(b) < 20<<10 {
			add(b)
			add(b[:min(len(b), 600)])
		}
	}
	pieces := fragments4(udp(numbers(100)), 7, 40)
	frames := pcapOf(linkRaw, pieces[2], pieces[0], pieces[0], pieces[1], piece6(9, 60, 0, true, pieces[0][:24]))
	add(frames)
	add(gz(f, frames))
	add(zst(f, frames))
	add(zst(f, frames, zstd.WithWindowSize(1<<26), zstd.WithSingleSegment(false)))
	for _, link := range []uint32{linkEthernet, linkPPP, linkPPPHDLC, linkPPPoE, linkNull, linkSLL2} {
		add(pcapOf(link,
			fixtures.Unhex(f, macs+"88 a8 00 07 81 00 00 05 08 00"+hi4), fixtures.Unhex(f, macs+"88 64  11 00 00 2a 00 20  00 21"+hi4),
			fixtures.Unhex(f, "ff 03 00 57"+hi6), fixtures.Unhex(f, "11 00 00 2a 00 20  00 21"+hi4), fixtures.Unhex(f, "1e 00 00 00"+hi6)))
	}
	for _, o := range []order{little, big} {
		add(join(section(o), iface(o, linkRaw, 20, option(o, 9, 0xc0), option(o, 14, 1, 2, 3, 4, 5, 6, 7, 8)),
			enhanced(o, 0, 1<<60, fixtures.Unhex(f, hi4), 30, option(o, 1, 'c')), simple(o, fixtures.Unhex(f, hi6), 50),
			block(o, ngPacket, make([]byte, 20)), block(o, 0x0bad, make([]byte, 20))))
	}

	f.Fuzz(func(t *testing.T, b []byte, cut uint16) {
		all, frames, packed, err := readSome(t, b, nil)
		if !known(err) {
			t.Fatalf("got %v", err)
		}
		if !packed {
			size := 0
			for _, d := range all {
				size += len(d.Payload)
			}
			if size > len(b) {
				t.Errorf("got %d bytes out of %d", size, len(b))
			}
			if frames > len(b)/12 {
				t.Errorf("got %d frames out of %d bytes", frames, len(b))
			}
		}
		if len(b) < 4<<10 {
			again, _, _, e := readSome(t, b, iotest.OneByteReader)
			if kindOf(e) != kindOf(err) || !packed && told(e) != told(err) || !alike(again, all) {
				t.Errorf("got %d datagrams and %v, a byte at a time %d and %v", len(all), err, len(again), e)
			}
		}
		if int(cut) < len(b) {
			some, _, _, e := readSome(t, b[:cut], nil)
			if !known(e) || len(some) > len(all) || !alike(some, all[:len(some)]) {
				t.Errorf("cut to %d of %d bytes: got %d datagrams and %v, whole %d and %v", cut, len(b), len(some), e, len(all), err)
			}
		}
	})
}

// maxSome is the maximum number of datagrams that readSome reads from packed
// data: a few bytes may unpack to millions of equal ones.
const maxSome = 1000

// readSome reads a capture, checks the memory, and returns the datagrams, the
// final error and the number of frames. through, if not nil, wraps the reader.
func readSome(t *testing.T, b []byte, through func(io.Reader) io.Reader) (all []packet.Datagram, frames int, packed bool, err error) {
	t.Helper()
	var r *Series
	var from io.Reader = bytes.NewReader(b)
	if through != nil {
		from = through(from)
	}
	spent := fixtures.Allocated(func() {
		if r, err = NewReader("fuzz", from); err != nil {
			return
		}
		defer r.Close()
		if packed = r.open[0].packed; !packed {
			all, err = datagrams(t, r)
			return
		}
		for len(all) < maxSome {
			var d *packet.Datagram
			if d, err = r.Next(); err != nil {
				return
			}
			c := *d
			c.Payload = bytes.Clone(d.Payload)
			all = append(all, c)
		}
	})
	// Buffers, unfinished fragments, and this function's own data; and twice the
	// window of zstd as its buffer grows, which is allocated before unpacking.
	most := uint64(24 << 20)
	if len(b) >= 4 && isZstd(b[:4]) {
		most += 2 * maxWindow
	}
	if packed {
		most += maxSome << 16
	}
	if spent > most {
		t.Errorf("%d bytes were allocated", spent)
	}
	if r != nil {
		checkJoiner(t, &r.decoder.joiner)
		frames = r.Stats().Frames
	}
	return all, frames, packed, err
}

// known reports whether reading may end with this error.
func known(err error) bool {
	return err == nil || errors.Is(err, io.EOF) || kindOf(err) > 0
}

// told returns the text of an error.
func told(err error) string {
	if err == nil || errors.Is(err, io.EOF) {
		return ""
	}
	return err.Error()
}

// alike compares datagrams from two readings.
func alike(a, b []packet.Datagram) bool {
	return slices.EqualFunc(a, b, func(x, y packet.Datagram) bool {
		same := bytes.Equal(x.Payload, y.Payload) && x.Time.Equal(y.Time)
		x.Payload, y.Payload, x.Time = nil, nil, y.Time
		return same && reflect.DeepEqual(x, y)
	})
}

// FuzzPacked checks that packing a file, in any number of pieces, makes no
// difference, and that a truncated packed file gives a prefix.
func FuzzPacked(f *testing.F) {
	for _, name := range []string{"captures/variants/join_flow-nano.pcap", "captures/variants/join_flow-bigendian.pcapng"} {
		b := fixtures.Read(f, name)
		for form := range uint8(4) {
			f.Add(b, form, uint16(len(b)/3), uint16(len(b)/5))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, form uint8, split, cut uint16) {
		if len(b) > 64<<10 {
			return
		}
		want, _, packed, err := readSome(t, b, nil)
		if packed || len(want) >= maxSome {
			return
		}
		at := min(int(split), len(b))
		var whole []byte
		switch form % 4 {
		case 0:
			whole = gz(t, b)
		case 1:
			whole = join(gz(t, b[:at]), gz(t, b[at:]))
		case 2:
			whole = zst(t, b)
		case 3:
			whole = join(zst(t, b[:at]), zst(t, b[at:]))
		}
		got, _, _, e := readSome(t, whole, nil)
		if !alike(got, want) || kindOf(e) != kindOf(err) {
			t.Errorf("plain: %d datagrams and %v; packed: %d and %v", len(want), err, len(got), e)
		}
		if int(cut) < len(whole) {
			some, _, _, e := readSome(t, whole[:cut], nil)
			if !known(e) || len(some) > len(want) || !alike(some, want[:len(some)]) {
				t.Errorf("cut to %d of %d bytes: %d datagrams and %v, whole %d and %v", cut, len(whole), len(some), e, len(want), err)
			}
		}
	})
}

// kindOf returns the index of a known error, 0 for none.
func kindOf(err error) int {
	return 1 + slices.IndexFunc([]error{ErrNotCapture, ErrEmpty, ErrCut, ErrDamaged, errWindow}, func(k error) bool { return errors.Is(err, k) })
}

// FuzzClock compares timestamps in pcapng's resolutions with big-number
// arithmetic. Times beyond any capture must also work.
func FuzzClock(f *testing.F) {
	for _, unit := range []uint8{0, 1, 6, 9, 19, 20, 28, 29, 127, 0x80, 0x80 | 20, 0x80 | 63, 0x80 | 64, 0x80 | 127} {
		f.Add(unit, int64(0), uint64(1700000000123456789))
		f.Add(unit, int64(-1<<63), uint64(1<<64-1))
		f.Add(unit, int64(1<<63-1), uint64(1))
	}
	f.Fuzz(func(t *testing.T, unit uint8, offset int64, stamp uint64) {
		r := resolution{exp: unit & 0x7f, binary: unit&0x80 != 0, offset: offset}
		got := r.time(stamp)
		if d, y := r.digits(), got.Year(); d < 0 || d > 9 || y < 1 || y > 9999 {
			t.Errorf("%d digits of %v", d, got)
		}
		base := int64(10)
		if r.binary {
			base = 2
		}
		scale := new(bigint.Int).Exp(bigint.NewInt(base), bigint.NewInt(int64(r.exp)), nil)
		sec, rest := new(bigint.Int).DivMod(new(bigint.Int).SetUint64(stamp), scale, new(bigint.Int))
		if sec.Cmp(bigint.NewInt(maxSecond)) > 0 || offset < minSecond || offset+sec.Int64() < minSecond || offset > maxSecond-sec.Int64() {
			return
		}
		nsec := new(bigint.Int).Div(rest.Mul(rest, bigint.NewInt(1e9)), scale)
		if want := time.Unix(sec.Int64()+offset, nsec.Int64()).UTC(); got != want {
			t.Errorf("%d units of %d^-%d s and %d s: got %v, want %v", stamp, base, r.exp, offset, got, want)
		}
	})
}

// FuzzFrame decodes single frames of any link type.
func FuzzFrame(f *testing.F) {
	seedFrames(f)
	f.Fuzz(func(t *testing.T, link uint16, cut uint8, b []byte) {
		var d decoder
		// Twice, so that fragments meet.
		for range 2 {
			f := frame{Frame: Frame{Link: link, Data: b, Full: len(b) + int(cut)}}
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

// seedFrames adds frames of all link types.
func seedFrames(f *testing.F) {
	f.Helper()
	for _, link := range []uint16{
		linkNull, linkEthernet, linkPPP, linkRawBSD, linkPPPHDLC, linkPPPoE, linkRaw, linkLoop, linkSLL, linkIPv6, linkSLL2,
	} {
		for _, text := range []string{
			hi4, hi6, macs + "81 00 00 05 08 00" + hi4, macs + "88 64  11 00 00 2a 00 20  00 21" + hi4, macs + "88 47  00 01 01 40" + hi4,
			"ff 03 00 57" + hi6, "1e 00 00 00" + hi6, "86 dd 00 00 00 00 00 02 00 01 00 06 02 00 00 00 00 01 00 00" + hi6,
		} {
			f.Add(link, uint8(0), fixtures.Unhex(f, text))
		}
	}
	for i, p := range fragments4(udp(numbers(100)), 7, 40) {
		f.Add(uint16(linkRaw), uint8(i), p)
	}
	f.Add(uint16(linkRaw), uint8(3), piece6(9, 60, 0, true, join([]byte{17, 0, 0, 0, 0, 0, 0, 0}, udp(nil))))
}

// checkJoiner checks the limits, and that both indexes agree.
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

// Randomly cut fragments of random data are joined in any order.
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
