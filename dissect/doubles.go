package dissect

import (
	"encoding/binary"
	"hash/maphash"
	"math/bits"
	"net/netip"
	"slices"
	"time"
	"unsafe"
)

// Networks deliver some datagrams twice, and a capture of two interfaces holds
// the datagrams that pass both twice. Only a part of the messages have numbers
// by which receivers recognise repetitions, so the pipeline compares datagrams.

// doubleTime is how much later the double of a datagram comes at most. Clocks
// round, so a little is added to 50 ms.
const doubleTime = 50*time.Millisecond + 10*time.Microsecond

// Limits of the datagrams that are compared. If more come within doubleTime,
// the doubles of the oldest are not recognised.
const (
	maxSightings = 4096 // of half of them
	places       = 1024 // in their table
	maxAlike     = 64   // sightings with the same place in the table that are looked at
)

// doubles holds the datagrams of the last 50 ms, in two halves: the older half
// is dropped as a whole. A hash of 64 bits stands for a datagram that is gone: its
// seed is random, so that nobody can make two datagrams with the same one. Most of
// a batch need none, as they are too old at its end.
type doubles struct {
	seed       maphash.Seed
	at         int64  // time of the datagram of the last call of find
	key        uint64 // of that datagram
	compares   bool   // it can be told from another one that says the same
	young, old sightings
}

// sightings are datagrams, found by their key.
type sightings struct {
	begun   int64          // time of the first
	latest  [places]uint16 // by key
	all     []sighting
	settled int // how many of them have a hash, at least
}

// A sighting is a datagram that was seen. The places in latest and before are
// indices in all, plus one.
type sighting struct {
	d      *Datagram // while it is valid
	hash   uint64    // of d afterwards
	key    uint64
	at     int64
	frame  int // of the first, if it is a double
	id     uint16
	before uint16 // the last sighting with the same place in the table
}

// find returns the frame of the datagram that d doubles, or 0: it has the same
// addresses and bytes and is at most doubleTime older. IP ids tell apart what a
// sender said twice, unless one is 0. Nothing tells it apart in logs, which have
// no ids, and without times. plain is the deciphered datagram, which is in the
// processor's caches already, unlike d's payload.
func (t *doubles) find(d *Datagram, plain []byte, at int64) (frame int) {
	const hundredths = 2 // of a second
	if t.compares = d.WireLen > 0 && d.Number > 0 && d.Digits >= hundredths && !d.Time.IsZero(); !t.compares {
		return 0
	}
	t.at, t.key = at, keyOf(d, plain)
	if uint64(t.at-t.young.begun) > uint64(doubleTime) {
		t.turn()
	}
	for _, g := range [...]*sightings{&t.young, &t.old} {
		last := g.latest[t.key%places]
		if last == 0 {
			continue
		}
		if s := t.among(g, d, last); s != nil {
			frame = s.frame
			if s.id == d.IPID && s.id != 0 { // beyond doubt: another double may come later than the first time allows
				t.keep(d, frame)
			}
			return frame
		}
	}
	return 0
}

// keep keeps the datagram that find was asked about last, with the frame that it
// doubles or its own.
func (t *doubles) keep(d *Datagram, frame int) {
	if !t.compares {
		return
	}
	y := &t.young
	if len(y.all) >= maxSightings {
		t.turn()
	}
	n := len(y.all)
	if n == cap(y.all) {
		y.all = slices.Grow(y.all, 1)
	}
	y.all = y.all[:n+1]
	place := &y.latest[t.key%places]
	s := &y.all[n] // set field by field, which takes half the time of a copy
	s.d, s.key, s.at, s.frame, s.id, s.before = d, t.key, t.at, frame, d.IPID, *place
	*place = uint16(n + 1)
}

// turn makes the young sightings the old ones.
func (t *doubles) turn() {
	t.young, t.old = t.old, t.young
	y := &t.young
	if y.begun = t.at; len(y.all) > 0 {
		clear(y.latest[:])
		y.all, y.settled = y.all[:0], 0
	}
}

// among returns the sighting that d doubles, or nil. i is the latest with the same
// place in the table.
func (t *doubles) among(g *sightings, d *Datagram, i uint16) *sighting {
	for n := 0; i > 0 && n < maxAlike; n++ {
		s := &g.all[i-1]
		if s.key == t.key && uint64(t.at-s.at) <= uint64(doubleTime) && (s.id == d.IPID || s.id == 0 || d.IPID == 0) &&
			s.sum(t.seed) == hashOf(t.seed, d) {
			return s
		}
		i = s.before
	}
	return nil
}

// sum returns the hash of the datagram.
func (s *sighting) sum(seed maphash.Seed) uint64 {
	if s.d != nil {
		s.hash, s.d = hashOf(seed, s.d), nil
	}
	return s.hash
}

// hashOf returns a hash of the addresses, the length and the bytes of a datagram.
func hashOf(seed maphash.Seed, d *Datagram) uint64 {
	type rest struct {
		src, dst netip.AddrPort
		full     int
	}
	const direct = 128 // bytes, of which maphash makes no copy
	sum := maphash.Comparable(seed, rest{d.Src, d.Dst, d.Full})
	for b := range slices.Chunk(d.Payload, direct) {
		sum = bits.RotateLeft64(sum, 1) ^ maphash.Bytes(seed, b)
	}
	return sum
}

// settle makes the hashes of all datagrams, which will not be valid any more.
func (t *doubles) settle() {
	for _, g := range [...]*sightings{&t.young, &t.old} {
		for ; g.settled < len(g.all); g.settled++ {
			g.all[g.settled].sum(t.seed)
		}
	}
}

// keyOf returns a quick hash of the ports, the length and some of the bytes of a
// deciphered datagram.
func keyOf(d *Datagram, b []byte) uint64 {
	const k0, k1 = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93
	const word = 8
	var first, last uint64
	if n := len(b); n >= word {
		first, last = binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[n-word:])
	} else {
		for _, c := range b {
			first = first<<8 | uint64(c)
		}
	}
	last ^= uint64(d.Src.Port())<<48 | uint64(d.Dst.Port())<<32 | uint64(len(b))
	high, low := bits.Mul64(first^k0, last^k1)
	return high ^ low
}

// clone returns a copy that shares nothing with t.
func (t *doubles) clone() doubles {
	t.settle()
	c := *t
	c.young.all, c.old.all = slices.Clone(c.young.all), slices.Clone(c.old.all)
	return c
}

// memory returns how many bytes a clone takes besides itself.
func (t *doubles) memory() int {
	return (len(t.young.all) + len(t.old.all)) * int(unsafe.Sizeof(sighting{}))
}
