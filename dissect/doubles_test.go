package dissect

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/dissect/capture"
	"github.com/bcdissect/bcdissect/dissect/packet"
	"github.com/bcdissect/bcdissect/fixtures"
)

var (
	doubleFrom = netip.MustParseAddrPort("192.0.2.1:22101")
	doubleTo   = netip.MustParseAddrPort("192.0.2.2:5000")
)

// gameSpyAt returns a datagram of GameSpy text.
func gameSpyAt(number int, ms float64, text string) *Datagram {
	return &Datagram{
		Number: number, Time: time.Unix(1000, 0).Add(time.Duration(ms * float64(time.Millisecond))), Digits: 6, Src: doubleFrom, Dst: doubleTo,
		Payload: []byte(text), Full: len(text), WireLen: 42 + len(text), IPID: 7,
	}
}

// doubleOf returns the frame that the only record of a datagram doubles.
func doubleOf(t *testing.T, p *Pipeline, d *Datagram) int {
	t.Helper()
	var got []*Record
	for r := range p.Records(d) {
		got = append(got, r.Clone())
	}
	if len(got) != 1 {
		t.Fatalf("%d records", len(got))
	}
	r := got[0]
	if marked := len(r.Notes) == 1 && r.Notes[0].Code == "doubled_datagram" && r.Status == StatusDuplicate; marked != (r.DoubleOf > 0) {
		t.Errorf("frame %d doubles %d, status %q, notes %v", r.Datagram.Number, r.DoubleOf, r.Status, r.Notes)
	}
	return r.DoubleOf
}

// The rule for two datagrams.
func TestDoubleRule(t *testing.T) {
	const text = `\status\`
	for _, tt := range []struct {
		name   string
		change func(first, second *Datagram)
		double bool
	}{
		{"at once", func(first, second *Datagram) { second.Time = first.Time }, true},
		{"after 50 ms", func(first, second *Datagram) { second.Time = first.Time.Add(50 * time.Millisecond) }, true},
		{"after 51 ms", func(first, second *Datagram) { second.Time = first.Time.Add(51 * time.Millisecond) }, false},
		{"in disorder", func(first, second *Datagram) { second.Time = first.Time.Add(-20 * time.Millisecond) }, true},
		{"after the clock was set back", func(first, second *Datagram) { second.Time = first.Time.Add(-time.Hour) }, true},
		{"other bytes", func(_, second *Datagram) { second.Payload = []byte(`\statuS\`) }, false},
		{"fewer bytes", func(_, second *Datagram) { second.Payload = second.Payload[:7] }, false},
		{"cut", func(_, second *Datagram) { second.Full = 100 }, false},
		{"another receiver", func(_, second *Datagram) { second.Dst = netip.MustParseAddrPort("192.0.2.3:5000") }, false},
		{"another port", func(_, second *Datagram) { second.Src = netip.MustParseAddrPort("192.0.2.1:22102") }, false},
		{"another id", func(_, second *Datagram) { second.IPID = 8 }, false},
		{"without ids", func(first, second *Datagram) { first.IPID, second.IPID = 0, 0 }, true},
		{"one id", func(first, _ *Datagram) { first.IPID = 0 }, true},
		{"in a log", func(first, second *Datagram) { first.WireLen, second.WireLen = 0, 0 }, false},
		{"whole seconds", func(first, second *Datagram) { first.Digits, second.Digits = 0, 0 }, false},
		{"no time", func(first, second *Datagram) { first.Time, second.Time = time.Time{}, time.Time{} }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := New(Config{})
			first, second := gameSpyAt(3, 0, text), gameSpyAt(4, 10, text)
			tt.change(first, second)
			if got := doubleOf(t, p, first); got != 0 {
				t.Errorf("the first doubles %d", got)
			}
			if got, want := doubleOf(t, p, second), map[bool]int{true: 3}[tt.double]; got != want {
				t.Errorf("got %d, want %d", got, want)
			}
		})
	}
}

// A double of a double, later than the rule allows for the first: the id is beyond
// doubt, and without one the datagram is new.
func TestDoubleOfDouble(t *testing.T) {
	for id, want := range map[uint16]string{7: "0 1 1 1", 0: "0 1 0 3"} {
		p := New(Config{})
		var got []int
		for i, ms := range []float64{0, 40, 80, 120} {
			d := gameSpyAt(i+1, ms, `\status\`)
			d.IPID = id
			got = append(got, doubleOf(t, p, d))
		}
		if text := fmt.Sprint(got); text != "["+want+"]" {
			t.Errorf("id %d: got %s, want %s", id, text, want)
		}
	}
}

// A payload is valid during Push only; a clone has the same datagrams.
func TestDoubleOfReusedBytes(t *testing.T) {
	p := New(Config{})
	first := gameSpyAt(1, 0, `\status\`)
	if got := doubleOf(t, p, first); got != 0 {
		t.Errorf("the first doubles %d", got)
	}
	clear(first.Payload)
	for _, q := range []*Pipeline{p.Clone(), p} {
		if got := doubleOf(t, q, gameSpyAt(2, 10, `\status\`)); got != 1 {
			t.Errorf("got %d, want 1", got)
		}
	}
}

// Senders that flood the capture cost no memory and swallow nothing.
func TestDoublesAreBounded(t *testing.T) {
	p := New(Config{})
	text := append([]byte(`\status\`), make([]byte, 1000)...)
	n := 0
	for i := range 5 * maxSightings {
		binary.BigEndian.PutUint32(text[20:], uint32(i))
		d := gameSpyAt(i+1, 0, string(text))
		if got := doubleOf(t, p, d); got != 0 {
			t.Fatalf("%d doubles %d", i+1, got)
		}
		if i%1000 == 0 {
			d.Number++
			if doubleOf(t, p, d) > 0 {
				n++
			}
		}
	}
	d := &p.doubles
	if got := d.memory(); got > 1<<20 || len(d.young.all) > maxSightings {
		t.Errorf("%d bytes, %d datagrams", got, len(d.young.all))
	}
	if want := 5*maxSightings/1000 + 1; n != want {
		t.Errorf("%d doubles found, want %d", n, want)
	}
}

// The messages of a double are not decoded, whether they have numbers or not, and
// the pipeline goes on as if it had not come.
func TestDoubleOfGame(t *testing.T) {
	file := fixtures.Read(t, "captures/stock_client.pcap")
	const header, record, ip = 24, 16, 14
	var with, without bytes.Buffer
	p, q := New(Config{}), New(Config{})
	numbered, others := 0, 0
	for number, rest := 1, file[header:]; len(rest) > 0; number++ {
		size := int(binary.LittleEndian.Uint32(rest[8:]))
		f := rest[record : record+size]
		rest = rest[record+size:]
		d := gameSpyAt(number, float64(number), string(f[ip+28:]))
		d.IPID = binary.BigEndian.Uint16(f[ip+4:])
		d.Src = netip.AddrPortFrom(netip.AddrFrom4([4]byte(f[ip+12:])), binary.BigEndian.Uint16(f[ip+20:]))
		d.Dst = netip.AddrPortFrom(netip.AddrFrom4([4]byte(f[ip+16:])), binary.BigEndian.Uint16(f[ip+22:]))
		again := *d
		again.Number += 1 << 20
		show := func(w *bytes.Buffer) func(r *Record) error {
			return func(r *Record) error {
				fmt.Fprintln(w, r.Datagram.Number, r.Part, r.Status, r.Number, r.CopyOf, r.Client, r.Notes, string(r.Bytes), r.Pieces, r.Err)
				return nil
			}
		}
		for _, err := range []error{
			p.Push(d, show(&without)), q.Push(d, show(&with)),
			q.Push(&again, func(r *Record) error {
				if r.DoubleOf != number || r.Status != StatusDuplicate || r.Message != nil || r.Err != nil || r.First || r.Game() {
					t.Errorf("frame %d, part %d: %+v", number, r.Part, r)
				}
				if r.Repeat {
					numbered++
				} else {
					others++
				}
				return nil
			}),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if with.String() != without.String() || numbered < 50 || others < 50 {
		t.Errorf("%d numbered messages, %d others; the same without doubles: %t", numbered, others, with.String() == without.String())
	}
	if c := q.Clone(); c.Memory() != q.Memory() || c.doubles.memory() == 0 {
		t.Error("the clone has not the same datagrams")
	}
}

// A double costs no allocation but its note, and a new datagram none.
func TestDoublesAllocate(t *testing.T) {
	s := doubles{seed: maphash.MakeSeed()}
	d := gameSpyAt(1, 0, `\status\`)
	at := d.Time
	allocs := testing.AllocsPerRun(10_000, func() {
		d.Number++
		d.IPID++
		at = at.Add(time.Millisecond)
		if s.find(d, d.Payload, packet.Nanos(at)) == 0 {
			s.keep(d, d.Number)
		}
	})
	if allocs > 0 {
		t.Errorf("%g allocations", allocs)
	}
}

// The fragments of an IP packet are doubled one by one: the datagram counts once,
// and its double is marked.
func TestDoubledFragments(t *testing.T) {
	text := `\status\` + strings.Repeat("x", 72)
	udp := binary.BigEndian.AppendUint16(nil, 5000)
	udp = binary.BigEndian.AppendUint16(udp, 22101)
	udp = binary.BigEndian.AppendUint16(udp, uint16(8+len(text)))
	udp = append(append(udp, 0, 0), text...)
	file := []byte{0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 101, 0, 0, 0} // pcap, raw IP
	for i, lo := range []int{0, 0, 40, 40} {
		const more = 0x20
		hi, flags := len(udp), byte(0)
		if lo == 0 {
			hi, flags = 40, more
		}
		size := 20 + hi - lo
		file = binary.LittleEndian.AppendUint32(file, 1000)
		file = binary.LittleEndian.AppendUint32(file, uint32(i*100))
		file = binary.LittleEndian.AppendUint32(file, uint32(size))
		file = binary.LittleEndian.AppendUint32(file, uint32(size))
		file = append(file, 0x45, 0, 0, byte(size), 0, 7, flags, byte(lo/8), 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2)
		file = append(file, udp[lo:hi]...)
	}
	src, err := capture.NewReader("doubled", bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for r, err := range Read(Config{}, src) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%d doubles %d, %s", r.Datagram.Number, r.DoubleOf, r.GameSpy.Kind()))
	}
	if want := "3 doubles 0, query; 4 doubles 3, query"; strings.Join(got, "; ") != want {
		t.Errorf("got %q, want %q", strings.Join(got, "; "), want)
	}
}
