// Package cipher is the stream cipher of game datagrams: PC1 with an 80-bit
// key, the letters "AlbyRules!", and plaintext fed back into the key.
//
// Byte 0 of a datagram, the sender's peer id, is clear. Bytes 1 and on are
// enciphered from a fresh state, in both directions alike: nothing carries over
// from one datagram to the next. Each key byte depends on all plaintext before
// it, so a datagram is deciphered from its front; it can be left off after any
// byte and taken up again ([Stream]), and one that a capture cut short
// deciphers up to the cut. The cipher protects nothing and checks nothing: any
// bytes decipher to something. GameSpy text, which begins with a backslash,
// shares the port and is not enciphered; telling it apart is the caller's task.
//
// Sources are borrowed for the length of a call and not written to, unless the
// caller makes source and destination the same memory. Destinations belong to
// the caller. Nothing is allocated where the destination has room, and
// everything here may be used by any number of goroutines, each with a Stream
// of its own.
package cipher

import "slices"

// FirstKey is the first key byte of every datagram, since nothing is fed back
// yet. Byte 1, the number of transport messages, is always enciphered with it.
const FirstKey = 0xD6

// MessageCount returns the number of transport messages that an enciphered
// datagram claims to hold, without deciphering it. It is 0 if the datagram is
// too short to say; game traffic has at least 1.
//
// Few hosts put many messages into one datagram, so a small count is a cheap
// sign that a payload is of this game, though no proof.
func MessageCount(datagram []byte) int {
	if len(datagram) < 2 {
		return 0
	}
	return int(datagram[1] ^ FirstKey)
}

// FirstType returns the type of the first transport message in an enciphered
// datagram of at least three bytes, without deciphering it: the key of that
// byte depends on the number of messages alone. Few types are known, so that
// this tells the game's datagrams from most others.
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
// slice. Byte 0 is copied as it is. dst may be datagram[:0], to decipher in
// place; otherwise its spare room must not overlap datagram.
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
// slice. Byte 0 is copied as it is. dst may be datagram[:0], to encipher in
// place; otherwise its spare room must not overlap datagram.
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
// value stands before byte 1. It is a plain value: a copy goes on from the same
// place.
type Stream struct {
	sum uint16 // generator: M*R + A, see tables.go
	fed byte   // exclusive-or of all plaintext so far
}

// Decrypt deciphers src, the next piece of the datagram, to dst, which must be
// at least as long. Both may be the same memory; otherwise they must not
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
		// v holds X and the enciphered byte, so that the fold gives X' at once.
		// The plaintext byte, X' ^ X, is not waited for.
		next := acc ^ v ^ acc>>8
		dst[i] = byte((next ^ x) >> shift)
		x = next
	}
	s.store(sum, x)
}

// Encrypt enciphers src, the next piece of the datagram, to dst, which must be
// at least as long. Both may be the same memory; otherwise they must not
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

// load returns the state as the loops keep it: shifted as the table is.
func (s *Stream) load() (sum, x uint64) {
	return uint64(s.sum) << shift, uint64(s.fed) << shift
}

// store takes over the state of a loop. Bits outside the shifted byte of x may
// hold rubbish.
func (s *Stream) store(sum, x uint64) {
	s.sum, s.fed = uint16(sum>>shift), byte(x>>shift)
}
