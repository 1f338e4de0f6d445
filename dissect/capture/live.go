package capture

import (
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bcdissect/bcdissect/dissect/capture/device"
	"github.com/bcdissect/bcdissect/dissect/packet"
)

// Limits of the queue between the goroutine that reads packets and Next.
const (
	defaultQueue = 1 << 16  // packets
	maxWaiting   = 64 << 20 // bytes of them
	chunkSize    = 64 << 10 // of memory for copies of packets
	tick         = time.Second / 2
)

// LiveOptions select the traffic to capture and limit the memory for it.
type LiveOptions struct {
	device.Options
	// Queue is how many packets may wait for Next, 0 for 65536.
	Queue int
	// Packets is how many packets to read, 0 for no end.
	Packets int
}

// A Live reads the datagrams that pass an interface, while they do.
//
// One goroutine reads packets, numbers them, hands them to the writer, if there
// is one, and puts them into a queue that Next takes them from. If Next is not
// called often enough the queue overflows, which is counted and has no effect
// on the file: a terminal that stands still, or a pager, must not leave
// holes in it. If writing is too slow, packets wait in the system's
// buffer, and when that is full the system drops and counts them.
type Live struct {
	source  packetSource
	name    string
	link    uint16
	snap    int
	most    int // packets to read, 0 for no end
	writer  PacketWriter
	decoder decoder
	frame   frame

	queue   chan waiting
	size    atomic.Int64 // bytes in the queue
	starter sync.Once
	closer  sync.Once
	closing atomic.Bool
	done    chan struct{} // closed when the reading goroutine has ended
	end     error         // why it has; to be read when queue is closed
	failed  error         // result of closing the device

	mu       sync.Mutex
	counters Counters
}

// A packetSource is a device, or in tests something like it.
type packetSource interface {
	Read(p *device.Packet) (bool, error)
	Digits() int8
	Counters() (device.Counters, error)
	Close() error
}

// waiting is a packet in the queue.
type waiting struct {
	number int
	time   time.Time
	data   []byte
	full   int
}

// Counters count packets by their fate so far.
type Counters struct {
	device.Counters           // as of the last half second, or the end
	Time            time.Time // when these were asked for
	Read            uint64    // packets that were read, and written if they are
	Overflowed      uint64    // of those, how many found no room in the queue for Next
	Skipped         uint64    // of those received, how many were left out of the file on purpose
	NoRoom          uint64    // of those dropped, how many found no room in the system's buffer
}

// A PacketWriter keeps packets. It is called by the goroutine that reads them,
// so its time is taken from reading.
type PacketWriter interface {
	// WritePacket writes a packet, which is borrowed.
	WritePacket(p *device.Packet) error
	// Flush sees to it that a crash of this program loses nothing that was
	// written so far, and takes note of the counters. It is called every half
	// second and once at the end.
	Flush(c Counters) error
}

// OpenLive opens an interface. Packets are read from the first call of Next
// on; until then, the system keeps them.
func OpenLive(o LiveOptions) (*Live, error) {
	d, err := device.Open(o.Options)
	if err != nil {
		return nil, err
	}
	if !knownLink(d.LinkType()) {
		_ = d.Close() // nothing was written
		return nil, fmt.Errorf("%s: its link type %d is not known here; choose another interface", d.Name(), d.LinkType())
	}
	l := newLive(d, o.Queue)
	l.name, l.link, l.snap, l.most = d.Name(), d.LinkType(), d.SnapLen(), o.Packets
	l.frame.link = l.link
	return l, nil
}

func newLive(s packetSource, queue int) *Live {
	if queue <= 0 {
		queue = defaultQueue
	}
	l := &Live{source: s, queue: make(chan waiting, queue), done: make(chan struct{})}
	l.frame.digits = s.Digits()
	return l
}

// Interface returns the name of the interface.
func (l *Live) Interface() string { return l.name }

// LinkType returns the LINKTYPE number of the packets.
func (l *Live) LinkType() uint16 { return l.link }

// SnapLen returns how many bytes of a packet are kept.
func (l *Live) SnapLen() int { return l.snap }

// WriterOptions returns the facts about this capture for its file. The
// caller adds the program, the filter and the start.
func (l *Live) WriterOptions() WriterOptions {
	return WriterOptions{Link: l.link, SnapLen: l.snap, Hardware: runtime.GOARCH, System: runtime.GOOS, Interface: l.name}
}

// Tee has all packets written, too. It must be called before the first Next.
// The writer is no longer used when Close has returned, or Next an error; it
// is not closed. An error that it returns ends the capture.
func (l *Live) Tee(w PacketWriter) { l.writer = w }

// Next implements [Source]. It waits for a datagram. After Close, or as many
// packets as wanted, it returns those that had been captured and then [io.EOF]. If the capture ends by
// itself, the error says why; it wraps [device.ErrDown] if the interface is no
// longer up.
//
// The number of a datagram is that of the packet among those that were read,
// and so its number in the file that was written.
func (l *Live) Next() (*packet.Datagram, error) {
	l.starter.Do(func() { go l.read() })
	for {
		w, ok := <-l.queue
		if !ok {
			return nil, l.end
		}
		l.size.Add(-int64(len(w.data)))
		l.frame.time, l.frame.data, l.frame.full = w.time, w.data, w.full
		if l.decoder.decode(&l.frame) {
			l.decoder.datagram.Number = w.number
			return &l.decoder.datagram, nil
		}
	}
}

// Idle reports whether Next would have to wait: the time to flush the output
// for earlier datagrams. It may be called at any time.
func (l *Live) Idle() bool { return len(l.queue) == 0 }

// Stats counts the packets that Next has taken so far.
func (l *Live) Stats() Stats { return l.decoder.stats(new(progress)) }

// Counters returns the counts of packets so far. It may be called at any time.
func (l *Live) Counters() Counters {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counters
}

// Close implements [Source]. It ends the capture; Next returns the remaining
// datagrams and then [io.EOF]. Close may be called at any time, by any goroutine and more
// than once, and returns when the device is closed.
func (l *Live) Close() error {
	l.closing.Store(true)
	l.starter.Do(func() { // nothing was read
		l.end = io.EOF
		close(l.queue)
		close(l.done)
	})
	<-l.done
	l.closer.Do(func() { l.failed = l.source.Close() })
	return l.failed
}

// read runs in a goroutine of its own until the capture ends.
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

// readAll reads packets until somebody closes or there are as many as wanted,
// which is no error, or there are no more.
func (l *Live) readAll() error {
	var p device.Packet
	var chunk []byte
	number := 0
	counted := time.Now()
	for !l.closing.Load() && (l.most <= 0 || number < l.most) {
		ok, err := l.source.Read(&p)
		if err != nil {
			return err
		}
		if now := time.Now(); now.Sub(counted) >= tick {
			counted = now
			if err := l.count(now); err != nil {
				return err
			}
		}
		if !ok {
			continue
		}
		number++
		if l.writer != nil {
			if err := l.writer.WritePacket(&p); err != nil {
				return err
			}
		}
		overflow := l.size.Load()+int64(len(p.Data)) > maxWaiting || len(l.queue) == cap(l.queue)
		l.mu.Lock()
		l.counters.Read++
		if overflow {
			l.counters.Overflowed++
		}
		l.mu.Unlock()
		if overflow {
			continue
		}
		if len(p.Data) > cap(chunk)-len(chunk) {
			chunk = make([]byte, 0, max(chunkSize, len(p.Data)))
		}
		from := len(chunk)
		chunk = append(chunk, p.Data...)
		l.size.Add(int64(len(p.Data)))
		// Nobody else sends, so there still is room.
		l.queue <- waiting{number, p.Time, chunk[from:len(chunk):len(chunk)], p.Full}
	}
	return nil
}

// count asks the device for its counters and has the writer flush.
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
