package layout

import (
	"bytes"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/fixtures"
)

func spec(tb testing.TB, fields ...Field) *decode.Spec {
	tb.Helper()
	m := Message{Opcode: 0xCD, Name: "Own", Fields: fields}
	s, err := m.Spec()
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func hex(tb testing.TB, text string) []byte {
	tb.Helper()
	b, err := fixtures.ParseHex(text)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// A seen is a visitor that records fields and groups.
type seen struct {
	strings.Builder
	viewer *decode.Viewer
	left   int // calls until it stops; negative for never
	at     int
	gap    bool
	kinds  []string // path and kind of each field
	path   []string
}

func (s *seen) enough() {
	if s.left--; s.left == 0 {
		s.viewer.Stop()
	}
}

func (s *seen) Field(f *decode.Field) {
	s.gap = s.gap || f.Off != s.at
	s.at = f.End
	s.kinds = append(s.kinds, strings.Join(append(s.path, f.Name), ".")+" "+f.Kind.String())
	fmt.Fprintf(s, "%s=", f.Name)
	switch f.Kind {
	case decode.KindI16, decode.KindI32:
		fmt.Fprint(s, f.Int)
	case decode.KindF32, decode.KindCF16, decode.KindRatio8, decode.KindPercent8, decode.KindPower8:
		fmt.Fprintf(s, "%.4g", f.Float)
	case decode.KindDir3, decode.KindVec3, decode.KindVec4h, decode.KindVec4f:
		fmt.Fprintf(s, "%.4g", f.Vec[:3])
	case decode.KindQuat:
		fmt.Fprintf(s, "%.4g", f.Vec)
	case decode.KindStr8, decode.KindStr16, decode.KindStr32, decode.KindStr32z:
		fmt.Fprintf(s, "%q", f.Bytes)
	case decode.KindWStr32, decode.KindWStrz, decode.KindBytes, decode.KindIPv4:
		fmt.Fprintf(s, "%x", f.Bytes)
	case decode.KindEnum8, decode.KindEnum32, decode.KindFlags8:
		fmt.Fprintf(s, "%d", f.Uint)
		if f.Names != nil {
			fmt.Fprintf(s, "(%s)", f.Names.Name(f.Uint))
		}
	default:
		fmt.Fprintf(s, "%d", f.Uint)
	}
	s.WriteByte(' ')
	s.enough()
}

func (s *seen) Begin(g *decode.Group) {
	name := g.Name
	if g.Kind == decode.GroupElement {
		name = "[]"
	}
	s.path = append(s.path, name)
	s.WriteString(g.Name + "{ ")
	s.enough()
}

func (s *seen) End(*decode.Group) {
	s.path = s.path[:len(s.path)-1]
	s.WriteString("} ")
}

func show(r *decode.Result, payload []byte) *seen {
	v := new(decode.Viewer)
	s := &seen{viewer: v, left: -1, at: 1}
	v.Show(r.Message, payload, 1, r.Dialect, s)
	return s
}

// all has a field of every kind, with its bytes and value.
var all = []struct{ kind, bytes, want string }{
	{"u8", "ff", "255"},
	{"u16", "01 02", "513"},
	{"u32", "01 00 00 80", "2147483649"},
	{"i16", "fe ff", "-2"},
	{"i32", "fe ff ff ff", "-2"},
	{"f32", "00 00 20 c1", "-10"},
	{"bit", "21", "1"}, // one bit, set
	{"bool8", "01", "1"},
	{"enum8", "02", "2(two)"},
	{"enum32", "02 00 00 00", "2(two)"},
	{"flags8", "03", "3()"},
	{"object", "ff ff ff 3f", "1073741823"},
	{"hash16", "34 12", "4660"},
	{"hash32", "78 56 34 12", "305419896"},
	{"cf16", "00 80", "-0"},
	{"ratio8", "ff", "1"},
	{"percent8", "9c", "-100"},
	{"power8", "cc", "100"},
	{"dir3", "7f 00 81", "[1 0 -1]"},
	{"vec3", "00 00 80 3f 00 00 00 40 00 00 40 40", "[1 2 3]"},
	{"quat", "00 00 80 3f 00 00 00 00 00 00 00 00 00 00 00 00", "[1 0 0 0]"},
	{"cv4h", "7f 00 00 ff 3f", "[1 0 0]"},
	{"cv4f", "00 7f 00 00 00 00 40", "[0 2 0]"},
	{"str8", "02 68 69", `"hi"`},
	{"str16", "02 00 68 69", `"hi"`},
	{"str32", "02 00 00 00 68 69", `"hi"`},
	{"str32z", "03 00 00 00 68 69 00", `"hi"`},
	{"wstr32", "01 00 00 00 68 00", "6800"},
	{"wstrz", "68 00 00 00", "6800"},
	{"ipv4", "0a 00 00 01", "0a000001"},
	{"bytes", "de ad", "dead"},
}

func fieldOf(kind string) Field {
	f := Field{Name: "x", Kind: kind}
	if strings.HasPrefix(kind, "enum") {
		f.Values = []Value{{Number: 2, Name: "two"}, {Number: 0, Name: "none"}}
	}
	if kind == "flags8" {
		f.Bits = []string{"a"}
	}
	return f
}

func TestKinds(t *testing.T) {
	tested := []string{"list", "struct"}
	for _, tt := range all {
		tested = append(tested, tt.kind)
		t.Run(tt.kind, func(t *testing.T) {
			s := spec(t, fieldOf(tt.kind))
			payload := append([]byte{0xCD}, hex(t, tt.bytes)...)
			r := check(t, s, payload)
			if !r.Exact() {
				t.Fatalf("rest %x, %v", r.Rest, r.Err)
			}
			if got, want := show(&r, payload).String(), "x="+tt.want+" "; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
	for _, k := range Kinds() {
		if !slices.Contains(tested, k) {
			t.Errorf("%s is not tested", k)
		}
	}
}

// rich is a message with everything that affects the order of values: nested
// lists, conditions on optional fields, bits and texts.
func rich() []Field {
	return []Field{
		{Name: "mode", Kind: "enum8", Values: []Value{{Number: 1, Name: "on"}}},
		{Name: "flags", Kind: "flags8", Bits: []string{"", "far"}},
		{Name: "far", Kind: "u16", When: []string{"flags & far"}},
		{Name: "very", Kind: "u8", When: []string{"far == 0x0102"}},
		{Name: "loud", Kind: "bit"},
		{Name: "list", Kind: "list", When: []string{"mode == on"}, Fields: []Field{
			{Name: "id", Kind: "object"},
			{Name: "deep", Kind: "list", Count: "u16", Fields: []Field{
				{Name: "n", Kind: "i16"},
				{Name: "neg", Kind: "str8", When: []string{"n == -1"}},
				{Name: "mode", Kind: "u8", When: []string{"not flags & 1", "n != -1"}},
			}},
			{Name: "aim", Kind: "struct", When: []string{"id != 0"}, Fields: []Field{
				{Name: "dir", Kind: "cv4h"},
			}},
		}},
		{Name: "quiet", Kind: "bit", When: []string{"loud"}},
		{Name: "tail", Kind: "list", Count: "rest", When: []string{"bytes remain"}, Fields: []Field{
			{Name: "c", Kind: "u8"},
		}},
	}
}

const richHex = "cd 01 02 0201 07 41 02" + // loud, with another bit in its group
	" 00000000 0200 ffff 02 6869 0500 09" +
	" 01000040 0000 7f0000ff3f" +
	" 0a 0b 0c"

func TestRich(t *testing.T) {
	s := spec(t, rich()...)
	payload := hex(t, strings.ReplaceAll(strings.ReplaceAll(richHex, " ", ""), "  ", ""))
	r := check(t, s, payload)
	if !r.Exact() {
		t.Fatalf("rest %x, %v", r.Rest, r.Err)
	}
	want := `mode=1(on) flags=2() far=258 very=7 loud=1 list_count=2 list{ ` +
		`{ id=0 deep_count=2 deep{ { n=-1 neg="hi" } { n=5 mode=9 } } } ` +
		`{ id=1073741825 deep_count=0 deep{ } aim{ dir=[1 0 0] } } } ` +
		`quiet=0 tail{ { c=10 } { c=11 } { c=12 } } `
	if got := show(&r, payload).String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestReadDoesNotAllocate(t *testing.T) {
	s := spec(t, rich()...)
	payload := hex(t, strings.ReplaceAll(richHex, " ", ""))
	d := decode.NewDecoder()
	d.Read(s, payload, decode.Stock, nil)
	if n := testing.AllocsPerRun(100, func() { d.Read(s, payload, decode.Stock, nil) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// check reads a payload and checks the invariants of all messages; see also the
// conformance test of the game's messages.
func check(t *testing.T, s *decode.Spec, payload []byte) decode.Result {
	t.Helper()
	d := decode.NewDecoder()
	r := d.Read(s, payload, decode.Stock, nil)
	described := new(seen)
	decode.Describe(s.Layout, decode.Stock, described)
	first := show(&r, payload)
	if first.gap {
		t.Errorf("%x: gaps between the fields: %s", payload, first)
	}
	for _, k := range first.kinds {
		if !slices.Contains(described.kinds, k) {
			t.Errorf("%x: %s is not described", payload, k)
		}
	}
	total := strings.Count(first.String(), " ")
	for n := range min(total, 40) { // stopping the visitor leaves the message complete
		v := new(decode.Viewer)
		v.Show(r.Message, payload, 1, r.Dialect, &seen{viewer: v, left: n, at: 1})
	}
	if again := show(&r, payload); again.String() != first.String() {
		t.Errorf("%x: shown as %s, then as %s", payload, first, again)
	}
	if r.Err == nil {
		if err := decode.RoundTrips(s, &r, payload); err != nil && !strings.Contains(fmt.Sprint(described.kinds), " bit") {
			t.Error(err)
		}
	}
	if m := r.Message.(*Dynamic); len(m.cells) > 8*len(payload)+MaxFields || len(m.texts) > len(payload)+MaxFields {
		t.Errorf("%d bytes make %d numbers and %d texts", len(payload), len(m.cells), len(m.texts))
	}
	return r
}

// Every prefix of a message reads as a shorter one or fails where it ends.
func TestPrefixes(t *testing.T) {
	s := spec(t, rich()...)
	payload := hex(t, strings.ReplaceAll(richHex, " ", ""))
	for n := 1; n < len(payload); n++ {
		r := check(t, s, payload[:n])
		if r.Err != nil && (r.Err.Offset > n || r.Err.Field == "" || r.Err.Message != "Own") {
			t.Errorf("+%d: %v", n, r.Err)
		}
	}
}

// random returns the fields of a valid definition.
func random(r *rand.Rand, depth int, known []Field, last bool) []Field {
	var fields []Field
	n := 1 + r.Intn(5)
	for i := range n {
		f := fieldOf(Kinds()[r.Intn(len(Kinds()))])
		f.Name = fmt.Sprintf("f%d%d", depth, i)
		for len(f.When) < 2 && len(known)+len(fields) > 0 && r.Intn(3) == 0 {
			seen := append(slices.Clone(known), fields...)
			on := seen[r.Intn(len(seen))]
			k, _ := kindNamed(on.Kind)
			switch {
			case forms[k].width == 0:
				f.When = append(f.When, "bytes remain")
			case r.Intn(2) == 0 && !forms[k].signed && k != bit:
				f.When = append(f.When, fmt.Sprintf("not %s & %d", on.Name, 1<<r.Intn(forms[k].width)))
			default:
				f.When = append(f.When, fmt.Sprintf("%s %s %d", on.Name, []string{"==", "!="}[r.Intn(2)], r.Intn(2)))
			}
		}
		switch f.Kind {
		case "bytes":
			if !last || i < n-1 {
				f.Kind = "str8"
			}
		case "list", "struct":
			if depth == MaxNesting {
				f.Kind = "u16"
				break
			}
			if f.Kind == "list" {
				f.Count = []string{"", "u8", "u16", "rest"}[r.Intn(4)]
				if f.Count == "rest" && (!last || i < n-1) {
					f.Count = ""
				}
				f.Fields = append([]Field{{Name: "first", Kind: "u8"}}, random(r, depth+1, append(slices.Clone(known), fields...), false)...)
				break
			}
			f.Fields = random(r, depth+1, append(slices.Clone(known), fields...), last && i == n-1)
		}
		fields = append(fields, f)
	}
	return fields
}

// FuzzRead checks the invariants of messages for random definitions and bytes.
func FuzzRead(f *testing.F) {
	for seed := range int64(20) {
		f.Add(seed, bytes.Repeat([]byte{1, 0, 2}, 40))
	}
	f.Fuzz(func(t *testing.T, seed int64, data []byte) {
		data = data[:min(len(data), 1000)]
		m := Message{Opcode: 0xCD, Name: "Own", Fields: random(rand.New(rand.NewSource(seed)), 0, nil, true)}
		s, err := m.Spec()
		if err != nil {
			t.Fatal(err)
		}
		payload := append([]byte{0xCD}, data...)
		r := check(t, s, payload)
		if !r.Exact() {
			return
		}
		// Bit groups have several encodings, so the first rewrite may differ from the
		// input. Later ones must not.
		once, err := decode.Append(nil, s, r.Message, r.Dialect)
		if err != nil {
			t.Fatalf("not written: %v", err)
		}
		again := decode.NewDecoder().Read(s, once, decode.Stock, nil)
		if !again.Exact() {
			t.Fatalf("%x, written from %x, has rest %x and error %v", once, payload, again.Rest, again.Err)
		}
		twice, err := decode.Append(nil, s, again.Message, again.Dialect)
		if err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("written as %x, then as %x: %v", once, twice, err)
		}
	})
}

func BenchmarkRead(b *testing.B) {
	s := spec(b, rich()...)
	payload := hex(b, strings.ReplaceAll(richHex, " ", ""))
	d := decode.NewDecoder()
	b.ReportAllocs()
	b.SetBytes(int64(len(payload)))
	for b.Loop() {
		d.Read(s, payload, decode.Stock, nil)
	}
}
