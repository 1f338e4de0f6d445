package conform

import (
	"cmp"
	"math"
	"math/bits"
	"time"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/conform/result"
	"github.com/bcdissect/bcdissect/dissect/measure"
	"github.com/bcdissect/bcdissect/dissect/packet"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// A Client is a client of the captured host, from its connect to its end. If it
// connects again, that is another Client.
type Client struct {
	result.Player

	openBC   bool   // it connected as OpenBC's clients do: with an 8-bit length
	body     []byte // body of its connect
	gone     bool
	cut      bool  // the capture truncated a datagram to it
	admitted bool  // the host has admitted the client
	given    uint8 // id in the host's accept
	spoke    bool  // the client has used that id
	playing  bool  // it counts as in the game: it is ready, or was adopted
	settled  int   // frame of its Settings, 0 before that
	answered int   // number of answered rounds of checksums, in order

	sent, got [2]track // its numbered messages, and the host's to it, by class
	shown     int      // frame of its latest message that the host acknowledged
	dismissed moment   // when the host told others that it has left
	leave     *Event   // its leave, as long as the host has not acted on it
	quit      int      // frame of the leave
	ended     moment   // when the client was gone
	quiet     bool     // it counts as gone only because the host was silent

	seen         moment         // when it sent its latest datagram
	lastFromHost moment         // when the host last sent it a datagram
	taken        moment         // when the host last acknowledged one of its messages
	spoken       moment         // when it last sent a numbered message
	after        int            // number of its numbered messages since taken
	still        int            // number of its messages since it was dismissed
	signs        int            // number of signs that what it sends reaches the host
	held         int            // after the host sent it something again, so that it may wait with other messages: number of signs that end this
	served       int            // frame of the latest datagram of the host to it, while it was not held
	heard        measure.Trials // its messages without numbers that the host passes on. They fail if nobody got a copy.

	to    *destination // the host's messages to it, nil before the first
	entry *source      // message with which it entered the game, or the last step before that
	exit  *source      // message with which it left
	said  []*source    // its messages that the host passes on, in the order of their numbers
}

// A moment is a time and the frame at that time.
type moment struct {
	time    time.Time
	frame   int
	skipped time.Duration // part of the time before it that does not count
}

// since returns the time since an earlier moment, including what does not
// count.
func (m moment) since(o moment) time.Duration {
	return packet.Sum(m.time.Sub(o.time), m.skipped-o.skipped)
}

// bit returns the client's bit in a set of slots, or 0 if its slot is unknown.
func (c *Client) bit() uint16 {
	return 1 << uint(c.Slot) //nolint:gosec // an unknown slot shifts all out
}

// proved reports whether the host knows that the client receives its messages:
// the client has used the id that it was given, or the host has acknowledged
// one of its messages after the connect.
func (c *Client) proved() bool { return c.given == 0 || c.spoke || c.shown > c.First }

// isReady reports whether the client has entered the game with a ClientReady.
func (c *Client) isReady() bool { return c.entry != nil && c.entry.Kind == Input }

// spokeSince reports whether the client has sent messages long after the host's
// last sign, at least two of which the host has not acknowledged.
func (c *Client) spokeSince(sign moment) bool {
	return c.after > 1 && c.spoken.time.Sub(sign.time) > silent
}

// letIn reports whether the capture shows that the client came into the game.
func (c *Client) letIn() bool { return c.settled > 0 || c.playing }

// Limits for the analysis of message numbers.
const (
	eightBits = 256                      // range of an OpenBC sender's numbers
	maxGap    = transport.MaxMissing - 1 // consecutive missing numbers that are counted. The tracker forgets more.
	maxAhead  = 64                       // numbers that may be missing before a client's first message, or be acknowledged above its latest
)

// A receipt is a numbered message, and what the capture shows of its
// acknowledgement.
type receipt struct {
	number    int64
	frame     int // frame of the first transmission
	last      int // frame of the latest transmission
	at        time.Time
	acked     int    // frame of the latest acknowledgement, 0 if there is none
	part      int    // index of that acknowledgement in its datagram
	again     int32  // number of retransmissions
	ignored   int32  // number of retransmissions after the sender had received an acknowledgement, unless only that was lost
	want, got uint64 // bits of the fragments that were sent and acknowledged
	partial   bool   // fragments are missing
	broken    bool   // its fragments came again, or out of order
	twice     bool   // it was retransmitted or acknowledged again, so the receiver may have received it twice
}

func (r *receipt) acknowledged() bool { return r.acked > 0 || r.want != 0 && r.got&r.want == r.want }

// once reports whether the message is known, and neither it nor its
// acknowledgement was sent again.
func (r *receipt) once() bool { return r != nil && !r.twice }

// after reports whether the host may have received the message after one that
// was sent later. The order of the acknowledgements decides, if it is known.
func (r *receipt) after(later *receipt) bool {
	return r.twice || later.twice || r.acked == 0 || later.acked == 0 || cmp.Or(r.acked-later.acked, r.part-later.part) > 0
}

// A track follows the numbered messages of one class from one sender, and their
// acknowledgements. It counts the missing numbers as the pipeline's tracker
// reports them.
type track struct {
	lost   int // number of numbers that have not come, or that came late, so that the capture lacks an earlier transmission
	begun  bool
	wide   bool  // the numbers have 16 bits
	first  int64 // first number that came, if it should have been 0
	next   int64
	proven int64               // number after the last one that the receiver acknowledged, if above next
	of     [eightBits]*receipt // latest messages, by the low byte of their numbers
	acks   [len(spans)]ackCounts
}

// take records a message. The argument shown is the receiver's latest frame that
// the sender has certainly received. It returns nil for a retransmission of a
// message that is not known any more.
func (t *track) take(r *dissect.Record, at moment, shown int) *receipt {
	h, index := &r.Transport, uint64(1)<<(r.Transport.Index%64)
	t.wide = t.wide || h.Seq >= eightBits
	known := &t.of[uint8(r.Number)] //nolint:gosec // the low byte
	old := *known
	switch {
	case r.Repeat && (old == nil || old.number != r.Number):
		return nil
	case r.Repeat:
		old.again, old.twice, old.broken = old.again+1, true, true
		t.repeated(old, at, shown)
		old.last = at.frame
		return old
	case h.Fragment && old != nil && old.number == r.Number && old.want != 0 && old.want&index == 0:
	default:
		old = &receipt{number: r.Number, frame: at.frame, last: at.frame, at: at.time, twice: t.count(r.Number, r.Gap, r.Late)}
		if *known == nil || (*known).number <= r.Number {
			*known = old
		}
	}
	if h.Fragment {
		old.broken = old.broken || bits.OnesCount64(old.want) != int(h.Index)
		old.want |= index
		old.partial = r.Status == dissect.StatusPending
	}
	return old
}

// count counts the numbers that are missing before a message. It reports whether
// the capture lacks an earlier transmission of the message.
func (t *track) count(number int64, gap int, late bool) bool {
	if t.next == 0 && gap == 0 && number <= maxAhead && t.begun {
		gap, t.first = int(number), number
	}
	t.begun = true
	if number < t.next {
		return late || 0 <= number && number < t.first
	}
	if last := t.of[uint8(t.next-1)]; last != nil && last.number == t.next-1 && last.partial { //nolint:gosec // the low byte
		t.lost++ // the capture lacks some of its fragments
	}
	t.lost += min(gap, maxGap)
	t.next = number + 1
	return number < t.proven // the receiver already had it
}

// acknowledged records an acknowledgement by the receiver, which may have 8
// bits, and returns its message. If that has not come, the capture lacks it.
func (t *track) acknowledged(ack *dissect.Record) *receipt {
	h := &ack.Transport
	mask := uint16(math.MaxUint16)
	if h.Seq < eightBits && !t.wide {
		mask = math.MaxUint8
	}
	number := t.next + maxAhead // the highest that it can be
	number -= int64((uint16(number) - h.Seq) & mask)
	if !t.begun {
		return nil
	}
	t.proven = max(t.proven, number+1)
	at := &t.of[uint8(number)] //nolint:gosec // the low byte
	switch r := *at; {
	case r == nil || r.number < number:
		*at = &receipt{number: number, acked: ack.Datagram.Number}
		return nil
	case r.number > number:
		return nil
	case h.Fragment:
		r.got |= 1 << (h.Index % 64)
	case r.acked > r.last:
		r.twice = true
	default:
		r.acked, r.part = ack.Datagram.Number, ack.Part
		_, of := t.counts(r)
		of.Of++
	}
	return *at
}

// missing returns how many numbers have not come, or came late, up to the highest
// one that came or that the receiver acknowledged.
func (t *track) missing() int { return t.lost + int(max(t.proven-t.next, 0)) }

// spans are the ends of the spans of numbers: up to 8 bits, up to 16 bits, and
// more.
var spans = [...]int64{eightBits, math.MaxUint16 + 1, math.MaxInt64}

// An ackCounts counts acknowledgements of messages with numbers in a span.
type ackCounts struct {
	first  measure.Trials // first acknowledgements, which fail if the message is retransmitted
	apart  int            // datagrams with acknowledgements that failed. One loss explains all that are in the same datagram.
	last   int            // frame of the latest of them
	more   measure.Trials // later acknowledgements
	most   int32          // most failures for one message
	all    int            // number of retransmitted messages
	frame  int            // frame of the first message that was retransmitted after its acknowledgement
	number int64          // lowest number of a message that was retransmitted after its acknowledgement
}

// counts returns the counts for a message, and those of its acknowledgements to
// which the latest belongs.
func (t *track) counts(r *receipt) (y *ackCounts, of *measure.Trials) {
	i := 0
	for r.number >= spans[i] {
		i++
	}
	if y = &t.acks[i]; r.ignored > 0 {
		return y, &y.more
	}
	return y, &y.first
}

// repeated handles a retransmission.
func (t *track) repeated(r *receipt, at moment, shown int) {
	if r.acked <= r.last {
		return
	}
	y, of := t.counts(r)
	if y.all == 0 {
		y.frame, y.number = at.frame, r.number
	}
	y.number = min(y.number, r.number)
	if r.again == 1 {
		y.all++
	}
	if shown <= r.acked { // the network may be slow or interrupted
		of.Of--
		return
	}
	if r.ignored == 0 && r.acked > y.last {
		y.apart, y.last = y.apart+1, r.acked
	}
	of.Failed++
	r.ignored++
	y.most = max(y.most, r.ignored)
}
