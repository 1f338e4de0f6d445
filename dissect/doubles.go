package dissect

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"net/netip"
	"slices"
	"time"
	"unsafe"

	"github.com/bcdissect/bcdissect/dissect/packet"
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
	maxSightings     = 4096    // of half of them
	maxSightingBytes = 1 << 20 // the same
	places           = 1024    // in their table
	maxAlike         = 64      // sightings with the same place in the table that are looked at: a host may answer many queries with the same bytes
)

// doubles holds the datagrams of the last 50 ms, in two halves: the older half
// is dropped as a whole. Its zero value is empty.
type doubles struct {
	at         int64  // time of the datagram of the last call of find
	hash       uint64 // of that datagram
	compares   bool   // it can be told from another one that says the same
	young, old sightings
}

// sightings are datagrams, found by their hash.
type sightings struct {
	begun  int64          // time of the first
	latest [places]uint16 // by hash
	all    []sighting
	bytes  []byte // their payloads, one after another
}

// A sighting is a datagram that was seen. The places in latest and before are
// indices in all, plus one.
type sighting struct {
	src, dst netip.AddrPort
	hash     uint64
	at       int64
	frame    int    // of the first, if it is a double
	full     int    // as in Datagram
	from, to uint32 // the payload's place in bytes
	id       uint16
	before   uint16 // the last sighting with the same place in the table
}

// find returns the frame of the datagram that d doubles, or 0: it has the same
// addresses and bytes and is at most doubleTime older. IP ids tell apart what a
// sender said twice, unless one is 0. Nothing tells it apart in logs, which have
// no ids, and without times.
func (t *doubles) find(d *Datagram, at time.Time) (frame int) {
	const hundredths = 2 // of a second
	if t.compares = d.WireLen > 0 && d.Number > 0 && d.Digits >= hundredths && !d.Time.IsZero(); !t.compares {
		return 0
	}
	t.at, t.hash = packet.Nanos(at), hashOf(d)
	if uint64(t.at-t.young.begun) > uint64(doubleTime) {
		t.turn()
	}
	for _, g := range [...]*sightings{&t.young, &t.old} {
		last := g.latest[t.hash%places]
		if last == 0 {
			continue
		}
		if s := g.find(d, t.hash, t.at, last); s != nil {
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
	n, from := len(y.all), len(y.bytes)
	if n >= maxSightings || from+len(d.Payload) > maxSightingBytes {
		t.turn()
		n, from = 0, 0
	}
	if n == cap(y.all) {
		y.all = slices.Grow(y.all, 1)
	}
	y.all, y.bytes = y.all[:n+1], append(y.bytes, d.Payload...)
	place := &y.latest[t.hash%places]
	s := &y.all[n] // set field by field, which takes half the time of a copy
	s.src, s.dst, s.hash, s.at, s.frame, s.full, s.id = d.Src, d.Dst, t.hash, t.at, frame, d.Full, d.IPID
	s.from, s.to, s.before = uint32(from), uint32(len(y.bytes)), *place
	*place = uint16(n + 1)
}

// turn makes the young sightings the old ones.
func (t *doubles) turn() {
	t.young, t.old = t.old, t.young
	y := &t.young
	if y.begun = t.at; len(y.all) > 0 {
		clear(y.latest[:])
		y.all, y.bytes = y.all[:0], y.bytes[:0]
	}
}

// find returns the sighting that d doubles, or nil. i is the latest with the same
// place in the table.
func (g *sightings) find(d *Datagram, hash uint64, at int64, i uint16) *sighting {
	for n := 0; i > 0 && n < maxAlike; n++ {
		s := &g.all[i-1]
		if s.hash == hash && uint64(at-s.at) <= uint64(doubleTime) && (s.id == d.IPID || s.id == 0 || d.IPID == 0) &&
			s.src == d.Src && s.dst == d.Dst && s.full == d.Full && bytes.Equal(g.bytes[s.from:s.to], d.Payload) {
			return s
		}
		i = s.before
	}
	return nil
}

// hashOf returns a hash of the ports and of some of the bytes of a datagram.
// Others may have the same: the bytes decide.
func hashOf(d *Datagram) uint64 {
	const k0, k1 = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93
	const word = 8
	b := d.Payload
	var first, middle, last uint64
	if n := len(b); n >= word {
		first, middle = binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[(n-word)/2:])
		last = binary.LittleEndian.Uint64(b[n-word:])
	} else {
		for _, c := range b {
			first = first<<8 | uint64(c)
		}
	}
	last ^= uint64(d.Src.Port())<<48 | uint64(d.Dst.Port())<<32 | uint64(len(b))
	high, low := bits.Mul64(first^bits.RotateLeft64(middle, 32)^k0, last^k1)
	return (high ^ low) * k0 >> 16
}

// clone returns a copy that shares nothing with t.
func (t *doubles) clone() doubles {
	c := *t
	for _, s := range []*sightings{&c.young, &c.old} {
		s.all, s.bytes = slices.Clone(s.all), slices.Clone(s.bytes)
	}
	return c
}

// memory returns how many bytes a clone takes besides itself.
func (t *doubles) memory() (n int) {
	for _, s := range []*sightings{&t.young, &t.old} {
		n += len(s.all)*int(unsafe.Sizeof(sighting{})) + len(s.bytes)
	}
	return n
}
