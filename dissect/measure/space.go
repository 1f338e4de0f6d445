package measure

import (
	"slices"
	"time"

	"github.com/bcdissect/bcdissect/dissect/transport"
)

// A space tracks the acknowledgements of one class of messages of a link.
type space struct {
	waiting waiting
	acked   *[256]ack // the latest acknowledgements, indexed by the low bits of their keys
	echoes  bool      // acknowledgements are sent several times
}

// echo is how long an acknowledgement may be repeated. The game sends each up
// to nine times, every two thirds of a second, if there is anything else to
// send.
const echo = 10 * time.Second

// An ack is an acknowledgement that was received.
type ack struct {
	key key
	at  moment
}

// A key identifies a message or fragment by the bits that its acknowledgement
// has. Keys are never 0.
type key uint32

func keyOf(h *transport.Header) key {
	k := key(h.Seq) | 1<<31
	if h.Fragment {
		k |= key(h.Index)<<16 | 1<<24
	}
	return k
}

// slot returns an index for the key. Consecutive numbers have different
// indices. So have the fragments of a message, and a first fragment and a whole
// message.
func (k key) slot(size uint32) uint32 {
	return (uint32(k) + uint32(k)>>16 + uint32(k)>>17&0x80) & (size - 1)
}

// send stores the time of a message that is not a retransmission. It reports
// whether another message was dropped for it.
func (s *space) send(k key, at moment, nth int64) (gaveUp bool) {
	before := s.acknowledged(k)
	gap, ok := at.since(before.at)
	// The number has wrapped, so the next acknowledgement may be a repetition for
	// the old message.
	ambiguous := s.echoes && before.key == k && ok && gap < int64(echo)
	return s.waiting.add(k, at, nth, ambiguous)
}

// acknowledge returns the message of an acknowledgement, if this is its first
// one.
func (s *space) acknowledge(k key, at moment) (sent message, ok bool) {
	sent, ok = s.waiting.take(k)
	before := s.acknowledged(k)
	if gap, known := at.since(before.at); !ok && known && before.key == k && gap < int64(echo) {
		s.echoes = true
	}
	if s.acked == nil {
		s.acked = new([256]ack)
	}
	s.acked[k.slot(256)] = ack{k, at}
	return sent, ok
}

// acknowledged returns the latest acknowledgement that may belong to the
// message.
func (s *space) acknowledged(k key) ack {
	if s.acked == nil {
		return ack{}
	}
	return s.acked[k.slot(256)]
}

// restart drops all messages. It keeps the memory.
func (s *space) restart() {
	s.waiting.clear()
	if s.acked != nil {
		clear(s.acked[:])
	}
}

// rest frees memory when acknowledgements are no longer expected. It keeps
// messages that still wait and were sent after a transmission, since they are counted.
func (s *space) rest(after int64) {
	s.acked = nil
	s.waiting.rest(after)
}

// waiting has the messages that wait for their acknowledgement: those among the
// last MaxOutstanding in a ring, and an index of the ring by key.
type waiting struct {
	ring  []message
	most  int      // length of the ring. 0 means MaxOutstanding.
	next  int      // index of the next message once the ring is full
	alive int      // number of messages that still wait
	heads []uint16 // nil until it is needed
}

// A message is an entry of the ring. Its key is 0 once it no longer waits.
type message struct {
	key       key
	chain     uint16 // 1 + index of the next message in the same slot, or 0 if there is none
	ambiguous bool   // it is unknown which transmission an acknowledgement is for
	at        moment
	nth       int64 // of the transmissions of its class, the latest one of this message
}

// find returns the message, and the place of its index.
func (w *waiting) find(k key) (m *message, ref *uint16) {
	if w.alive == 0 {
		return nil, nil
	}
	if w.heads == nil {
		w.index()
	}
	for ref = &w.heads[k.slot(MaxOutstanding)]; *ref != 0; ref = &m.chain {
		m = &w.ring[*ref-1]
		if m.key == k {
			return m, ref
		}
	}
	return nil, nil
}

// add adds a message. It reports whether the oldest one was dropped.
func (w *waiting) add(k key, at moment, nth int64, ambiguous bool) (gaveUp bool) {
	if m, _ := w.find(k); m != nil { // another message has the same key, since the number has wrapped
		m.at, m.nth, m.ambiguous = at, nth, true
		return false
	}
	if w.most == 0 {
		w.most = MaxOutstanding
	}
	if w.heads == nil {
		w.heads = make([]uint16, MaxOutstanding)
	}
	if w.alive == 0 { // all slots are 0
		w.ring, w.next = w.ring[:0], 0
	}
	if len(w.ring) < w.most {
		w.next = len(w.ring)
		w.ring = append(w.ring, message{})
	} else if old := w.ring[w.next].key; old != 0 {
		w.take(old)
		gaveUp = true
	}
	head := &w.heads[k.slot(MaxOutstanding)]
	w.ring[w.next] = message{key: k, ambiguous: ambiguous, at: at, nth: nth, chain: *head}
	*head = uint16(w.next + 1)
	w.next = (w.next + 1) % w.most
	w.alive++
	return gaveUp
}

// take removes and returns a message.
func (w *waiting) take(k key) (message, bool) {
	m, ref := w.find(k)
	if m == nil {
		return message{}, false
	}
	*ref = m.chain
	out := *m
	m.key = 0
	w.alive--
	return out, true
}

// repeated notes the retransmission of a message, and reports whether the
// message still waits.
func (w *waiting) repeated(k key, nth int64) bool {
	m, _ := w.find(k)
	if m != nil {
		m.nth, m.ambiguous = nth, true
	}
	return m != nil
}

// rest keeps only the messages that wait and whose latest transmission came after
// another one.
func (w *waiting) rest(after int64) {
	if w.heads == nil {
		return
	}
	oldest := 0
	if len(w.ring) == w.most {
		oldest = w.next
	}
	var kept []message
	for i := range w.ring {
		if m := &w.ring[(oldest+i)%len(w.ring)]; m.key != 0 && m.nth > after {
			kept = append(kept, *m)
		}
	}
	*w = waiting{ring: slices.Clone(kept), most: w.most, alive: len(kept)}
}

// index makes the index again.
func (w *waiting) index() {
	kept := w.ring
	*w = waiting{most: w.most}
	for i := range kept {
		m := &kept[i]
		w.add(m.key, m.at, m.nth, m.ambiguous)
	}
}

// clear drops all messages.
func (w *waiting) clear() {
	clear(w.heads)
	w.ring, w.next, w.alive = w.ring[:0], 0, 0
}
