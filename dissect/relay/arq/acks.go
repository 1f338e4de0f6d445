package arq

import (
	"time"

	"github.com/bcdissect/bcdissect/dissect/transport"
)

// An ack is an acknowledgement that is being repeated. How often it was sent
// decides in which of three lists it is.
type ack struct {
	header     transport.Header
	times      int
	due        time.Duration
	in         *ackList
	prev, next *ack
}

// An ackList is a list of acknowledgements in the order in which they are due.
// All in one list wait equally long, so a new one belongs at or close to its
// end.
type ackList struct{ first, last *ack }

func (l *ackList) add(a *ack) {
	after := l.last
	for after != nil && after.due > a.due {
		after = after.prev
	}
	a.in, a.prev = l, after
	if after == nil {
		a.next, l.first = l.first, a
	} else {
		a.next, after.next = after.next, a
	}
	if a.next == nil {
		l.last = a
	} else {
		a.next.prev = a
	}
}

func (a *ack) leave() {
	l := a.in
	if a.prev == nil {
		l.first = a.next
	} else {
		a.prev.next = a.next
	}
	if a.next == nil {
		l.last = a.prev
	} else {
		a.next.prev = a.prev
	}
	a.in, a.prev, a.next = nil, nil, nil
}

// acks are the acknowledgements that an endpoint sends.
type acks struct {
	by    map[uint32]*ack // indexed by ackKey
	fresh ackList         // not sent yet
	again ackList         // sent too rarely to end: due ones cause a datagram
	rider ackList         // sent only in datagrams that have other messages
	spare *ack            // unused ones
	once  bool            // none is repeated
}

// AckOnce tells whether to send each acknowledgement only once, because the
// message may be somebody else's guess. Repetitions could acknowledge what the
// other side has yet to send, so those that are due are dropped.
func (e *Endpoint) AckOnce(on bool) {
	s := &e.acks
	if on && !s.once {
		for _, l := range [...]*ackList{&s.again, &s.rider} {
			for a := l.first; a != nil; a = l.first {
				a.leave()
				s.free(a)
			}
		}
		for a := s.fresh.first; a != nil; a = a.next {
			a.times = acksAtMost - 1
		}
	}
	s.once = on
}

// put adds an acknowledgement that counts as sent some times, or restarts one
// that is still being repeated. Beyond the limit, it drops the one that has been
// sent most often.
func (s *acks) put(h transport.Header, due time.Duration, limit, times int) {
	key := ackKey(&h)
	a := s.by[key]
	if a != nil {
		times = min(times, a.times)
		a.leave()
	} else {
		if len(s.by) >= limit {
			most := s.most()
			most.leave()
			s.free(most)
		}
		if a = s.spare; a == nil {
			a = &ack{}
		}
		s.spare = nil
		s.by[key] = a
	}
	a.header, a.times, a.due = h, times, due
	s.fresh.add(a)
}

// most returns the acknowledgement that has been sent most often.
func (s *acks) most() *ack {
	for _, l := range [...]*ackList{&s.rider, &s.again, &s.fresh} {
		if l.first != nil {
			return l.first
		}
	}
	return nil
}

// free takes back an acknowledgement that is in no list.
func (s *acks) free(a *ack) {
	delete(s.by, ackKey(&a.header))
	s.spare = a
}

// ackKey returns a number for the acknowledged message or fragment.
func ackKey(h *transport.Header) uint32 {
	class := data
	if h.Control() {
		class = control
	}
	return keyOf(class, h.Seq, h.Fragment, h.Index)
}

// send sends the acknowledgements of a list that are due, and moves each to its
// next list.
func (s *acks) send(l *ackList, now time.Duration, b *builder) {
	for a := l.first; a != nil && a.due <= now && b.add(&a.header, nil); a = l.first {
		a.leave()
		a.times++
		a.due = now + AckInterval
		switch {
		case a.times < acksAlone:
			s.again.add(a)
		case a.times < acksAtMost:
			s.rider.add(a)
		default:
			s.free(a)
		}
	}
}
