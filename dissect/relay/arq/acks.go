package arq

import (
	"time"

	"github.com/bcdissect/bcdissect/dissect/transport"
)

// An ack is an acknowledgement that is repeated. It is in one of three lists,
// by how often it was sent.
type ack struct {
	header     transport.Header
	times      int
	due        time.Duration
	in         *ackList
	prev, next *ack
}

// An ackList holds acknowledgements, those that are due first at its front.
// All of one list wait equally long, so that a new one belongs at or close to
// its end.
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
	by    map[uint32]*ack // by ackKey
	fresh ackList         // not sent yet
	again ackList         // sent less often than is worth a datagram
	rider ackList         // that travel only with others
	spare *ack            // for the next one
}

// put adds an acknowledgement, or begins anew with one that is still repeated.
// Beyond the limit the one that has been sent most often goes.
func (s *acks) put(h transport.Header, due time.Duration, limit int) {
	key := ackKey(&h)
	a := s.by[key]
	if a != nil {
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
	a.header, a.times, a.due = h, 0, due
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

// free gives back an acknowledgement that is in no list any more.
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

// send sends those of a list that are due, and moves each to the list that it
// belongs to then.
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
