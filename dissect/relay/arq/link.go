// Package arq is one end of a connection between a host and a client: it
// numbers messages, repeats them until they are acknowledged, cuts long ones
// into fragments, and puts what arrives back into order. It does so as the
// stock game does, with its timers and its habit of acknowledging everything
// several times.
//
// A link has no socket, no clock and no cipher: transport messages and the time
// go in, deciphered datagrams come out. It is not safe for concurrent use.
//
// A body that is queued belongs to the link from then on and must not change;
// the same body may be queued on any number of links. A message that is
// delivered is valid until the function that it is given to returns.
package arq

import (
	"errors"
	"time"

	"github.com/bcdissect/bcdissect/dissect/transport"
)

// Timers of the stock game.
const (
	FirstInterval  = time.Second              // until the first repetition
	IntervalStep   = time.Second              // by which the interval grows
	LongestWait    = 5 * time.Second          // an interval beyond falls back to the first
	Lifetime       = 360 * time.Second        // after which a message is given up
	KeepaliveAfter = 5 * time.Second          // without sending
	SilenceLimit   = 45 * time.Second         // without hearing anything
	Linger         = 15 * time.Second         // that a peer is remembered after it left
	AckInterval    = 2 * time.Second / 3      // between repetitions of an acknowledgement
	acksAlone      = 3                        // times that an acknowledgement is worth a datagram
	acksAtMost     = 9                        // times that it is sent at all
	connectAckWait = 50 * time.Millisecond    // by which that of a connect follows the accept
	pieceBytes     = transport.MaxMessage - 6 // of a message in a fragment
	firstBytes     = transport.MaxMessage - 7 // in fragment 0
	mostPieces     = 255
)

// MaxBody is how long a game message can be.
const MaxBody = firstBytes + (mostPieces-1)*pieceBytes

// Why a message is not taken.
var (
	ErrLong = errors.New("longer than 255 fragments can carry")
	ErrFull = errors.New("too many messages wait to be sent or acknowledged")
)

// Limits bound what a link keeps. Zero stands for the default.
type Limits struct {
	Waiting      int // messages that are not sent or not acknowledged: 8,192
	WaitingBytes int // in their bodies: 1 MiB
	Held         int // messages and fragments that came too early: 1,024
	HeldBytes    int // in them: 256 KiB
	Acks         int // acknowledgements to repeat: 512
}

func (l Limits) orDefault() Limits {
	set := func(p *int, n int) {
		if *p == 0 {
			*p = n
		}
	}
	set(&l.Waiting, 8192)
	set(&l.WaitingBytes, 1<<20)
	set(&l.Held, 1024)
	set(&l.HeldBytes, 256<<10)
	set(&l.Acks, 512)
	return l
}

// A Message is what is sent or delivered.
type Message struct {
	Type     transport.Type
	Reliable bool // of a Standard message; the other types always are
	Priority bool
	Alone    bool // to be sent: at most one such message a datagram
	Body     []byte
	// Header is that of a delivered message, or of the fragment that
	// completed it.
	Header transport.Header
}

// Stats count what a link has done.
type Stats struct {
	Sent          int // messages, for the first time
	Retransmitted int
	Expired       int // given up after Lifetime
	Delivered     int
	Duplicates    int // reliable messages that had come before
	Early         int // held until those before them came
	Refused       int // outside the window, beyond a limit, or impossible
	Acknowledged  int

	// How things stand:
	RTT          time.Duration // smoothed round trip, 0 as long as none was measured
	Waiting      int           // messages that are not sent or not acknowledged
	WaitingBytes int           // in their bodies
	Held         int           // messages and fragments that came too early
}

// The two sequence spaces.
const (
	data = iota
	control
	classes
)

func classOf(t transport.Type) int {
	if t < transport.Standard {
		return control
	}
	return data
}

// A Link is one end of a connection.
type Link struct {
	peer   uint8
	limits Limits
	room   int
	eight  bool // the other side's numbers have 8 bits
	wide   bool // they have been seen to have more
	linger bool

	next    [classes]uint16
	waiting []outgoing
	unacked []outgoing
	bytes   int // in bodies of both
	acks    []ack
	in      [classes]inbox
	held    int // messages and fragments
	heldB   int // bytes in them

	sent  time.Time // the last datagram
	stats Stats
}

// An outgoing message is one that is not acknowledged yet, or not sent.
type outgoing struct {
	header   transport.Header
	body     []byte
	alone    bool
	first    time.Time
	due      time.Time
	interval time.Duration
}

// An ack is an acknowledgement that is repeated.
type ack struct {
	header transport.Header
	times  int
	due    time.Time
}

// New returns an end of a connection whose datagrams begin with the peer id.
func New(peer uint8, limits Limits) *Link {
	l := &Link{peer: peer, limits: limits.orDefault()}
	for i := range l.in {
		l.in[i].early = map[uint16]*early{}
	}
	return l
}

// SetPeer changes the peer id that datagrams begin with.
func (l *Link) SetPeer(id uint8) { l.peer = id }

// Eight says whether the other side counts to 255 and begins again, as OpenBC
// does. A link finds out for itself as soon as it meets a form that only OpenBC
// writes.
func (l *Link) Eight(on bool) { l.eight = on && !l.wide }

// SetRoom bounds the size of the next datagrams; 0 stands for the game's 512
// bytes. As long as there is a bound, acknowledgements are not repeated.
func (l *Link) SetRoom(bytes int) { l.room = bytes }

// Close puts the link into the state of one whose peer has left: it repeats its
// acknowledgements and sends what waits, but no keepalives.
func (l *Link) Close() { l.linger = true }

// Stats returns the counts so far.
func (l *Link) Stats() Stats {
	s := l.stats
	s.Waiting, s.WaitingBytes, s.Held = len(l.waiting)+len(l.unacked), l.bytes, l.held
	return s
}

// Idle reports whether nothing waits to be sent or acknowledged.
func (l *Link) Idle() bool { return len(l.waiting) == 0 && len(l.unacked) == 0 }

// Queue takes a message to be sent. Reliable messages are delivered in the
// order in which they are queued. The error is ErrLong or ErrFull, and then
// nothing is queued.
func (l *Link) Queue(now time.Time, m Message) error {
	if len(l.waiting)+len(l.unacked) >= l.limits.Waiting || l.bytes+len(m.Body) > l.limits.WaitingBytes {
		return ErrFull
	}
	h := transport.Header{Type: m.Type, Reliable: m.Reliable || m.Type != transport.Standard, Priority: m.Priority}
	if m.Type != transport.Standard {
		h.Priority = true
		l.number(&h)
		l.add(now, outgoing{header: h, body: m.Body})
		return nil
	}
	whole := transport.MaxMessage - 3
	if h.Reliable {
		whole -= 2
	}
	if len(m.Body) <= whole {
		if h.Reliable {
			l.number(&h)
		}
		l.add(now, outgoing{header: h, body: m.Body, alone: m.Alone})
		return nil
	}
	if len(m.Body) > MaxBody {
		return ErrLong
	}
	h.Reliable, h.Fragment = true, true
	h.Count = uint8((len(m.Body) - firstBytes + pieceBytes - 1) / pieceBytes)
	h.Count++
	l.number(&h)
	size := firstBytes
	for rest := m.Body; len(rest) > 0; h.Index++ {
		n := min(size, len(rest))
		l.add(now, outgoing{header: h, body: rest[:n:n], alone: m.Alone})
		rest, size = rest[n:], pieceBytes
	}
	return nil
}

func (l *Link) number(h *transport.Header) {
	class := classOf(h.Type)
	h.HasSeq, h.Seq = true, l.next[class]
	l.next[class]++
}

func (l *Link) add(now time.Time, o outgoing) {
	o.first, o.due = now, now
	l.bytes += len(o.body)
	l.waiting = append(l.waiting, o)
	if !o.header.Priority {
		return
	}
	// High priority goes before all that has less.
	i := len(l.waiting) - 1
	for ; i > 0 && !l.waiting[i-1].header.Priority; i-- {
		l.waiting[i] = l.waiting[i-1]
	}
	l.waiting[i] = o
}

// Repeat makes unacknowledged messages of a type due at once.
func (l *Link) Repeat(now time.Time, t transport.Type) {
	for i := range l.unacked {
		if l.unacked[i].header.Type == t {
			l.unacked[i].due = now
		}
	}
}

// Settle drops unacknowledged messages of a type, which the other side has
// proved by other means to have.
func (l *Link) Settle(t transport.Type) {
	l.drop(func(o *outgoing) bool { return o.header.Type == t })
}

// drop removes those unacknowledged messages that gone holds for.
func (l *Link) drop(gone func(*outgoing) bool) (n int) {
	kept := l.unacked[:0]
	for i := range l.unacked {
		if o := &l.unacked[i]; gone(o) {
			l.bytes -= len(o.body)
			n++
		} else {
			kept = append(kept, *o)
		}
	}
	clear(l.unacked[len(kept):])
	l.unacked = kept
	return n
}

// Datagram appends the next datagram that is due, in its deciphered form, to
// dst; ok is false if none is. It is called until then.
func (l *Link) Datagram(now time.Time, dst []byte) (plain []byte, ok bool) {
	room := transport.MaxDatagram
	if l.room > 0 {
		room = min(room, l.room)
	}
	b := builder{b: append(dst, l.peer, 0), start: len(dst), room: room}
	l.expire(now)
	l.sendAcks(now, &b, 0, l.worth())
	l.retransmit(now, &b)
	l.sendFirst(now, &b)
	if b.count == 0 && !l.linger && !l.sent.IsZero() && now.Sub(l.sent) >= KeepaliveAfter {
		b.add(&transport.Header{Type: transport.DoNothing}, nil)
	}
	if b.count > 0 && l.room == 0 || l.linger {
		l.sendAcks(now, &b, l.worth(), acksAtMost)
	}
	if b.count == 0 {
		return dst, false
	}
	b.b[b.start+1] = byte(b.count)
	l.sent = now
	return b.b, true
}

// A builder puts messages into a datagram.
type builder struct {
	b     []byte
	start int
	room  int
	count int
}

func (b *builder) add(h *transport.Header, body []byte) bool {
	if b.count == transport.MaxCount {
		return false
	}
	longer, err := transport.Append(b.b, h, body)
	if err != nil || len(longer)-b.start > b.room {
		return false
	}
	b.b, b.count = longer, b.count+1
	return true
}

// expire gives up messages that nobody has acknowledged for too long.
func (l *Link) expire(now time.Time) {
	if len(l.unacked) > 0 && now.Sub(l.unacked[0].first) >= Lifetime {
		l.stats.Expired += l.drop(func(o *outgoing) bool { return now.Sub(o.first) >= Lifetime })
	}
}

// worth returns how often an acknowledgement is worth a datagram. Where room
// is short, there are better uses for it than repetitions.
func (l *Link) worth() int {
	if l.room > 0 {
		return 1
	}
	return acksAlone
}

// sendAcks sends the acknowledgements that are due and have been sent at least
// so many times, and fewer than so many.
func (l *Link) sendAcks(now time.Time, b *builder, least, most int) {
	kept := 0
	for i := range l.acks {
		a := &l.acks[i]
		if a.times >= least && a.times < most && !a.due.After(now) && b.add(&a.header, nil) {
			a.times++
			a.due = now.Add(AckInterval)
		}
		if a.times < acksAtMost {
			if kept < i {
				l.acks[kept] = *a
			}
			kept++
		}
	}
	l.acks = l.acks[:kept]
}

// retransmit repeats at most one message.
func (l *Link) retransmit(now time.Time, b *builder) {
	for i := range l.unacked {
		o := &l.unacked[i]
		if o.due.After(now) {
			continue
		}
		if b.add(&o.header, o.body) {
			l.stats.Retransmitted++
			o.repeat(now)
		}
		return
	}
}

// sent returns when the message was sent last.
func (o *outgoing) sent() time.Time { return o.due.Add(-o.interval) }

// repeat sets the time of the next repetition.
func (o *outgoing) repeat(now time.Time) {
	if t := o.header.Type; t != transport.Connect && t != transport.Disconnect {
		if o.interval += IntervalStep; o.interval > LongestWait {
			o.interval = FirstInterval
		}
	}
	o.due = now.Add(o.interval)
}

// sendFirst sends what has not been sent before, up to the first message that
// does not fit.
func (l *Link) sendFirst(now time.Time, b *builder) {
	if len(l.waiting) == 0 {
		return
	}
	kept := l.waiting[:0]
	alone := false
	for i := range l.waiting {
		o := l.waiting[i]
		if o.alone && alone {
			kept = append(kept, o)
			continue
		}
		if !b.add(&o.header, o.body) {
			kept = append(kept, l.waiting[i:]...)
			break
		}
		alone = alone || o.alone
		l.stats.Sent++
		if !o.header.Reliable {
			l.bytes -= len(o.body)
			continue
		}
		o.first, o.interval = now, FirstInterval
		o.due = now.Add(o.interval)
		l.unacked = append(l.unacked, o)
	}
	clear(l.waiting[len(kept):])
	l.waiting = kept
}

// Next returns when Datagram may have something to send; the zero time stands
// for never.
func (l *Link) Next() time.Time {
	var next time.Time
	sooner := func(t time.Time) {
		if next.IsZero() || t.Before(next) {
			next = t
		}
	}
	if len(l.waiting) > 0 {
		sooner(l.waiting[0].due)
	}
	for i := range l.unacked {
		sooner(l.unacked[i].due)
	}
	for i := range l.acks {
		if l.linger || l.acks[i].times < l.worth() {
			sooner(l.acks[i].due)
		}
	}
	if !l.linger && !l.sent.IsZero() {
		sooner(l.sent.Add(KeepaliveAfter))
	}
	return next
}
