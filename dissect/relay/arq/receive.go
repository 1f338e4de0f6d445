package arq

import (
	"bytes"
	"slices"
	"time"

	"github.com/bcdissect/bcdissect/dissect/transport"
)

// An inbox puts the reliable messages of one class in order.
type inbox struct {
	expected uint16
	early    map[uint16]*early
	claimed  int // how many of the last numbers were used by messages without a sign
}

// An early is a message that waits for messages before it or for missing
// fragments.
type early struct {
	header transport.Header
	body   []byte
	pieces []piece
	there  [mostPieces/64 + 1]uint64 // one bit for each fragment that has arrived
	top    int                       // highest index of these
	count  int                       // number of fragments, 0 while fragment 0 is missing
}

// A piece is a fragment that waits.
type piece struct {
	index uint8
	body  []byte
}

// The overhead of an early message, and of each of its fragments, in bytes.
const (
	earlyBytes = 256
	pieceSize  = 64
)

func (m *early) complete() bool {
	return !m.header.Fragment || len(m.pieces) == m.count
}

// size returns how many bytes of memory the message takes.
func (m *early) size() int {
	n := earlyBytes + len(m.body)
	for i := range m.pieces {
		n += pieceSize + len(m.pieces[i].body)
	}
	return n
}

// join returns the body of a complete message.
func (m *early) join() []byte {
	slices.SortFunc(m.pieces, func(a, b piece) int { return int(a.index) - int(b.index) })
	var body []byte
	for i := range m.pieces {
		body = append(body, m.pieces[i].body...)
	}
	return body
}

// openBCAck is a bit that OpenBC's test clients set in every acknowledgement,
// for all classes of messages.
const openBCAck = 0x80

// Receive takes a transport message of the other side. It calls deliver for all
// messages that are ready: the message and those that waited for it, or none.
// Control messages are also delivered. Acknowledgements and keepalives are not.
func (e *Endpoint) Receive(now time.Time, m *transport.Message, deliver func(*Message)) {
	at := e.at(now)
	switch {
	case m.Type == transport.Acknowledge:
		e.acknowledged(at, &m.Header, 1)
	case m.Type == transport.DoNothing && !m.HasSeq:
	case m.Short:
		e.Eight(true)
		e.deliver(&m.Header, m.Body, deliver)
	case !m.HasSeq && m.Fragment:
		e.stats.Refused++
	case !m.HasSeq:
		e.deliver(&m.Header, m.Body, deliver)
	default:
		e.reliable(at, m, deliver)
	}
}

func (e *Endpoint) deliver(h *transport.Header, body []byte, deliver func(*Message)) {
	e.stats.Delivered++
	before := e.delivered // set if this call is nested in another one
	e.delivered = Message{Type: h.Type, Reliable: h.Reliable, Priority: h.Priority, Body: body, Header: *h}
	deliver(&e.delivered)
	e.delivered = before
}

// doubtfulTries is how often a message must have been sent before an
// acknowledgement that may be forged counts. Hardly any connection loses all of
// them.
const doubtfulTries = 5

// Doubt handles an acknowledgement that may be forged. It drops the
// acknowledged message if that has surely arrived, and otherwise does nothing.
func (e *Endpoint) Doubt(now time.Time, h *transport.Header) {
	before := e.stats
	e.acknowledged(e.at(now), h, doubtfulTries)
	e.stats.Acknowledged, e.stats.Again, e.stats.Bogus = before.Acknowledged, before.Again, before.Bogus
}

// acknowledged removes the message that an acknowledgement names, if the
// message was sent at least tries times.
func (e *Endpoint) acknowledged(now time.Duration, h *transport.Header, tries int) {
	openBC := h.AckFlags&openBCAck != 0
	if openBC {
		e.Eight(true)
	}
	class := data
	if h.Control() {
		class = control
	} else if e.challenging(h.Seq) {
		return
	}
	if e.remove(now, h, class, tries) || openBC && class == data && e.remove(now, h, control, tries) {
		return
	}
	if !e.eight && int16(h.Seq-e.next[class]) >= 0 {
		e.stats.Bogus++
	} else {
		e.stats.Again++
	}
}

// remove removes the message of a class that an acknowledgement names. An 8-bit
// number can name several messages when many are under way. Then it is the one
// that was sent last.
func (e *Endpoint) remove(now time.Duration, h *transport.Header, class, tries int) bool {
	found := e.unacked[keyOf(class, h.Seq, h.Fragment, h.Index)]
	if e.eight {
		found = nil
		const step = 1 << 8
		newest := e.next[class] - 1
		newest -= (newest - h.Seq) & (step - 1)
		for i := 0; i <= e.limits.Waiting/step+1; i++ {
			o := e.unacked[keyOf(class, newest-uint16(i*step), h.Fragment, h.Index)]
			if o != nil && (found == nil || o.last > found.last) {
				found = o
			}
		}
	}
	if found == nil || found.tries < tries {
		return false
	}
	if !found.doubtful {
		e.measure(now, found)
		if w := &e.window; found.tries == 1 {
			w.size = min(w.size+found.cost(), windowMost)
		}
	}
	if e.claims.unsigned { // it may be forged, and if not, it comes again with a sign
		e.doubt(now, found)
		return true
	}
	if class == control {
		e.answers = true
	}
	e.progress = now
	e.keep(found)
	e.forget(found)
	e.stats.Acknowledged++
	return true
}

// classify returns the action for a sequence number.
func (e *Endpoint) classify(in *inbox, seq uint16) transport.Action {
	if e.eight && seq > 0xFF { // its numbers have more than 8 bits after all
		e.eight, e.wide = false, true
		in.expected = seq - uint16(int8(uint8(seq)-uint8(in.expected)))
	}
	if !e.eight {
		return transport.Classify(in.expected, seq)
	}
	if int8(uint8(seq)-uint8(in.expected)) < 0 {
		return transport.ActionSeen
	}
	return transport.ActionAccept
}

func (e *Endpoint) reliable(now time.Duration, m *transport.Message, deliver func(*Message)) {
	in := &e.in[classOf(m.Type)]
	switch e.classify(in, m.Seq) {
	case transport.ActionSeen:
		if e.contradicts(now, in, m, deliver) {
			return
		}
		e.stats.Duplicates++
		e.ack(now, &m.Header)
		return
	case transport.ActionOutside:
		// After the wrap, a retransmission looks like a message far ahead. The game
		// acknowledges it before it checks the window.
		if int16(m.Seq-in.expected) < 0 {
			e.stats.Duplicates++
		} else {
			e.stats.Refused++
		}
		e.ack(now, &m.Header)
		return
	case transport.ActionAccept:
	}
	switch first := m.Seq == in.expected && !m.Fragment && in.early[m.Seq] == nil; {
	case e.claims.unsigned && (!first || !e.claim(now, in, m)):
		e.stats.Refused++
		return
	case first:
		switch {
		case e.claims.unsure:
			e.claim(now, in, m)
		case !e.claims.unsigned:
			in.claimed = 0
		}
		e.ack(now, &m.Header)
		e.advance(in)
		e.deliver(&m.Header, m.Body, deliver)
	case !e.hold(now, in, m):
		return
	}
	e.deliverHeld(now, in, deliver)
}

// deliverHeld delivers the messages that waited for the last one.
func (e *Endpoint) deliverHeld(now time.Duration, in *inbox, deliver func(*Message)) {
	for {
		held := in.early[in.expected]
		if held == nil || !held.complete() {
			return
		}
		delete(in.early, in.expected)
		in.claimed = 0
		e.advance(in)
		e.drop(held)
		body := held.body
		if held.header.Fragment {
			body = held.join()
		} else if e.claims.unsure {
			e.claim(now, in, &transport.Message{Header: held.header, Body: body})
		}
		e.deliver(&held.header, body, deliver)
	}
}

// drop takes an early message out of the count of those.
func (e *Endpoint) drop(m *early) {
	e.heldB -= m.size()
	e.held -= max(1, len(m.pieces))
}

func (e *Endpoint) advance(in *inbox) {
	in.expected++
	if e.eight {
		in.expected &= 0xFF
	}
}

// hold keeps a message or fragment until its turn. Messages beyond the limits
// are not acknowledged, so that they are sent again.
func (e *Endpoint) hold(now time.Duration, in *inbox, m *transport.Message) bool {
	held := in.early[m.Seq]
	if guarded := e.claims.unsure || e.signs != nil; guarded && held != nil && !m.Fragment && (held.header.Fragment || !bytes.Equal(held.body, m.Body)) {
		// One of the two is forged. The other side sends its own until it is
		// acknowledged, so the last one counts.
		e.stats.Contradicted++
		e.drop(held)
		delete(in.early, m.Seq)
		held = nil
	}
	turn := m.Seq == in.expected
	cost := len(m.Body)
	if held == nil {
		cost += earlyBytes
	}
	if m.Fragment {
		cost += pieceSize
	}
	if !turn && (e.held >= e.limits.Held || e.heldB+cost > e.limits.HeldBytes || e.ahead(in, m.Seq) >= e.limits.Ahead) && !held.has(m) {
		e.stats.Refused++
		return false
	}
	if held != nil && held.header.Fragment != m.Fragment || m.Fragment && !held.fits(m) {
		e.stats.Refused++
		return false
	}
	e.ack(now, &m.Header)
	if held.has(m) {
		e.stats.Duplicates++
		return true
	}
	if held == nil {
		held = &early{}
		in.early[m.Seq] = held
	}
	held.header = m.Header
	e.held++
	e.heldB += cost
	if !turn {
		e.stats.Early++
	}
	if !m.Fragment {
		held.body = bytes.Clone(m.Body)
		return true
	}
	if m.Index == 0 {
		held.count = int(m.Count)
	}
	held.top = max(held.top, int(m.Index))
	held.there[m.Index/64] |= 1 << (m.Index % 64)
	held.pieces = append(held.pieces, piece{m.Index, bytes.Clone(m.Body)})
	return true
}

// Awaits reports whether a message has the number that is to be delivered next.
func (e *Endpoint) Awaits(h *transport.Header) bool {
	return h.HasSeq && e.ahead(&e.in[classOf(h.Type)], h.Seq) == 0
}

// ahead returns how many messages are missing before an early one.
func (e *Endpoint) ahead(in *inbox, seq uint16) int {
	n := seq - in.expected
	if e.eight {
		n &= 0xFF
	}
	return int(n)
}

// has reports whether the message or fragment has already arrived.
func (m *early) has(t *transport.Message) bool {
	switch {
	case m == nil:
		return false
	case !t.Fragment:
		return true
	}
	return m.there[t.Index/64]&(1<<(t.Index%64)) != 0
}

// fits reports whether a fragment can belong to this message.
func (m *early) fits(t *transport.Message) bool {
	if t.Index == 0 {
		return t.Count > 0 && (m == nil || m.top < int(t.Count))
	}
	return t.Index < mostPieces && (m == nil || m.count == 0 || int(t.Index) < m.count)
}

// ack queues an acknowledgement.
func (e *Endpoint) ack(now time.Duration, h *transport.Header) {
	if h.Type == transport.Connect {
		now += connectAckWait // the game sends the accept first
	}
	times := 0
	if e.claims.unsigned || e.acks.once { // repetitions could acknowledge what the other side has yet to send
		times = acksAtMost - 1
	}
	e.acks.put(transport.AckOf(h), now, e.limits.Acks, times)
}
