package arq

import (
	"time"

	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// The game acknowledges every numbered message up to nine times, even if it
// drops the message. It puts all due acknowledgements into its next datagram. A
// challenge is a pair of messages whose numbers the other side drops, and which
// only a receiver of the challenge knows. A datagram that acknowledges both has
// a sign, which proves that the other side sent it.
const (
	challenges    = 512             // how many challenges are remembered
	challengeLife = 7 * time.Second // how long a challenge is valid. The game acknowledges for six seconds, and may have no datagram to put the acknowledgement in for longer.
	aheadFrom     = 0x8000          // first number that is too far ahead, while few numbers were used
	behindBy      = 0x3000          // how far behind the numbers of challenges begin, once that many were used
	behindAtLeast = 0x0400          // how far they end behind the oldest message that is not acknowledged. The other side repeats acknowledgements of those in between.
)

var challengeBody = msg.Challenge()

// A challenge has the time at which it was sent, 0 for none.
type challenge struct {
	numbers [2]uint16
	at      time.Duration
}

// signs has the challenges of an endpoint.
type signs struct {
	asked [challenges]challenge
	next  int
	due   bool // the last one has not been sent
	live  map[uint16]int
}

// A Sign tells what the acknowledgements in a datagram prove.
type Sign uint8

// The signs.
const (
	NoSign    Sign = iota // the datagram acknowledges no challenge
	FalseSign             // it acknowledges numbers that were never sent, so its sender guesses
	TrueSign              // it acknowledges a challenge
)

// Challenge puts a challenge into the next datagram. The argument random is 32
// unpredictable bits. It does nothing for a side with 8-bit numbers, which
// would confuse the numbers with others.
func (e *Endpoint) Challenge(now time.Time, random uint32) {
	from, size := e.challengeRange()
	if e.eight || e.linger || size == 0 {
		return
	}
	if e.signs == nil {
		e.signs = &signs{live: map[uint16]int{}}
	}
	s := e.signs
	c := &s.asked[s.next]
	if !s.due { // a challenge that has not been sent is replaced
		s.next = (s.next + 1) % challenges
		c = &s.asked[s.next]
	}
	for _, n := range c.numbers {
		if c.at != 0 && s.live[n] == s.next {
			delete(s.live, n)
		}
	}
	c.numbers[0] = from + uint16(random&0xFFFF)%size
	c.numbers[1] = from + uint16(random>>16)%size
	if c.numbers[0] == c.numbers[1] {
		c.numbers[1] = from + (c.numbers[0]-from+1)%size
	}
	c.at, s.due = e.at(now), true
	s.live[c.numbers[0]], s.live[c.numbers[1]] = s.next, s.next
}

// challengeRange returns the numbers that challenges may have: too far ahead or
// too far behind.
func (e *Endpoint) challengeRange() (from, size uint16) {
	if e.fewUsed() {
		return aheadFrom, 0xFFFF - aheadFrom
	}
	// The other side may still wait for any number that it has not acknowledged. It
	// may also have received all, and would take a number too far behind for a new one.
	next, size := e.next[data], uint16(behindBy-behindAtLeast)
	for _, o := range e.due {
		if classOf(o.typ) == data && o.reliable {
			size = min(size, behindBy-behindAtLeast-min(next-o.seq, behindBy-behindAtLeast))
		}
	}
	return next - behindBy, size
}

// fewUsed reports whether so few numbers were used that no message has a number
// of aheadFrom or higher.
func (e *Endpoint) fewUsed() bool { return !e.wrapped && e.next[data] < behindBy }

// sendChallenge adds the due challenge to a datagram.
func (e *Endpoint) sendChallenge(b *builder) {
	if e.signs == nil || !e.signs.due {
		return
	}
	before, length := *b, len(b.b)
	for _, n := range e.signs.asked[e.signs.next].numbers {
		h := transport.Header{Type: transport.Standard, Reliable: true, HasSeq: true, Seq: n}
		if !b.add(&h, challengeBody) {
			*b = before
			b.b = b.b[:length]
			return
		}
	}
	e.signs.due = false
	e.stats.Challenged += len(e.signs.asked[0].numbers)
}

// Signed checks the acknowledgements in a deciphered datagram for a sign.
func (e *Endpoint) Signed(now time.Time, plain []byte) Sign {
	if e.signs == nil {
		return NoSign
	}
	at, first, sign := e.at(now), -1, NoSign
	split, err := transport.Split(plain)
	for err == nil {
		var m transport.Message
		var ok bool
		if m, ok, err = split.Next(); err != nil || !ok {
			break
		}
		if m.Type != transport.Acknowledge || m.Control() || m.Fragment || !e.challenging(m.Seq) {
			continue
		}
		i, known := e.signs.live[m.Seq]
		switch {
		case !known:
			return FalseSign
		case at-e.signs.asked[i].at > challengeLife: // too old to prove anything
		case first == i:
			sign = TrueSign
		default:
			first = i
		}
	}
	return sign
}

// challenging reports whether only a challenge can have the number.
func (e *Endpoint) challenging(seq uint16) bool {
	if e.signs == nil {
		return false
	}
	if _, ok := e.signs.live[seq]; ok {
		return e.unacked[keyOf(data, seq, false, 0)] == nil
	}
	return e.fewUsed() && seq >= aheadFrom
}
