package measure

import (
	"time"

	"github.com/bcdissect/bcdissect/dissect/transport"
)

// A space tracks the acknowledgements of one class of messages of a link.
type space struct {
	waiting waiting
	acked   *[256]ack // the latest acknowledgements, by the low bits of their keys
	echoes  bool      // acknowledgements are sent several times
}

// echo is for how long an acknowledgement may be sent again. The game sends
// each up to nine times, every two thirds of a second if there is anything else
// to send.
const echo = 10 * time.Second

// An ack is an acknowledgement that came.
type ack struct {
	key key
	at  moment
}

// A key names a message or fragment by the bits that its acknowledgement has.
// Keys are never 0.
type key uint32

func keyOf(h *transport.Header) key {
	k := key(h.Seq) | 1<<31
	if h.Fragment {
		k |= key(h.Index)<<16 | 1<<24
	}
	return k
}

// slot returns the index of the key's acknowledgement. Numbers that follow each other, fragments
// of a message, and the first of them and a whole message get different ones.
func (k key) slot() uint8 { return uint8(k) + uint8(k>>16) + uint8(k>>17)&0x80 }

// send takes note of the time of a message that is not a repetition. It reports
// whether another one had to be given up for it.
func (s *space) send(k key, at moment) (gaveUp bool) {
	before := s.acknowledged(k)
	gap, ok := at.since(before.at)
	// A number that has come round: the next acknowledgement may repeat the
	// old one.
	ambiguous := s.echoes && before.key == k && ok && gap < int64(echo)
	return s.waiting.add(k, at, ambiguous)
}

// acknowledge takes the message that an acknowledgement is for, if this is the
// first one.
func (s *space) acknowledge(k key, at moment) (sent message, ok bool) {
	sent, ok = s.waiting.take(k)
	before := s.acknowledged(k)
	if gap, known := at.since(before.at); !ok && known && before.key == k && gap < int64(echo) {
		s.echoes = true
	}
	if s.acked == nil {
		s.acked = new([256]ack)
	}
	s.acked[k.slot()] = ack{k, at}
	return sent, ok
}

// acknowledged returns the latest acknowledgement that may be for the message.
func (s *space) acknowledged(k key) ack {
	if s.acked == nil {
		return ack{}
	}
	return s.acked[k.slot()]
}

// restart forgets all messages. Memory is kept.
func (s *space) restart() {
	clear(s.waiting.of)
	if s.acked != nil {
		clear(s.acked[:])
	}
}

// waiting are the messages that wait for their acknowledgement: those among
// the last MaxOutstanding, whose keys are in a ring.
type waiting struct {
	of   map[key]message
	ring []key
	next int // where the next one goes once the ring is full
}

// A message waits for its acknowledgement.
type message struct {
	at        moment
	place     int  // in the ring
	ambiguous bool // it is not known which transmission an acknowledgement is for
}

// add makes a message wait. It reports whether the oldest one was given up.
func (w *waiting) add(k key, at moment, ambiguous bool) (gaveUp bool) {
	if m, ok := w.of[k]; ok { // another message with a number that has come round
		w.of[k] = message{at, m.place, true}
		return false
	}
	if w.of == nil {
		w.of = map[key]message{}
	}
	if len(w.of) == 0 {
		w.ring, w.next = w.ring[:0], 0
	}
	if len(w.ring) < MaxOutstanding {
		w.next = len(w.ring)
		w.ring = append(w.ring, k)
	} else if old, ok := w.of[w.ring[w.next]]; ok && old.place == w.next {
		delete(w.of, w.ring[w.next])
		gaveUp = true
	}
	w.of[k], w.ring[w.next] = message{at, w.next, ambiguous}, k
	w.next = (w.next + 1) % MaxOutstanding
	return gaveUp
}

// take returns a message, which does not wait any more.
func (w *waiting) take(k key) (m message, ok bool) {
	m, ok = w.of[k]
	delete(w.of, k)
	return m, ok
}

// repeated takes note that a message was sent again, and reports whether it
// still waits.
func (w *waiting) repeated(k key) bool {
	m, ok := w.of[k]
	if ok {
		w.of[k] = message{m.at, m.place, true}
	}
	return ok
}
