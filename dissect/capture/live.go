package capture

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/gopacket"

	"github.com/bcdissect/bcdissect/dissect/capture/device"
	"github.com/bcdissect/bcdissect/dissect/packet"
)

// Limits of the queue between the goroutine that reads packets and Next.
const (
	defaultQueue = 1 << 16  // packets
	maxWaiting   = 64 << 20 // bytes of them
	chunkSize    = 64 << 10 // memory for copies of packets
	tick         = time.Second / 2
)

// LiveOptions select the traffic to capture and limit the memory for it.
type LiveOptions struct {
	device.Options
	// Queue is the maximum number of packets waiting for Next, 0 for 65536.
	Queue int
	// Packets is the number of packets to read, 0 for no end.
	Packets int
}

// A Live reads datagrams from an interface.
//
// One goroutine reads and numbers packets. It passes them to the writer, if
// there is one, and queues them for Next. If Next is not called often enough,
// the queue overflows. The loss is counted and does not affect the file: a
// stopped terminal or a pager leaves no holes in it. If writing is too slow,
// packets wait in the system's buffer. When that is full, the system drops and
// counts them.
type Live struct {
	packetReader
	source  packetSource
	name    string
	link    uint16
	snap    int
	most    int // packets to read, 0 for no end
	writer  PacketWriter
	decoder decoder
	frame   frame
	tap     tapper
	start   time.Time // as the tap is told

	queue   chan waiting
	size    atomic.Int64 // bytes in the queue
	starter sync.Once
	closer  sync.Once
	closing atomic.Bool
	done    chan struct{} // closed when the reading goroutine has ended
	end     error         // why reading ended, set before queue is closed
	failed  error         // result of closing the device

	mu       sync.Mutex
	counters Counters
}

// A packetSource is a device, or a replacement in tests.
type packetSource interface {
	gopacket.ZeroCopyPacketDataSource // as of device.Device
	Digits() int8
	Counters() (device.Counters, error)
	Close() error
}

// A waiting is a packet in the queue.
type waiting struct {
	number int
	time   time.Time
	data   []byte
	full   int
}

// Counters count packets by their fate so far.
type Counters struct {
	device.Counters           // as of the last half second, or the end
	Time            time.Time // time of this query
	Read            uint64    // packets read, and written if there is a writer
	Overflowed      uint64    // read packets that found no room in the queue for Next
	Skipped         uint64    // received packets deliberately not written to the file
	NoRoom          uint64    // dropped packets that found no room in the system's buffer
}

// A PacketWriter stores packets. The reading goroutine calls it, so a slow
// writer delays reading.
type PacketWriter interface {
	// WritePacket writes a borrowed packet, like the writers of gopacket. A
	// [Comment] in the ancillary data is written with it, if the format has room.
	WritePacket(ci gopacket.CaptureInfo, data []byte) error
	// Flush protects everything written so far against a crash of this program,
	// and stores the counters. It is called every half second and once at the end.
	Flush(c Counters) error
}

// OpenLive opens an interface. Reading starts with the first call of Next.
// Until then the system buffers the packets.
func OpenLive(o LiveOptions) (*Live, error) {
	d, err := device.Open(o.Options)
	if err != nil {
		return nil, err
	}
	if !knownLink(d.LinkType()) {
		_ = d.Close() // nothing was written
		return nil, fmt.Errorf("%s: link type %d is not supported; choose another interface", d.Name(), d.LinkType())
	}
	l := newLive(d, o.Queue)
	l.name, l.link, l.snap, l.most = d.Name(), d.LinkType(), d.SnapLen(), o.Packets
	l.frame.Link = l.link
	return l, nil
}

func newLive(s packetSource, queue int) *Live {
	if queue <= 0 {
		queue = defaultQueue
	}
	l := &Live{source: s, queue: make(chan waiting, queue), done: make(chan struct{})}
	l.packetReader = packetReader{&l.decoder, l.Next, func() *frame { return &l.frame }}
	l.frame.digits = s.Digits()
	return l
}

// Interface returns the name of the interface.
func (l *Live) Interface() string { return l.name }

// SnapLen returns the snap length.
func (l *Live) SnapLen() int { return l.snap }

// WriterOptions returns the facts about this capture for its file. The
// caller adds the program, the filter and the start.
func (l *Live) WriterOptions() WriterOptions {
	return WriterOptions{Link: l.link, SnapLen: l.snap, Hardware: runtime.GOARCH, System: runtime.GOOS, Interface: l.name}
}

// Tee also writes all packets to a writer. It must be called before the first
// Next. The writer is not used after Close has returned or Next has failed, and
// is not closed. An error from it ends the capture.
func (l *Live) Tee(w PacketWriter) { l.writer = w }

// Tap lets a tap see all packets that Next takes, and in the end their counts. Packets
// that found no room in the queue count as lost. It must be called before the first Next.
func (l *Live) Tap(t Tap, o *WriterOptions) {
	l.tap.Tap, l.start = t, o.Start
	var b Writer
	b.aboutSection(o)
	t.File(0)
	t.Section(b.buf)
	b.buf = nil
	b.aboutInterface(o)
	t.Interface(&Interface{Link: o.Link, SnapLen: uint32(o.SnapLen), Options: b.buf})
}

// untap tells the tap the counts, once.
func (l *Live) untap() {
	if l.tap.Tap == nil {
		return
	}
	c := l.Counters()
	c.Dropped += c.Overflowed
	b := Writer{start: l.start, counters: c}
	b.statistics(c.Time)
	l.tap.Block(ngStatistics, b.buf)
	l.tap.Tap = nil
}

// Next implements [Source]. It waits for a datagram. After Close, or after the
// requested number of packets, it returns the remaining datagrams and then
// [io.EOF]. If the capture ends by itself, Next returns the reason, which wraps
// [device.ErrDown] if the interface went down.
//
// A datagram has the number of its packet among the packets read, which is also
// its number in the written file.
func (l *Live) Next() (*packet.Datagram, error) {
	l.starter.Do(func() { go l.read() })
	for {
		w, ok := <-l.queue
		if !ok {
			l.untap()
			return nil, l.end
		}
		l.size.Add(-int64(len(w.data)))
		l.frame.Time, l.frame.Data, l.frame.Full = w.time, w.data, w.full
		got := l.decoder.decode(&l.frame)
		if l.tap.Tap != nil {
			l.frame.Stamp, l.frame.Timed = nanoseconds(w.time), true
			l.tap.show(&l.frame, &l.decoder, got)
		}
		if got || l.decoder.every {
			l.decoder.datagram.Number = w.number
			return &l.decoder.datagram, nil
		}
	}
}

// Idle reports whether Next would have to wait: the time to flush the output
// for earlier datagrams. It may be called at any time.
func (l *Live) Idle() bool { return len(l.queue) == 0 }

// Stats counts the packets taken by Next so far.
func (l *Live) Stats() Stats { return l.decoder.stats(new(progress)) }

// Counters returns the counts of packets so far. It may be called at any time.
func (l *Live) Counters() Counters {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counters
}

// Close implements [Source]. It ends the capture. Next returns the remaining
// datagrams and then [io.EOF]. Close may be called repeatedly, at any time and
// by any goroutine. It returns when the device is closed.
func (l *Live) Close() error {
	l.closing.Store(true)
	l.starter.Do(func() { // no packet was read
		l.end = io.EOF
		close(l.queue)
		close(l.done)
	})
	<-l.done
	l.closer.Do(func() { l.failed = l.source.Close() })
	return l.failed
}

// read runs in a separate goroutine until the capture ends.
func (l *Live) read() {
	defer close(l.done)
	defer close(l.queue)
	l.end = l.readAll()
	if err := l.count(time.Now()); l.end == nil {
		l.end = err
	}
	if l.end == nil {
		l.end = io.EOF
	}
}

// readAll reads packets until Close, the requested number of packets, or the
// end of the capture. The first two are not errors.
func (l *Live) readAll() error {
	var chunk []byte
	number := 0
	counted := time.Now()
	for !l.closing.Load() && (l.most <= 0 || number < l.most) {
		data, ci, err := l.source.ZeroCopyReadPacketData()
		idle := errors.Is(err, os.ErrDeadlineExceeded)
		if err != nil && !idle {
			return err
		}
		if now := time.Now(); now.Sub(counted) >= tick {
			counted = now
			if err := l.count(now); err != nil {
				return err
			}
		}
		if idle {
			continue
		}
		number++
		if l.writer != nil {
			if err := l.writer.WritePacket(ci, data); err != nil {
				return err
			}
		}
		overflow := l.size.Load()+int64(len(data)) > maxWaiting || len(l.queue) == cap(l.queue)
		l.mu.Lock()
		l.counters.Read++
		if overflow {
			l.counters.Overflowed++
		}
		l.mu.Unlock()
		if overflow {
			continue
		}
		if len(data) > cap(chunk)-len(chunk) {
			chunk = make([]byte, 0, max(chunkSize, len(data)))
		}
		from := len(chunk)
		chunk = append(chunk, data...)
		l.size.Add(int64(len(data)))
		// There is only one sender, so there is still room.
		l.queue <- waiting{number, ci.Timestamp, chunk[from:len(chunk):len(chunk)], ci.Length}
	}
	return nil
}

// count gets the device's counters and flushes the writer.
func (l *Live) count(now time.Time) error {
	c, err := l.source.Counters()
	l.mu.Lock()
	if err == nil {
		l.counters.Counters = c
	}
	l.counters.Time = now
	all := l.counters
	l.mu.Unlock()
	if l.writer != nil {
		if e := l.writer.Flush(all); e != nil {
			return e
		}
	}
	return err
}
