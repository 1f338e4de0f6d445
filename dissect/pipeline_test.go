package dissect_test

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/dissect/transport"
	"github.com/bcdissect/bcdissect/fixtures"
	"github.com/bcdissect/bcdissect/fixtures/recorded"
)

// truth is the content of a capture according to other software.
type truth struct {
	Capture struct {
		Frames int `json:"frames"`
	} `json:"capture"`
	GameDatagrams struct {
		Total int `json:"total"`
	} `json:"game_datagrams"`
	GameSpy struct {
		Total int `json:"total"`
	} `json:"gamespy_datagrams"`
	Messages struct {
		Total  int            `json:"total"`
		ByType map[string]int `json:"by_type"`
	} `json:"messages"`
	Opcodes   map[string]map[string]int `json:"game_opcodes_without_retransmissions"`
	Dirty     map[string]map[string]int `json:"state_update_dirty"`
	Fragments struct {
		Fragments   int `json:"fragments"`
		Reassembled int `json:"reassembled"`
		Messages    []struct {
			FrameLast int    `json:"frame_last"`
			Length    int    `json:"length"`
			SHA1      string `json:"sha1"`
		} `json:"messages"`
	} `json:"fragments"`
	Unexplained map[string]int `json:"unexplained"`
}

func readTruth(t *testing.T, name string) truth {
	t.Helper()
	var v truth
	if err := json.Unmarshal(fixtures.Read(t, "captures/"+name), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// hold returns all datagrams of a capture.
func hold(tb testing.TB, name string) (held []*dissect.Datagram) {
	tb.Helper()
	recorded.Datagrams(tb, name, func(d *dissect.Datagram) {
		c := *d
		c.Payload = slices.Clone(d.Payload)
		held = append(held, &c)
	})
	return held
}

// captureOf returns the capture of a truth file.
func captureOf(t *testing.T, truthFile string) string {
	t.Helper()
	stem := strings.TrimSuffix(truthFile, ".truth.json")
	for _, name := range []string{stem + ".pcap", stem + ".pcap.gz", stem + ".gz"} {
		if _, err := os.Stat(filepath.Join(fixtures.Dir(), "captures", name)); err == nil {
			return name
		}
	}
	t.Fatalf("no capture for %s", truthFile)
	return ""
}

// TestTruth compares the counts of every capture with an independent decoder's
// counts.
func TestTruth(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(fixtures.Dir(), "captures", "*.truth.json"))
	if err != nil || len(files) < 10 {
		t.Fatalf("got %d truth files, %v", len(files), err)
	}
	for _, file := range files {
		base := filepath.Base(file)
		t.Run(base, func(t *testing.T) {
			want := readTruth(t, base)
			types, opcodes, dirty := map[string]int{}, map[string]map[string]int{}, map[string]map[string]int{}
			unexplained := map[string]int{}
			game, gamespy, messages, fragments, reassembled, last := 0, 0, 0, 0, 0, 0
			bump := func(m map[string]map[string]int, dir dissect.Dir, key string) {
				if m[dir.String()] == nil {
					m[dir.String()] = map[string]int{}
				}
				m[dir.String()][key]++
			}
			stats := recorded.Records(t, captureOf(t, base), dissect.Config{}, func(r *dissect.Record) {
				switch r.Kind {
				case dissect.KindGameSpy:
					gamespy++
					return
				case dissect.KindEvicted:
					return
				case dissect.KindMessage:
					messages++
					types[fmt.Sprintf("0x%02x", uint8(r.Transport.Type))]++
					if r.Transport.Fragment && r.Transport.Type == transport.Standard {
						fragments++
					}
					if len(r.Pieces) > 0 {
						reassembled++
					}
				case dissect.KindMalformed:
				}
				if r.Datagram.Number != last {
					game++
					last = r.Datagram.Number
				}
				if !r.Game() {
					return
				}
				op := fmt.Sprintf("0x%02x", r.Payload[0])
				bump(opcodes, r.Dir, op)
				if op == "0x1c" && len(r.Payload) > 9 {
					bump(dirty, r.Dir, fmt.Sprintf("0x%02x", r.Payload[9]))
				}
				if r.Status != dissect.StatusOK {
					unexplained[op]++
				}
			})
			equal := func(what string, got, want any) {
				t.Helper()
				if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
					t.Errorf("%s: got %s, want %s", what, g, w)
				}
			}
			equal("frames", stats.Frames, want.Capture.Frames)
			equal("game datagrams", game, want.GameDatagrams.Total)
			equal("GameSpy datagrams", gamespy, want.GameSpy.Total)
			equal("messages", messages, want.Messages.Total)
			equal("types", types, want.Messages.ByType)
			equal("fragments", fragments, want.Fragments.Fragments)
			equal("reassembled", reassembled, want.Fragments.Reassembled)
			for _, dir := range []string{"c2s", "s2c"} {
				equal("opcodes "+dir, opcodes[dir], noZeros(want.Opcodes[dir]))
				equal("dirty flags "+dir, dirty[dir], noZeros(want.Dirty[dir]))
			}
			if want.Unexplained == nil {
				return
			}
			for op, n := range unexplained {
				if !otherDecoderKnows(op) {
					continue
				}
				if n > want.Unexplained[op] {
					t.Errorf("opcode %s: %d messages are not explained, another decoder leaves %d", op, n, want.Unexplained[op])
				}
			}
		})
	}
}

// otherDecoderKnows reports whether the other decoder has a layout for an
// opcode. It counts mod messages as explained, so its counts do not apply to
// messages that have gained a layout here.
func otherDecoderKnows(op string) bool {
	return op < "0x2b" || slices.Contains([]string{"0x2c", "0x2d", "0x35", "0x36", "0x37", "0x38", "0x39", "0x3f", "0x40", "0x41"}, op)
}

func noZeros(m map[string]int) map[string]int {
	m = maps.Clone(m)
	maps.DeleteFunc(m, func(_ string, n int) bool { return n == 0 })
	return m
}

// captures returns all captures among the fixtures.
func captures(tb testing.TB) []string {
	tb.Helper()
	var names []string
	for _, pattern := range []string{"*.pcap", "*.gz", "variants/*.pcap*"} {
		found, err := filepath.Glob(filepath.Join(fixtures.Dir(), "captures", filepath.FromSlash(pattern)))
		if err != nil {
			tb.Fatal(err)
		}
		for _, f := range found {
			rel, err := filepath.Rel(filepath.Join(fixtures.Dir(), "captures"), f)
			if err != nil {
				tb.Fatal(err)
			}
			names = append(names, rel)
		}
	}
	if len(names) < 25 {
		tb.Fatalf("only %d captures", len(names))
	}
	return names
}

// accounting checks that every byte of every datagram belongs to exactly one
// record.
type accounting struct {
	t      testing.TB
	number int
	plain  []byte
	next   int // offset of the next record
}

func (a *accounting) record(r *dissect.Record) {
	a.t.Helper()
	if r.Kind == dissect.KindEvicted {
		return
	}
	if r.Datagram.Number != a.number {
		a.finish()
		a.number = r.Datagram.Number
		if r.Kind == dissect.KindGameSpy {
			a.plain = slices.Clone(r.Datagram.Payload)
			a.next = 0
		} else {
			a.plain = cipher.Decrypt(nil, r.Datagram.Payload)
			a.next = 2
			if r.Kind == dissect.KindMalformed && r.Offset == 0 {
				a.next = 0
			}
		}
	}
	if r.Offset != a.next {
		a.t.Fatalf("frame %d: a record begins at %d, want %d", a.number, r.Offset, a.next)
	}
	if string(r.Bytes) != string(a.plain[r.Offset:r.Offset+len(r.Bytes)]) {
		a.t.Fatalf("frame %d: the record at %d does not hold the datagram's bytes", a.number, r.Offset)
	}
	a.next += len(r.Bytes)
	if r.Kind != dissect.KindMessage || len(r.Payload) == 0 || r.Status == dissect.StatusDuplicate {
		return
	}
	var v spans
	v.t, v.next = a.t, 1
	r.Visit(new(decode.Viewer), &v)
	if got := v.next + len(r.Rest); r.Message != nil && got != len(r.Payload) {
		a.t.Fatalf("frame %d: %s: fields end at %d and %d bytes are over, of %d: %v", a.number, r.Spec.Name, v.next, len(r.Rest), len(r.Payload), r.Err)
	}
	if r.Message == nil && len(r.Rest) != len(r.Payload)-1 {
		a.t.Fatalf("frame %d: %d of %d bytes are over, but there are no fields", a.number, len(r.Rest), len(r.Payload))
	}
}

func (a *accounting) finish() {
	a.t.Helper()
	if a.number != 0 && a.next != len(a.plain) {
		a.t.Fatalf("frame %d: records end at %d of %d bytes", a.number, a.next, len(a.plain))
	}
}

// spans checks that fields follow each other without a gap.
type spans struct {
	t    testing.TB
	next int
}

func (v *spans) Field(f *decode.Field) {
	if f.Off == f.End {
		return
	}
	if f.Off != v.next {
		v.t.Fatalf("field %s begins at %d, the one before ends at %d", f.Name, f.Off, v.next)
	}
	v.next = f.End
}
func (v *spans) Begin(*decode.Group) {}
func (v *spans) End(*decode.Group)   {}

func TestEveryByteIsAccountedFor(t *testing.T) {
	for _, name := range captures(t) {
		t.Run(name, func(t *testing.T) {
			a := accounting{t: t}
			recorded.Records(t, name, dissect.Config{}, a.record)
			a.finish()
		})
	}
}

// TestStockBytesDecode: every byte string of the real game decodes completely.
func TestStockBytesDecode(t *testing.T) {
	n := 0
	recorded.Records(t, "stock_replay.pcap", dissect.Config{}, func(r *dissect.Record) {
		n++
		if r.Err != nil || len(r.Rest) > 0 || r.Status != dissect.StatusOK && r.Status != dissect.StatusDuplicate {
			t.Errorf("frame %d: %v, %v, %d bytes over", r.Datagram.Number, r.Status, r.Err, len(r.Rest))
		}
		if r.Sender == decode.OpenBC || r.Layout == decode.OpenBC {
			t.Errorf("frame %d: taken for OpenBC", r.Datagram.Number)
		}
	})
	if n != 85 { // 83 messages and 2 GameSpy datagrams
		t.Errorf("got %d records", n)
	}
}

// TestVariants: a capture in other file formats gives the same records.
func TestVariants(t *testing.T) {
	list := func(name string) []string {
		var out []string
		recorded.Records(t, name, dissect.Config{}, func(r *dissect.Record) {
			out = append(out, fmt.Sprintf("%d %d %v %x %v %v", r.Datagram.Number, r.Part, r.Dir, r.Bytes, r.Status, r.Cut))
		})
		return out
	}
	want := list("join_flow.pcap")
	if len(want) < 160 {
		t.Fatalf("only %d records", len(want))
	}
	for _, name := range captures(t) {
		if !strings.HasPrefix(name, "variants") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			got := list(name)
			switch {
			case strings.Contains(name, "snap60"):
				cut := 0
				for _, line := range got {
					if strings.HasSuffix(line, "true") {
						cut++
					}
				}
				if cut == 0 || cut > 69 {
					t.Errorf("%d datagrams are reported as cut", cut)
				}
			case strings.Contains(name, "filecut"):
				if len(got) >= len(want) || !slices.Equal(got, want[:len(got)]) {
					t.Errorf("got %d records, not the first of %d", len(got), len(want))
				}
			case strings.Contains(name, "headeronly"):
				if len(got) > 0 {
					t.Errorf("got %d records", len(got))
				}
			default:
				if !slices.Equal(got, want) {
					t.Errorf("got %d records, want the %d of join_flow.pcap", len(got), len(want))
				}
			}
		})
	}
}

var (
	host   = netip.MustParseAddrPort("10.0.0.1:22101")
	client = netip.MustParseAddrPort("10.0.0.2:4000")
	start  = time.Date(2002, 3, 1, 20, 0, 0, 0, time.UTC)
)

// feed pushes deciphered datagrams given in hex into a pipeline.
type feed struct {
	t *testing.T
	p *dissect.Pipeline
	n int

	check func(*dissect.Record) // sees records first, if not nil
}

func newFeed(t *testing.T, cfg dissect.Config) *feed {
	t.Helper()
	return &feed{t: t, p: dissect.New(cfg)}
}

func (f *feed) push(from, to netip.AddrPort, at time.Duration, plain string) []dissect.Record {
	f.t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(plain, " ", ""))
	if err != nil {
		f.t.Fatal(err)
	}
	f.n++
	var out []dissect.Record
	d := &dissect.Datagram{Number: f.n, Time: start.Add(at), Src: from, Dst: to, Payload: cipher.Encrypt(nil, b)}
	d.Full = len(d.Payload)
	if err := f.p.Push(d, func(r *dissect.Record) error {
		if f.check != nil {
			f.check(r)
		}
		c := *r
		c.Notes = slices.Clone(r.Notes)
		c.Payload = slices.Clone(r.Payload)
		out = append(out, c)
		return nil
	}); err != nil {
		f.t.Fatal(err)
	}
	return out
}

func TestDirectionAndNames(t *testing.T) {
	f := newFeed(t, dissect.Config{})
	r := f.push(client, host, 0, "ff 01 03 0f c0 00 00 0a 0a 0a ef 5f 0a 00 00 00 00")
	if len(r) != 1 || r[0].Dir != dissect.ToHost || r[0].Sender != decode.Stock {
		t.Fatalf("connect: %+v", r)
	}
	r = f.push(host, client, 0, "01 01 03 06 c0 00 00 02")
	if r[0].Dir != dissect.FromHost || r[0].ClientID != 2 {
		t.Errorf("accept: %v, client %d", r[0].Dir, r[0].ClientID)
	}
	r = f.push(client, host, 0, "02 01 00 16 c0 01 00 02 0a 0a 0a ef 43 00 61 00 64 00 79 00 32 00 00 00")
	if r[0].Client != "Cady2" {
		t.Errorf("name: got %q", r[0].Client)
	}
	r = f.push(client, host, 0, "02 01 02")
	if len(r) != 1 || r[0].Client != "Cady2" || r[0].Transport.Type != transport.DoNothing {
		t.Errorf("keepalive: %+v", r)
	}
}

func TestRepetition(t *testing.T) {
	f := newFeed(t, dissect.Config{})
	const chat = "01 01 32 11 80 01 00 2c 02 00 00 00 05 00 68 65 6c 6c 6f"
	if r := f.push(host, client, 0, chat); r[0].Status != dissect.StatusOK || r[0].Spec.Name != "Chat" {
		t.Fatalf("first: %v", r[0].Status)
	}
	if r := f.push(host, client, time.Second, chat); r[0].Status != dissect.StatusDuplicate || r[0].Message != nil {
		t.Errorf("repeated after 1 s: %v", r[0].Status)
	}
	if r := f.push(host, client, 2*time.Minute, chat); r[0].Status != dissect.StatusDuplicate || !r[0].Repeat || r[0].Number != 1 {
		t.Errorf("two minutes after the last: %v, number %d", r[0].Status, r[0].Number)
	}
	// The same number with other bytes is another message.
	if r := f.push(host, client, 33*time.Second, "01 01 32 11 80 01 00 2c 02 00 00 00 05 00 68 65 6c 6c 70"); r[0].Status != dissect.StatusOK {
		t.Errorf("other bytes: %v", r[0].Status)
	}
	// The other direction has separate numbers.
	if r := f.push(client, host, 33*time.Second, "02 01 32 11 80 01 00 2c 02 00 00 00 05 00 68 65 6c 6c 6f"); r[0].Status != dissect.StatusOK {
		t.Errorf("other direction: %v", r[0].Status)
	}
}

func noteCodes(r dissect.Record) []string {
	var codes []string
	for _, n := range r.Notes {
		codes = append(codes, n.Code)
	}
	return codes
}

func TestGapAndRestart(t *testing.T) {
	f := newFeed(t, dissect.Config{})
	f.push(client, host, 0, "ff 01 03 0f c0 00 00 0a 0a 0a ef 5f 0a 00 00 00 00")
	f.push(client, host, 0, "02 01 32 06 80 00 00 13")
	r := f.push(client, host, 0, "02 01 32 06 80 04 00 13")
	if got := fmt.Sprint(r[0].Notes); got != "[{seq-gap numbers 1 to 3 have not been seen}]" {
		t.Errorf("gap: got %s", got)
	}
	if r := f.push(client, host, 0, "ff 01 03 0f c0 00 00 0a 0a 0a ef 5f 0a 00 00 00 00"); r[0].Status != dissect.StatusDuplicate {
		t.Errorf("same nonce: %v", r[0].Status)
	}
	if r := f.push(client, host, 0, "ff 01 03 0f c0 00 00 0a 0a 0a ef 60 0a 00 00 00 00"); !slices.Contains(noteCodes(r[0]), "restart") {
		t.Errorf("other nonce: notes %v", r[0].Notes)
	}
	if r := f.push(client, host, 0, "03 01 32 06 80 00 00 13"); r[0].Status != dissect.StatusOK {
		t.Errorf("number 0 after the restart: %v", r[0].Status)
	}
}

// A sender with 8-bit numbers goes from 255 to 0 without a gap.
func TestNumbersOfEightBits(t *testing.T) {
	f := newFeed(t, dissect.Config{})
	for n := range 600 {
		r := f.push(client, host, time.Duration(n)*time.Second, fmt.Sprintf("02 01 32 07 80 %02x 00 2a %02x", n&0xFF, 0x20+n/256%2))
		if r[0].Status != dissect.StatusOK || len(r[0].Notes) > 0 {
			t.Fatalf("message %d: %v, notes %v", n, r[0].Status, r[0].Notes)
		}
	}
}

func TestFragments(t *testing.T) {
	f := newFeed(t, dissect.Config{})
	r := f.push(client, host, 0, "02 01 32 0c a0 05 00 01 00 68 65 6c 6c 6f")
	if r[0].Status != dissect.StatusPending || r[0].Payload != nil {
		t.Fatalf("second piece first: %v", r[0].Status)
	}
	r = f.push(client, host, 0, "02 01 32 0d a0 05 00 00 02 2c 02 00 00 00 05")
	if r[0].Status != dissect.StatusOK || r[0].Spec.Name != "Chat" || fmt.Sprint(r[0].Pieces) != "[2 1]" {
		t.Fatalf("first piece: %v, %v, pieces %v, payload %x", r[0].Status, r[0].Err, r[0].Pieces, r[0].Payload)
	}
	if r := f.push(client, host, time.Second, "02 01 32 0c a0 05 00 01 00 68 65 6c 6c 6f"); r[0].Status != dissect.StatusDuplicate {
		t.Errorf("piece again: %v", r[0].Status)
	}
	if r := f.push(client, host, time.Second, "02 01 32 05 20 01 ff"); r[0].Status != dissect.StatusMalformed || !errors.Is(r[0].Err, dissect.ErrFragment) {
		t.Errorf("piece without a number: %v %v", r[0].Status, r[0].Err)
	}
	// Incomplete messages are reported at the end.
	f.push(client, host, 2*time.Second, "02 01 32 0c a0 09 00 01 00 68 65 6c 6c 6f")
	var lost []string
	if err := f.p.Flush(func(r *dissect.Record) error {
		lost = append(lost, r.Err.Error())
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if len(lost) != 1 || !strings.Contains(lost[0], "message 9 from frame 5 on, 1 of an unknown number of fragments") {
		t.Errorf("lost: %q", lost)
	}
}

func TestUnknownAndDamaged(t *testing.T) {
	f := newFeed(t, dissect.Config{})
	f.push(client, host, 0, "02 01 02") // makes the conversation known
	r := f.push(client, host, 0, "02 02 32 05 00 0f 11 77 01 02")
	if len(r) != 2 || r[0].Kind != dissect.KindMessage || r[1].Kind != dissect.KindMalformed || !errors.Is(r[1].Err, transport.ErrType) {
		t.Fatalf("unknown type: %+v", r)
	}
	if got := hex.EncodeToString(r[1].Rest); got != "770102" {
		t.Errorf("rest: got %s", got)
	}
	r = f.push(client, host, 0, "02 01 32 06 00 24 aa bb")
	if r[0].Status != dissect.StatusUnknown || hex.EncodeToString(r[0].Rest) != "aabb" {
		t.Errorf("opcode without a decoder: %v %x", r[0].Status, r[0].Rest)
	}
	r = f.push(client, host, 0, "02 01 32 08 00 cd 2a 00 00 00")
	if r[0].Status != dissect.StatusOK || r[0].Spec.Name != "Script" {
		t.Errorf("a mod's opcode: %v", r[0].Status)
	}
	r = f.push(client, host, 0, "02 01 32 05 00 19 0d")
	var located *decode.Error
	if r[0].Status != dissect.StatusMalformed || !errors.As(r[0].Err, &located) || located.Field != "tube" || located.Offset != 1 || located.Need != 4 || located.Have != 1 {
		t.Errorf("short message: %v %v", r[0].Status, r[0].Err)
	}
	if r := f.push(client, host, 0, "02"); len(r) != 1 || !errors.Is(r[0].Err, transport.ErrEmpty) {
		t.Errorf("one byte: %+v", r)
	}
}

// Other traffic makes no records, unless its port is declared as a host's.
func TestOtherTraffic(t *testing.T) {
	dns := "1d2e 0100 0001 0000 0000 0000 0765 7861 6d70 6c65 0363 6f6d 0000 0100 01"
	b, err := hex.DecodeString(strings.ReplaceAll(dns, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	push := func(cfg dissect.Config, dst netip.AddrPort) (n int, stats dissect.Stats) {
		p := dissect.New(cfg)
		d := &dissect.Datagram{Number: 1, Time: start, Src: client, Dst: dst, Payload: b, Full: len(b)}
		if err := p.Push(d, func(*dissect.Record) error { n++; return nil }); err != nil {
			t.Fatal(err)
		}
		return n, p.Stats()
	}
	if n, s := push(dissect.Config{}, host); n != 0 || s.Other != 1 || s.Conversations != 0 {
		t.Errorf("by content: %d records, %+v", n, s)
	}
	if n, s := push(dissect.Config{Ports: []uint16{host.Port()}}, host); n == 0 || s.Other != 0 {
		t.Errorf("forced: %d records, %+v", n, s)
	}
	if n, s := push(dissect.Config{Ports: []uint16{53}}, host); n != 0 || s.Other != 1 {
		t.Errorf("another port forced: %d records, %+v", n, s)
	}
}

func TestPositionFromDelta(t *testing.T) {
	f := newFeed(t, dissect.Config{})
	// Position 88, -66, -73; then a delta of 0.62 along Y.
	f.push(client, host, 0, "02 01 32 1a 00 1c ff ff ff 3f 00 80 e1 41 01 00 00 b0 42 00 00 84 c2 00 00 92 c2 20")
	var got [2]bool
	b, err := hex.DecodeString(strings.ReplaceAll("02 01 32 12 00 1c ff ff ff 3f 00 80 e1 41 02 00 7f 00 3e 39", " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	d := &dissect.Datagram{Number: 2, Time: start, Src: client, Dst: host, Payload: cipher.Encrypt(nil, b), Full: len(b)}
	if err := f.p.Push(d, func(r *dissect.Record) error {
		m, ok := r.Message.(*msg.StateUpdate)
		if !ok {
			return nil
		}
		p, ok := m.AbsolutePosition()
		got = [2]bool{ok, p[0] == 88 && p[2] == -73 && p[1] > -65.39 && p[1] < -65.37}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if got != [2]bool{true, true} {
		t.Errorf("got %v", got)
	}
}

// The host of stock_client.pcap uses OpenBC, its clients the stock dialect.
func TestDialectOfEachSender(t *testing.T) {
	senders := map[string]int{}
	recorded.Records(t, "stock_client.pcap", dissect.Config{}, func(r *dissect.Record) {
		if r.Spec != nil && r.Spec.Name == "StateUpdate" {
			senders[r.Dir.String()+" "+r.Sender.String()]++
		}
	})
	if want := map[string]int{"c2s stock": 2, "s2c openbc": 168}; !maps.Equal(senders, want) {
		t.Errorf("got %v, want %v", senders, want)
	}
	malformed := 0
	recorded.Records(t, "stock_client.pcap", dissect.Config{Dialect: decode.Stock}, func(r *dissect.Record) {
		if r.Status == dissect.StatusMalformed || r.Status == dissect.StatusTrailing {
			malformed++
		}
	})
	if malformed == 0 {
		t.Error("forced to stock, every block of an OpenBC host still fits")
	}
}

// TestLimits: conversations beyond the limit cost no more memory, and evictions
// are counted and reported.
func TestLimits(t *testing.T) {
	l := dissect.DefaultLimits()
	l.Conversations = 4
	f := newFeed(t, dissect.Config{Limits: l})
	reported, conversations := 0, 0
	for i := range 20 {
		from := netip.AddrPortFrom(client.Addr(), uint16(5000+i))
		for _, r := range f.push(from, host, 0, "02 01 32 0c a0 05 00 01 00 68 65 6c 6c 6f") {
			if r.Kind == dissect.KindEvicted && r.Transport.Fragment {
				reported++
				if !errors.Is(r.Err, dissect.ErrEvicted) {
					t.Errorf("evicted: %v", r.Err)
				}
			} else if r.Kind == dissect.KindEvicted {
				conversations++
				if !strings.Contains(r.Err.Error(), "10.0.0.2:50") || len(r.Notes) != 1 {
					t.Errorf("evicted: %v", r.Err)
				}
			}
		}
	}
	if s := f.p.Stats(); s.Evicted != 16 || reported != 16 || conversations != 16 {
		t.Errorf("got %d conversations given up, %d reported, %d fragments reported", s.Evicted, conversations, reported)
	}
}

// TestPushDoesNotAllocate: counting a capture allocates nothing per datagram.
func TestPushDoesNotAllocate(t *testing.T) {
	held := hold(t, "networked_battle.pcap")
	p := dissect.New(dissect.Config{})
	emit := func(*dissect.Record) error { return nil }
	for _, d := range held {
		if err := p.Push(d, emit); err != nil {
			t.Fatal(err)
		}
	}
	tail := held[len(held)/2:]
	per := testing.AllocsPerRun(3, func() {
		for _, d := range tail {
			if err := p.Push(d, emit); err != nil {
				t.Fatal(err)
			}
		}
	}) / float64(len(tail))
	if per > 0.02 {
		t.Errorf("%.3f allocations a datagram", per)
	}
}

func FuzzPipeline(f *testing.F) {
	n := 0
	recorded.Records(f, "stock_replay.pcap", dissect.Config{}, func(r *dissect.Record) {
		if r.Part == 0 && n < 60 {
			f.Add(cipher.Decrypt(nil, r.Datagram.Payload), r.Dir == dissect.FromHost, uint8(0))
			n++
		}
	})
	f.Add([]byte(`\status\`), false, uint8(3))
	f.Fuzz(func(t *testing.T, plain []byte, fromHost bool, dialect uint8) {
		if len(plain) == 0 {
			return
		}
		l := dissect.DefaultLimits()
		l.Objects, l.Tracks = 8, 4
		p := dissect.New(dissect.Config{Ports: []uint16{host.Port()}, Dialect: decode.Dialect(dialect % 3), Limits: l})
		src, dst := client, host
		if fromHost {
			src, dst = dst, src
		}
		payload := plain
		if plain[0] != '\\' {
			payload = cipher.Encrypt(nil, plain)
		}
		// The same bytes unchanged, repeated, from the other side, and truncated.
		for i := range 4 {
			d := &dissect.Datagram{Number: i + 1, Time: start, Src: src, Dst: dst, Payload: payload, Full: len(payload)}
			if i == 2 {
				d.Src, d.Dst = dst, src
			}
			if i == 3 {
				d.Payload = payload[:(len(payload)+1)/2]
			}
			a := accounting{t: t}
			if err := p.Push(d, func(r *dissect.Record) error { a.record(r); return nil }); err != nil {
				t.Fatal(err)
			}
			a.finish()
		}
		if err := p.Flush(func(*dissect.Record) error { return nil }); err != nil {
			t.Fatal(err)
		}
	})
}

func BenchmarkPush(b *testing.B) {
	held := hold(b, "battle_mix.pcap.gz")
	emit := func(*dissect.Record) error { return nil }
	b.ReportAllocs()
	for b.Loop() {
		p := dissect.New(dissect.Config{})
		for _, d := range held {
			if err := p.Push(d, emit); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(held)), "ns/datagram")
}

// An evicted game is reported once.
func TestGamesGivenUp(t *testing.T) {
	limits := dissect.DefaultLimits()
	limits.Games = 3
	p := dissect.New(dissect.Config{Limits: limits})
	var got []string
	for i := range 5 {
		d := &dissect.Datagram{
			Number:  i + 1,
			Src:     netip.MustParseAddrPort("10.0.0.1:1234"),
			Dst:     netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 1, byte(i)}), 22101),
			Payload: []byte{0x02, 0xD7, 0x32}, // a keepalive
			Full:    3,
		}
		for range 2 {
			if err := p.Push(d, func(r *dissect.Record) error {
				for _, n := range r.Notes {
					got = append(got, fmt.Sprintf("%d %s: %s", r.Datagram.Number, n.Code, n.Text))
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := []string{
		"4 evicted: the state of the game at 10.0.1.0:22101 is evicted, the least recently used of more than 3 games",
		"5 evicted: the state of the game at 10.0.1.1:22101 is evicted, the least recently used of more than 3 games",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Forms that the game does not write are read, with a note. The numbers come
// from the generator of forged_small: its frames with a keepalive of six bytes,
// with a name in 1F with an uncounted final 00, and with a 16-bit length in 18.
func TestForms(t *testing.T) {
	got := map[string]int{}
	recorded.Records(t, "forged_small.pcap", dissect.Config{}, func(r *dissect.Record) {
		long := r.Transport.Type == transport.DoNothing && r.Transport.Len > 1
		noted := slices.ContainsFunc(r.Notes, func(n dissect.Note) bool { return n.Code == "form" })
		if r.Status == dissect.StatusMalformed && r.Spec != nil && (r.Spec.Name == "VerifyExitedWarp" || r.Spec.Name == "PlayerDeleted") {
			t.Errorf("frame %d: %v", r.Datagram.Number, r.Err)
		}
		switch {
		case long && noted:
			got["keepalive"]++
		case long:
			t.Errorf("frame %d: a keepalive of %d bytes has no note", r.Datagram.Number, r.Transport.Len)
		case noted && r.Spec != nil:
			got[r.Spec.Name]++
		}
	})
	if got["keepalive"] == 0 || got["VerifyExitedWarp"] == 0 {
		t.Errorf("got notes for %v", got)
	}
}
