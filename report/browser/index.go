package browser

import (
	"math/bits"
	"time"

	"github.com/bcdissect/bcdissect/dissect/packet"
)

// An index tells which records of the captures are in the list. It holds a bit
// for each record, and a mark for every few hundred.
type index struct {
	total int // records
	shown int // records in the list
	bits  []uint64
	marks []mark // of every markEvery records
}

// A mark is the frame and the time of a record.
type mark struct {
	frame int
	at    int64
}

const markEvery = 1024

// add adds the next record.
func (x *index) add(shown bool, frame int, at time.Time) {
	if x.total%markEvery == 0 {
		x.marks = append(x.marks, mark{frame, packet.Nanos(at)})
	}
	if x.total%64 == 0 {
		x.bits = append(x.bits, 0)
	}
	if shown {
		x.bits[x.total/64] |= 1 << (x.total % 64)
		x.shown++
	}
	x.total++
}

// has reports whether a record is in the list.
func (x *index) has(record int) bool {
	return record < x.total && x.bits[record/64]&(1<<(record%64)) != 0
}

// row returns how many records of the list come before a record.
func (x *index) row(record int) int {
	if record >= x.total {
		return x.shown
	}
	word, n := record/64, 0
	for _, w := range x.bits[:word] {
		n += bits.OnesCount64(w)
	}
	return n + bits.OnesCount64(x.bits[word]&(1<<(record%64)-1))
}

// record returns the record of a row of the list, which must exist.
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
		return word*64 + bits.TrailingZeros64(w)
	}
}

// before returns a record at most markEvery before the first one for which less
// is false of its mark.
func (x *index) before(less func(mark) bool) int {
	i := 0
	for i < len(x.marks) && less(x.marks[i]) {
		i++
	}
	return max(i-1, 0) * markEvery
}
