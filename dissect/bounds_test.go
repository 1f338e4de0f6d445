package dissect_test

import (
	"encoding/binary"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/dissect/transport"
	"github.com/bcdissect/bcdissect/fixtures"
)

// TestStateIsBounded exceeds every limit of a pipeline's state, with a
// thirty-second of the default number of conversations and games. Twice as much
// traffic must not take more memory.
func TestStateIsBounded(t *testing.T) {
	const part = 32
	l := dissect.DefaultLimits()
	l.Conversations /= part
	l.Games /= part
	h := hoarder{t: t, p: dissect.New(dissect.Config{Limits: l}), ship: fixtures.Hex(t, "02-ship.hex")}
	before := heap()
	h.fill(l)
	once := heap() - before
	h.fill(l)
	twice := heap() - before
	t.Logf("%d datagrams: %d KiB, and %d KiB after as many again; %d MiB for the limits as they are by default", h.number/2, once>>10, twice>>10, once*part>>20)
	const most = 12 << 20
	if once > most || twice > once+once/8 {
		t.Errorf("got %d and %d bytes, want no more than %d, and no growth", once, twice, most)
	}
	runtime.KeepAlive(h.p)
}

// heap returns the number of bytes in use.
func heap() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// A hoarder sends messages that fill the state.
type hoarder struct {
	t      *testing.T
	p      *dissect.Pipeline
	number int
	ship   []byte // a creation
}

// fill exceeds each of the limits.
func (h *hoarder) fill(l dissect.Limits) {
	chat := []byte{0x2C, 1, 0, 0, 0, 1, 0, 'A'}
	update := []byte{0x1C, 0, 0, 0, 0x3F, 0, 0x80, 0xE1, 0x41, 0x01, 0, 0, 0xB0, 0x42, 0, 0, 0x84, 0xC2, 0, 0, 0x92, 0xC2, 0x20}
	piece := make([]byte, transport.MaxMessage-12)
	reliable := transport.Header{Type: transport.Standard, Reliable: true, HasSeq: true}
	for c := range l.Conversations + 2 {
		for _, fromHost := range []bool{false, true} {
			for i := range transport.Laps*256 + 100 {
				r := reliable
				r.Seq = uint16(i)
				h.send(c, fromHost, &r, chat)
				h.send(c, fromHost, &transport.Header{Type: transport.NameChange, Seq: r.Seq}, nil)
			}
			for i := range l.Fragments.Bytes/len(piece) + 50 {
				r := reliable
				r.Fragment, r.Seq, r.Index = true, uint16(5000+i/22), uint8(1+i%22)
				h.send(c, fromHost, &r, piece)
			}
			for i := range l.Tracks + 50 {
				binary.LittleEndian.PutUint32(update[1:], 0x3FFFFFFF+uint32(i))
				h.send(c, fromHost, &transport.Header{Type: transport.Standard}, update)
			}
		}
	}
	for c := range l.Games + 1 {
		for i := range l.Objects + 50 {
			binary.LittleEndian.PutUint32(h.ship[6:], 0x3FFFFFFF+uint32(i))
			h.send(c, false, &transport.Header{Type: transport.Standard}, h.ship)
		}
	}
}

// send pushes a datagram of one message.
func (h *hoarder) send(conversation int, fromHost bool, header *transport.Header, body []byte) {
	src := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 1, byte(conversation)}), 2000)
	dst := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(conversation)}), 22101)
	plain := []byte{2, 1}
	if fromHost {
		src, dst, plain[0] = dst, src, 1
	}
	plain, err := transport.Append(plain, header, body)
	if err != nil {
		h.t.Fatal(err)
	}
	h.number++
	d := &dissect.Datagram{Number: h.number, Time: start.Add(time.Duration(h.number) * time.Microsecond), Src: src, Dst: dst, Payload: cipher.Encrypt(plain[:0], plain), Full: len(plain)}
	if err := h.p.Push(d, func(*dissect.Record) error { return nil }); err != nil {
		h.t.Fatal(err)
	}
}
