package wire

import (
	"cmp"
	"math"
	"slices"
)

// MaxCF16 is the largest number of a CF16.
const MaxCF16 = 10000

// CF16Of packs the number of a CF16 exactly, and any other as [NewCF16] does.
func CF16Of(f float32) CF16 {
	sign := CF16(0)
	if math.Signbit(float64(f)) {
		sign, f = 0x8000, -f
	}
	v := NewCF16(f)
	for _, near := range []CF16{v, v + 1, v - 1} { // rounding may go either way
		if near < 0x8000 && near.Float() == f {
			return sign | near
		}
	}
	return sign | v
}

// Vec4hOf packs the vector of a Vec4h so that it has the same value again, and
// any other as [NewVec4h] does. A sender's direction is nearly as long as 127:
// of several with the same value, the longest such is taken.
func Vec4hOf(v Vec3) Vec4h {
	for _, s := range splits(v) {
		at := CF16Of(float32(s.length))
		for _, l := range []CF16{at, at + 1, at - 1, at + 2, at - 2} {
			if p := (Vec4h{s.dir, l}); p.Vec() == v {
				return p
			}
		}
	}
	return NewVec4h(v)
}

// Vec4fOf packs the vector of a Vec4f so that it has the same value again, and
// any other as the game does.
func Vec4fOf(v Vec3) Vec4f {
	for _, s := range splits(v) {
		at := FloatBits(float32(s.length))
		for off := range F32(4) {
			for _, l := range []F32{at + off, at - off} {
				if p := (Vec4f{s.dir, l}); p.Vec() == v {
					return p
				}
			}
		}
	}
	d, n := NewDir3(v)
	return Vec4f{Dir: d, Len: FloatBits(n)}
}

// A split is a direction and a length; their product is close to a vector.
type split struct {
	dir    Dir3
	length float64
	norm   float64 // of dir
}

// splits returns the ways in which a vector may have been packed, likely ones
// first.
func splits(v Vec3) (all []split) {
	most := 0.0
	for _, x := range v {
		most = max(most, math.Abs(float64(x)))
	}
	if !(most > 0 && most <= math.MaxFloat32) {
		return nil
	}
	for k := 128; k > 0; k-- { // the greatest component
		s := split{length: most * 127 / float64(k)}
		fits := true
		for i, x := range v {
			n := math.Round(float64(x) * 127 / s.length)
			fits = fits && n >= math.MinInt8 && n <= math.MaxInt8
			s.dir[i] = int8(n)
			s.norm += n * n
		}
		s.norm = math.Sqrt(s.norm)
		if fits {
			all = append(all, s)
		}
	}
	slices.SortStableFunc(all, func(a, b split) int { return cmp.Compare(a.off(), b.off()) })
	return all
}

// off tells how unlikely a direction is: rounding towards zero leaves it up to
// 1.7 short of 127.
func (s *split) off() float64 {
	if s.norm > 127.001 {
		return s.norm
	}
	return 127 - s.norm
}
