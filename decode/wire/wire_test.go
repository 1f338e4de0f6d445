package wire

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math"
	"strconv"
	"testing"

	"github.com/bcdissect/bcdissect/fixtures"
)

// vectors reads a file of fixtures/vectors.
func vectors(tb testing.TB, name string, v any) {
	tb.Helper()
	if err := json.Unmarshal(fixtures.Read(tb, "vectors/"+name), v); err != nil {
		tb.Fatal(err)
	}
}

// A hexBytes is a string of hex digits in JSON.
type hexBytes []byte

func (h *hexBytes) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	var err error
	*h, err = hex.DecodeString(s)
	return err
}

// A raw16 is written "0x1234" in JSON.
type raw16 uint16

func (r *raw16) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	n, err := strconv.ParseUint(s, 0, 16)
	*r = raw16(n)
	return err
}

// near reports whether got is within a millionth of want.
func near(got, want float64) bool { return math.Abs(got-want) <= 1e-6*math.Abs(want) }

func floatOf(h hexBytes) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(h)) }

func TestCF16Vectors(t *testing.T) {
	var file struct {
		Boundaries []struct {
			Scale int
			Lo    hexBytes `json:"lo_f32"`
			Hi    hexBytes `json:"hi_f32"`
		}
		Decode []struct {
			Raw        raw16
			Wire       hexBytes
			OpenBC     float64
			Documented float64
		}
		Encode []struct {
			Value  hexBytes `json:"value_f32"`
			OpenBC raw16
			Exact  raw16 `json:"documented_exact"`
		}
		Documented []struct {
			Source string
			Value  *float64
			Raw    *raw16   `json:"documented_raw"`
			Back   *float64 `json:"documented_decoded"`
		}
	}
	vectors(t, "cf16.json", &file)
	if len(file.Boundaries) != 8 || len(file.Decode) != 163 || len(file.Encode) != 97 {
		t.Fatalf("got %d boundaries, %d to decode, %d to encode", len(file.Boundaries), len(file.Decode), len(file.Encode))
	}
	for _, v := range file.Boundaries {
		if lo, hi := cf16Limits[v.Scale], cf16Limits[v.Scale+1]; lo != floatOf(v.Lo) || hi != floatOf(v.Hi) {
			t.Errorf("scale %d: got %v to %v, want %v to %v", v.Scale, lo, hi, floatOf(v.Lo), floatOf(v.Hi))
		}
	}
	for _, v := range file.Decode {
		if binary.LittleEndian.Uint16(v.Wire) != uint16(v.Raw) {
			t.Errorf("%04x: the vector says %x on the wire", v.Raw, v.Wire)
		}
		got := float64(CF16(v.Raw).Float())
		if !near(got, v.Documented) || !near(got, v.OpenBC) {
			t.Errorf("decode %04x: got %v, want %v", v.Raw, got, v.Documented)
		}
		if math.Signbit(got) != (v.Raw&0x8000 != 0) {
			t.Errorf("decode %04x: got sign of %v", v.Raw, got)
		}
	}
	for _, v := range file.Encode {
		f := floatOf(v.Value)
		if v.OpenBC != v.Exact {
			t.Errorf("encode %v: the vector has two results", f)
		}
		if got := NewCF16(f); got != CF16(v.Exact) {
			t.Errorf("encode %v: got %04x, want %04x", f, got, v.Exact)
		}
	}
}

func TestCF16(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, tt := range []struct {
		in   float32
		want CF16
	}{{nan, 0x7FFF}, {inf, 0x7FFF}, {-inf, 0xFFFF}, {10000, 0x7FFE}, {10000.002, 0x7FFF}, {-1e9, 0xFFFF}, {math.SmallestNonzeroFloat32, 0}} {
		if got := NewCF16(tt.in); got != tt.want {
			t.Errorf("%v: got %04x, want %04x", tt.in, got, tt.want)
		}
	}
	// Greater bits are greater numbers, and unpacking and packing lose at most the
	// one step of rounding towards zero.
	last := float32(-1)
	for v := range CF16(0x8000) {
		f := v.Float()
		if f < last {
			t.Fatalf("%04x is %v, less than %v before it", v, f, last)
		}
		last = f
		if back := NewCF16(f); back != v && back != v-1 && back != v+1 {
			t.Fatalf("%04x is %v, which is packed as %04x", v, f, back)
		}
		if n := v | 0x8000; n.Float() != -f {
			t.Fatalf("%04x: got %v, want %v", n, n.Float(), -f)
		}
	}
}

func TestDir3Vectors(t *testing.T) {
	type result struct {
		Bytes  hexBytes
		OpenBC []float64
	}
	var file struct {
		Encode []struct {
			Value  [3]float64
			OpenBC hexBytes
			Exact  hexBytes `json:"exact_truncation"`
			Same   bool
		}
		Decode []result
	}
	vectors(t, "cv3.json", &file)
	if len(file.Encode) != 44 || len(file.Decode) != 36 {
		t.Fatalf("got %d to encode, %d to decode", len(file.Encode), len(file.Decode))
	}
	for _, v := range file.Encode {
		want := v.Exact
		if !v.Same { // 1e-7: shorter than 1e-6, so it has no direction
			want = v.OpenBC
			if !zero(want) {
				t.Errorf("encode %v: the vector wants %x", v.Value, want)
			}
		}
		d, _ := NewDir3(vec(v.Value))
		if got := dirBytes(d); string(got) != string(want) {
			t.Errorf("encode %v: got %x, want %x", v.Value, got, want)
		}
	}
	for _, v := range file.Decode {
		got := Dir3{int8(v.Bytes[0]), int8(v.Bytes[1]), int8(v.Bytes[2])}.Vec()
		for i, want := range v.OpenBC {
			if !near(float64(got[i]), want) {
				t.Errorf("decode %x: got %v, want %v", v.Bytes, got, v.OpenBC)
			}
		}
	}
}

func TestVec4hVectors(t *testing.T) {
	var file struct {
		Encode []struct {
			Value   [3]float64
			OpenBC  hexBytes
			Exact   hexBytes
			Same    bool
			Decoded []float64
		}
		Decode []struct {
			Bytes  hexBytes
			OpenBC []float64
		}
		Contacts []struct {
			Bytes     hexBytes
			Direction [3]int8
			Magnitude uint8 `json:"magnitude_byte"`
		} `json:"collision_contact_examples"`
	}
	vectors(t, "cv4.json", &file)
	if len(file.Encode) != 44 || len(file.Decode) != 26 || len(file.Contacts) != 5 {
		t.Fatalf("got %d to encode, %d to decode, %d contacts", len(file.Encode), len(file.Decode), len(file.Contacts))
	}
	read := func(b []byte) Vec4h {
		return Vec4h{Dir: Dir3{int8(b[0]), int8(b[1]), int8(b[2])}, Len: CF16(binary.LittleEndian.Uint16(b[3:]))}
	}
	for _, v := range file.Encode {
		want := v.Exact
		if !v.Same { // 1e-6: not shorter than 1e-6 as a float32, so it has one
			want = v.OpenBC
			if zero(want) {
				t.Errorf("encode %v: the vector wants %x", v.Value, want)
			}
		}
		p := NewVec4h(vec(v.Value))
		got := binary.LittleEndian.AppendUint16(dirBytes(p.Dir), uint16(p.Len))
		if string(got) != string(want) {
			t.Errorf("encode %v: got %x, want %x", v.Value, got, want)
		}
		back := read(v.OpenBC).Vec()
		for i, want := range v.Decoded {
			if !near(float64(back[i]), want) {
				t.Errorf("decode %x: got %v, want %v", v.OpenBC, back, v.Decoded)
			}
		}
	}
	for _, v := range file.Decode {
		got := read(v.Bytes).Vec()
		for i, want := range v.OpenBC {
			if !near(float64(got[i]), want) {
				t.Errorf("decode %x: got %v, want %v", v.Bytes, got, v.OpenBC)
			}
		}
	}
	for _, v := range file.Contacts {
		p := Vec4b{Dir: v.Direction, Len: v.Magnitude}
		if got := append(dirBytes(p.Dir), p.Len); string(got) != string(v.Bytes) {
			t.Errorf("contact: got %x, want %x", got, v.Bytes)
		}
		if want := float64(v.Magnitude) / 255; !near(float64(p.Ratio()), want) {
			t.Errorf("contact %x: got ratio %v, want %v", v.Bytes, p.Ratio(), want)
		}
	}
}

// The examples of layers stream-cf16 and stream-cv3.
func TestStreamExamples(t *testing.T) {
	var file struct {
		Examples []struct {
			Layer, Name string
			Hex         any // text, or a list of texts
			Expect      json.RawMessage
		}
	}
	vectors(t, "transport-examples.json", &file)
	n := 0
	for _, e := range file.Examples {
		if e.Layer != "stream-cf16" && e.Layer != "stream-cv3" {
			continue
		}
		n++
		var expect struct {
			Input, Decoded float64
			Direction      [3]float64
		}
		if err := json.Unmarshal(e.Expect, &expect); err != nil {
			t.Fatal(err)
		}
		b, err := fixtures.ParseHex(e.Hex.(string))
		if err != nil {
			t.Fatal(err)
		}
		if e.Layer == "stream-cv3" {
			if d, _ := NewDir3(vec(expect.Direction)); string(dirBytes(d)) != string(b) {
				t.Errorf("%s: got %x, want %x", e.Name, dirBytes(d), b)
			}
			continue
		}
		want := CF16(binary.LittleEndian.Uint16(b))
		// The examples print six decimals.
		if got := float64(want.Float()); !near(got, expect.Decoded) && math.Abs(got-expect.Decoded) > 1e-6 {
			t.Errorf("%s: decoded: got %v, want %v", e.Name, got, expect.Decoded)
		}
		if got := NewCF16(float32(expect.Input)); got != want {
			t.Errorf("%s: got %04x, want %04x", e.Name, got, want)
		}
	}
	if n != 10 {
		t.Errorf("got %d examples, want 10", n)
	}
}

func vec(v [3]float64) Vec3 { return Vec3{float32(v[0]), float32(v[1]), float32(v[2])} }

func dirBytes(d Dir3) []byte { return []byte{byte(d[0]), byte(d[1]), byte(d[2])} }

func zero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

func TestVectorsThatAreNone(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, v := range []Vec3{{}, {nan, 0, 0}, {0, inf, 0}, {inf, -inf, nan}, {math.MaxFloat32, math.MaxFloat32, 0}, {1e-7, 0, 0}} {
		if d, n := NewDir3(v); d != (Dir3{}) || n != 0 {
			t.Errorf("%v: got %v, length %v, want none", v, d, n)
		}
	}
	if d, n := NewDir3(Vec3{0, math.MaxFloat32, 0}); d != (Dir3{0, 127, 0}) || n != math.MaxFloat32 {
		t.Errorf("the longest: got %v, length %v", d, n)
	}
	// A vector with a square that overflows float32 is still packed.
	if d, n := NewDir3(Vec3{0, -1e30, 0}); d != (Dir3{0, -127, 0}) || n != 1e30 {
		t.Errorf("got %v, length %v", d, n)
	}
}

func TestVec4f(t *testing.T) {
	v := Vec4f{Dir: Dir3{127, 0, -127}, Len: FloatBits(2.5)}
	if got, want := v.Vec(), (Vec3{2.5, 0, -2.5}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if got, want := (Vec3{1, 2, 3}).Add(Vec3{0.5, 4, -3}), (Vec3{1.5, 6, 0}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Numbers keep their bits, except that a float32 may lose some of a signalling
// NaN, and none of these is one.
func TestF32(t *testing.T) {
	for _, bits := range []uint32{0, 0x80000000, 0x3F800000, 0x7F800000, 0x7FC00000, 0x00000001} {
		if got := FloatBits(F32(bits).Float()); got != F32(bits) {
			t.Errorf("got %08x, want %08x", got, bits)
		}
	}
	if got := F32(0x41A00000).Float(); got != 20 {
		t.Errorf("got %v, want 20", got)
	}
}

// The examples of layer object-id: slot, first and last id of its range.
func TestObjectID(t *testing.T) {
	var file struct {
		Examples []struct {
			Layer, Name string
			Expect      json.RawMessage
		}
	}
	vectors(t, "transport-examples.json", &file)
	n := 0
	for _, e := range file.Examples {
		if e.Layer != "object-id" {
			continue
		}
		n++
		var want struct {
			Slot       int
			Base, Last hexBytes
		}
		if err := json.Unmarshal(e.Expect, &want); err != nil {
			t.Fatal(err)
		}
		first, last := ObjectID(binary.BigEndian.Uint32(want.Base)), ObjectID(binary.BigEndian.Uint32(want.Last))
		if got := FirstObject(want.Slot); got != first {
			t.Errorf("%s: got %08X, want %08X", e.Name, got, first)
		}
		for _, id := range []ObjectID{first, first + 1, last} {
			if slot, ok := id.Slot(); !ok || slot != want.Slot {
				t.Errorf("%s: %08X: got slot %d, %v", e.Name, id, slot, ok)
			}
		}
		if slot, ok := (first - 1).Slot(); ok && slot == want.Slot {
			t.Errorf("%s: %08X is in the range", e.Name, first-1)
		}
		if slot, ok := (last + 1).Slot(); ok && slot == want.Slot {
			t.Errorf("%s: %08X is in the range", e.Name, last+1)
		}
	}
	if n != 5 {
		t.Errorf("got %d examples, want 5", n)
	}
	for _, id := range []ObjectID{0, 1, 0x3FFFFFFE, 0x403FFFFF, Anyone} {
		if slot, ok := id.Slot(); ok {
			t.Errorf("%08X: got slot %d, want none", id, slot)
		}
	}
}
