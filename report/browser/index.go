package browser

import (
	"math/bits"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/packet"
)

// An index tells which records of the captures are in the list. It has a bit
// for each record, and a waypoint for every few hundred. The first records of
// live traffic are removed when their datagrams are dropped.
type index struct {
	base      int // number of records before the first that has a bit, a multiple of waypointEvery
	total     int // number of records up to the last
	seen      int // number of records that were added
	shown     int // number of records in the list
	bits      []uint64
	waypoints []waypoint // one for every waypointEvery records
}

// A waypoint is the frame and the time of a record.
type waypoint struct {
	frame int
	at    int64
}

const waypointEvery = 1024

// add adds a record with its number. Numbers must grow. Numbers that are
// skipped are not in the list.
func (x *index) add(n int, shown bool, d *dissect.Datagram) {
	if x.total == 0 {
		x.base = n / waypointEvery * waypointEvery
		x.total = x.base
	}
	for x.total <= n {
		if x.total%waypointEvery == 0 {
			x.waypoints = append(x.waypoints, waypoint{d.Number, packet.Nanos(d.Time)})
		}
		if x.total%64 == 0 {
			x.bits = append(x.bits, 0)
		}
		x.total++
	}
	if shown {
		x.bits[(n-x.base)/64] |= 1 << (n % 64)
		x.shown++
	}
	x.seen++
}

// drop removes the records before a number from the list, and returns the
// number of rows removed.
func (x *index) drop(before int) (rows int) {
	before = min(before, x.total)
	if before <= x.base {
		return 0
	}
	rows = x.row(before)
	x.shown -= rows
	at := before - x.base
	clear(x.bits[:at/64])
	if at%64 != 0 {
		x.bits[at/64] &^= 1<<(at%64) - 1
	}
	blocks := at / waypointEvery
	x.waypoints = append(x.waypoints[:0], x.waypoints[blocks:]...)
	x.bits = append(x.bits[:0], x.bits[blocks*(waypointEvery/64):]...)
	x.base += blocks * waypointEvery
	return rows
}

// has reports whether a record is in the list.
func (x *index) has(record int) bool {
	return record >= x.base && record < x.total && x.bits[(record-x.base)/64]&(1<<(record%64)) != 0
}

// row returns the number of records in the list before a record.
func (x *index) row(record int) int {
	if record >= x.total {
		return x.shown
	}
	record = max(record-x.base, 0)
	word, n := record/64, 0
	for _, w := range x.bits[:word] {
		n += bits.OnesCount64(w)
	}
	return n + bits.OnesCount64(x.bits[word]&(1<<(record%64)-1))
}

// record returns the number of the record in a row of the list. The row must
// exist.
func (x *index) record(row int) int {
	n := row
	for word := 0; ; word++ {
		w := x.bits[word]
		if c := bits.OnesCount64(w); n >= c {
			n -= c
			continue
		}
		for ; n > 0; n-- {
			w &= w - 1
		}
		return x.base + word*64 + bits.TrailingZeros64(w)
	}
}

// before returns a record before the first one whose waypoint makes less false.
// It is at most waypointEvery records before that.
func (x *index) before(less func(waypoint) bool) int {
	i := 0
	for i < len(x.waypoints) && less(x.waypoints[i]) {
		i++
	}
	return x.base + max(i-1, 0)*waypointEvery
}
