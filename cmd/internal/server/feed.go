package server

import (
	"io"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/capture"
)

// A Feed passes datagrams to a report. If the report is too slow, some
// datagrams are dropped and counted, so that players do not wait for the
// report.
type Feed struct {
	queue   chan dissect.Datagram
	size    atomic.Int64 // bytes in the queue
	dropped atomic.Int64
	chunk   []byte // memory for payloads
	number  int

	taken dissect.Datagram // datagram returned by Next
	stats capture.Stats
}

// Limits of a feed.
const (
	feedQueue = 1 << 14 // datagrams
	feedBytes = 32 << 20
	feedChunk = 64 << 10
)

// NewFeed returns an empty feed.
func NewFeed() *Feed { return &Feed{queue: make(chan dissect.Datagram, feedQueue)} }

// Put adds a datagram and copies its payload. Only one goroutine at a time may
// call it.
func (f *Feed) Put(now time.Time, from, to netip.AddrPort, payload []byte) {
	f.number++ // equals the number in the recording
	if f.size.Load()+int64(len(payload)) > feedBytes {
		f.dropped.Add(1)
		return
	}
	if len(payload) > cap(f.chunk)-len(f.chunk) {
		f.chunk = make([]byte, 0, max(feedChunk, len(payload)))
	}
	at := len(f.chunk)
	f.chunk = append(f.chunk, payload...)
	const nanoseconds = 9
	f.size.Add(int64(len(payload)))
	select {
	case f.queue <- dissect.Datagram{
		Number: f.number, Time: now.UTC(), Digits: nanoseconds, Src: from, Dst: to,
		Payload: f.chunk[at:len(f.chunk):len(f.chunk)], Full: len(payload),
	}:
	default:
		f.chunk = f.chunk[:at]
		f.size.Add(-int64(len(payload)))
		f.dropped.Add(1)
	}
}

// Dropped returns the number of datagrams for which there was no room.
func (f *Feed) Dropped() int64 { return f.dropped.Load() }

// End ends the report.
func (f *Feed) End() { close(f.queue) }

// Next implements [capture.Source].
func (f *Feed) Next() (*dissect.Datagram, error) {
	d, ok := <-f.queue
	if !ok {
		return nil, io.EOF
	}
	f.size.Add(-int64(len(d.Payload)))
	if f.stats.Frames == 0 {
		f.stats.FirstTime = d.Time
	}
	f.stats.Frames++
	f.stats.Datagrams++
	f.stats.LastTime = d.Time
	f.taken = d
	return &f.taken, nil
}

// Close implements [capture.Source].
func (*Feed) Close() error { return nil }

// Stats implements reading.Source.
func (f *Feed) Stats() capture.Stats { return f.stats }

// Progress implements reading.Source.
func (*Feed) Progress() (read, size int64) { return 0, 0 }
