package arq

import (
	"bytes"
	"slices"
	"time"

	"github.com/bcdissect/bcdissect/dissect/transport"
)

// An inbox puts the reliable messages of one class into order.
type inbox struct {
	expected uint16
	early    map[uint16]*early
}

// An early message is one whose turn has not come, or of which fragments are
// missing.
type early struct {
	header transport.Header
	body   []byte
	pieces [][]byte // nil for those that are missing
	count  int      // 0 as long as fragment 0 is missing
	have   int
}

func (e *early) complete() bool { return !e.header.Fragment || e.count > 0 && e.have == e.count }

// openBCAck is a bit that OpenBC's test clients set in every acknowledgement,
// whatever the class of the message.
const openBCAck = 0x80

// Receive takes one transport message of the other side and gives deliver what
// can be delivered now: the message itself, messages that waited for it, or
// none. Control messages are delivered like game messages; acknowledgements and
// keepalives are not.
func (l *Link) Receive(now time.Time, m *transport.Message, deliver func(*Message)) {
	switch {
	case m.Type == transport.Acknowledge:
		l.acknowledged(&m.Header)
	case m.Type == transport.DoNothing && !m.HasSeq:
	case m.Short:
		l.Eight(true)
		l.deliver(&m.Header, m.Body, deliver)
	case !m.HasSeq && m.Fragment:
		l.stats.Refused++
	case !m.HasSeq:
		l.deliver(&m.Header, m.Body, deliver)
	default:
		l.reliable(now, m, deliver)
	}
}

func (l *Link) deliver(h *transport.Header, body []byte, deliver func(*Message)) {
	l.stats.Delivered++
	deliver(&Message{Type: h.Type, Reliable: h.Reliable, Priority: h.Priority, Body: body, Header: *h})
}

// acknowledged removes the message that an acknowledgement names.
func (l *Link) acknowledged(h *transport.Header) {
	openBC := h.AckFlags&openBCAck != 0
	if openBC {
		l.Eight(true)
	}
	class := data
	if h.Control() {
		class = control
	}
	if !l.remove(h, class) && openBC && class == data {
		l.remove(h, control)
	}
}

// remove removes the message of a class that the acknowledgement fits. Of eight
// bits fit several when much is under way: it is for the one that was sent last.
func (l *Link) remove(h *transport.Header, class int) bool {
	mask := uint16(0xFFFF)
	if l.eight {
		mask = 0xFF
	}
	found := -1
	for i := range l.unacked {
		o := &l.unacked[i]
		if (o.header.Seq^h.Seq)&mask != 0 || classOf(o.header.Type) != class ||
			o.header.Fragment != h.Fragment || h.Fragment && o.header.Index != h.Index {
			continue
		}
		if found < 0 || o.sent().After(l.unacked[found].sent()) {
			found = i
		}
		if !l.eight {
			break
		}
	}
	if found < 0 {
		return false
	}
	l.bytes -= len(l.unacked[found].body)
	l.unacked = slices.Delete(l.unacked, found, found+1)
	l.stats.Acknowledged++
	return true
}

// classify tells what to do with a number.
func (l *Link) classify(in *inbox, seq uint16) transport.Action {
	if l.eight && seq > 0xFF { // it counts further after all
		l.eight, l.wide = false, true
		in.expected = seq - uint16(int8(uint8(seq)-uint8(in.expected)))
	}
	if !l.eight {
		return transport.Classify(in.expected, seq)
	}
	if int8(uint8(seq)-uint8(in.expected)) < 0 {
		return transport.ActionSeen
	}
	return transport.ActionAccept
}

func (l *Link) reliable(now time.Time, m *transport.Message, deliver func(*Message)) {
	in := &l.in[classOf(m.Type)]
	switch l.classify(in, m.Seq) {
	case transport.ActionSeen:
		l.stats.Duplicates++
		l.ack(now, &m.Header)
		return
	case transport.ActionOutside:
		// Behind the wrap a repetition looks like the far future. To leave it
		// unacknowledged would only make the other side go on.
		if int16(m.Seq-in.expected) < 0 {
			l.stats.Duplicates++
			l.ack(now, &m.Header)
		} else {
			l.stats.Refused++
		}
		return
	case transport.ActionAccept:
	}
	if m.Seq == in.expected && !m.Fragment && in.early[m.Seq] == nil {
		l.ack(now, &m.Header)
		l.advance(in)
		l.deliver(&m.Header, m.Body, deliver)
	} else if !l.hold(now, in, m) {
		return
	}
	for {
		e := in.early[in.expected]
		if e == nil || !e.complete() {
			return
		}
		delete(in.early, in.expected)
		l.advance(in)
		body := e.body
		if e.header.Fragment {
			l.held -= e.have
			body = bytes.Join(e.pieces[:e.count], nil)
		} else {
			l.held--
		}
		l.heldB -= len(body)
		l.deliver(&e.header, body, deliver)
	}
}

func (l *Link) advance(in *inbox) {
	in.expected++
	if l.eight {
		in.expected &= 0xFF
	}
}

// hold keeps a message or fragment until its turn comes. What is beyond the
// limits is not acknowledged, so that it comes again.
func (l *Link) hold(now time.Time, in *inbox, m *transport.Message) bool {
	e := in.early[m.Seq]
	turn := m.Seq == in.expected
	if !turn && (l.held >= l.limits.Held || l.heldB+len(m.Body) > l.limits.HeldBytes) && !e.has(m) {
		l.stats.Refused++
		return false
	}
	if e != nil && e.header.Fragment != m.Fragment || m.Fragment && !e.fits(m) {
		l.stats.Refused++
		return false
	}
	l.ack(now, &m.Header)
	if e.has(m) {
		l.stats.Duplicates++
		return true
	}
	if e == nil {
		e = &early{}
		in.early[m.Seq] = e
	}
	e.header = m.Header
	l.held++
	l.heldB += len(m.Body)
	if !turn {
		l.stats.Early++
	}
	if !m.Fragment {
		e.body = bytes.Clone(m.Body)
		return true
	}
	if m.Index == 0 {
		e.count = int(m.Count)
	}
	for len(e.pieces) <= int(m.Index) {
		e.pieces = append(e.pieces, nil)
	}
	e.pieces[m.Index] = append([]byte{}, m.Body...) // not nil, though empty
	e.have++
	return true
}

// has reports whether the message or fragment is held already.
func (e *early) has(m *transport.Message) bool {
	switch {
	case e == nil:
		return false
	case !m.Fragment:
		return true
	}
	return int(m.Index) < len(e.pieces) && e.pieces[m.Index] != nil
}

// fits reports whether a fragment can be one of this message.
func (e *early) fits(m *transport.Message) bool {
	if m.Index == 0 {
		return m.Count > 0 && (e == nil || len(e.pieces) <= int(m.Count))
	}
	return m.Index < mostPieces && (e == nil || e.count == 0 || int(m.Index) < e.count)
}

// ack queues an acknowledgement, or begins anew with one that is still
// repeated. Beyond the limit the one that has been sent most often goes.
func (l *Link) ack(now time.Time, h *transport.Header) {
	due := now
	if h.Type == transport.Connect {
		due = now.Add(connectAckWait) // the game sends the accept first
	}
	a := transport.AckOf(h)
	most := 0
	for i := range l.acks {
		if l.acks[i].header.Seq == a.Seq && l.acks[i].header == a {
			l.acks[i].times, l.acks[i].due = 0, due
			return
		}
		if l.acks[i].times > l.acks[most].times {
			most = i
		}
	}
	if len(l.acks) >= l.limits.Acks {
		l.acks = slices.Delete(l.acks, most, most+1)
	}
	l.acks = append(l.acks, ack{header: a, due: due})
}
