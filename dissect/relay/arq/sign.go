package arq

import (
	"time"

	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// The game acknowledges every numbered message that comes, whether it wants it
// or not, up to nine times, and puts all acknowledgements that are due into its
// next datagram. A challenge is a pair of messages with numbers that the other
// side drops, and that only a receiver of the challenge knows. A datagram that
// acknowledges both has a sign of the other side.
const (
	challenges    = 512             // that are remembered
	challengeLife = 7 * time.Second // the game acknowledges for six, and a datagram to ride in may take longer
	aheadFrom     = 0x8000          // the first number that is too far ahead, as long as few were used
	behindBy      = 0x3000          // how far back the numbers of challenges go, as soon as as many were used
	behindAtLeast = 0x0400          // and how close they come
)

var challengeBody = msg.Challenge()

// A challenge was sent at a time; 0 for none.
type challenge struct {
	numbers [2]uint16
	at      time.Duration
}

// signs are the challenges of an endpoint.
type signs struct {
	asked [challenges]challenge
	next  int
	due   bool // the last one has not left
	live  map[uint16]int
}

// A Sign says what the acknowledgements of a datagram prove.
type Sign uint8

// The signs.
const (
	NoSign    Sign = iota // the datagram acknowledges no challenge
	FalseSign             // it acknowledges numbers that were never sent: its sender guesses
	TrueSign              // it acknowledges a challenge
)

// Challenge has the next datagram ask the other side for a sign; random are 32
// bits that nobody can foresee. It asks nothing of a side with 8-bit numbers, which
// would take the numbers for others, and while very old messages are under way.
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
	if !s.due { // a challenge that has not left is replaced
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

// challengeRange returns the numbers that challenges may have: too far ahead, or
// long past.
func (e *Endpoint) challengeRange() (from, size uint16) {
	next := e.next[data]
	if e.fewUsed() {
		return aheadFrom, 0xFFFF - aheadFrom
	}
	from, size = next-behindBy, behindBy-behindAtLeast
	for _, o := range e.due {
		if classOf(o.typ) == data && next-o.seq >= behindAtLeast {
			return 0, 0 // the other side may still want a number of that age
		}
	}
	return from, size
}

// fewUsed reports whether only the first numbers were used, so that no message
// bears one of aheadFrom or higher.
func (e *Endpoint) fewUsed() bool { return !e.wrapped && e.next[data] < behindBy }

// sendChallenge adds the challenge that is due to a datagram.
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

// Signed looks for a sign in the acknowledgements of a deciphered datagram. They
// are those of challenges if each returns true for them.
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
		case at-e.signs.asked[i].at > challengeLife: // an old one, which proves nothing
		case first == i:
			sign = TrueSign
		default:
			first = i
		}
	}
	return sign
}

// challenging reports whether a number can only be that of a challenge.
func (e *Endpoint) challenging(seq uint16) bool {
	if e.signs == nil {
		return false
	}
	if _, ok := e.signs.live[seq]; ok {
		return e.unacked[keyOf(data, seq, false, 0)] == nil
	}
	return e.fewUsed() && seq >= aheadFrom
}
