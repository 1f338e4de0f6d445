package diff

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/capture"
	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/dissect/transport"
	"github.com/bcdissect/bcdissect/fixtures"
	"github.com/bcdissect/bcdissect/fixtures/recorded"
)

// A frame is a datagram, deciphered unless it is GameSpy text.
type frame struct {
	dissect.Datagram
	spy bool
}

// frames returns the datagrams of a capture.
func frames(tb testing.TB, name string) (all []frame) {
	tb.Helper()
	recorded.Datagrams(tb, name, func(d *dissect.Datagram) {
		f := frame{*d, len(d.Payload) > 0 && d.Payload[0] == '\\'}
		f.Payload = bytes.Clone(d.Payload)
		if !f.spy {
			f.Payload = cipher.Decrypt(nil, d.Payload)
		}
		all = append(all, f)
	})
	return all
}

// push gives frames to a sink.
func push(tb testing.TB, all []frame, sink interface{ Record(*dissect.Record) error }) {
	tb.Helper()
	p := dissect.New(dissect.Config{})
	for i := range all {
		d := all[i].Datagram
		d.Payload = bytes.Clone(d.Payload)
		if !all[i].spy {
			d.Payload = cipher.Encrypt(nil, all[i].Payload)
		}
		if err := p.Push(&d, sink.Record); err != nil {
			tb.Fatal(err)
		}
	}
	if err := p.Flush(sink.Record); err != nil {
		tb.Fatal(err)
	}
}

// compare compares frames, and finds the fields that differ.
func compare(tb testing.TB, a, b []frame, o Options) *Report {
	tb.Helper()
	x, y := New()
	push(tb, a, x)
	push(tb, b, y)
	r := Compare(x, y, o)
	push(tb, a, NewFinder(r, false))
	push(tb, b, NewFinder(r, true))
	r.Explain()
	return r
}

// says writes the findings in words: kind, frames, opcode, and paths of fields.
func says(r *Report) (all []string) {
	for _, f := range r.Findings {
		text := f.Kind.String()
		if f.A != nil {
			text += fmt.Sprintf(" a%d", f.A.Frame)
		}
		if f.B != nil {
			text += fmt.Sprintf(" b%d", f.B.Frame)
		}
		text += fmt.Sprintf(" %v %v", f.Dir, f.Opcode)
		for _, v := range f.Fields {
			text += " " + v.Path.Raw()
		}
		all = append(all, text)
	}
	return all
}

func expect(tb testing.TB, r *Report, want ...string) {
	tb.Helper()
	if got := says(r); !slices.Equal(got, want) {
		tb.Errorf("got %q, want %q", got, want)
	}
	if r.Found != len(want) {
		tb.Errorf("%d differences, want %d", r.Found, len(want))
	}
	if r.Equal() != (len(want) == 0) {
		tb.Errorf("equal: %v", r.Equal())
	}
}

// at returns the index of a frame.
func at(tb testing.TB, all []frame, number int) int {
	tb.Helper()
	i := slices.IndexFunc(all, func(f frame) bool { return f.Number == number })
	if i < 0 {
		tb.Fatalf("no frame %d", number)
	}
	return i
}

// The frames of stock_client.pcap below: 115 holds the chat "everything good for
// you?" of Cady2, 118 the next message of Cady2, an explosion; 92 a torpedo of
// Cady2, and 94 the host's copy of it.
func TestAltered(t *testing.T) {
	all := frames(t, "stock_client.pcap")
	clone := func() []frame {
		out := slices.Clone(all)
		for i := range out {
			out[i].Payload = bytes.Clone(out[i].Payload)
		}
		return out
	}

	t.Run("none", func(t *testing.T) {
		r := compare(t, all, all, Options{})
		expect(t, r)
		equal := 0
		for _, p := range r.Pairs {
			for _, w := range p.Ways {
				equal += w.Equal
			}
		}
		// Independently decoded: 3 GameSpy datagrams and the messages that are no
		// acknowledgements, keepalives, retransmissions or fragments.
		if len(r.Pairs) != 3 || equal != r.A.Messages || equal == 0 {
			t.Errorf("%d conversations, %d of %d messages equal", len(r.Pairs), equal, r.A.Messages)
		}
	})
	t.Run("keepalives", func(t *testing.T) { // 60 echoes of names, counted by hand, are no retransmissions
		b := frames(t, "networked_battle.pcap")
		if r := compare(t, b, b, Options{}); r.A.Keepalives != 60 || r.A.Repeats != 4 {
			t.Errorf("%d keepalives, %d retransmissions", r.A.Keepalives, r.A.Repeats)
		}
	})
	t.Run("a frame is missing", func(t *testing.T) {
		b := clone()
		i := at(t, b, 115)
		b = slices.Delete(b, i, i+1)
		expect(t, compare(t, all, b, Options{}), "only-a a115 c2s 0x2C")
		expect(t, compare(t, b, all, Options{}), "only-b b115 c2s 0x2C")
	})
	t.Run("a character of a chat", func(t *testing.T) {
		b := clone()
		f := &b[at(t, b, 115)]
		k := bytes.Index(f.Payload, []byte("good"))
		f.Payload[k] = 'f'
		r := compare(t, all, b, Options{})
		expect(t, r, "differs a115 b115 c2s 0x2C text")
		if len(r.Findings) == 1 && len(r.Findings[0].Fields) == 1 {
			v := r.Findings[0].Fields[0]
			if x, y := string(v.A.Bytes), string(v.B.Bytes); x != "everything good for you?" || y != "everything food for you?" {
				t.Errorf("got %q and %q", x, y)
			}
		}
	})
	t.Run("the random number of a connect", func(t *testing.T) { // each session has others
		const nonceAt = 11 // behind FF 01, 03 0F C0, a number and the address
		b, changed := clone(), 0
		for i := range b {
			if bytes.HasPrefix(b[i].Payload, []byte{transport.UnassignedPeer, 1, byte(transport.Connect), 0x0F}) {
				b[i].Payload[nonceAt] ^= 7
				changed++
			}
		}
		if expect(t, compare(t, all, b, Options{})); changed == 0 {
			t.Error("no connect was changed")
		}
	})
	t.Run("an object", func(t *testing.T) { // all other messages have the same id for it
		b := clone()
		patch(t, b, func(r *dissect.Record, f *decode.Field) []byte {
			if r.Number != 0 && r.Datagram.Number == 92 && f.Name == "target" {
				return binary.LittleEndian.AppendUint32(nil, uint32(f.Uint)+7)
			}
			return nil
		})
		expect(t, compare(t, all, b, Options{}), "differs a92 b92 c2s 0x19 target")
	})
	t.Run("order", func(t *testing.T) {
		const number = 5 // offset of the number, after peer, count, type and length
		b := clone()
		x, y := &b[at(t, b, 115)], &b[at(t, b, 118)]
		x.Payload, y.Payload = y.Payload, x.Payload
		expect(t, compare(t, all, b, Options{})) // overtaken on the way
		x.Payload[number], y.Payload[number] = y.Payload[number], x.Payload[number]
		expect(t, compare(t, all, b, Options{}), "order a115 b118 c2s 0x2C")
	})
	t.Run("clock of the capture", func(t *testing.T) {
		b := clone()
		for i := range b {
			b[i].Time = b[i].Time.Add(time.Hour)
		}
		r := compare(t, all, b, Options{Timing: time.Millisecond})
		expect(t, r)
		if w := r.Pairs[1].Ways[0]; w.Offset != time.Hour || w.Most != 0 {
			t.Errorf("offset %v, most %v", w.Offset, w.Most)
		}
	})
	t.Run("a late message", func(t *testing.T) {
		b := clone()
		b[at(t, b, 115)].Time = b[at(t, b, 115)].Time.Add(30 * time.Millisecond)
		expect(t, compare(t, all, b, Options{}))
		r := compare(t, all, b, Options{Timing: 20 * time.Millisecond})
		expect(t, r, "timing a115 b115 c2s 0x2C")
		if len(r.Findings) == 1 && r.Findings[0].Late != 30*time.Millisecond {
			t.Errorf("late: %v", r.Findings[0].Late)
		}
		expect(t, compare(t, all, b, Options{Timing: 40 * time.Millisecond}))
	})
	t.Run("game clocks", func(t *testing.T) {
		b := clone()
		n := patch(t, b, func(_ *dissect.Record, f *decode.Field) []byte {
			if f.Name == "game_time" && f.End-f.Off == 4 {
				return binary.LittleEndian.AppendUint32(nil, 0x42C80000) // 100
			}
			return nil
		})
		if n < 100 {
			t.Fatalf("%d clocks", n)
		}
		expect(t, compare(t, all, b, Options{}))
	})
	t.Run("addresses, ports and frames", func(t *testing.T) {
		b := clone()
		for i := range b {
			b[i].Number += 1000
			for _, a := range []*netip.AddrPort{&b[i].Src, &b[i].Dst} {
				*a = netip.AddrPortFrom(netip.MustParseAddr("192.0.2.9"), a.Port()+100)
			}
		}
		r := compare(t, all, b, Options{})
		expect(t, r)
		for _, p := range r.Pairs {
			if p.A == nil || p.B == nil || p.A.Name != p.B.Name || p.A.Client.Port()+100 != p.B.Client.Port() {
				t.Errorf("paired %+v and %+v", p.A, p.B)
			}
		}
	})
	t.Run("ids", func(t *testing.T) { // all ids are of other slots, and of other players
		b := clone()
		n := patch(t, b, func(_ *dissect.Record, f *decode.Field) []byte {
			if f.Kind != decode.KindObject {
				return nil
			}
			if _, ok := wire.ObjectID(f.Uint).Slot(); ok {
				return binary.LittleEndian.AppendUint32(nil, uint32(f.Uint)+3*0x40000)
			}
			return nil
		})
		if n < 50 {
			t.Fatalf("%d ids", n)
		}
		r := compare(t, all, b, Options{})
		for _, f := range r.Findings {
			// Fragmented messages and the classes of ships stay unchanged.
			t.Logf("%v a%d", f.Kind, f.A.Frame)
		}
		expect(t, r)
		if r.Renamed == 0 {
			t.Error("no id has another value")
		}
	})
	t.Run("a client is missing", func(t *testing.T) {
		b := slices.DeleteFunc(clone(), func(f frame) bool { return f.Src.Port() == 38447 || f.Dst.Port() == 38447 })
		r := compare(t, all, b, Options{})
		if r.Equal() || r.Found != 160 || r.Alone[OnlyA] != 160 || len(r.Findings) != 0 {
			t.Errorf("%d differences, %d alone, %d findings", r.Found, r.Alone[OnlyA], len(r.Findings))
		}
		if r = compare(t, all, b, Options{Both: true}); !r.Equal() || len(r.Pairs) != 2 {
			t.Errorf("%d differences, %d conversations", r.Found, len(r.Pairs))
		}
	})
}

// patch changes fields of unfragmented messages in deciphered datagrams.
func patch(tb testing.TB, all []frame, change func(r *dissect.Record, f *decode.Field) []byte) (n int) {
	tb.Helper()
	index := map[int]int{}
	for i := range all {
		index[all[i].Number] = i
	}
	type edit struct {
		frame, at int
		value     []byte
	}
	var edits []edit
	push(tb, all, sinkFunc(func(r *dissect.Record) error {
		if r.Kind != dissect.KindMessage || r.Message == nil || r.Transport.Fragment || len(r.Payload) == 0 {
			return nil
		}
		var w decode.Viewer
		r.Visit(&w, fieldFunc(func(f *decode.Field) {
			if v := change(r, f); len(v) == f.End-f.Off && len(v) > 0 {
				edits = append(edits, edit{index[r.Datagram.Number], r.Offset + r.Transport.Size + f.Off, v})
			}
		}))
		return nil
	}))
	for _, e := range edits {
		copy(all[e.frame].Payload[e.at:], e.value)
	}
	return len(edits)
}

type sinkFunc func(r *dissect.Record) error

func (f sinkFunc) Record(r *dissect.Record) error { return f(r) }

type fieldFunc func(f *decode.Field)

func (f fieldFunc) Field(v *decode.Field) { f(v) }
func (f fieldFunc) Begin(*decode.Group)   {}
func (f fieldFunc) End(*decode.Group)     {}

// Each capture equals itself, and its other forms.
func TestForms(t *testing.T) {
	for _, pair := range [][2]string{
		{"captures/networked_battle.pcap", "captures/networked_battle.pcap"},
		{"captures/lossy.pcap", "captures/lossy.pcap"},
		{"captures/restart.pcap", "captures/restart.pcap"},
		{"captures/forged_small.pcap", "captures/forged_small.pcap"},
		{"captures/two_teams.pcap", "captures/two_teams.pcap"},
		{"captures/battle_mix.pcap.gz", "captures/battle_mix.pcapng.gz"},
		{"captures/join_flow.pcap", "captures/variants/join_flow-sll2.pcap"},
		{"captures/stock_client.pcap", "logs/stock_client.packet_trace.log"},
		{"captures/stock_client.pcap", "logs/stock_client.obctrace"},
	} {
		t.Run(pair[1], func(t *testing.T) {
			a, b := New()
			for i, c := range []*Capture{a, b} {
				read(t, pair[i], c)
			}
			r := Compare(a, b, Options{}) // the trace of game messages skips GameSpy
			expect(t, r)
			if a.Messages == 0 || b.Messages == 0 || a.Messages != b.Messages+r.Skipped {
				t.Errorf("%d and %d messages, %d not compared", a.Messages, b.Messages, r.Skipped)
			}
		})
	}
}

func read(tb testing.TB, name string, c *Capture) {
	tb.Helper()
	src, err := capture.OpenAll([]string{fixtures.Path(name)}, nil)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = src.Close() }() // nothing was written
	p := dissect.New(dissect.Config{})
	for {
		d, err := src.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			tb.Fatal(err)
		}
		if err := p.Push(d, c.Record); err != nil {
			tb.Fatal(err)
		}
	}
	if err := p.Flush(c.Record); err != nil {
		tb.Fatal(err)
	}
}

// Two captures with nothing in common take time in proportion to their length.
func TestNothingInCommon(t *testing.T) {
	build := func(c *Capture, n int, same bool) {
		v := &conversation{End: End{Name: "Kirk"}}
		for i := range n {
			key := uint64(i)<<1 | 1
			if same {
				key = uint64(i) % 3 << 1
			}
			v.ways[0] = append(v.ways[0], item{key: key, exact: key, body: 0, size: 0})
		}
		c.Messages, c.all = n, append(c.all, v)
	}
	const n = 100_000
	a, b := New()
	build(a, n, false)
	build(b, n, true)
	begun := time.Now()
	r := Compare(a, b, Options{})
	// Without bytes and of one kind, each is taken for the other, changed.
	if w := r.Pairs[0].Ways[0]; w.Differ+w.OnlyA != n || w.Differ+w.OnlyB != n || w.Equal != 0 {
		t.Errorf("%+v", w)
	}
	if took := time.Since(begun); took > 20*time.Second {
		t.Errorf("took %v", took)
	}
	if len(r.Findings) > MaxFindings {
		t.Errorf("%d findings are kept", len(r.Findings))
	}
}

func TestLimits(t *testing.T) {
	a, b := New()
	a.count = MaxMessages
	push(t, frames(t, "stock_client.pcap"), a)
	push(t, frames(t, "stock_client.pcap"), b)
	r := Compare(a, b, Options{})
	if a.Messages != 0 || a.Left != b.Messages || r.Equal() {
		t.Errorf("%d messages, %d left out, equal %v", a.Messages, a.Left, r.Equal())
	}
}

// Whatever the rows of digests, each message has at most one counterpart, with the same
// digest unless it is changed, and as many have one as in a multiset.
func FuzzAlign(f *testing.F) {
	f.Add([]byte("abcdef"), []byte("abdcef"))
	f.Add([]byte("aaaabaaaa"), []byte("aaaaaaaa"))
	f.Add([]byte(""), []byte("x"))
	f.Fuzz(func(t *testing.T, x, y []byte) {
		rowOf := func(text []byte) (row []item) {
			for _, c := range text[:min(len(text), 512)] {
				row = append(row, item{key: uint64(c | 1), exact: uint64(c)})
			}
			return row
		}
		a, b := rowOf(x), rowOf(y)
		ca, cb := New()
		used := map[int]bool{}
		last := -1
		both := 0 // in a multiset
		count := map[uint64]int{}
		for i := range a {
			count[a[i].key]++
		}
		for j := range b {
			if count[b[j].key] > 0 {
				count[b[j].key]--
				both++
			}
		}
		for _, m := range alignWay(ca, cb, a, b) {
			if m.a <= last || used[m.b] || m.b < 0 || m.b >= len(b) {
				t.Fatalf("%+v after %d", m, last)
			}
			last, used[m.b] = m.a, true
			if !m.changed && a[m.a].key != b[m.b].key {
				t.Fatalf("%+v have different digests", m)
			}
			if !m.changed {
				both--
			}
		}
		if both != 0 {
			t.Fatalf("%d more have a counterpart", both)
		}
		if bytes.Equal(x, y) && len(used) != len(a) {
			t.Fatalf("%d of %d are aligned", len(used), len(a))
		}
	})
}
