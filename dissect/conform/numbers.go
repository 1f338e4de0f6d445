package conform

import (
	"math"
	"slices"

	"github.com/bcdissect/bcdissect/dissect/transport"
)

// A sighting is a sequence number that was seen, without wrap.
type sighting struct {
	number int64
	digest uint64
	some   bool
}

// numbers knows the messages of one sequence space again.
type numbers struct {
	seq  transport.Sequence
	seen []sighting // by number modulo its length
	wide bool       // a number has had more than 8 bits
}

// at returns what was seen with a number.
func (n *numbers) at(number int64) (digest uint64, ok bool) {
	if n.seen == nil || number < 0 {
		return 0, false
	}
	s := &n.seen[number%numbersKept]
	return s.digest, s.some && s.number == number
}

// take takes a message and returns its number without wrap. It is new unless
// one with the number was seen. Of an OpenBC sender 8 bits of the number are
// known: a repetition that is late by half the range looks like a number to
// come, and is told from it by its bytes.
func (n *numbers) take(seq uint16, digest uint64, eight bool) (number int64, fresh bool) {
	if n.seen == nil {
		n.seen = make([]sighting, numbersKept)
	}
	n.wide = n.wide || seq > 0xFF
	n.seq.Bits = 16
	if eight = eight && !n.wide; eight {
		n.seq.Bits = 8
		if next, ok := n.seq.Next(); ok {
			ahead := int64(int8(uint8(seq) - uint8(next)))
			if d, ok := n.at(next + ahead - eightBits); ok && d == digest && ahead > 0 {
				return next + ahead - eightBits, false
			}
		}
	}
	number = n.seq.Unwrap(seq)
	if number < 0 {
		return number, true
	}
	if d, ok := n.at(number); ok {
		if d == digest || !eight {
			return number, false
		}
		if d, ok := n.at(number - eightBits); ok && d == digest {
			return number - eightBits, false
		}
		return number, true
	}
	n.seen[number%numbersKept] = sighting{number, digest, true}
	return number, true
}

// held are the messages of a client that wait for one before them, in the order
// of their numbers.
type held struct {
	events []*Event
	next   int64
	got    bool // the host has acknowledged that one, so the capture does not hold it
	begun  bool
}

// acknowledged takes note of an acknowledgement of the message that is waited
// for. Unless the sender is known to count further, eight bits of its number say
// which it is.
func (q *held) acknowledged(seq uint16, wide bool) {
	mask := uint16(eightBits - 1)
	if wide {
		mask = math.MaxUint16
	}
	if q.begun && (uint16(q.next)^seq)&mask == 0 {
		q.got = true
	}
}

func (q *held) put(e *Event) {
	i := len(q.events)
	for i > 0 && q.events[i-1].Number > e.Number {
		i--
	}
	q.events = slices.Insert(q.events, i, e)
}

// pieces watches whether the fragments of a message come each once and in order.
type pieces struct {
	seq    uint16
	next   int
	begun  bool
	broken bool
}

// take takes a fragment. When the message is complete, it reports whether the
// fragments were out of order.
func (p *pieces) take(h *transport.Header, complete bool) (broken bool) {
	if !p.begun || p.seq != h.Seq {
		*p = pieces{seq: h.Seq, begun: true}
	}
	if int(h.Index) != p.next {
		p.broken = true
	}
	p.next = int(h.Index) + 1
	return complete && p.broken
}
