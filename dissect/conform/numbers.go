package conform

import (
	"math"
	"slices"

	"github.com/bcdissect/bcdissect/dissect/transport"
)

// held are the messages of a client that wait for one before them, in the order
// of their numbers.
type held struct {
	events []*Event
	next   int64
	got    bool  // the host has acknowledged that one, so the capture does not hold it
	until  int64 // the host has passed on the message with this number, so it waits for none before it
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
