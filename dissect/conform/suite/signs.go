package suite

import (
	"bytes"
	"fmt"
	"time"

	"github.com/bcdissect/bcdissect/dissect/transport"
)

// A signs counts a client's evidence of a network that loses or delays
// datagrams. If a host never acknowledges a type of message, or retransmits
// messages that were acknowledged often enough, the host is the cause, so that
// does not count.
type signs struct {
	sent    map[uint32]transport.Type // reliable messages that were sent, by key
	repeats map[transport.Type]int    // messages that were retransmitted because no acknowledgement came
	acks    map[uint32]int            // acknowledgements that were sent, by the key of the message
	doubles int                       // retransmissions of the host
	holes   int                       // how often the next message was late
	hole    time.Time                 // since when it is missing although later ones came
}

func newSigns() signs {
	return signs{sent: map[uint32]transport.Type{}, repeats: map[transport.Type]int{}, acks: map[uint32]int{}}
}

// keyOf returns the key that a reliable message shares with its acknowledgement.
func keyOf(h *transport.Header) uint32 {
	const control = 1 << 24
	key := uint32(h.Seq) | uint32(h.Index)<<16
	if h.Control() {
		key |= control
	}
	return key
}

// leave records the messages of a deciphered datagram that the client sends
// automatically.
func (s *signs) leave(plain []byte) {
	list, _ := split(plain) // this package made the datagram
	for _, m := range list {
		key := keyOf(&m.Header)
		switch {
		case m.Type == transport.Acknowledge:
			delete(s.acks, key^farNumber)
			s.acks[key]++
		case m.HasSeq:
			if _, again := s.sent[key]; again {
				s.repeats[m.Type]++
			}
			delete(s.sent, key^farNumber)
			s.sent[key] = m.Type
		}
	}
}

// comesAgain records a retransmission of the host.
func (s *signs) comesAgain(key uint32) {
	const enough = 2 // acknowledgements. The network hardly loses all of them.
	if s.acks[key] < enough {
		s.doubles++
	}
}

// mostReused is the maximum number of listed cases.
const mostReused = mostCame

// numbered records the game message that has a number of the host.
func (c *client) numbered(key uint32, m *message) {
	const wraps = 255 // T-10 tests whether the host counts further. The last numbers before 0 may be lost.
	first, known := c.firsts[key]
	switch {
	case c.firsts == nil || m.Type != transport.Standard || c.used[0] >= wraps || c.used[0]-m.Seq > wraps/2:
	case !known && len(c.firsts) < mostSeen:
		c.firsts[key] = m
	case !known:
	case len(c.t.r.reused) < mostReused && !bytes.Equal(first.Body, m.Body):
		text := fmt.Sprintf("number %d is %s in frame %d and %s in frame %d, to %s", m.Seq, describe(first), first.frame, describe(m), m.frame, c.name)
		c.t.r.reused = append(c.t.r.reused, note{text, []int{first.frame, m.frame}})
	}
}

// numbersOnce reports numbers that the host used for more than one message.
func numbersOnce(t *T) {
	happened(len(t.r.takes) > 0, "the host sent nothing with a number")
	t.proveNone("a number for each message, the next for the next one", t.r.reused)
}

// late is how long a message may be missing that is in a later datagram of the
// same turn, since hosts send small messages before large ones.
const late = 50 * time.Millisecond

// holds records whether a message of the host is missing before others.
func (s *signs) holds(now time.Time, missing bool) {
	switch {
	case missing && s.hole.IsZero():
		s.hole = now
	case !missing && !s.hole.IsZero():
		if now.Sub(s.hole) > late {
			s.holes++
		}
		s.hole = time.Time{}
	}
}

// spoils returns the number of signs. Retransmissions count only for types of
// which the host has acknowledged a message.
func (c *client) spoils() int {
	n := c.signs.doubles + c.signs.holes
	if !c.signs.hole.IsZero() && c.now().Sub(c.signs.hole) > late {
		n++
	}
	for typ, repeats := range c.signs.repeats {
		if c.t.r.takes[typ] {
			n += repeats
		}
	}
	return n
}
