// Not part of the library: package arq implements one end of a connection
// between a host and a client. It numbers messages, retransmits them until they
// are acknowledged, splits long ones into fragments, and puts received ones in
// order. It works as the stock game does, with the same timers, and it
// acknowledges everything several times. A host on a network lets it retransmit
// by the measured round trip.
//
// An endpoint has no socket, no clock and no cipher: transport messages and the
// time go in, deciphered datagrams come out. It is not safe for concurrent use.
// The time for one message does not depend on how many wait.
//
// A queued body belongs to the endpoint and must not change. The same body may
// be queued on any number of endpoints. A delivered message is valid until the
// deliver function returns.
package arq

import (
	"errors"
	"time"

	"github.com/bcdissect/bcdissect/dissect/transport"
)

// Timers of the stock game.
const (
	FirstInterval  = time.Second              // time until the first retransmission
	IntervalStep   = time.Second              // by how much the interval grows
	LongestWait    = 5 * time.Second          // longest interval. After it, the interval is FirstInterval again.
	Lifetime       = 360 * time.Second        // how long a message is retransmitted
	KeepaliveAfter = 5 * time.Second          // time without sending after which a keepalive is sent
	SilenceLimit   = 45 * time.Second         // time without receiving after which the other side counts as gone
	Linger         = 15 * time.Second         // how long a peer is remembered after it left
	AckInterval    = 2 * time.Second / 3      // time between repetitions of an acknowledgement
	acksAlone      = 3                        // how often an acknowledgement may cause a datagram
	acksAtMost     = 9                        // how often an acknowledgement is sent in total
	connectAckWait = 50 * time.Millisecond    // by how much the acknowledgement of a connect follows the accept
	pieceBytes     = transport.MaxMessage - 6 // bytes of a message in a fragment
	firstBytes     = transport.MaxMessage - 7 // the same for fragment 0
	mostPieces     = 255
)

// AllWaits is the sum of the intervals until they begin anew: a side that repeats a
// message at all has repeated it five times by then.
const AllWaits = (FirstInterval + LongestWait) * (LongestWait / IntervalStep) / 2

// Timers of an endpoint that adapts.
const (
	shortestWait = 100 * time.Millisecond // shortest wait for an acknowledgement, even if the other side is close
	blockingWait = time.Second            // longest wait of the oldest message if many others wait for it
	blocked      = 16                     // how many are many
	evenWaits    = 2                      // number of retransmissions with the same wait. Later waits double.
	burstBytes   = 8 << 10                // bytes of retransmissions sent at once
	burstPause   = 50 * time.Millisecond  // time until more may be sent
	mostPassed   = 16                     // how many messages may be skipped because they exceed the limit of a datagram
)

// unansweredTries is how often a control message is sent to a side with 8-bit
// numbers that has never acknowledged one, since OpenBC's clients acknowledge
// none.
const unansweredTries = 3

// MaxBody is the maximum length of a game message in bytes.
const MaxBody = firstBytes + (mostPieces-1)*pieceBytes

// maxControl is the maximum length of a control message's body in bytes.
const maxControl = transport.MaxDatagram - 2 - controlHeader

// controlHeader is the size of the header of a control message: type, flags and
// size, and number.
const controlHeader = 5

// The reasons why a message is not queued.
var (
	ErrLong = errors.New("longer than 255 fragments can carry, or a datagram if it cannot be sent in fragments")
	ErrFull = errors.New("too many messages wait to be sent or acknowledged")
)

// Limits bound the memory of an endpoint. Zero fields mean the defaults.
type Limits struct {
	Waiting      int // messages that have not been sent or acknowledged: 8,192
	WaitingBytes int // bytes of their bodies: 1.5 MiB
	Held         int // messages and fragments that arrived too early: 1,024
	HeldBytes    int // bytes that they take, including overhead: 256 KiB
	Acks         int // acknowledgements to repeat: 512
	// Ahead is how many messages may be missing before an early one: 0x4000, as in
	// the game. A message too far ahead would wait until the numbers wrap, and
	// then be taken for another one.
	Ahead int
}

func (l Limits) orDefault() Limits {
	set := func(p *int, n int) {
		if *p == 0 {
			*p = n
		}
	}
	set(&l.Waiting, 8192)
	set(&l.WaitingBytes, 3<<19)
	set(&l.Held, 1024)
	set(&l.HeldBytes, 256<<10)
	set(&l.Acks, 512)
	set(&l.Ahead, 0x4000)
	return l
}

// A Message is one message to send or deliver.
type Message struct {
	Type     transport.Type
	Reliable bool // for a Standard message. The other types always are reliable.
	Priority bool
	Alone    bool // for sending: a datagram has at most one such message
	Body     []byte
	// Header is the header of a delivered message, or of the fragment that
	// completed it.
	Header transport.Header
}

// Stats count an endpoint's messages.
type Stats struct {
	Sent          int // messages sent, without retransmissions
	Retransmitted int
	Expired       int // messages dropped after Lifetime, or because the other side acknowledges none of their kind
	Delivered     int
	Duplicates    int // reliable messages received again
	Early         int // messages kept until those before them came
	Refused       int // messages outside the window, beyond a limit, or impossible
	Acknowledged  int
	Again         int // acknowledgements of messages that had been acknowledged before
	Bogus         int // acknowledgements of messages never sent
	Challenged    int // messages that were challenges
	Contradicted  int // messages with the number, but not the bytes, of another one, which may be forged

	// The current state:
	RTT          time.Duration // smoothed round trip, 0 before the first measurement
	Waiting      int           // messages that have not been sent or acknowledged
	WaitingBytes int           // bytes of their bodies
	Held         int           // messages and fragments that arrived too early
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

// keyOf returns a number for a message or fragment, which is unique among those
// that can be under way at the same time.
func keyOf(class int, seq uint16, fragment bool, index uint8) uint32 {
	key := uint32(class)<<31 | uint32(seq)
	if fragment {
		key |= 1<<24 | uint32(index)<<16
	}
	return key
}

// An Endpoint is one end of a connection.
type Endpoint struct {
	peer   uint8
	limits Limits
	room   int
	eight  bool // the other side's numbers have 8 bits
	wide   bool // the other side has used numbers of more than 8 bits
	linger bool
	adapt  bool

	epoch    time.Time // origin of all times of type time.Duration
	next     [classes]uint16
	wrapped  bool // the numbers of game messages have wrapped
	urgent   fifo // not sent yet, with priority
	plain    fifo // not sent yet, without priority
	alone    fifo // not sent yet, at most one per datagram
	queued   uint64
	unacked  map[uint32]*outgoing
	due      dueHeap  // the unacknowledged messages, in the order in which they are due
	ordered  byNumber // the game messages among these, in the order in which they are delivered
	bytes    int      // length of the bodies of all these
	spare    *outgoing
	progress time.Duration // time of the last acknowledgement, or when the first waiting message was sent
	answers  bool          // the other side has acknowledged a control message

	rtt, deviation, lowest time.Duration
	burst                  time.Duration // when the last burst of retransmissions began
	burstSize              int

	acks  acks
	in    [classes]inbox
	held  int // number of messages and fragments that arrived too early
	heldB int // bytes that they take

	sent   time.Duration // time of the last datagram. 0 means none, since the first time is 1.
	window window
	asking outgoing // the last message that was acknowledged
	asks   bool     // whether asking is set
	signs  *signs   // nil until the first challenge
	claims claims
	stats  Stats

	delivered Message // message that is being delivered
}

// An outgoing is a message that has not been sent or acknowledged.
type outgoing struct {
	body     []byte
	order    uint64        // position in the order of queueing
	first    time.Duration // when it was first sent, or queued
	last     time.Duration // when it was last sent
	before   time.Duration // when it was sent the time before
	due      time.Duration
	interval time.Duration
	at       int // index in the heap
	tries    int

	seq          uint16
	typ          transport.Type
	index, count uint8
	reliable     bool
	priority     bool
	fragment     bool
	doubtful     bool // it was acknowledged without a sign

	prev, next *outgoing // neighbours in byNumber. next is also the next one in a fifo or among the spare ones.
}

func (o *outgoing) header() transport.Header {
	return transport.Header{
		Type: o.typ, Reliable: o.reliable, Priority: o.priority, HasSeq: o.reliable, Seq: o.seq,
		Fragment: o.fragment, Index: o.index, Count: o.count,
	}
}

func (o *outgoing) key() uint32 { return keyOf(classOf(o.typ), o.seq, o.fragment, o.index) }

// New returns an endpoint whose datagrams begin with the peer id. It
// retransmits with the stock game's timers.
func New(peer uint8, limits Limits) *Endpoint {
	e := &Endpoint{peer: peer, limits: limits.orDefault(), unacked: map[uint32]*outgoing{}}
	e.acks.by = map[uint32]*ack{}
	for i := range e.in {
		e.in[i].early = map[uint16]*early{}
	}
	return e
}

// at converts a time. The first time is 1, so that 0 can stand for never.
func (e *Endpoint) at(now time.Time) time.Duration {
	if e.epoch.IsZero() {
		e.epoch = now.Add(-1)
	}
	return now.Sub(e.epoch)
}

// SetPeer changes the peer id with which datagrams begin.
func (e *Endpoint) SetPeer(id uint8) { e.peer = id }

// Adapt chooses how messages are retransmitted. If on, they are retransmitted
// by the measured round trip, and all due ones at once. Otherwise, they are
// retransmitted with the stock game's timers, one per datagram. Clients accept
// both.
func (e *Endpoint) Adapt(on bool) { e.adapt = on }

// Eight tells whether the other side's numbers wrap after 255, as OpenBC's do.
// An endpoint detects this by itself when it receives a form that only OpenBC
// sends.
func (e *Endpoint) Eight(on bool) { e.eight = on && !e.wide }

// SetRoom limits the size of later datagrams. 0 means the game's 512 bytes.
// While there is a limit, acknowledgements are not repeated.
func (e *Endpoint) SetRoom(bytes int) { e.room = bytes }

// Close tells the endpoint that its peer has left. It goes on to repeat
// acknowledgements and to send waiting messages, but sends no keepalives.
func (e *Endpoint) Close() { e.linger = true }

// Stats returns the counts so far, and the current state.
func (e *Endpoint) Stats() Stats {
	s := e.stats
	s.RTT, s.Waiting, s.WaitingBytes, s.Held = e.rtt, e.waiting()+len(e.unacked), e.bytes, e.held
	return s
}

// Messages returns how many messages were sent, retransmissions included.
func (e *Endpoint) Messages() int { return e.stats.Sent + e.stats.Retransmitted + e.stats.Challenged }

// waiting returns how many messages have not been sent.
func (e *Endpoint) waiting() int { return e.urgent.n + e.plain.n + e.alone.n }

// Idle reports whether nothing waits to be sent or acknowledged.
func (e *Endpoint) Idle() bool { return e.waiting()+len(e.unacked) == 0 }

// Stalled returns for how long the other side has acknowledged none of the
// messages that wait for it.
func (e *Endpoint) Stalled(now time.Time) time.Duration {
	if len(e.unacked) == 0 {
		return 0
	}
	return e.at(now) - e.progress
}

// Queue queues a message to be sent. Reliable messages are delivered in the
// order of queueing. The error is ErrLong or ErrFull. In both cases nothing is
// queued.
func (e *Endpoint) Queue(now time.Time, m Message) error {
	if e.waiting()+len(e.unacked) >= e.limits.Waiting || e.bytes+len(m.Body) > e.limits.WaitingBytes {
		return ErrFull
	}
	at := e.at(now)
	o := outgoing{typ: m.Type, reliable: m.Reliable || m.Type != transport.Standard, priority: m.Priority, body: m.Body}
	if m.Type != transport.Standard {
		if len(m.Body) > maxControl {
			return ErrLong
		}
		o.priority = true
		o.seq = e.number(control)
		e.add(at, &o, false)
		return nil
	}
	if len(m.Body) <= longestWhole(o.reliable) {
		if o.reliable {
			o.seq = e.number(data)
		}
		e.add(at, &o, m.Alone)
		return nil
	}
	if len(m.Body) > MaxBody {
		return ErrLong
	}
	o.reliable, o.fragment = true, true
	count := uint8((len(m.Body)-firstBytes+pieceBytes-1)/pieceBytes) + 1
	o.seq = e.number(data)
	size := firstBytes
	for rest := m.Body; len(rest) > 0; o.index++ {
		n := min(size, len(rest))
		o.body, o.count = rest[:n:n], 0
		if o.index == 0 {
			o.count = count
		}
		e.add(at, &o, m.Alone)
		rest, size = rest[n:], pieceBytes
	}
	return nil
}

// longestWhole returns the length of the longest game message that is not sent in
// fragments.
func longestWhole(reliable bool) int {
	if reliable {
		return transport.MaxMessage - 5
	}
	return transport.MaxMessage - 3
}

// Arrive converts a message to be sent to the one that the other side delivers
// if nothing is lost. It does not set the number. The error is ErrLong.
func Arrive(m *Message) error {
	most := MaxBody
	switch {
	case m.Type != transport.Standard:
		m.Reliable, m.Priority, most = true, true, maxControl
	case len(m.Body) > longestWhole(m.Reliable):
		m.Reliable = true // fragments are reliable
	}
	m.Header = transport.Header{Type: m.Type, Reliable: m.Reliable, Priority: m.Priority, HasSeq: m.Reliable}
	if len(m.Body) > most {
		return ErrLong
	}
	return nil
}

func (e *Endpoint) number(class int) uint16 {
	n := e.next[class]
	e.next[class]++
	e.wrapped = e.wrapped || class == data && e.next[class] == 0
	return n
}

// add queues a copy of a message.
func (e *Endpoint) add(now time.Duration, message *outgoing, alone bool) {
	o := e.spare
	if o == nil {
		o = &outgoing{}
	} else {
		e.spare = o.next
	}
	*o = *message
	e.queued++
	o.order, o.first, o.due, o.next = e.queued, now, now, nil
	e.bytes += len(o.body)
	switch {
	case o.priority:
		e.urgent.push(o)
	case alone:
		e.alone.push(o)
	default:
		e.plain.push(o)
	}
}

// free takes back a message that is in no queue.
func (e *Endpoint) free(o *outgoing) {
	e.bytes -= len(o.body)
	*o = outgoing{next: e.spare}
	e.spare = o
}

// forget removes a message that was sent.
func (e *Endpoint) forget(o *outgoing) {
	e.due.remove(o)
	e.ordered.remove(o)
	delete(e.unacked, o.key())
	if o.doubtful {
		e.window.doubtful -= o.cost()
	} else {
		e.window.flight -= o.cost()
	}
	e.free(o)
}

// Repeat makes the unacknowledged messages of a type due now.
func (e *Endpoint) Repeat(now time.Time, t transport.Type) {
	at := e.at(now)
	for _, o := range e.sentOf(func(o *outgoing) bool { return o.typ == t }) {
		o.due = at
		e.due.fix(o)
	}
}

// Settle drops the unacknowledged messages of a type, because the other side
// has proved by other means that it has them.
func (e *Endpoint) Settle(t transport.Type) {
	for _, o := range e.sentOf(func(o *outgoing) bool { return o.typ == t }) {
		e.forget(o)
	}
}

// Abandon drops all game messages that wait to be sent or acknowledged, to make
// room for a leave message.
func (e *Endpoint) Abandon() {
	for _, q := range [...]*fifo{&e.plain, &e.alone, &e.urgent} {
		kept := fifo{}
		for o := q.pop(); o != nil; o = q.pop() {
			if classOf(o.typ) == control {
				kept.push(o)
			} else {
				e.free(o)
			}
		}
		*q = kept
	}
	for _, o := range e.sentOf(func(o *outgoing) bool { return classOf(o.typ) == data }) {
		e.forget(o)
	}
	e.spare = nil // the list may be long
}

// sentOf returns the unacknowledged messages for which the function returns
// true.
func (e *Endpoint) sentOf(which func(*outgoing) bool) (list []*outgoing) {
	for _, o := range e.due {
		if which(o) {
			list = append(list, o)
		}
	}
	return list
}

// Datagram appends the next due datagram to dst, deciphered. If none is due, ok
// is false. Call it until then.
func (e *Endpoint) Datagram(now time.Time, dst []byte) (plain []byte, ok bool) {
	at := e.at(now)
	room := transport.MaxDatagram
	if e.room > 0 {
		room = min(room, e.room)
	}
	b := builder{b: append(dst, e.peer, 0), start: len(dst), room: room}
	e.acks.send(&e.acks.fresh, at, &b)
	if e.room == 0 { // if there is a limit, use the room for other messages
		e.acks.send(&e.acks.again, at, &b)
	}
	e.sendChallenge(&b)
	e.retransmit(at, &b)
	e.sendFirst(at, &b)
	if b.count == 0 && !e.linger && e.sent != 0 && at-e.sent >= KeepaliveAfter {
		b.add(&transport.Header{Type: transport.DoNothing}, nil)
	}
	if b.count > 0 && e.room == 0 || e.linger {
		e.acks.send(&e.acks.again, at, &b)
		e.acks.send(&e.acks.rider, at, &b)
	}
	if b.count == 0 {
		return dst, false
	}
	b.b[b.start+1] = byte(b.count)
	e.sent = at
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

// retransmit retransmits due messages: one, or as many as fit if the endpoint
// adapts. If there is a limit, messages beyond it are skipped.
func (e *Endpoint) retransmit(now time.Duration, b *builder) {
	var passed [mostPassed]*outgoing
	n := 0
	defer func() {
		for _, o := range passed[:n] {
			e.due.push(o)
		}
	}()
	for len(e.due) > 0 {
		o, due := e.nextDue(now)
		if due > now {
			return
		}
		if e.hopeless(now, o) {
			e.stats.Expired++
			e.forget(o)
			continue
		}
		most, pause := e.burstLimits(now)
		if e.adapt && now-e.burst >= pause {
			e.burst, e.burstSize = now, 0
		}
		h := o.header()
		if e.adapt && e.burstSize >= most {
			return
		}
		if !b.add(&h, o.body) {
			if e.room == 0 || n == mostPassed {
				return
			}
			e.due.remove(o)
			passed[n], n = o, n+1
			continue
		}
		if !o.doubtful {
			e.overdue(now)
		}
		e.burstSize += len(o.body) + transport.PlainHeader
		e.stats.Retransmitted++
		o.before, o.last = o.last, now
		o.tries++
		o.due = min(now+e.interval(o), o.first+Lifetime)
		e.due.fix(o)
		if !e.adapt {
			return
		}
	}
}

// hopeless reports whether a due message will never be acknowledged.
func (e *Endpoint) hopeless(now time.Duration, o *outgoing) bool {
	return now-o.first >= Lifetime ||
		e.eight && !e.answers && classOf(o.typ) == control && o.typ != transport.Connect && o.tries >= unansweredTries
}

// interval returns how long to wait for the acknowledgement of a message that
// was just sent.
func (e *Endpoint) interval(o *outgoing) time.Duration {
	fixed := o.typ == transport.Connect || o.typ == transport.Disconnect
	switch {
	case o.doubtful: // it has probably arrived
		o.interval = min(max(2*o.interval, FirstInterval), LongestWait)
	case e.adapt && o.tries <= evenWaits:
		o.interval = e.timeout()
	case e.adapt:
		o.interval = min(2*o.interval, LongestWait)
	case o.interval == 0:
		o.interval = FirstInterval
	case !fixed:
		if o.interval += IntervalStep; o.interval > LongestWait {
			o.interval = FirstInterval
		}
	}
	return o.interval
}

// nextDue returns the unacknowledged message that is sent next, and when it is
// due. That is the oldest one as soon as it is due: the other side cannot
// deliver those after it, and soon has no room for more of them.
func (e *Endpoint) nextDue(now time.Duration) (o *outgoing, due time.Duration) {
	o, due = e.due[0], e.due[0].due
	if first := e.ordered.first; e.adapt && e.room == 0 && first != nil && len(e.due) > blocked {
		if at := min(first.due, first.last+blockingWait); at <= max(now, due) {
			return first, at
		}
	}
	return o, due
}

// timeout returns the time after which an acknowledgement is overdue.
func (e *Endpoint) timeout() time.Duration {
	if e.lowest == 0 {
		return FirstInterval
	}
	return min(max(e.rtt+4*e.deviation, shortestWait), FirstInterval)
}

// measure measures the round trip of a message that is being acknowledged. If
// the message was retransmitted, the acknowledgement is for the last
// transmission, unless that was too short ago. Then it is for the one before.
func (e *Endpoint) measure(now time.Duration, o *outgoing) {
	trip := now - o.last
	if o.tries > 1 && trip < e.lowest*3/4 {
		trip = now - o.before
	}
	trip = max(trip, time.Microsecond)
	if e.lowest == 0 {
		e.rtt, e.deviation, e.lowest = trip, trip/2, trip
		return
	}
	e.lowest = min(e.lowest, trip)
	off := trip - e.rtt
	e.rtt += off / 8
	e.deviation += (max(off, -off) - e.deviation) / 4
}

// sendFirst sends new messages, up to the first one that does not fit.
func (e *Endpoint) sendFirst(now time.Duration, b *builder) {
	alone := false
	for {
		q := &e.urgent
		if q.n == 0 {
			q = &e.plain
			if e.alone.n > 0 && !alone && (q.n == 0 || e.alone.first.order < q.first.order) {
				q = &e.alone
			}
		}
		if q.n == 0 {
			return
		}
		o := q.first
		h := o.header()
		if o.reliable && !e.opens(o) || !b.add(&h, o.body) {
			return
		}
		q.pop()
		alone = alone || q == &e.alone
		e.stats.Sent++
		if !o.reliable {
			e.free(o)
			continue
		}
		if len(e.unacked) == 0 {
			e.progress = now
		}
		o.first, o.last, o.tries = now, now, 1
		o.due = now + e.interval(o)
		e.wait(o)
	}
}

// wait adds a message that was sent to those that wait for an acknowledgement.
func (e *Endpoint) wait(o *outgoing) {
	e.unacked[o.key()] = o
	e.due.push(o)
	if classOf(o.typ) == data {
		e.ordered.insert(o)
	}
	e.window.flight += o.cost()
}

// Next returns when Datagram may have something to send, or the zero time for
// never.
func (e *Endpoint) Next() time.Time {
	var next time.Duration
	sooner := func(t time.Duration) {
		if next == 0 || t < next {
			next = t
		}
	}
	for _, q := range [...]*fifo{&e.urgent, &e.plain, &e.alone} {
		if q.n > 0 && (!q.first.reliable || e.opens(q.first)) { // other messages wait for acknowledgements
			sooner(q.first.due)
		}
	}
	if len(e.due) > 0 {
		_, due := e.nextDue(0)
		if most, pause := e.burstLimits(due); e.adapt && e.burstSize >= most {
			due = max(due, e.burst+pause)
		}
		sooner(due)
	}
	if a := e.acks.fresh.first; a != nil {
		sooner(a.due)
	}
	if a := e.acks.again.first; a != nil && (e.room == 0 || e.linger) {
		sooner(a.due)
	}
	if a := e.acks.rider.first; a != nil && e.linger {
		sooner(a.due)
	}
	if !e.linger && e.sent != 0 {
		sooner(e.sent + KeepaliveAfter)
	}
	if next == 0 {
		return time.Time{}
	}
	return e.epoch.Add(next)
}
