package capture

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/gopacket"

	"github.com/bcdissect/bcdissect/dissect/capture/device"
)

// A script is a device that returns prepared packets. An empty payload stands
// for a timeout.
type script struct {
	steps    chan step
	counters device.Counters
	closed   int
	buf      []byte
}

type step struct {
	payload string
	err     error
}

func newScript(steps ...step) *script {
	s := &script{steps: make(chan step, len(steps)), counters: device.Counters{Received: 1000, Dropped: 7}}
	for _, one := range steps {
		s.steps <- one
	}
	return s
}

func (s *script) Digits() int8 { return 9 }

func (s *script) ZeroCopyReadPacketData() (data []byte, ci gopacket.CaptureInfo, err error) {
	select {
	case one := <-s.steps:
		if one.err != nil {
			return nil, ci, one.err
		}
		if one.payload == "" {
			return nil, ci, os.ErrDeadlineExceeded
		}
		s.buf = append(s.buf[:0], udp4([]byte(one.payload))...) // all packets share this memory
		return s.buf, gopacket.CaptureInfo{Timestamp: time.Unix(1e9, 123).UTC(), CaptureLength: len(s.buf), Length: len(s.buf)}, nil
	default:
		return nil, ci, os.ErrDeadlineExceeded
	}
}

func (s *script) Counters() (device.Counters, error) { return s.counters, nil }

func (s *script) Close() error {
	s.closed++
	return nil
}

func scripted(s *script, queue int) *Live {
	l := newLive(s, queue)
	l.frame.Link = linkRaw
	return l
}

// numberedSteps returns packets "0", "1" and so on.
func numberedSteps(n int) []step {
	var all []step
	for i := range n {
		all = append(all, step{payload: strconv.Itoa(i)})
	}
	return all
}

var errEnd = errors.New("the end")

func TestLiveOverflow(t *testing.T) {
	l := scripted(newScript(append(numberedSteps(10), step{err: errEnd})...), 4)
	var written frames
	l.Tee(&written)
	l.starter.Do(func() { l.read() }) // read everything before the first Next
	var got []string
	all, err := datagrams(t, l)
	for _, d := range all {
		got = append(got, fmt.Sprintf("%d:%s", d.Number, d.Payload))
	}
	if fmt.Sprint(got) != "[1:0 2:1 3:2 4:3]" || !errors.Is(err, errEnd) {
		t.Errorf("got %q and %v, want the first four", got, err)
	}
	if len(written) != 10 || !bytes.HasSuffix(written[9], []byte("9")) {
		t.Errorf("got %d packets written, want all 10", len(written))
	}
	c := l.Counters()
	if c.Read != 10 || c.Overflowed != 6 || c.Received != 1000 || c.Dropped != 7 || c.Time.IsZero() {
		t.Errorf("got %+v, want 10 read, 6 overflowed, and the device's", c)
	}
	if s := l.Stats(); s.Frames != 4 || s.Datagrams != 4 {
		t.Errorf("got %+v, want 4 frames", s)
	}
	if !l.Idle() {
		t.Error("got work, want none")
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// Exactly the requested number of packets is read.
func TestLivePackets(t *testing.T) {
	source := newScript(numberedSteps(10)...)
	l := scripted(source, 100)
	l.most = 3
	var written frames
	l.Tee(&written)
	all, err := datagrams(t, l)
	if len(all) != 3 || string(all[2].Payload) != "2" || err != nil {
		t.Errorf("got %d datagrams and %v, want the first three", len(all), err)
	}
	if len(written) != 3 || len(source.steps) != 7 || l.Counters().Read != 3 {
		t.Errorf("got %d written and %d not read, want 3 and 7", len(written), len(source.steps))
	}
	if err := l.Close(); err != nil || source.closed != 1 {
		t.Errorf("closed %d times, %v", source.closed, err)
	}
}

// Datagrams keep their numbers if others between them were lost.
func TestLiveNumbers(t *testing.T) {
	s := newScript(numberedSteps(6)...)
	s.steps = make(chan step)
	l := scripted(s, 2)
	feed := func(from, to int) {
		for i := from; i < to; i++ {
			s.steps <- step{payload: strconv.Itoa(i)}
		}
		s.steps <- step{} // when it is read, the previous one is in its place
	}
	next := func() string {
		d, err := l.Next()
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(d.Number, " ", string(d.Payload))
	}
	go feed(0, 1)
	if got := next(); got != "1 0" {
		t.Errorf("got %s, want the first", got)
	}
	feed(1, 5)
	for _, want := range []string{"2 1", "3 2"} {
		if got := next(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	feed(5, 6)
	if got := next(); got != "6 5" {
		t.Errorf("got %s, want the last", got)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// The queue also has a limit in bytes.
func TestLiveBytes(t *testing.T) {
	const size, count = 60000, 1200
	steps := slices.Repeat([]step{{payload: string(numbers(size))}}, count)
	l := scripted(newScript(append(steps, step{err: errEnd})...), 0)
	l.starter.Do(func() { l.read() })
	if got := l.size.Load(); got > maxWaiting || got < maxWaiting-size-100 {
		t.Errorf("got %d bytes waiting, want just below %d", got, maxWaiting)
	}
	all, _ := datagrams(t, l)
	if c := l.Counters(); c.Overflowed == 0 || len(all)+int(c.Overflowed) != count {
		t.Errorf("got %d datagrams and %+v, want %d together", len(all), c, count)
	}
	if got := l.size.Load(); got != 0 {
		t.Errorf("got %d bytes waiting, want none", got)
	}
}

func TestLiveCloseDrains(t *testing.T) {
	s := newScript()
	s.steps = make(chan step)
	l := scripted(s, 10)
	go func() {
		for _, one := range numberedSteps(3) {
			s.steps <- one
		}
		s.steps <- step{}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}()
	if all, err := datagrams(t, l); len(all) != 3 || err != nil {
		t.Errorf("got %d datagrams and %v, want 3", len(all), err)
	}
	if err := l.Close(); err != nil || s.closed != 1 {
		t.Errorf("got %v and %d times closed, want once", err, s.closed)
	}
}

func TestLiveCloseUnused(t *testing.T) {
	s := newScript()
	l := scripted(s, 0)
	if err := l.Close(); err != nil || s.closed != 1 {
		t.Errorf("got %v and %d times closed, want once", err, s.closed)
	}
	if _, err := l.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("got %v, want %v", err, io.EOF)
	}
}

// frames stores packets.
type frames [][]byte

func (f *frames) WritePacket(_ gopacket.CaptureInfo, data []byte) error {
	*f = append(*f, bytes.Clone(data))
	return nil
}
func (f *frames) Flush(Counters) error { return nil }

// A failing writer accepts some packets, and then fails.
type failing struct {
	packets int
	flush   error
	last    Counters
}

var errFull = errors.New("no space left")

func (f *failing) WritePacket(gopacket.CaptureInfo, []byte) error {
	if f.packets--; f.packets < 0 {
		return errFull
	}
	return nil
}

func (f *failing) Flush(c Counters) error {
	f.last = c
	return f.flush
}

func TestLiveWriterFails(t *testing.T) {
	for _, w := range []*failing{{packets: 2}, {packets: 9, flush: errFull}} {
		l := scripted(newScript(append(numberedSteps(2), step{payload: "x"})...), 0)
		l.Tee(w)
		if w.flush != nil {
			l.closing.Store(true)
		}
		all, err := datagrams(t, l)
		if w.flush == nil && len(all) != 2 || !errors.Is(err, errFull) {
			t.Errorf("got %d datagrams and %v, want 2 and %v", len(all), err, errFull)
		}
		if w.last.Received != 1000 {
			t.Errorf("got %+v, want the device's counters", w.last)
		}
		_ = l.Close()
	}
}

func TestKnownLink(t *testing.T) {
	for link := range 1 << 16 {
		var d decoder
		d.frame(uint16(link), nil)
		if known := len(d.tally.Other.Links) == 0; known != knownLink(uint16(link)) {
			t.Errorf("link type %d: got %v, want %v", link, !known, known)
		}
	}
}

// A copy of a live capture holds its packets, interface and counts, in which a
// packet that found no room in the queue is lost.
func TestLiveTap(t *testing.T) {
	l := scripted(newScript(append(numberedSteps(4), step{err: errEnd})...), 3)
	var out bytes.Buffer
	c := NewCopy("copy", struct{ io.Writer }{&out}, CopyOptions{Hold: true})
	l.Tap(c, &WriterOptions{Link: linkRaw, SnapLen: 96, System: "linux", Interface: "eth0", Filter: "udp", Start: time.Unix(1e9, 0)})
	l.starter.Do(func() { l.read() })
	for {
		d, err := l.Next()
		if err != nil {
			break
		}
		if f := c.Held(); f == nil || f.Number != d.Number || f.Payload != ipv4Header+udpHeader {
			t.Fatalf("got frame %+v of datagram %d", f, d.Number)
		}
		if d.Number == 2 {
			c.Take() // and forget it
		}
		c.Release()
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	packet := func(payload string) []byte {
		return enhanced(little, 0, 1e18+123, udp4([]byte(payload)), 29)
	}
	u64 := func(v uint64) []byte { return little.AppendUint64(nil, v) }
	stamp := func(v uint64) []byte {
		return append(little.AppendUint32(nil, uint32(v>>32)), little.AppendUint32(nil, uint32(v))...)
	}
	want := join(sectionWith(little, option(little, 3, []byte("linux")...), option(little, 0)),
		iface(little, linkRaw, 96, option(little, 2, []byte("eth0")...), option(little, 9, 9), option(little, 11, []byte("\x00udp")...), option(little, 0)),
		packet("0"), packet("2"))
	got := out.Bytes()
	if !bytes.HasPrefix(got, want) {
		t.Fatalf("got\n% x\nwant\n% x", got, want)
	}
	end := uint64(l.Counters().Time.UnixNano())
	counts := block(little, ngStatistics, make([]byte, 4), stamp(end), option(little, 2, stamp(1e18)...), option(little, 3, stamp(end)...),
		option(little, 4, u64(1000)...), option(little, 5, u64(7+1)...))
	if !bytes.Equal(got[len(want):], counts) {
		t.Errorf("got\n% x\nwant\n% x", got[len(want):], counts)
	}
}
