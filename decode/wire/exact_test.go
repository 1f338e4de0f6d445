package wire

import (
	"encoding/binary"
	"math"
	"testing"
)

// Packing the number of a CF16 gives its bits again, or the bits of an equal
// number, since the end of a range is the beginning of the next.
func TestCF16Of(t *testing.T) {
	other := 0
	for n := range 1 << 16 {
		v := CF16(n)
		got := CF16Of(v.Float())
		if math.Float32bits(got.Float()) != math.Float32bits(v.Float()) {
			t.Errorf("%#04x: %v became %v", n, v.Float(), got.Float())
		}
		if got != v {
			other++
		}
	}
	if other > 2*8 {
		t.Errorf("%d of them have other bits", other)
	}
	if got := CF16Of(12.5); got != NewCF16(12.5) {
		t.Errorf("12.5 became %#04x", got)
	}
}

// Packing a vector as a sender packs it gives the same value again, and mostly
// the same bits.
func TestVec4Of(t *testing.T) {
	const all = 20000
	half, float := 0, 0
	seed := uint64(1)
	number := func() float32 {
		seed = seed*6364136223846793005 + 1442695040888963407
		return float32(int32(seed>>32)) / (1 << 24)
	}
	for range all {
		v := Vec3{number(), number(), number()}
		h := NewVec4h(v)
		if got := Vec4hOf(h.Vec()); got.Vec() != h.Vec() {
			t.Errorf("%v: %v became %v", h, h.Vec(), got.Vec())
		} else if got == h {
			half++
		}
		d, n := NewDir3(v)
		f := Vec4f{d, FloatBits(n)}
		if got := Vec4fOf(f.Vec()); got.Vec() != f.Vec() {
			t.Errorf("%v: %v became %v", f, f.Vec(), got.Vec())
		} else if got == f {
			float++
		}
	}
	t.Logf("of %d, %d with a CF16 and %d with an f32 have the same bits", all, half, float)
	if half < all*99/100 || float < all*9/10 {
		t.Errorf("of %d, %d with a CF16 and %d with an f32 have the same bits", all, half, float)
	}
	if got := Vec4fOf(Vec3{}); got != (Vec4f{}) {
		t.Errorf("nothing became %v", got)
	}
}

// FuzzVec4Of packs arbitrary bits. The result has the same value, except for
// values that the game does not send: a direction of -128 with a negative
// length, and numbers too large or too small for an f32.
func FuzzVec4Of(f *testing.F) {
	f.Add([]byte{127, 0, 0, 0, 0, 0x80, 0x3F})
	f.Add([]byte{1, 0x80, 0x80, 0xFF, 0xFF, 0x7F, 0x7F})
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < 7 {
			return
		}
		p := Vec4f{Dir3{int8(b[0]), int8(b[1]), int8(b[2])}, F32(binary.LittleEndian.Uint32(b[3:]))}
		plain := func(length float32) bool { return length >= 0 || p.Dir[0] > -128 && p.Dir[1] > -128 && p.Dir[2] > -128 }
		got, n := Vec4fOf(p.Vec()), math.Abs(float64(p.Len.Float()))
		if got.Vec() != p.Vec() && plain(p.Len.Float()) && n > 1e-30 && n < 1e30 {
			t.Errorf("%v: %v became %v", p, p.Vec(), got.Vec())
		}
		h := Vec4h{p.Dir, CF16(p.Len)}
		if got := Vec4hOf(h.Vec()); got.Vec() != h.Vec() && plain(h.Len.Float()) {
			t.Errorf("%v: %v became %v", h, h.Vec(), got.Vec())
		}
	})
}
