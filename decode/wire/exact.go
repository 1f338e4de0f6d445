package wire

import (
	"cmp"
	"math"
	"slices"
)

// MaxCF16 is the largest number of a CF16.
const MaxCF16 = 10000

// CF16Of packs a number that is the value of a CF16 into that CF16, and any
// other number as [NewCF16] does.
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

// Vec4hOf packs a vector that is the value of a Vec4h so that its value stays
// the same, and any other vector as [NewVec4h] does. If several Vec4h have the
// value, it takes the one with the longest direction, since senders' directions
// are nearly 127 long.
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

// Vec4fOf packs a vector that is the value of a Vec4f so that its value stays
// the same, and any other vector as the game does.
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

// A split is a direction and a length whose product is close to a vector.
type split struct {
	dir    Dir3
	length float64
	norm   float64 // length of dir
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
	for k := 128; k > 0; k-- { // k is the greatest component
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

// off tells how unlikely a direction is: rounding towards zero makes it up to
// 1.7 shorter than 127.
func (s *split) off() float64 {
	if s.norm > 127.001 {
		return s.norm
	}
	return 127 - s.norm
}
