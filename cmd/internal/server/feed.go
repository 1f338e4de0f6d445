package server

import (
	"io"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/capture"
)

// A Feed passes datagrams to a report. If the report is too slow, some
// datagrams are dropped and counted, so that players do not wait for the
// report.
type Feed struct {
	mu    sync.Mutex
	queue []dissect.Datagram // grows only while the report is slow
	ended bool
	more  chan struct{} // has an item when the queue has one, or has ended

	waiting atomic.Int64 // datagrams that the report has not taken
	size    atomic.Int64 // their bytes
	dropped atomic.Int64
	chunk   []byte // memory for payloads
	number  int

	batch []dissect.Datagram // taken from the queue
	next  int                // index in batch of the next datagram
	stats capture.Stats
}

// Limits of a feed.
const (
	feedQueue = 1 << 14 // datagrams
	feedBytes = 32 << 20
	feedChunk = 64 << 10
	feedUsual = 256 // datagrams for which an empty queue keeps its memory
)

// NewFeed returns an empty feed.
func NewFeed() *Feed { return &Feed{more: make(chan struct{}, 1)} }

// Put adds a datagram and copies its payload. Only one goroutine at a time may
// call it.
func (f *Feed) Put(now time.Time, from, to netip.AddrPort, payload []byte) {
	f.number++ // equals the number in the recording
	if f.waiting.Load() >= feedQueue || f.size.Load()+int64(len(payload)) > feedBytes {
		f.dropped.Add(1)
		return
	}
	if len(payload) > cap(f.chunk)-len(f.chunk) {
		f.chunk = make([]byte, 0, max(feedChunk, len(payload)))
	}
	at := len(f.chunk)
	f.chunk = append(f.chunk, payload...)
	const nanoseconds = 9
	f.waiting.Add(1)
	f.size.Add(int64(len(payload)))
	f.mu.Lock()
	f.queue = append(f.queue, dissect.Datagram{
		Number: f.number, Time: now.UTC(), Digits: nanoseconds, Src: from, Dst: to,
		Payload: f.chunk[at:len(f.chunk):len(f.chunk)], Full: len(payload),
	})
	f.mu.Unlock()
	f.wake()
}

// wake wakes Next up.
func (f *Feed) wake() {
	select {
	case f.more <- struct{}{}:
	default:
	}
}

// Dropped returns the number of datagrams for which there was no room.
func (f *Feed) Dropped() int64 { return f.dropped.Load() }

// End ends the report.
func (f *Feed) End() {
	f.mu.Lock()
	f.ended = true
	f.mu.Unlock()
	f.wake()
}

// Next implements [capture.Source].
func (f *Feed) Next() (*dissect.Datagram, error) {
	for f.next == len(f.batch) {
		if f.take() {
			return nil, io.EOF
		}
	}
	d := &f.batch[f.next]
	f.next++
	f.waiting.Add(-1)
	f.size.Add(-int64(len(d.Payload)))
	if f.stats.Frames == 0 {
		f.stats.FirstTime = d.Time
	}
	f.stats.Frames++
	f.stats.Datagrams++
	f.stats.LastTime = d.Time
	return d, nil
}

// take waits for datagrams and takes all of them from the queue. It reports
// whether the feed has ended and the queue is empty.
func (f *Feed) take() (end bool) {
	clear(f.batch) // their payloads are no longer needed
	if cap(f.batch) > feedUsual {
		f.batch = nil
	}
	for {
		f.mu.Lock()
		f.batch, f.queue, f.next = f.queue, f.batch[:0], 0
		end = f.ended
		f.mu.Unlock()
		if end || len(f.batch) > 0 {
			return len(f.batch) == 0
		}
		<-f.more
	}
}

// Close implements [capture.Source].
func (*Feed) Close() error { return nil }

// Stats implements reading.Source.
func (f *Feed) Stats() capture.Stats { return f.stats }

// Progress implements reading.Source.
func (*Feed) Progress() (read, size int64) { return 0, 0 }
