package arq

import (
	"slices"
	"time"

	"github.com/bcdissect/bcdissect/dissect/transport"
)

// An endpoint that adapts has only so many bytes under way as the other side has
// lately acknowledged: a line that takes less is not sent the rest again and
// again.
const (
	windowFirst = 16 << 10
	windowLeast = 4 << 10
	windowMost  = 64 << 10
	silentBytes = 400 // of repetitions that a side gets that has acknowledged nothing for long
	silentPause = time.Second
	silentAfter = 2 * time.Second
)

// askable is the longest message that is kept to ask with.
const askable = 64

// window is how much may be under way.
type window struct {
	size   int           // bytes; 0 before the first message
	flight int           // bytes that are not acknowledged
	shrunk time.Duration // when it last became smaller
}

// cost is what a message takes of the window.
func (o *outgoing) cost() int { return len(o.body) + transport.PlainHeader + 2 }

// opens reports whether a message may leave for the first time.
func (e *Endpoint) opens(o *outgoing) bool {
	w := &e.window
	if w.size == 0 {
		w.size = windowFirst
	}
	return !e.adapt || classOf(o.typ) == control || w.flight == 0 || w.flight+o.cost() <= w.size
}

// overdue makes the window smaller, since a message was not acknowledged in time.
func (e *Endpoint) overdue(now time.Duration) {
	if w := &e.window; e.adapt && now-w.shrunk >= max(e.rtt, shortestWait) {
		w.size, w.shrunk = max(w.size/2, windowLeast), now
	}
}

// burstLimits returns how many bytes of repetitions leave at once, and after how
// long more may. A side that has acknowledged nothing for long is sent little: if
// it hears that, the rest follows.
func (e *Endpoint) burstLimits(now time.Duration) (most int, pause time.Duration) {
	if len(e.unacked) > 0 && now-e.progress > silentAfter {
		return silentBytes, silentPause
	}
	return burstBytes, burstPause
}

// Congested reports whether the other side lags behind with its acknowledgements,
// so that messages that will soon be outdated had better not be sent.
func (e *Endpoint) Congested() bool {
	return e.adapt && e.window.size > 0 && e.window.flight+e.bytesWaiting() >= e.window.size
}

// bytesWaiting returns about how many bytes wait to be sent for the first time.
func (e *Endpoint) bytesWaiting() int { return e.bytes - e.window.flight }

// Oldest returns for how long the oldest message that was sent has not been
// acknowledged.
func (e *Endpoint) Oldest(now time.Time) (age time.Duration) {
	at := e.at(now)
	for _, o := range e.due {
		age = max(age, at-o.first)
	}
	return age
}

// Asks reports whether the other side has acknowledged a message that Ask can repeat.
func (e *Endpoint) Asks() bool { return e.asks }

// Ask repeats the last message that was acknowledged, so that the other side
// acknowledges it again. It does nothing if other messages wait to be acknowledged, control
// messages apart, which OpenBC's clients don't acknowledge.
func (e *Endpoint) Ask(now time.Time) {
	if e.waiting() > 0 || !e.asks || slices.ContainsFunc(e.due, func(o *outgoing) bool { return classOf(o.typ) == data }) {
		return
	}
	o := e.asking
	at := e.at(now)
	o.first, o.last, o.before, o.due = at, at, at, at
	o.tries, o.interval = 1, 0
	e.bytes += len(o.body)
	e.window.flight += o.cost()
	e.progress = at
	e.unacked[o.key()] = &o
	e.due.push(&o)
}

// keep keeps a message that is acknowledged to ask with.
func (e *Endpoint) keep(o *outgoing) {
	if classOf(o.typ) == data && !o.fragment && len(o.body) <= askable {
		e.asking, e.asks = *o, true
		e.asking.next = nil
	}
}
