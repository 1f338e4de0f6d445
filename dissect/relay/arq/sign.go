package arq

import (
	"hash/fnv"
	"slices"
	"time"

	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// The game acknowledges every numbered message, even if it drops the message:
// at once, and up to eight more times in later datagrams, two thirds of a second
// apart. If the message comes again, all that begins anew. A challenge is a pair
// of messages whose numbers the other side drops, and which only a receiver of
// the challenge knows. A datagram that acknowledges both has a sign, which
// proves that the other side sent it. The endpoint sends its challenges in turn
// again and again, so that the other side repeats each a few times only.
const (
	challenges    = 128             // number of challenges that are sent in turn
	challengeLife = 7 * time.Second // how long a challenge is valid. The game acknowledges for six seconds, and may have no datagram to put the acknowledgement in for longer.
	aheadFrom     = 0x8000          // first number that is too far ahead, while few numbers were used
	behindBy      = 0x3000          // how far behind the numbers of challenges begin, once that many were used
	behindAtLeast = 0x0A00          // how far they end behind the oldest message that is not acknowledged. The other side repeats acknowledgements of those in between, in a busy game of 16 of 2,000 messages.
)

// A challenge has the time at which it was last sent, 0 for none.
type challenge struct {
	numbers [2]uint16
	at      time.Duration
}

// signs has the challenges of an endpoint.
type signs struct {
	asked [challenges]challenge
	next  int
	due   bool // the last one has not been sent
	body  []byte
	live  map[uint16]*challenge
}

// A Sign tells what the acknowledgements in a datagram prove.
type Sign uint8

// The signs.
const (
	NoSign    Sign = iota // the datagram acknowledges no challenge
	FalseSign             // it acknowledges numbers that were never sent, so its sender guesses
	TrueSign              // it acknowledges a challenge
)

// claims are the messages that were delivered although they came without a sign
// from a side whose datagrams nearly always have one. A guess of somebody else
// may have used the number of a message that the other side has yet to send.
type claims struct {
	unsigned bool // the messages that follow have no sign
	unsure   bool // the other side gives no signs at all
	list     []claim
	next     int // index of the claim to be replaced
}

// A claim is a message that was delivered without a sign.
type claim struct {
	key uint32
	sum uint64
	at  time.Duration // 0 for none
}

// Limits of claims.
const (
	claimsMost = 128              // messages in a row without a sign. More are not accepted before one with a sign.
	claimLife  = 10 * time.Minute // how long a claim is remembered. By then, a client that sends all it may has used all other numbers.
)

// Unsigned tells whether the messages that follow lack a sign that the other
// side nearly always gives. Such messages are delivered in order, but not kept
// if they come early or in fragments. If a message with a sign has the number
// of one of them, but other bytes, it is delivered all the same. An
// acknowledgement puts off the repetitions of its message, once: they follow after
// one second, two, four and five, until an acknowledgement comes with a sign.
func (e *Endpoint) Unsigned(on bool) { e.claims.unsigned = on }

// Unsure tells that the other side gives no signs, so that messages may be
// somebody else's guesses. Of two messages with one number and different bytes,
// both are delivered.
func (e *Endpoint) Unsure(on bool) { e.claims.unsure = on }

// claim remembers a message without a sign that is about to be delivered. It
// reports false if there are too many.
func (e *Endpoint) claim(now time.Duration, in *inbox, m *transport.Message) bool {
	switch {
	case e.claims.unsure:
	case in.claimed == claimsMost:
		return false
	default:
		in.claimed++
	}
	c := claim{keyOf(classOf(m.Type), m.Seq, false, 0), sumOf(m), now}
	if s := &e.claims; len(s.list) < claimsMost {
		s.list = append(s.list, c)
	} else {
		s.list[s.next] = c
		s.next = (s.next + 1) % claimsMost
	}
	return true
}

// doubt puts off the repetitions of a message that was acknowledged without
// a sign. It takes no room in the window meanwhile.
func (e *Endpoint) doubt(now time.Duration, o *outgoing) {
	if o.doubtful {
		return
	}
	e.window.flight -= o.cost()
	e.window.doubtful += o.cost()
	o.doubtful, o.due = true, max(o.due, now+FirstInterval)
	e.due.fix(o)
}

// sumOf returns a number for the bytes of a message.
func sumOf(m *transport.Message) uint64 {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte{byte(m.Type)}) // never fails
	_, _ = hash.Write(m.Body)
	return hash.Sum64()
}

// contradicts reports whether a message has the number, but not the bytes, of one
// that was delivered without a sign. If it has a sign itself, it is delivered,
// and the numbers that follow count as unused if only messages without a sign
// used them.
func (e *Endpoint) contradicts(now time.Duration, in *inbox, m *transport.Message, deliver func(*Message)) bool {
	s := &e.claims
	key := keyOf(classOf(m.Type), m.Seq, false, 0)
	i := slices.IndexFunc(s.list, func(c claim) bool { return c.at != 0 && c.key == key && now-c.at < claimLife })
	if i < 0 || !m.Fragment && s.list[i].sum == sumOf(m) {
		return false
	}
	if s.unsigned {
		return true // it is not acknowledged, so it comes again
	}
	e.stats.Contradicted++
	s.list[i].at = 0
	if n := in.expected - m.Seq; int(n) <= in.claimed {
		for i := range s.list {
			if c := &s.list[i]; c.key>>31 == key>>31 && uint16(c.key)-m.Seq < n {
				c.at = 0
			}
		}
		in.expected, in.claimed = m.Seq, 0
		e.reliable(now, m, deliver)
	} else if !m.Fragment {
		e.ack(now, &m.Header)
		e.deliver(&m.Header, m.Body, deliver)
	} else {
		return false
	}
	return true
}

// Challenge puts a challenge into the next datagram. The argument random is 32
// unpredictable bits, and forged tells why the host asks: see [msg.Challenge].
// Challenge does nothing for a side with 8-bit numbers, which would confuse the
// numbers with others.
func (e *Endpoint) Challenge(now time.Time, random uint32, forged bool) {
	from, size := e.challengeRange()
	if e.eight || e.linger || size < 4*challenges { // so that a free number is found
		return
	}
	if e.signs == nil {
		e.signs = &signs{live: map[uint16]*challenge{}}
	}
	s := e.signs
	if !s.due { // a challenge that has not been sent waits
		s.next = (s.next + 1) % challenges
	}
	c := &s.asked[s.next]
	for i, n := range c.numbers {
		if c.at != 0 && n-from < size {
			continue
		}
		if c.at != 0 { // the other side would not drop it any more
			delete(s.live, n)
		}
		for n = uint16(random>>(16*i)) % size; s.live[from+n] != nil; n = (n + 1) % size {
		}
		c.numbers[i] = from + n
		s.live[from+n] = c
	}
	c.at, s.due, s.body = e.at(now), true, msg.Challenge(forged)
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
	before := func(o *outgoing) bool {
		if classOf(o.typ) == control || !o.reliable {
			return false
		}
		size = min(size, behindBy-behindAtLeast-min(next-o.seq, behindBy-behindAtLeast))
		return true
	}
	if e.ordered.first != nil {
		before(e.ordered.first)
	}
	for _, q := range [...]*fifo{&e.urgent, &e.plain, &e.alone} {
		for o := q.first; o != nil && !before(o); o = o.next { // later ones have higher numbers
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
		if !b.add(&h, e.signs.body) {
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
	from, size := e.challengeRange()
	at, sign := e.at(now), NoSign
	var first *challenge
	var half uint16
	split, err := transport.Split(plain)
	for err == nil {
		var m transport.Message
		var ok bool
		if m, ok, err = split.Next(); err != nil || !ok {
			break
		}
		if m.Type != transport.Acknowledge || m.Control() || m.Fragment {
			continue
		}
		switch c := e.signs.live[m.Seq]; {
		case c == nil && m.Seq-from < size:
			return FalseSign
		case c == nil || e.unacked[keyOf(data, m.Seq, false, 0)] != nil:
		case at-c.at > challengeLife: // too old to prove anything
		case first != c:
			first, half = c, m.Seq
		case half != m.Seq:
			sign = TrueSign
		}
	}
	return sign
}

// challenging reports whether only a challenge can have the number.
func (e *Endpoint) challenging(seq uint16) bool {
	if e.signs == nil {
		return false
	}
	if e.signs.live[seq] != nil {
		return e.unacked[keyOf(data, seq, false, 0)] == nil
	}
	return !e.wrapped && e.next[data] < aheadFrom && seq >= aheadFrom
}
