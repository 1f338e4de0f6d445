// Package wire has value types that keep their bits from the wire, so that
// writing a message that was read gives the same bytes. Methods return the
// meaning.
//
// All numbers on the wire are little-endian and unaligned.
package wire

import "math"

// An F32 is an IEEE 754 single-precision number, kept as its 32 bits. It is not
// a float32, since moving a signalling NaN through a floating-point register
// may change its bits.
type F32 uint32

// FloatBits returns f as an F32.
func FloatBits(f float32) F32 { return F32(math.Float32bits(f)) }

// Float returns the number.
func (f F32) Float() float32 { return math.Float32frombits(uint32(f)) }

// A CF16 is a 16-bit logarithmic float: bit 15 is the sign, bits 14 to 12
// choose one of eight ranges (0 to 0.001, then one decade each up to 10000),
// and bits 11 to 0 divide the range into 4095 steps.
type CF16 uint16

// cf16Limits are the limits of the eight ranges, computed by multiplication in
// float32 as in the game, so that a value at a limit falls into the same range
// as in the game.
var cf16Limits = makeLimits()

func makeLimits() (l [9]float32) {
	l[1] = 0.001
	for i := 2; i < len(l); i++ {
		l[i] = l[i-1] * 10
	}
	return l
}

// CF16Limits returns the limits of the ranges: the first value of each range,
// and the end of the last one.
func CF16Limits() []float32 { return cf16Limits[:] }

// cf16Step is one mantissa step as a fraction of a range: the game multiplies
// by this float32 instead of dividing by 4095.
const cf16Step = float32(1.0 / 4095)

// Float returns the number, from -10000 to 10000.
func (v CF16) Float() float32 {
	e := v >> 12 & 7
	lo, hi := cf16Limits[e], cf16Limits[e+1]
	f := lo + float32((hi-lo)*(float32(v&0xFFF)*cf16Step)) // explicit rounding prevents fused multiply-add
	if v&0x8000 != 0 {
		return -f
	}
	return f
}

// NewCF16 packs f, rounding towards zero. The range limits are float32 results,
// so powers of ten may come out one step too small. Magnitudes above 10000, and
// NaN, become the largest value of their sign.
func NewCF16(f float32) CF16 {
	var sign CF16
	if f < 0 {
		sign, f = 0x8000, -f
	}
	for e := range CF16(8) {
		lo, hi := cf16Limits[e], cf16Limits[e+1]
		if f < hi {
			return sign | e<<12 | CF16((f-lo)/(hi-lo)*4095)
		}
	}
	return sign | 0x7FFF
}

// A Dir3 is a direction in three signed bytes, where 127 stands for 1.
type Dir3 [3]int8

// Vec returns the direction's components, each from -1.008 to 1.
func (d Dir3) Vec() Vec3 {
	return Vec3{float32(d[0]) / 127, float32(d[1]) / 127, float32(d[2]) / 127}
}

// NewDir3 packs the direction of v, rounding towards zero, and returns its
// length. A vector that is shorter than 1e-6 or not finite has no direction and
// length 0.
func NewDir3(v Vec3) (d Dir3, length float32) {
	x, y, z := float64(v[0]), float64(v[1]), float64(v[2])
	length = float32(math.Sqrt(float64(x*x) + float64(y*y) + float64(z*z)))
	if !(length >= 1e-6 && length <= math.MaxFloat32) {
		return d, 0
	}
	for i := range d {
		d[i] = int8(v[i] / length * 127)
	}
	return d, length
}

// A Vec3 is a vector in game units.
type Vec3 [3]float32

// Add returns v + w.
func (v Vec3) Add(w Vec3) Vec3 { return Vec3{v[0] + w[0], v[1] + w[1], v[2] + w[2]} }

// Scale returns v times f. Explicit rounding prevents fused multiply-add, so
// that results are the same on every machine.
func (v Vec3) Scale(f float32) Vec3 {
	return Vec3{float32(v[0] * f), float32(v[1] * f), float32(v[2] * f)}
}

// A Vec4h is a vector in 5 bytes: direction and CF16 length.
type Vec4h struct {
	Dir Dir3
	Len CF16
}

// Vec returns the vector. Like the game, it does not normalise the direction,
// so the result is up to 2 % too short.
func (v Vec4h) Vec() Vec3 { return v.Dir.Vec().Scale(v.Len.Float()) }

// NewVec4h packs v.
func NewVec4h(v Vec3) Vec4h {
	d, n := NewDir3(v)
	return Vec4h{Dir: d, Len: NewCF16(n)}
}

// A Vec4f is a vector in 7 bytes: direction and f32 length.
type Vec4f struct {
	Dir Dir3
	Len F32
}

// Vec returns the vector.
func (v Vec4f) Vec() Vec3 { return v.Dir.Vec().Scale(v.Len.Float()) }

// A Vec4b is a direction and a length in 4 bytes. The length is relative to the
// bounding radius of an object, which is not in the message: 255 stands for one
// radius.
type Vec4b struct {
	Dir Dir3
	Len uint8
}

// Ratio returns the length as a fraction of the bounding radius, 0 to 1.
func (v Vec4b) Ratio() float32 { return float32(v.Len) / 255 }

// An ObjectID identifies a game object or one of its subsystems. 0 stands for
// no object. [Anyone] occurs only as a destination.
type ObjectID uint32

const (
	firstPlayerObject = 0x3FFFFFFF
	objectsPerSlot    = 0x40000

	// Slots is the number of player slots of a host.
	Slots = 16
	// Anyone is the destination of an event for all objects.
	Anyone ObjectID = 0xFFFFFFFF
)

// FirstObject returns the first object id of a player slot, which normally is
// that player's ship.
func FirstObject(slot int) ObjectID {
	return ObjectID(firstPlayerObject + slot*objectsPerSlot)
}

// Slot returns the player slot, 0 to 15, of the id. It returns false for ids
// outside the slot ranges, which the host gives to its own objects.
func (o ObjectID) Slot() (slot int, ok bool) {
	if o < firstPlayerObject || o >= firstPlayerObject+Slots*objectsPerSlot {
		return 0, false
	}
	return int(o-firstPlayerObject) / objectsPerSlot, true
}
