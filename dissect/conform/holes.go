package conform

// Limits for the analysis of message numbers.
const (
	maxGap   = 1024 // consecutive missing numbers that are counted. If there are more, the number is probably damaged or made up.
	maxAhead = 64   // numbers that may be missing before a client's first message, or be acknowledged above its latest
)

// holes counts the missing numbers of one sender's messages of one class, as
// the pipeline's tracker reports them.
type holes struct {
	seen   int // number of numbers that came
	lost   int // number of numbers that have not come
	late   int // number of numbers that came late, so the capture lacks an earlier transmission
	jumps  int // number of holes too long to be counted
	begun  bool
	before bool  // the capture lacks an earlier transmission of the latest message
	first  int64 // first number that came, if it should have been 0
	jump   int64 // number after the latest hole too long to be counted
	part   int64 // number after a message with missing fragments, 0 if there is none
	next   int64
	proven int64 // number after the last one that the receiver acknowledged, if above next
}

// begin sets the first number to 0.
func (h *holes) begin() { *h = holes{begun: true} }

// take records the number of a message that is not a retransmission.
func (h *holes) take(number int64, gap int, late bool) {
	if h.seen == 0 && gap == 0 && number > 0 && number <= maxAhead && h.begun {
		gap, h.first = int(number), number
	}
	if h.part > 0 && number >= h.part {
		h.part = 0
		h.lost++
	}
	h.seen++
	h.begun = true
	if h.before = late || 0 <= number && number < h.first; h.before || number < h.next {
		if h.before {
			h.late++
		}
		if h.before && number >= h.jump {
			h.lost--
		}
		return
	}
	if gap > maxGap { // the tracker drops the numbers before
		h.jumps++
		h.jump = number
	} else {
		h.lost += gap
	}
	h.before = number < h.proven // the receiver already had it
	h.next = number + 1
}

// acknowledged records an acknowledgement by the receiver, which may have 8
// bits. If its number is above all that came, the capture lacks a message.
func (h *holes) acknowledged(seq uint16) {
	ahead := int64(int16(seq - uint16(h.next)))
	if seq < eightBits {
		ahead = int64(int8(seq - uint16(h.next)))
	}
	if h.begun && ahead >= 0 && ahead <= maxAhead { // otherwise it acknowledges a much older message
		h.proven = max(h.proven, h.next+ahead+1)
	}
}

// missing returns how many numbers have not come, up to the highest one that
// came or that the receiver acknowledged.
func (h *holes) missing() int { return h.lost + int(max(h.proven-h.next, 0)) }

// lacking reports whether the capture lacks any message.
func (h *holes) lacking() bool { return h.missing() > 0 || h.jumps > 0 }

// piece records a fragment with the number that take has just recorded. If a
// message is incomplete when the next one begins, it is missing.
func (h *holes) piece(number int64, complete bool) {
	switch {
	case complete && h.part == number+1:
		h.part = 0
	case !complete && h.part == 0 && number+1 == h.next:
		h.part = h.next
	}
}

// A receipt tells whether the host has acknowledged a client's message.
type receipt struct {
	want, got uint64 // bits of the pieces that were sent and acknowledged
	all       bool
	first     int  // position of its first acknowledgement among all acknowledgements, 0 if there is none
	twice     bool // it was retransmitted or acknowledged again, so the host may have received it twice
}

func (r *receipt) acknowledged() bool { return r.all || r.want != 0 && r.got&r.want == r.want }

// after reports whether the host may have received the message after one that
// was sent later. The order of the acknowledgements decides, if it is known.
func (r *receipt) after(later *receipt) bool {
	return r.twice || later.twice || r.first == 0 || later.first == 0 || r.first > later.first
}

// receipts are the receipts of a client's latest messages of one class, by the
// low byte of the number. No host acknowledges older ones.
type receipts struct {
	numbers [eightBits]int64
	of      [eightBits]*receipt
	newest  int64
}

// sent returns the receipt for a message, or for the message to which a
// fragment belongs.
func (r *receipts) sent(number int64, fragment bool, index uint8) *receipt {
	i := uint8(number) //nolint:gosec // the low byte
	if got := r.of[i]; !fragment || got == nil || r.numbers[i] != number || got.want == 0 || got.want&(1<<(index%64)) != 0 {
		r.numbers[i], r.of[i] = number, new(receipt)
		r.newest = max(r.newest, number)
	}
	if fragment {
		r.of[i].want |= 1 << (index % 64)
	}
	return r.of[i]
}

// find returns the receipt of the latest message with a number, which may have
// 8 bits, or nil if there is none.
func (r *receipts) find(seq uint16) *receipt {
	i := uint8(seq)                                                  //nolint:gosec // the low byte
	if r == nil || seq != uint16(r.numbers[i]) && seq >= eightBits { //nolint:gosec // the wire has 16 bits
		return nil
	}
	return r.of[i]
}

// again records that a message was retransmitted.
func (r *receipts) again(seq uint16) {
	if got := r.find(seq); got != nil {
		got.twice = true
	}
}

// acknowledge records an acknowledgement of the host. The argument place is its
// position among all acknowledgements.
func (r *receipts) acknowledge(seq uint16, fragment bool, index uint8, place int) {
	got := r.find(seq)
	switch {
	case got == nil:
	case r.newest-r.numbers[uint8(seq)] > eightBits/2 && !got.twice: //nolint:gosec // more likely the next message with the same low byte
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
