package arq

import (
	"time"

	"github.com/bcdissect/bcdissect/dissect/transport"
)

// An endpoint that adapts limits the bytes under way to what the other side has
// lately acknowledged. It so avoids that messages beyond a connection's
// capacity are retransmitted again and again.
const (
	windowFirst = 16 << 10
	windowLeast = 4 << 10
	windowMost  = 64 << 10
	silentBytes = 400 // bytes of retransmissions at once to a side that has long acknowledged nothing
	silentPause = time.Second
	silentAfter = 2 * time.Second
)

// askable is the maximum length of a message that is kept for Ask, in bytes.
const askable = 64

// window limits how many bytes may be under way.
type window struct {
	size     int           // size in bytes, 0 before the first message
	flight   int           // bytes that are not acknowledged
	doubtful int           // bytes that were acknowledged without a sign
	shrunk   time.Duration // when it last became smaller
}

// cost is how many bytes of the window a message takes.
func (o *outgoing) cost() int { return len(o.body) + transport.PlainHeader + 2 }

// opens reports whether a message may leave for the first time.
func (e *Endpoint) opens(o *outgoing) bool {
	w := &e.window
	if w.size == 0 {
		w.size = windowFirst
	}
	return !e.adapt || classOf(o.typ) == control || w.flight == 0 || w.flight+o.cost() <= w.size
}

// overdue shrinks the window, since a message was not acknowledged in time.
func (e *Endpoint) overdue(now time.Duration) {
	if w := &e.window; e.adapt && now-w.shrunk >= max(e.rtt, shortestWait) {
		w.size, w.shrunk = max(w.size/2, windowLeast), now
	}
}

// burstLimits returns how many bytes of retransmissions are sent at once, and
// the pause before more may be sent. A side that has long acknowledged nothing
// is sent little until it acknowledges that.
func (e *Endpoint) burstLimits(now time.Duration) (most int, pause time.Duration) {
	if len(e.unacked) > 0 && now-e.progress > silentAfter {
		return silentBytes, silentPause
	}
	return burstBytes, burstPause
}

// Congested reports whether the other side is behind with its acknowledgements,
// so that messages that soon become outdated should not be sent.
func (e *Endpoint) Congested() bool {
	return e.adapt && e.window.size > 0 && e.window.flight+e.bytesWaiting() >= e.window.size
}

// bytesWaiting returns the approximate number of bytes that wait to be sent for
// the first time.
func (e *Endpoint) bytesWaiting() int { return e.bytes - e.window.flight - e.window.doubtful }

// Oldest returns how long the oldest game message that was sent has waited for its
// acknowledgement. Control messages do not matter, as for Ask.
func (e *Endpoint) Oldest(now time.Time) (age time.Duration) {
	at := e.at(now)
	for _, o := range e.due {
		if classOf(o.typ) == data {
			age = max(age, at-o.first)
		}
	}
	return age
}

// Asks reports whether the other side has acknowledged a message that Ask can repeat.
func (e *Endpoint) Asks() bool { return e.asks }

// Ask repeats the last message that was acknowledged, so that the other side
// acknowledges it again. It does nothing if game messages already wait for an
// acknowledgement. Control messages do not matter, since OpenBC's clients do
// not acknowledge them.
func (e *Endpoint) Ask(now time.Time) {
	if e.waiting() > 0 || !e.asks || e.ordered.first != nil {
		return
	}
	o := e.asking
	at := e.at(now)
	o.first, o.last, o.before, o.due = at, at, at, at
	o.tries, o.interval = 1, 0
	e.bytes += len(o.body)
	e.progress = at
	e.wait(&o)
}

// keep keeps a message for Ask when it is acknowledged.
func (e *Endpoint) keep(o *outgoing) {
	if classOf(o.typ) == data && !o.fragment && len(o.body) <= askable {
		e.asking, e.asks = *o, true
		e.asking.prev, e.asking.next = nil, nil
	}
}
