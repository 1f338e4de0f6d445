package display

import "math"

// vectors caches the texts of recent vectors. A host copies a player's messages
// to all players, so most vectors come several times, and floats take long to
// format. The zero value is ready to use.
type vectors struct{ slots [256]vectorText }

// A vectorText is a vector and its text.
type vectorText struct {
	bits [3]uint32 // bits and not values: there are two zeros and many NaNs
	n    uint8     // length of the text in bytes, 0 if the slot is empty
	text [47]byte
}

// Append appends the text of v. Every call must pass the same function, and it
// must append the same text for the same numbers.
func (r *vectors) Append(dst []byte, v *[3]float32, text func(dst []byte, v []float32) []byte) []byte {
	x, y, z := math.Float32bits(v[0]), math.Float32bits(v[1]), math.Float32bits(v[2])
	const mix = 0x9E3779B1
	s := &r.slots[((x*mix^y)*mix^z)*mix>>24]
	if s.bits[0] == x && s.bits[1] == y && s.bits[2] == z && s.n > 0 {
		return append(dst, s.text[:s.n]...)
	}
	from := len(dst)
	dst = text(dst, v[:])
	s.n = 0
	if len(dst)-from <= len(s.text) {
		s.bits, s.n = [3]uint32{x, y, z}, uint8(copy(s.text[:], dst[from:]))
	}
	return dst
}
