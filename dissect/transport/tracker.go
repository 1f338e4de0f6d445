package transport

import (
	"hash/maphash"
	"time"

	"github.com/bcdissect/bcdissect/dissect/packet"
)

// Limits of a tracker, for each of its two number spaces.
const (
	// Laps is how many messages whose numbers have the same low byte are
	// remembered. A message is forgotten when one arrives whose number is higher
	// by Laps times 256.
	Laps = 8
	// MaxMissing is the range below the highest number in which missing numbers
	// are tracked.
	MaxMissing = 1024
	// MaxPieces is the number of fragments that are remembered.
	MaxPieces = 1024
)

// A sender with 8-bit numbers reuses each of them within seconds, and in a
// battle often with the same bytes. Its retransmissions are then recognised by
// their rhythm: once a second, the OpenBC server looks for messages that have
// waited for two, and sends each in a separate datagram.
const (
	waited      = 1900 * time.Millisecond // time since the last transmission
	waitedMost  = 3300 * time.Millisecond
	missed      = 3900 * time.Millisecond // the same if the capture lacks one retransmission
	missedMost  = 6600 * time.Millisecond
	round       = 995 * time.Millisecond // between two rounds
	roundOff    = 60 * time.Millisecond  // deviation of one round
	roundDrift  = 20 * time.Millisecond  // additional deviation per round
	roundsKnown = 8                      // number of predictable rounds
	soonest     = 900 * time.Millisecond // minimum time before a retransmission
	look        = 20 * time.Millisecond  // duration of a round

	// Detour is how much less time a datagram may spend on the network than the
	// datagrams that overtake it. The game sends a message again after a second,
	// and OpenBC's fastest clients after 0.6 seconds.
	Detour = 500 * time.Millisecond

	bytesTell = time.Minute // for how long equal bytes identify a message

	lap    = 1 << 8 // number of 8-bit numbers
	shelf  = 64     // fragments that share a table, since most senders have few
	near   = 32     // more numbers than single losses usually skip
	always = 128
	mostly = 64
)

// A Verdict is what the tracker found about a message's number.
type Verdict struct {
	// Number is the message's number, counted on where the wire's number wraps.
	// The first number of a space is as sent, and numbers of earlier messages may
	// be negative.
	Number int64
	// Repeat means that the message was seen before, with this number.
	Repeat bool
	// Late means that the number was missing until now.
	Late bool
	// Gap is how many numbers directly before this one are newly missing.
	Gap int
	// Forgot means that the tracker dropped a message less than a minute old, and
	// would not recognise its retransmission.
	Forgot bool
}

// A Tracker follows the numbers of the messages from one sender to one
// receiver. It recognises duplicates and missing numbers, and undoes the wrap
// of numbers. docs/protocol.md has the rules. Its zero value is ready for the
// first message. Time and memory per message are constant, and once its tables
// exist it does not allocate.
type Tracker struct {
	seed   maphash.Seed
	seeded bool
	spaces [2]space

	repeated int64 // time of the sender's last retransmission
	repeats  bool
	last     int64 // time of the last message
}

// A space is the sequence of numbers of one class of messages.
type space struct {
	begun bool
	bits  uint8 // size of the sender's numbers: 8, 16, or 0 while unknown
	fresh int   // from -always, if recent messages repeated the bytes of earlier laps, to always, if they had new bytes
	next  int64 // one more than the highest number

	missing [MaxMissing / 64]uint64
	laps    [Laps]*[lap]sighting // indexed by the number
	pieces  [MaxPieces / shelf]*[shelf]sighting
}

// A sighting is a message seen earlier.
type sighting struct {
	digest uint64 // hash of all its bytes
	number int64
	at     int64 // time of the last transmission
	some   bool
	resent bool // seen more than once
}

// An arrival is the current message.
type arrival struct {
	digest uint64
	at     int64
	seq    uint16
	index  uint8 // index of a fragment
	piece  bool
	single bool
}

// Reset forgets all messages, as for a new connection. It keeps the memory.
func (t *Tracker) Reset() {
	t.repeated, t.repeats = 0, false
	for i := range t.spaces {
		s := &t.spaces[i]
		for _, l := range s.laps {
			if l != nil {
				clear(l[:])
			}
		}
		for _, p := range s.pieces {
			if p != nil {
				clear(p[:])
			}
		}
		*s = space{laps: s.laps, pieces: s.pieces}
	}
}

// AtRest reports whether so long a silence means that nothing of a connection is
// sent again. Both sides give up a connection after 45 seconds of silence. Once one
// of them has ended it, the game repeats acknowledgements for 4 seconds and messages
// every 5 seconds at most.
func AtRest(silence time.Duration, ended bool) bool {
	if ended {
		return silence >= 10*time.Second
	}
	return silence >= time.Minute
}

// Rest frees the memory of a tracker whose connection is at rest ([AtRest]). If the
// sender goes on, only retransmissions of messages from before the silence are not
// recognised.
func (t *Tracker) Rest(now time.Time, ended bool) {
	if !AtRest(time.Duration(packet.Minus(packet.Nanos(now), t.last)), ended) {
		return
	}
	for i := range t.spaces {
		t.spaces[i].laps, t.spaces[i].pieces = [Laps]*[lap]sighting{}, [MaxPieces / shelf]*[shelf]sighting{}
	}
}

// Take handles a numbered message other than an acknowledgement. It needs the
// message's header, bytes and time, and whether the message is the only one in
// its datagram. Times must not go back.
func (t *Tracker) Take(h *Header, message []byte, at time.Time, single bool) Verdict {
	if !t.seeded {
		t.seed, t.seeded = maphash.MakeSeed(), true
	}
	a := arrival{digest: maphash.Bytes(t.seed, message), at: packet.Nanos(at), seq: h.Seq, index: h.Index, piece: h.Fragment, single: single}
	t.last = a.at
	s := &t.spaces[1]
	if h.Control() {
		s = &t.spaces[0]
	}
	return s.take(t, &a)
}

func (s *space) take(t *Tracker, a *arrival) Verdict {
	if a.seq >= lap {
		s.bits = 16
	}
	if !s.begun { // the capture begins here
		s.begun, s.next = true, int64(a.seq)
	}
	var n int64
	var old *sighting
	if s.bits == 16 {
		n = s.next + int64(int16(a.seq-uint16(s.next)))
		if n < s.next {
			old = s.find(a, n)
		}
	} else {
		n, old = s.narrow(t, a)
	}
	if old != nil {
		if packet.Minus(a.at, old.at) >= int64(soonest) { // earlier, the network may have duplicated the datagram
			t.repeated, t.repeats = a.at, true
		}
		old.at, old.resent = max(old.at, a.at), true
		return Verdict{Number: old.number, Repeat: true}
	}
	v := Verdict{Number: n}
	if n < s.next {
		v.Late = s.fill(n)
	} else {
		v.Gap = int(n - s.next)
		s.advance(n)
	}
	v.Forgot = s.keep(a, n)
	return v
}

// narrow returns the number of a message from a sender that may have 8-bit
// numbers, or the earlier message if it is a duplicate.
func (s *space) narrow(t *Tracker, a *arrival) (n int64, old *sighting) {
	if s.bits == 0 && int64(a.seq) >= s.next { // the number has not wrapped yet
		return int64(a.seq), nil
	}
	ahead := int64(uint8(a.seq) - uint8(s.next))
	old, conflict, alike := s.again(t, a, ahead)
	if ahead >= near && (old == nil || !s.rhythm(t, a, old)) {
		// A missing number is more likely than an old or a future one.
		for n := s.next + ahead - lap; n > s.next-MaxMissing; n -= lap {
			if s.lacks(n) {
				return n, nil
			}
		}
	}
	switch {
	case old != nil:
		return old.number, old
	case ahead >= lap/2 && (!alike || s.bits != 8), s.bits == 0 && ahead >= near && !conflict:
		return s.next + ahead - lap, nil
	}
	s.bits = 8
	return s.next + ahead, nil
}

// again returns the earlier message if this one repeats it, or nil for a new
// message. The result conflict means that the low byte was seen with other
// bytes.
func (s *space) again(t *Tracker, a *arrival, ahead int64) (old *sighting, conflict, alike bool) {
	if a.piece {
		if p := s.piece(a, false); p != nil && p.some && p.digest == a.digest && s.trust(t, a, p, ahead) {
			old = p
		}
		return old, false, false
	}
	for _, l := range s.laps {
		if l == nil {
			continue
		}
		switch e := &l[uint8(a.seq)]; {
		case !e.some:
		case e.digest != a.digest:
			conflict = true
		default:
			alike = true
			if s.trust(t, a, e, ahead) && (old == nil || e.at > old.at) {
				old = e
			}
		}
	}
	if ahead == 0 && old == nil && (alike || conflict) {
		if alike {
			s.fresh -= (s.fresh + always) / 8
		} else {
			s.fresh += (always - s.fresh) / 8
		}
	}
	return old, conflict, alike
}

// trust reports whether a message with the low byte and the bytes of an earlier
// one is a retransmission. Otherwise it is a message of the next lap.
func (s *space) trust(t *Tracker, a *arrival, e *sighting, ahead int64) bool {
	age := time.Duration(packet.Minus(a.at, e.at))
	switch {
	case s.bits == 8 && age > bytesTell:
		return false
	case ahead >= near && (s.bits != 8 || s.fresh >= 0 || age < soonest):
		return true
	case ahead >= near:
		return a.single && (e.resent || inTime(age) || afterMissed(age))
	case !a.single:
		return false
	case s.fresh >= mostly:
		return inTime(age) || ahead > 0 && afterMissed(age)
	case !t.due(a.at, ahead == 0):
		return false
	case ahead == 0: // the number is also the expected one
		return e.resent && inTime(age)
	}
	return inTime(age) || e.resent && afterMissed(age)
}

// rhythm reports whether a message arrives like a retransmission of an earlier
// one, or so soon that the network has duplicated it.
func (s *space) rhythm(t *Tracker, a *arrival, e *sighting) bool {
	age := time.Duration(packet.Minus(a.at, e.at))
	return age < soonest || a.single && (inTime(age) || afterMissed(age)) && (s.fresh >= 0 || t.due(a.at, false))
}

// inTime and afterMissed report whether a retransmission may come at that age
// of a message.
func inTime(age time.Duration) bool      { return waited <= age && age <= waitedMost }
func afterMissed(age time.Duration) bool { return missed <= age && age <= missedMost }

// due reports whether a retransmission may come now: right after another one, a
// whole number of rounds later, or at any time if none is recent.
func (t *Tracker) due(at int64, exactly bool) bool {
	since := packet.Minus(at, t.repeated)
	if !t.repeats || since <= int64(look) || since > roundsKnown*int64(round) {
		return true
	}
	rounds := (since + int64(round)/2) / int64(round)
	off := since - rounds*int64(round)
	limit := int64(roundOff) + rounds*int64(roundDrift)
	if exactly {
		limit /= 2
	}
	return rounds > 0 && -limit <= off && off <= limit
}

// find returns the message with the number n, if it had the same bytes.
func (s *space) find(a *arrival, n int64) *sighting {
	var e *sighting
	if a.piece {
		e = s.piece(a, false)
	} else if l := *s.lapOf(n); l != nil {
		e = &l[uint8(n)]
	}
	if e != nil && e.some && e.number == n && e.digest == a.digest {
		return e
	}
	return nil
}

// lapOf returns the lap of a number.
func (s *space) lapOf(n int64) **[lap]sighting { return &s.laps[n>>8&(Laps-1)] }

// piece returns the sighting for a fragment. If there is no table for it, piece
// makes one or returns nil. The fragments of a message have separate sightings, and so have the
// first fragments of consecutive messages.
func (s *space) piece(a *arrival, makes bool) *sighting {
	i := (int(a.seq)*37 + int(a.index)) % MaxPieces
	p := &s.pieces[i/shelf]
	if *p == nil {
		if !makes {
			return nil
		}
		*p = new([shelf]sighting)
	}
	return &(*p)[i%shelf]
}

// keep stores a message. It reports whether it dropped one that may still be
// retransmitted.
func (s *space) keep(a *arrival, n int64) (forgot bool) {
	var e *sighting
	if a.piece {
		e = s.piece(a, true)
	} else {
		l := s.lapOf(n)
		if *l == nil {
			*l = new([lap]sighting)
		}
		e = &(*l)[uint8(n)]
	}
	forgot = e.some && time.Duration(packet.Minus(a.at, e.at)) < bytesTell
	*e = sighting{digest: a.digest, number: n, at: a.at, some: true}
	return forgot
}

// advance moves next past the number n. The numbers in between become missing.
func (s *space) advance(n int64) {
	if n-s.next >= MaxMissing {
		s.missing = [MaxMissing / 64]uint64{}
		s.next = n - MaxMissing + 1
	}
	for ; s.next < n; s.next++ {
		word, mask := s.bit(s.next)
		*word |= mask
	}
	word, mask := s.bit(n)
	*word &^= mask
	s.next = n + 1
}

// lacks reports whether a number before next is missing.
func (s *space) lacks(n int64) bool {
	word, mask := s.bit(n)
	return s.next-n <= MaxMissing && *word&mask != 0
}

// fill marks a number before next as present. It reports whether it was
// missing.
func (s *space) fill(n int64) bool {
	lacked := s.lacks(n)
	if lacked {
		word, mask := s.bit(n)
		*word &^= mask
	}
	return lacked
}

func (s *space) bit(n int64) (word *uint64, mask uint64) {
	i := uint64(n) % MaxMissing // works for negative numbers, since MaxMissing is a power of two
	return &s.missing[i/64], 1 << (i % 64)
}
