package conform

import (
	"sort"
	"time"
)

// maxHoles bounds the holes that are remembered of one direction.
const maxHoles = 1024

// A hole is a range of sequence numbers that the capture does not hold, and the
// times of the messages before and behind it.
type hole struct {
	lo, hi     int64 // hi is the number behind the last
	from, till time.Time
	jump       bool // it is too long to be counted
}

// during reports whether the missing messages can have been sent in a time.
func (o *hole) during(from, till time.Time) bool {
	return !o.from.After(till) && !o.till.Before(from)
}

// holes are the missing numbers of one sender's messages of one class, as the
// tracker of the pipeline reports them.
type holes struct {
	list      []hole // in the order of their numbers, and of their times
	seen      int    // numbers that came
	datagrams int    // that they came in
	lost      int    // numbers that have not come
	late      int    // numbers that were missing for a time, so an earlier transmission is not in the capture
	at        time.Time
	came      time.Time // the last of them
	next      int64
	since     time.Time // when the latest number may have been sent first, if an earlier transmission is not in the capture, otherwise zero

	proven   int64 // number behind the last that the receiver has acknowledged, if above next
	provenAt time.Time

	forgotten int // holes, before their time
	jumps     int // holes too long to be counted

	part   int64 // number of a message with missing fragments
	partAt time.Time
	inPart bool
}

// begin says when the first number must have been sent; it is 0.
func (h *holes) begin(at time.Time) { *h = holes{at: at} }

// take takes the number of a message that is no repetition.
func (h *holes) take(number int64, gap int, late bool, at time.Time) {
	if h.seen == 0 && gap == 0 && number > 0 && number <= maxHeld && !h.at.IsZero() {
		gap = int(number)
	}
	if h.inPart && number > h.part {
		h.inPart = false
		h.lose(hole{lo: h.part, hi: h.part + 1, from: h.partAt, till: at})
	}
	h.seen++
	h.since = time.Time{}
	if at != h.came {
		h.came = at
		h.datagrams++
	}
	switch {
	case late || number < h.next:
		h.since = h.fill(number, at)
		return
	case gap > 0:
		h.lose(hole{lo: number - int64(gap), hi: number, from: h.at, till: at})
	}
	if number < h.proven { // the receiver has got it before
		h.since = h.at
	}
	h.next, h.at = number+1, at
}

// acknowledged takes note of an acknowledgement by the receiver, which may have
// 8 bits. That of a number above all that came proves that the capture lacks a
// message, although none may follow.
func (h *holes) acknowledged(seq uint16, at time.Time) {
	ahead := int64(int16(seq - uint16(h.next)))
	if seq < eightBits {
		ahead = int64(int8(seq - uint16(h.next)))
	}
	switch n := h.next + ahead; {
	case h.at.IsZero() || ahead < 0 || ahead > maxHeld: // a late one, of a message long before
	case n >= max(h.proven, h.next):
		h.proven, h.provenAt = n+1, at
	}
}

// end returns the numbers after the last that came, up to the highest one that
// the receiver acknowledged.
func (h *holes) end() (o hole, ok bool) {
	return hole{lo: h.next, hi: h.proven, from: h.at, till: h.provenAt}, h.proven > h.next
}

// missing returns how many numbers have not come.
func (h *holes) missing() int {
	if o, ok := h.end(); ok {
		return h.lost + int(o.hi-o.lo)
	}
	return h.lost
}

// lacking reports whether the capture lacks any message.
func (h *holes) lacking() bool { return h.missing() > 0 || h.jumps > 0 }

// maxGap is how many missing numbers one after another are counted. More are
// rather a damaged number, or one that the sender made up, and would count for
// most of the capture; they are a hole all the same.
const maxGap = 1024

// lose adds a hole.
func (h *holes) lose(o hole) {
	if o.jump = o.hi-o.lo > maxGap; o.jump {
		h.jumps++
	} else {
		h.lost += int(o.hi - o.lo)
	}
	if len(h.list) == maxHoles {
		for i := range h.list[:maxHoles/2] {
			if o.till.Sub(h.list[i].till) < remembered {
				h.forgotten++
			}
		}
		h.list = append(h.list[:0], h.list[maxHoles/2:]...)
	}
	h.list = append(h.list, o)
}

// piece takes a fragment with the number that take has just taken. A message
// that the next one finds incomplete is missing.
func (h *holes) piece(number int64, complete bool) {
	switch {
	case complete:
		h.inPart = h.inPart && h.part != number
		h.fill(number, h.at)
	case !h.inPart && number+1 == h.next:
		h.inPart, h.part, h.partAt = true, number, h.at
	}
}

// fill takes a number out of its hole, and returns since when that was open, zero
// if there is none.
func (h *holes) fill(number int64, at time.Time) (since time.Time) {
	i := sort.Search(len(h.list), func(i int) bool { return h.list[i].hi > number })
	if i == len(h.list) || h.list[i].lo > number {
		return since
	}
	if at.Sub(h.list[i].till) > longestLost {
		return since // this is rather another message, many numbers later
	}
	since = h.list[i].from
	if h.late++; !h.list[i].jump {
		h.lost--
	}
	switch o := &h.list[i]; {
	case o.lo+1 == o.hi:
		h.list = append(h.list[:i], h.list[i+1:]...)
	case o.lo == number:
		o.lo++
	case o.hi == number+1:
		o.hi--
	default:
		rest := *o
		rest.lo, o.hi = number+1, number
		h.list = append(h.list, hole{})
		copy(h.list[i+2:], h.list[i+1:])
		h.list[i+1] = rest
	}
	return since
}

// between reports whether a missing number above lo and below hi can have been
// sent in a time.
func (h *holes) between(lo, hi int64, from, till time.Time) bool {
	i := sort.Search(len(h.list), func(i int) bool { return h.list[i].hi > lo+1 && !h.list[i].till.Before(from) })
	for ; i < len(h.list) && h.list[i].lo < hi && !h.list[i].from.After(till); i++ {
		if o := &h.list[i]; o.during(from, till) {
			return true
		}
	}
	o, ok := h.end()
	return ok && o.lo < hi && o.hi > lo+1 && o.during(from, till)
}

// during reports whether a missing number can have been sent in a time.
func (h *holes) during(from, till time.Time) bool {
	return h.between(firstNumber, lastNumber, from, till)
}

// A receipt tells whether the host has acknowledged a client's message.
type receipt struct {
	want, got uint64 // pieces
	all       bool
	first     int  // place of its first acknowledgement among those of all messages, 0 if there is none
	twice     bool // it was sent again, or acknowledged again, so the host may have got it twice
}

func (r *receipt) acknowledged() bool { return r.all || r.want != 0 && r.got&r.want == r.want }

// after reports whether the host may have got the message after one that was
// sent later: by the order of its acknowledgements, unless they do not tell.
func (r *receipt) after(later *receipt) bool {
	return r.twice || later.twice || r.first == 0 || later.first == 0 || r.first > later.first
}

// receipts are those of a client's latest messages of one class, by the low
// byte of the number: no host acknowledges older ones.
type receipts struct {
	seqs [eightBits]uint16
	of   [eightBits]*receipt
}

// sent returns the receipt for a message, or for the message that a fragment is
// a piece of.
func (r *receipts) sent(seq uint16, fragment bool, index uint8) *receipt {
	i := uint8(seq)
	if got := r.of[i]; !fragment || got == nil || r.seqs[i] != seq || got.want == 0 || got.want&(1<<(index%64)) != 0 {
		r.seqs[i], r.of[i] = seq, new(receipt)
	}
	if fragment {
		r.of[i].want |= 1 << (index % 64)
	}
	return r.of[i]
}

// find returns the receipt of the latest message with a number, which may have 8
// bits; nil if there is none.
func (r *receipts) find(seq uint16) *receipt {
	i := uint8(seq)
	if r == nil || seq != r.seqs[i] && seq >= eightBits {
		return nil
	}
	return r.of[i]
}

// acknowledge takes the host's acknowledgement. place is its place among all.
func (r *receipts) acknowledge(seq uint16, fragment bool, index uint8, place int) {
	got := r.find(seq)
	switch {
	case got == nil:
	case fragment:
		got.got |= 1 << (index % 64)
	default:
		got.twice = got.twice || got.all
		got.all = true
		if got.first == 0 {
			got.first = place
		}
	}
}
