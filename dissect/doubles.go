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

// Networks deliver some datagrams twice, and a capture of two interfaces has
// each datagram that passes both of them twice. Only some messages have numbers
// by which receivers recognise repetitions, so the pipeline compares whole
// datagrams.

// doubleTime is the longest time between a datagram and its double: 50 ms, and
// a little for the rounding of clocks.
const doubleTime = 50*time.Millisecond + 10*time.Microsecond

// Limits of the comparison. If more come within doubleTime, the doubles of the
// oldest are not recognised.
const (
	maxSightings = 4096 // maximum number of sightings in each half
	places       = 1024 // size of the hash table of a half
	maxAlike     = 64   // how many sightings with the same place in the table are compared
)

// doubles holds the datagrams of the last 50 ms, in two halves, of which the
// older one is dropped as a whole. Once a datagram's memory is reused, it is
// represented by a 64-bit hash. The hash has a random seed, so that an attacker
// cannot make datagrams with equal hashes. Most datagrams of a batch need no
// hash, since they are too old at its end.
type doubles struct {
	seed       maphash.Seed
	at         int64  // time of the datagram in the last call of find
	key        uint64 // its key
	compares   bool   // the datagram of that call can be compared: its time and source are known
	young, old sightings
}

// sightings are datagrams, which can be found by their key.
type sightings struct {
	begun   int64          // time of the first sighting
	latest  [places]uint16 // index of the latest sighting at each place, plus one
	all     []sighting
	settled int // at least this many of all have a hash
}

// A sighting is a datagram that was seen.
type sighting struct {
	d      *Datagram // nil once it is no longer valid
	hash   uint64    // hash of d, set before d becomes invalid
	key    uint64
	at     int64
	frame  int // frame of the datagram, or of the first one if it is a double
	id     uint16
	before uint16 // index of the previous sighting with the same place in the table, plus one
}

// find returns the frame of the datagram that d doubles, or 0 if there is none.
// A double has the same addresses and bytes and comes at most doubleTime later.
// Different IP ids mean that the sender sent the same bytes twice, unless one
// of the ids is 0. Datagrams of logs, which have no ids, and datagrams without
// times are never doubles. The argument plain is the deciphered datagram: it is
// in the processor's caches, unlike d's payload.
func (t *doubles) find(d *Datagram, plain []byte, at int64) (frame int) {
	const hundredths = 2 // decimals of a second that times must have
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
			if s.id == d.IPID && s.id != 0 { // certainly a double, so a further double may follow this one by doubleTime
				t.keep(d, frame)
			}
			return frame
		}
	}
	return 0
}

// keep remembers the datagram of the last call of find. The argument frame is
// the frame that it doubles, or its own.
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
	s := &y.all[n] // setting field by field takes half the time of a copy
	s.d, s.key, s.at, s.frame, s.id, s.before = d, t.key, t.at, frame, d.IPID, *place
	*place = uint16(n + 1)
}

// turn makes the young half the old one.
func (t *doubles) turn() {
	t.young, t.old = t.old, t.young
	y := &t.young
	if y.begun = t.at; len(y.all) > 0 {
		clear(y.latest[:])
		y.all, y.settled = y.all[:0], 0
	}
}

// among returns the sighting that d doubles, or nil. The argument i is the
// latest sighting with the same place in the table.
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
	const direct = 128 // maphash makes no copy of so many bytes
	sum := maphash.Comparable(seed, rest{d.Src, d.Dst, d.Full})
	for b := range slices.Chunk(d.Payload, direct) {
		sum = bits.RotateLeft64(sum, 1) ^ maphash.Bytes(seed, b)
	}
	return sum
}

// settle computes the hashes of all datagrams, since the datagrams are about to
// become invalid.
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

// clone returns an independent copy.
func (t *doubles) clone() doubles {
	t.settle()
	c := *t
	c.young.all, c.old.all = slices.Clone(c.young.all), slices.Clone(c.old.all)
	return c
}

// memory returns the size in bytes of a clone, without the struct.
func (t *doubles) memory() int {
	return (len(t.young.all) + len(t.old.all)) * int(unsafe.Sizeof(sighting{}))
}
