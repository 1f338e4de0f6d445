// Not part of the library: package cipher implements the stream cipher of game
// datagrams: PC1 with an 80-bit key, the letters "AlbyRules!", and plaintext
// fed back into the key.
//
// Byte 0 of a datagram, the sender's peer id, is clear. The other bytes are
// enciphered from a fresh state, in the same way for both directions. No state
// is kept between datagrams. Each key byte depends on all earlier plaintext, so
// a datagram must be deciphered from its start. Deciphering can pause after any
// byte ([Stream]), and a truncated datagram deciphers up to its end. The cipher
// provides neither secrecy nor integrity: any bytes decipher to something.
// GameSpy text, which begins with a backslash, shares the port and is not
// enciphered, so the caller must check for it.
//
// Sources are borrowed for the length of a call and not written to, unless
// source and destination are the same memory. Destinations belong to the
// caller. Nothing is allocated if the destination has room. All functions are
// safe for concurrent use, and each goroutine needs its own Stream.
package cipher

import "slices"

// FirstKey is the first key byte of every datagram, before any feedback. It
// always enciphers byte 1, the number of transport messages.
const FirstKey = 0xD6

// MessageCount returns the number of transport messages announced by an
// enciphered datagram, without deciphering it. It is 0 if the datagram is too
// short. Game traffic has at least 1.
//
// Few hosts put many messages into one datagram, so a small count suggests that
// a payload belongs to this game, but does not prove it.
func MessageCount(datagram []byte) int {
	if len(datagram) < 2 {
		return 0
	}
	return int(datagram[1] ^ FirstKey)
}

// FirstType returns the type of the first transport message in an enciphered
// datagram of at least three bytes, without deciphering the datagram, since the
// key of that byte depends only on the number of messages. Few types exist, so
// this distinguishes the game's datagrams from most others.
func FirstType(datagram []byte) byte {
	return datagram[2] ^ secondKeys[datagram[1]^FirstKey]
}

// secondKeys are the key bytes of byte 2 for each byte 1.
var secondKeys = func() (keys [256]byte) {
	for n := range keys {
		var two [2]byte
		var s Stream
		s.Encrypt(two[:], []byte{byte(n), 0})
		keys[n] = two[1]
	}
	return keys
}()

// Decrypt appends the deciphered datagram to dst and returns the extended
// slice. It copies byte 0 unchanged. To decipher in place, dst may be
// datagram[:0]. Otherwise its spare room must not overlap datagram.
func Decrypt(dst, datagram []byte) []byte {
	n := len(dst)
	dst = slices.Grow(dst, len(datagram))[:n+len(datagram)]
	if len(datagram) > 0 {
		out := dst[n:]
		out[0] = datagram[0]
		var s Stream
		s.Decrypt(out[1:], datagram[1:])
	}
	return dst
}

// Encrypt appends the enciphered datagram to dst and returns the extended
// slice. It copies byte 0 unchanged. To encipher in place, dst may be
// datagram[:0]. Otherwise its spare room must not overlap datagram.
func Encrypt(dst, datagram []byte) []byte {
	n := len(dst)
	dst = slices.Grow(dst, len(datagram))[:n+len(datagram)]
	if len(datagram) > 0 {
		out := dst[n:]
		out[0] = datagram[0]
		var s Stream
		s.Encrypt(out[1:], datagram[1:])
	}
	return dst
}

// A Stream is the state of the cipher between two bytes of a datagram. The zero
// value is the state before byte 1. A copy of a Stream continues from the same
// place.
type Stream struct {
	sum uint16 // generator: M*R + A, see tables.go
	fed byte   // exclusive-or of all plaintext so far
}

// Decrypt deciphers src, the next piece of the datagram, to dst, which must be
// at least as long. Both may be the same memory. Otherwise they must not
// overlap.
func (s *Stream) Decrypt(dst, src []byte) {
	dst = dst[:len(src)]
	sum, x := s.load()
	for i, c := range src {
		r := &table[x>>shift&0xFF]
		r12 := sum*mul12 + r.e12
		r34 := sum*mul34 + r.e34
		r5f := sum*mul5f + r.e5f
		v := r.v ^ uint64(c)<<shift
		var acc uint64
		acc, sum = combine(r12, r34, r5f)
		// v holds X and the enciphered byte, so that the fold gives X' at once,
		// without waiting for the plaintext byte, X' ^ X.
		next := acc ^ v ^ acc>>8
		dst[i] = byte((next ^ x) >> shift)
		x = next
	}
	s.store(sum, x)
}

// Encrypt enciphers src, the next piece of the datagram, to dst, which must be
// at least as long. Both may be the same memory. Otherwise they must not
// overlap.
func (s *Stream) Encrypt(dst, src []byte) {
	dst = dst[:len(src)]
	sum, x := s.load()
	for i, p := range src {
		r := &table[x>>shift&0xFF]
		r12 := sum*mul12 + r.e12
		r34 := sum*mul34 + r.e34
		r5f := sum*mul5f + r.e5f
		x ^= uint64(p) << shift
		var acc uint64
		acc, sum = combine(r12, r34, r5f)
		dst[i] = byte((acc ^ r.v ^ acc>>8 ^ x) >> shift)
	}
	s.store(sum, x)
}

// load returns the state in the form used by the loops: shifted like the table.
func (s *Stream) load() (sum, x uint64) {
	return uint64(s.sum) << shift, uint64(s.fed) << shift
}

// store saves the state of a loop. Bits outside the shifted byte of x may be
// garbage.
func (s *Stream) store(sum, x uint64) {
	s.sum, s.fed = uint16(sum>>shift), byte(x>>shift)
}
