package layout

import (
	"bytes"
	"cmp"
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
	at    int
	gap   bool
	kinds []string // path and kind of each field
	path  []string
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
}

func (s *seen) Begin(g *decode.Group) {
	name := g.Name
	if g.Kind == decode.GroupElement {
		name = "[]"
	}
	s.path = append(s.path, name)
	s.WriteString(g.Name + "{ ")
}

func (s *seen) End(*decode.Group) {
	s.path = s.path[:len(s.path)-1]
	s.WriteString("} ")
}

func show(r *decode.Result, payload []byte) *seen {
	s := &seen{at: 1}
	new(decode.Viewer).Show(r.Message, payload, 1, r.Dialect, s)
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
			case formOf(k).width == 0:
				f.When = append(f.When, "bytes remain")
			case r.Intn(2) == 0 && !signed(k) && k != decode.KindBit:
				f.When = append(f.When, fmt.Sprintf("not %s & %d", on.Name, 1<<r.Intn(formOf(k).width)))
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

// Every limit of a definition is reached, and then exceeded by one.
func TestBounds(t *testing.T) {
	letters := func(n int) string { return strings.Repeat("a", n) }
	list := func(n int, item func(i int) string) (all []string) {
		for i := range n {
			all = append(all, item(i))
		}
		return all
	}
	values := func(n int) (all []Value) {
		for i := range n {
			all = append(all, Value{Number: int64(i), Name: "v"})
		}
		return all
	}
	when := func(kind string, conds ...string) []Field {
		return []Field{{Name: "z9", Kind: kind, Bits: bitNames(kind)}, {Name: "b", Kind: "u8", When: conds}}
	}
	one := []Field{{Name: "x", Kind: "u8"}}
	for _, tt := range []struct {
		name string
		m    Message
		want string // the error, "" for none
	}{
		{"opcode 0", Message{Name: "Own"}, ""},
		{"opcode 255", Message{Name: "Own", Opcode: 255}, ""},
		{"opcode 256", Message{Name: "Own", Opcode: 256}, "message Own: opcode 256 is not a byte"},
		{"opcode -1", Message{Name: "Own", Opcode: -1}, "message Own: opcode -1 is not a byte"},
		{"no name", Message{}, "a message has no name"},
		{"a name of all characters", Message{Name: "azAZ_09_"}, ""},
		{"a name of a letter", Message{Name: "z"}, ""},
		{"a digit first", Message{Name: "9a"}, `"9a" is not a valid message name: letters, digits and underscores, a letter first`},
		{"an underscore first", Message{Name: "_a"}, `"_a" is not a valid message name: letters, digits and underscores, a letter first`},
		{"48 bytes", Message{Name: letters(48)}, ""},
		{"49 bytes", Message{Name: letters(49)}, `the message name "` + letters(48) + `..." is longer than 48 bytes`},
		{"a field name of all characters", Message{Name: "Own", Fields: []Field{{Name: "az09_a9", Kind: "u8"}}}, ""},
		{"a field name with a final underscore", Message{Name: "Own", Fields: []Field{{Name: "a_", Kind: "u8"}}}, `"a_" is not a valid field name: lower-case letters, digits and single underscores, such as ship_id`},
		{"a field name with two underscores", Message{Name: "Own", Fields: []Field{{Name: "a__b", Kind: "u8"}}}, `"a__b" is not a valid field name: lower-case letters, digits and single underscores, such as ship_id`},
		{"a field name with a digit after an underscore", Message{Name: "Own", Fields: []Field{{Name: "a_1", Kind: "u8"}}}, `"a_1" is not a valid field name: lower-case letters, digits and single underscores, such as ship_id`},
		{"a field name of a digit", Message{Name: "Own", Fields: []Field{{Name: "1", Kind: "u8"}}}, `"1" is not a valid field name: lower-case letters, digits and single underscores, such as ship_id`},
		{"a doc of 400 bytes", Message{Name: "Own", Doc: letters(400)}, ""},
		{"a doc of 401 bytes", Message{Name: "Own", Doc: letters(401)}, "the doc of message Own is longer than 400 bytes"},
		{"16 aliases", Message{Name: "Own", Aliases: list(16, func(i int) string { return fmt.Sprint("a", i) })}, ""},
		{"17 aliases", Message{Name: "Own", Aliases: list(17, func(i int) string { return fmt.Sprint("a", i) })}, "message Own has more than 16 aliases"},
		{"a brief of 32", Message{Name: "Own", Fields: one, Brief: list(32, func(int) string { return "x" })}, ""},
		{"a brief of 33", Message{Name: "Own", Fields: one, Brief: list(33, func(int) string { return "x" })}, "message Own: brief: more than 32 fields"},
		{"256 harmless numbers", Message{Name: "Own", Fields: one, Harmless: list(256, func(int) string { return "x" })}, ""},
		{"257 harmless numbers", Message{Name: "Own", Fields: one, Harmless: list(257, func(int) string { return "x" })}, "message Own: harmless: more than 256 fields"},
		{"512 values", Message{Name: "Own", Fields: []Field{{Name: "x", Kind: "enum32", Values: values(512)}}}, ""},
		{"513 values", Message{Name: "Own", Fields: []Field{{Name: "x", Kind: "enum32", Values: values(513)}}}, `field "x": more than 512 values have names`},
		{"8 bits", Message{Name: "Own", Fields: []Field{{Name: "x", Kind: "flags8", Bits: list(8, func(int) string { return "b" })}}}, ""},
		{"9 bits", Message{Name: "Own", Fields: []Field{{Name: "x", Kind: "flags8", Bits: list(9, func(int) string { return "b" })}}}, `field "x": 9 names for the 8 bits of a byte`},
		{"8 conditions", Message{Name: "Own", Fields: when("u8", list(8, func(int) string { return "z9 == 1" })...)}, ""},
		{"9 conditions", Message{Name: "Own", Fields: when("u8", list(9, func(int) string { return "z9 == 1" })...)}, `field "b" has more than 8 conditions`},
		{"the least i16", Message{Name: "Own", Fields: when("i16", "z9 == -32768")}, ""},
		{"below the least i16", Message{Name: "Own", Fields: when("i16", "z9 == -32769")}, `field "b": when "z9 == -32769": the field goes from -32768 to 32767`},
		{"the greatest i16", Message{Name: "Own", Fields: when("i16", "z9 == 32767")}, ""},
		{"above the greatest i16", Message{Name: "Own", Fields: when("i16", "z9 == 32768")}, `field "b": when "z9 == 32768": the field goes from -32768 to 32767`},
		{"the greatest u8", Message{Name: "Own", Fields: when("u8", "z9 == 255", "not z9 & 0x80")}, ""},
		{"the first bit by its name", Message{Name: "Own", Fields: when("flags8", "z9 & first")}, ""},
		{"another bit by its name", Message{Name: "Own", Fields: when("flags8", "z9 & other")}, `field "b": when "z9 & other": "other" is neither a number nor the name of a bit`},
		{"no name in a condition", Message{Name: "Own", Fields: when("u8", "== 1")}, `field "b": when "== 1": there is no field "" before this one`},
		{"only a name in a condition", Message{Name: "Own", Fields: when("bit", "z9")}, ""},
		{"four structs in each other, and more beside them", Message{Name: "Own", Fields: list5(4)}, ""},
		{"five structs in each other", Message{Name: "Own", Fields: list5(5)}, `field "s": more than 4 nested lists and structs`},
		{"a list of lists", Message{Name: "Own", Fields: []Field{{Name: "l", Kind: "list", Fields: []Field{{Name: "m", Kind: "list", Fields: one}}}}}, ""},
		{"a list of long lists", Message{Name: "Own", Fields: []Field{{Name: "l", Kind: "list", Fields: []Field{{Name: "m", Kind: "list", Count: "u16", Fields: one}}}}}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := tt.m.Spec()
			got := ""
			if err != nil {
				got = err.Error()
			} else if want := cmp.Or(tt.m.Doc, "Not described."); s.Doc != want {
				t.Errorf("the doc is %q, want %q", s.Doc, want)
			}
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func bitNames(kind string) []string {
	if kind == "flags8" {
		return []string{"first"}
	}
	return nil
}

// list5 returns six fields, each nested this deep in structs.
func list5(depth int) (fields []Field) {
	for i := range 6 {
		f := Field{Name: "x", Kind: "u8"}
		for range depth {
			f = Field{Name: "s", Kind: "struct", Fields: []Field{f}}
		}
		f.Name += string(rune('a' + i))
		fields = append(fields, f)
	}
	return fields
}

// A list's size is checked before its elements are read: an element takes as
// many bytes as its fields that are always there.
func TestLeast(t *testing.T) {
	inner := func(count string) Field {
		return Field{Name: "m", Kind: "list", Count: count, Fields: []Field{{Name: "x", Kind: "u8"}}}
	}
	for _, tt := range []struct {
		name     string
		elements []Field
		need     int // for three elements
	}{
		{"a byte", []Field{{Name: "x", Kind: "u8"}}, 3},
		{"with a condition", []Field{{Name: "x", Kind: "u8"}, {Name: "y", Kind: "u32", When: []string{"x == 1"}}}, 3},
		{"a list", []Field{inner("u8")}, 3},
		{"a long list", []Field{inner("u16")}, 6},
		{"a struct", []Field{{Name: "s", Kind: "struct", Fields: []Field{{Name: "x", Kind: "u16"}, inner("u16")}}}, 12},
	} {
		s := spec(t, Field{Name: "l", Kind: "list", Fields: tt.elements})
		r := decode.NewDecoder().Read(s, []byte{0xCD, 3, 0}, decode.Stock, nil)
		if r.Err == nil || r.Err.Need != tt.need || r.Err.Have != 1 {
			t.Errorf("%s: got %v, want need %d, have 1", tt.name, r.Err, tt.need)
		}
	}
}
