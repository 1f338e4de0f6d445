package reading

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/extract"
	"github.com/bcdissect/bcdissect/decode/plural"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/capture"
)

// Limits of a reel. A stretch is long enough that its copy of the pipeline
// takes little of the memory, and short enough that decoding it again takes
// little time.
const (
	reelBytes         = 256 << 20
	stretchDatagrams  = 4096
	besidePayload     = 208 // memory of a datagram without its payload in bytes
	leastStretches    = 2   // number of stretches that are kept even if they are large
	recordingSoftware = "messages chosen in the browser, in packets made for them"
)

// A Reel keeps the datagrams of live game traffic in memory and reads their
// records as often as needed. It drops the oldest datagrams when the datagrams
// and the copies of the pipeline take more than 256 MiB. Add may be called
// concurrently with all other methods. Only one goroutine at a time may call
// the others.
type Reel struct {
	match func(*dissect.Record) bool // used only by the scanning goroutine

	mu        sync.Mutex
	start     time.Time
	head      *dissect.Pipeline // pipeline of Add
	datagrams int               // number of game datagrams so far
	records   int               // number of records of these datagrams
	stretches []*stretch        // in order, the oldest first
	fresh     *stretch          // the next stretch until its first game datagram arrives, then nil
	memory    int
	most      int
	next      checkpoint // state at the end of the last complete scan, if it has a pipeline
}

// A stretch is a part of a reel: datagrams and the state before them.
type stretch struct {
	at        checkpoint
	datagrams []dissect.Datagram
	memory    int
}

// NewReel returns an empty reel. The function match selects records.
func NewReel(cfg dissect.Config, match func(*dissect.Record) bool) *Reel {
	return &Reel{match: match, head: dissect.New(cfg), most: reelBytes}
}

// Tap returns a source that also adds the datagrams of src to the reel.
func (l *Reel) Tap(src Source) Source { return tapped{src, l} }

type tapped struct {
	Source
	reel *Reel
}

// Next implements [packet.Source].
func (t tapped) Next() (*dissect.Datagram, error) {
	d, err := t.Source.Next()
	if err == nil {
		t.reel.Add(d)
	}
	return d, err
}

// Add adds a copy of a datagram to the reel if it belongs to the game.
func (l *Reel) Add(d *dissect.Datagram) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.start.IsZero() {
		l.start = d.Time
	}
	s := l.fresh
	if n := len(l.stretches); s == nil && n > 0 && len(l.stretches[n-1].datagrams) < stretchDatagrams {
		s = l.stretches[n-1]
	}
	if s == nil {
		s = &stretch{at: checkpoint{datagrams: l.datagrams, records: l.records, pipeline: l.head.Clone()}, memory: l.head.Memory()}
		l.fresh = s
	}
	other := l.head.Stats().Other
	c := *d
	c.Payload = bytes.Clone(d.Payload)
	_ = l.head.Push(&c, func(*dissect.Record) error { l.records++; return nil }) // the function never returns an error
	if l.head.Stats().Other > other {
		return // it does not change the state, so the next datagram can begin the fresh stretch
	}
	if s == l.fresh {
		l.stretches, l.memory, l.fresh = append(l.stretches, s), l.memory+s.memory, nil
	}
	s.datagrams = append(s.datagrams, c)
	l.datagrams++
	size := besidePayload + len(c.Payload)
	s.memory, l.memory = s.memory+size, l.memory+size
	for l.memory > l.most && len(l.stretches) > leastStretches {
		l.memory -= l.stretches[0].memory
		l.stretches = slices.Delete(l.stretches, 0, 1)
	}
}

// Start returns the time of the first datagram.
func (l *Reel) Start() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.start
}

// Records returns the number of all records, and the number of the first ones
// that were dropped.
func (l *Reel) Records() (all, gone int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.stretches) == 0 {
		return 0, 0
	}
	return l.records, l.stretches[0].at.records
}

// Scan passes the selected records from number first on to take, with their
// numbers, until take returns false. It skips dropped records.
func (l *Reel) Scan(first int, take func(n int, r *dissect.Record) bool) error {
	all, at := l.from(first)
	if all == nil {
		return nil
	}
	x := scan{match: l.match, at: at, first: first, take: take}
	for _, s := range all {
		for i := max(x.at.datagrams-s.at.datagrams, 0); i < len(s.datagrams); i++ {
			x.at.datagrams++
			if err := x.at.pipeline.Push(&s.datagrams[i], x.emit); errors.Is(err, ErrEnough) {
				return nil
			} else if err != nil {
				return err
			}
		}
	}
	l.mu.Lock()
	l.next = x.at
	l.mu.Unlock()
	return nil
}

// from returns copies of the stretches to scan for records from number first
// on, and the state to begin with.
func (l *Reel) from(first int) (all []stretch, at checkpoint) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.stretches {
		if s.at.records <= first {
			all = all[:0]
		}
		all = append(all, *s)
	}
	if all == nil {
		return nil, at
	}
	at = all[0].at
	if next := l.next; next.pipeline != nil && next.records <= first && next.datagrams >= at.datagrams {
		l.next = checkpoint{} // a checkpoint can be used only once
		return all, next
	}
	at.pipeline = at.pipeline.Clone()
	return all, at
}

// Save writes the datagrams of frames to a capture and returns a description of
// what it has done. It makes new headers for the packets.
func (l *Reel) Save(name string, frames *extract.Frames) (done string, err error) {
	all, _ := l.from(0)
	w, err := capture.CreateWriter(name, capture.DatagramOptions(capture.WriterOptions{System: runtime.GOOS, Description: recordingSoftware, Start: l.Start()}))
	if errors.Is(err, capture.ErrNotEmpty) {
		return "", notReplaced(name)
	}
	if errors.Is(err, fs.ErrPermission) { // live gave up root and the rights to most folders
		return "", fmt.Errorf("%w; save in the current directory, if the user of -Z can write it", cli.Plain(err))
	}
	if err != nil {
		return "", cli.Plain(err)
	}
	packets := capture.NewDatagramWriter(w)
	written, left := 0, 0
	for _, s := range all {
		for i := range s.datagrams {
			d := &s.datagrams[i]
			if !frames.Has(d.Number) {
				continue
			}
			if !d.Src.Addr().Is4() || !d.Dst.Addr().Is4() {
				left++
				continue
			}
			if err = packets.Write(d.Time, d.Src, d.Dst, d.Payload); err != nil {
				break
			}
			written++
		}
	}
	if e := w.Flush(capture.Counters{}); err == nil {
		err = e
	}
	if e := w.Close(); err == nil {
		err = e
	}
	done = fmt.Sprintf("%s: %s written", name, plural.Count(written, "datagram"))
	if left > 0 {
		done += fmt.Sprintf(", %d with IPv6 dropped", left)
	}
	return done, err
}
