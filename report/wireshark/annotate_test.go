package wireshark

import (
	"bytes"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/dissect/packet"
	"github.com/bcdissect/bcdissect/fixtures"
	"github.com/bcdissect/bcdissect/fixtures/recorded"
	"github.com/bcdissect/bcdissect/report/ndjson"
)

// captures are the names of the captures that are whole.
func captures(tb testing.TB) (names []string) {
	tb.Helper()
	for _, pattern := range []string{"captures/*.pcap*", "captures/*/*.pcap*"} {
		for _, name := range fixtures.Glob(tb, pattern) {
			if name = strings.TrimPrefix(name, "captures/"); !strings.HasPrefix(name, "clear/") && !strings.HasSuffix(name, ".json") {
				names = append(names, name)
			}
		}
	}
	return names
}

// most is the number of frames that these tests check. The system tests check
// all frames.
const most = 400

// annotate calls each with the trailers and comments of a capture, put behind the
// deciphered payloads.
func annotate(tb testing.TB, name string, o Options, each func(d *dissect.Datagram, frame []byte, comment string)) {
	tb.Helper()
	a, p := NewAnnotator(o), dissect.New(dissect.Config{})
	recorded.Datagrams(tb, name, func(d *dissect.Datagram) {
		const before = 42
		a.Begin(before, d.Truncated())
		game := false
		err := p.Push(d, func(r *dissect.Record) error {
			game = game || r.Kind == dissect.KindMessage || r.Kind == dissect.KindMalformed
			return a.Record(r)
		})
		if err != nil {
			tb.Fatal(err)
		}
		clear := d.Payload
		if game && d.Form == packet.Wire {
			clear = cipher.Decrypt(nil, clear)
		}
		trailer, comment := a.End(clear)
		if len(trailer) == 0 {
			each(d, nil, comment)
			return
		}
		each(d, slices.Concat(make([]byte, before), clear, trailer), comment)
	})
}

// Trailers agree with JSON about every message, and name bytes of the payload.
func TestAgreesWithJSON(t *testing.T) {
	for _, name := range captures(t) {
		t.Run(name, func(t *testing.T) {
			var text bytes.Buffer
			sink := ndjson.New(&text, ndjson.Options{})
			recorded.Records(t, name, dissect.Config{}, func(r *dissect.Record) {
				if r.Datagram.Number <= most {
					_ = sink.Record(r)
				}
			})
			if err := sink.Close(); err != nil {
				t.Fatal(err)
			}
			want := lines(t, &text)
			frames := 0
			annotate(t, name, Options{}, func(d *dissect.Datagram, frame []byte, comment string) {
				switch {
				case d.Number > most:
					return
				case d.Truncated():
					delete(want, d.Number)
					return
				case frame == nil:
					return
				}
				items, _, info := parse(t, frame)
				compare(t, d.Number, messages(items), want[d.Number])
				delete(want, d.Number)
				if frames++; info == "" {
					t.Errorf("frame %d: nothing for the Info column", d.Number)
				}
			})
			if len(want) > 0 || frames == 0 && !strings.Contains(name, "headeronly") && !strings.Contains(name, "snap") {
				t.Errorf("%d frames; %d were not annotated", frames, len(want))
			}
		})
	}
}

// compare compares the messages of a frame.
func compare(tb testing.TB, frame int, got, want []message) {
	tb.Helper()
	if len(got) != len(want) {
		tb.Fatalf("frame %d: %d messages, want %d", frame, len(got), len(want))
	}
	for i := range got {
		if !slices.Equal(got[i], want[i]) {
			tb.Fatalf("frame %d, message %d:\ngot  %s\nwant %s", frame, i, strings.Join(got[i], "\n     "), strings.Join(want[i], "\n     "))
		}
	}
}

// A frame that is cut has its fields in a comment.
func TestCutFrames(t *testing.T) {
	for _, name := range []string{"battle_mix-s96.pcap.gz", "variants/join_flow-snap60.pcap"} {
		var text bytes.Buffer
		sink := ndjson.New(&text, ndjson.Options{})
		recorded.Records(t, name, dissect.Config{}, func(r *dissect.Record) {
			if r.Datagram.Number <= most && r.Datagram.Truncated() {
				_ = sink.Record(r)
			}
		})
		_ = sink.Close()
		want, values := lines(t, &text), 0
		annotate(t, name, Options{}, func(d *dissect.Datagram, frame []byte, comment string) {
			if !d.Truncated() || d.Number > most {
				return
			}
			if frame != nil {
				t.Errorf("%s: frame %d has a trailer", name, d.Number)
			}
			for _, m := range want[d.Number] {
				for _, pair := range m {
					key, value, _ := strings.Cut(pair, "=")
					if key = strings.TrimPrefix(key, "fields"); strings.HasSuffix(key, "_x") || value == "null" {
						continue
					}
					if values++; !strings.Contains(comment+"\n", key+": "+value+"\n") {
						t.Fatalf("%s: frame %d: the comment lacks %s = %s:\n%s", name, d.Number, key, value, comment)
					}
				}
			}
		})
		if values < 100 {
			t.Errorf("%s: only %d values", name, values)
		}
	}
}

// chat returns a deciphered datagram of a client with a number of chat messages.
func chat(n int, text string) []byte {
	size := 3 + 7 + len(text)
	d := []byte{2, byte(n)}
	for range n {
		d = append(d, 0x32, byte(size), byte(size>>8), 0x2C, 2, 0, 0, 0, byte(len(text)), byte(len(text)>>8))
		d = append(d, text...)
	}
	return d
}

// one annotates a deciphered datagram.
func one(tb testing.TB, payload int, clear []byte) (trailer []byte, comment string) {
	tb.Helper()
	a, p := NewAnnotator(Options{}), dissect.New(dissect.Config{Clear: true})
	d := &dissect.Datagram{
		Number: 1, Src: netip.MustParseAddrPort("10.0.0.2:5000"), Dst: netip.MustParseAddrPort("10.0.0.1:22101"),
		Payload: clear, Full: len(clear), Form: packet.Clear,
	}
	a.Begin(payload, false)
	if err := p.Push(d, a.Record); err != nil {
		tb.Fatal(err)
	}
	return a.End(clear)
}

// Control characters of players do not reach Wireshark's columns and texts.
func TestHostileText(t *testing.T) {
	clear := chat(1, "a\x1b[2J\x00\nb")
	trailer, _ := one(t, 0, clear)
	items, _, info := parse(t, slices.Concat(clear, trailer))
	texts := []string{info}
	for _, it := range appendLeaves(nil, items) {
		texts = append(texts, it.value)
	}
	if !slices.Contains(texts, `a\x1b[2J\x00\x0ab`) {
		t.Errorf("no chat: %q", texts)
	}
	for _, s := range texts {
		if strings.ContainsFunc(s, unicode.IsControl) {
			t.Errorf("%q has a control character", s)
		}
	}
}

// Fields without room are counted, and the rest can be read.
func TestLimit(t *testing.T) {
	clear := chat(250, strings.Repeat("0123456789", 20))
	for i := range 250 { // makes all texts different
		copy(clear[2+210*i+10:], strconv.Itoa(1e6+i))
	}
	trailer, comment := one(t, 0, clear)
	items, _, _ := parse(t, slices.Concat(clear, trailer))
	if n := len(items); n < 100 || n > 249 || !strings.Contains(comment, "fields have no room in this frame") {
		t.Errorf("%d items at the first level; the comment is %q", n, comment)
	}
	if len(trailer) > 80<<10 {
		t.Errorf("the trailer has %d bytes", len(trailer))
	}
	if trailer, comment = one(t, 0, clear[:0]); trailer != nil || comment != "" {
		t.Errorf("an empty datagram has a trailer of %d bytes and the comment %q", len(trailer), comment)
	}
}

// The payload of a datagram in IP fragments is a separate data source.
func TestFragments(t *testing.T) {
	clear := chat(2, "hello")
	trailer, _ := one(t, -1, clear)
	items, sources, _ := parse(t, trailer)
	if len(sources) != 1 || !bytes.Equal(sources[0], clear) {
		t.Fatalf("the data sources are %x", sources)
	}
	n := 0
	for _, it := range appendLeaves(nil, items) {
		if it.name == "Chat.text" && it.source == 0 && bytes.HasSuffix(sources[0][it.from:it.to], []byte("hello")) {
			n++
		}
	}
	if n != 2 {
		t.Errorf("%d lines of chat", n)
	}
}

// Addresses get the names of all their players, but not if the host has the same.
func TestNames(t *testing.T) {
	a := NewAnnotator(Options{})
	host, other := netip.MustParseAddrPort("10.0.0.1:22101"), netip.MustParseAddrPort("10.0.0.2:5000")
	meet := func(src, dst netip.AddrPort, dir dissect.Dir, name string) []Name {
		a.Begin(0, false)
		_ = a.Record(&dissect.Record{Datagram: &dissect.Datagram{Src: src, Dst: dst}, Dir: dir, Client: wire.Untrusted(name), Kind: dissect.KindEvicted})
		return a.Names()
	}
	want := []Name{{other.Addr(), "Cady"}}
	if got := meet(other, host, dissect.ToHost, "Cady"); !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
	if got := meet(other, host, dissect.ToHost, "Cady"); got != nil {
		t.Errorf("again %v", got)
	}
	want[0].Name = `Cady, W\x1brf`
	if got := meet(host, other, dissect.FromHost, "W\x1brf"); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := meet(other, netip.AddrPortFrom(other.Addr(), 1), dissect.ToHost, "Kirk"); got != nil {
		t.Errorf("the host's address has the name %v", got)
	}
}

// Frame numbers refer to the new capture.
func TestFrameNumbers(t *testing.T) {
	n := 0
	annotate(t, "stock_client.pcap", Options{Frame: func(n int) int { return n / 2 * 2 }}, func(_ *dissect.Datagram, frame []byte, _ string) {
		if frame == nil {
			return
		}
		items, _, _ := parse(t, frame)
		for _, it := range appendLeaves(nil, items) {
			if it.name == "reassembled" {
				if it.value[len(it.value)-1]%2 != 0 {
					t.Errorf("frame %s", it.value)
				}
				n++
			}
		}
	})
	if n == 0 {
		t.Error("no reassembled message")
	}
}

// Annotating does not allocate for each field.
func TestAllocations(t *testing.T) {
	clear := chat(20, "hello there")
	a, p := NewAnnotator(Options{}), dissect.New(dissect.Config{Clear: true})
	d := &dissect.Datagram{
		Number: 1, Src: netip.MustParseAddrPort("10.0.0.2:5000"), Dst: netip.MustParseAddrPort("10.0.0.1:22101"),
		Payload: clear, Full: len(clear), Form: packet.Clear,
	}
	run := func() {
		a.Begin(0, false)
		_ = p.Push(d, a.Record)
		a.End(clear)
	}
	run()
	if n := testing.AllocsPerRun(100, run); n > 4 {
		t.Errorf("%.0f allocations for 20 messages", n)
	}
}

// Messages that the table does not have are shown nevertheless.
func TestUnknownFields(t *testing.T) {
	clear := chat(1, "hello")
	a, p := NewAnnotator(Options{}), dissect.New(dissect.Config{Clear: true})
	a.table.game = map[string]*node{}
	a.Begin(0, false)
	err := p.Push(&dissect.Datagram{
		Number: 1, Src: netip.MustParseAddrPort("10.0.0.2:5000"), Dst: netip.MustParseAddrPort("10.0.0.1:22101"),
		Payload: clear, Full: len(clear), Form: packet.Clear,
	}, a.Record)
	if err != nil {
		t.Fatal(err)
	}
	trailer, _ := a.End(clear)
	items, _, _ := parse(t, slices.Concat(clear, trailer))
	var got []string
	for _, it := range appendLeaves(nil, items) {
		if it.name == "other" {
			got = append(got, it.value)
		}
	}
	if want := []string{"sender: 2", `text: "hello"`}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
