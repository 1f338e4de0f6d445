package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/capture"
	"github.com/bcdissect/bcdissect/dissect/capture/device"
	"github.com/bcdissect/bcdissect/dissect/relay"
	"github.com/bcdissect/bcdissect/report"
)

// Bounds of a server.
const (
	socketBuffer  = 1 << 20 // bytes that the system may keep for it
	largest       = 2048    // bytes of a datagram; the game's have 512 at most
	waitingAtMost = 1024    // datagrams that wait for the host
	batch         = 256     // of them that the host takes before it answers
	badReads      = 100     // one after another, after which the socket is broken
	eventsAtOnce  = 50      // that are said in a second
	farewell      = 2 * time.Second
	shortest      = time.Millisecond // between two looks at the timers
	beatEvery     = 300 * time.Second
	beatAtMost    = 10 * time.Second // after the one before, though the game has changed
)

// An inbound is a datagram that waits for the host.
type inbound struct {
	from netip.AddrPort
	size int
	data *[largest]byte
}

// A server is a host behind a socket. One goroutine owns all of it but for the
// socket's receiving side.
type server struct {
	conn    *net.UDPConn
	host    *relay.Host
	seen    netip.AddrPort // the address that recordings give the host
	console *console
	name    string
	players int
	master  netip.AddrPort         // that heartbeats go to, if it is valid
	reload  func() (string, error) // reads lists again; nil if there are none
	feed    *feed                  // of the report; nil for none

	waiting chan inbound
	free    chan *[largest]byte
	broken  chan error
	dropped atomic.Int64 // because the host was busy
	cut     atomic.Int64 // because they were too large

	packets   *capture.DatagramWriter
	file      *capture.Writer // nil once it has failed, or without
	fileName  string
	fileError error

	began    time.Time
	events   int // in this second
	unsaid   int // events
	joined   int
	bytesIn  int64
	bytesOut int64
	unsent   int
	sendErr  error // of the last of them
	beaten   time.Time
	count    int // of players, as the master knows it
	last     relay.Stats
	drawn    time.Time
}

func newServer(conn *net.UDPConn, seen netip.AddrPort) *server {
	s := &server{
		conn: conn, seen: seen,
		waiting: make(chan inbound, waitingAtMost), free: make(chan *[largest]byte, waitingAtMost), broken: make(chan error, 1),
	}
	for range waitingAtMost {
		s.free <- new([largest]byte)
	}
	return s
}

// record has everything written to a file.
func (s *server) record(name string) error {
	packets, file, err := capture.CreateDatagramWriter(name, &capture.WriterOptions{
		Start: time.Now(), Hardware: runtime.GOARCH, System: runtime.GOOS, Application: "bcdissect " + versionText(),
		Interface: "relay", Description: "what the host received and sent, in packets made for it",
	})
	s.packets, s.file, s.fileName = packets, file, name
	return err
}

// receive reads datagrams into the queue until the socket is closed. It never
// waits for the host: what finds no room is dropped, as the system does.
func (s *server) receive() {
	var spare [largest]byte
	for bad := 0; ; {
		data := &spare
		select {
		case data = <-s.free:
		default:
		}
		n, from, err := s.conn.ReadFromUDPAddrPort(data[:])
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case isErrno(err, syscall.ECONNRESET, windowsReset) || isErrno(err, syscall.ECONNREFUSED, windowsReset):
			// Windows says here that a client is no longer there.
		case n == largest || isErrno(err, syscall.EMSGSIZE, windowsTooLong):
			s.cut.Add(1)
		case err != nil:
			if bad++; bad >= badReads {
				s.broken <- fmt.Errorf("receiving: %w", plainNetwork(err))
				return
			}
		case data == &spare:
			s.dropped.Add(1)
		default:
			bad = 0
			s.waiting <- inbound{from, n, data} // there is room for every free buffer
			continue
		}
		if data != &spare {
			s.free <- data
		}
	}
}

// serve runs the host until stop is closed, and takes leave of all players.
func (s *server) serve(stop <-chan struct{}) error {
	hangup := make(chan os.Signal, 1)
	if s.reload != nil {
		signal.Notify(hangup, syscall.SIGHUP)
		defer signal.Stop(hangup)
	}
	received := make(chan struct{})
	go func() {
		defer close(received)
		s.receive()
	}()
	err := s.loop(stop, hangup)
	_ = s.conn.Close() // so that receive ends
	<-received
	s.console.clear()
	if e := s.closeFile(); err == nil {
		err = e
	}
	s.summary()
	return failed(err)
}

func (s *server) loop(stop <-chan struct{}, hangup <-chan os.Signal) error {
	s.began = time.Now()
	s.beat(s.began)
	second := time.NewTicker(time.Second)
	defer second.Stop()
	timer := time.NewTimer(0)
	defer timer.Stop()
	var deadline <-chan time.Time // of players to say goodbye; nil while hosting
	for {
		select {
		case p := <-s.waiting:
			s.take(time.Now(), p)
		case <-timer.C:
		case <-second.C:
			s.everySecond(time.Now())
		case <-hangup:
			s.reread()
		case err := <-s.broken:
			return err
		case <-stop:
			stop, deadline = nil, time.After(farewell)
			s.console.say("stopping: taking leave of all players")
			s.host.Shutdown(time.Now())
		case <-deadline:
			return nil
		}
		next := s.answer()
		if deadline != nil && s.host.Idle() {
			return nil
		}
		if next.IsZero() {
			timer.Stop()
		} else {
			timer.Reset(max(time.Until(next), shortest))
		}
	}
}

// take gives the host a datagram.
func (s *server) take(now time.Time, p inbound) {
	payload := p.data[:p.size]
	s.bytesIn += int64(p.size)
	s.note(now, p.from, s.seen, payload)
	s.host.Receive(now, p.from, payload)
	s.free <- p.data
}

// answer gives the host what else has come, so that it can answer all of it at
// once, and sends what it has to say.
func (s *server) answer() (next time.Time) {
	for range batch {
		select {
		case p := <-s.waiting:
			s.take(time.Now(), p)
			continue
		default:
		}
		break
	}
	now := time.Now()
	next = s.host.Advance(now)
	for {
		to, datagram, ok := s.host.Send()
		if !ok {
			return next
		}
		s.send(now, to, datagram)
	}
}

func (s *server) send(now time.Time, to netip.AddrPort, datagram []byte) {
	if _, err := s.conn.WriteToUDPAddrPort(datagram, to); err != nil {
		s.unsent++
		s.sendErr = plainNetwork(err)
		return
	}
	s.bytesOut += int64(len(datagram))
	s.note(now, s.seen, to, datagram)
}

// note records and reports a datagram.
func (s *server) note(now time.Time, from, to netip.AddrPort, payload []byte) {
	if s.file != nil {
		s.recorded(s.packets.Write(now, from, to, payload))
	}
	if s.feed != nil {
		s.feed.put(now, from, to, payload)
	}
}

// recorded gives up recording if it has failed. The players go on.
func (s *server) recorded(err error) {
	if err == nil {
		return
	}
	s.console.say("recording has ended: " + err.Error())
	s.fileError = err
	_ = s.file.Close() // the error that matters is known
	s.file = nil
}

func (s *server) closeFile() error {
	if s.file == nil {
		return s.fileError
	}
	if err := s.file.Flush(s.counters()); err != nil {
		s.fileError = err
	}
	if err := s.file.Close(); s.fileError == nil {
		s.fileError = err
	}
	return s.fileError
}

// counters are what a recording tells at its end.
func (s *server) counters() capture.Counters {
	lost := s.dropped.Load() + s.cut.Load()
	return capture.Counters{
		Counters: device.Counters{Received: uint64(int64(s.host.Stats().Received) + lost), Dropped: uint64(lost)},
		Time:     time.Now(),
	}
}

// everySecond does what is not worth doing for every datagram.
func (s *server) everySecond(now time.Time) {
	if s.file != nil {
		s.recorded(s.file.Flush(s.counters()))
	}
	if s.unsaid > 0 {
		s.console.say(fmt.Sprintf("and %d more", s.unsaid))
	}
	s.events, s.unsaid = 0, 0
	if s.master.IsValid() {
		s.beat(now)
	}
	s.draw(now)
}

// inGame counts the players.
func (s *server) inGame() (n int) {
	for p := range s.host.Peers() {
		if p.Phase != relay.Leaving {
			n++
		}
	}
	return n
}

// draw shows how things stand.
func (s *server) draw(now time.Time) {
	stats := s.host.Stats()
	seconds := max(now.Sub(s.drawn).Seconds(), 0.1)
	text := fmt.Sprintf("%d of %d players, %.0f datagrams/s in, %.0f out, up %s",
		s.inGame(), s.players, float64(stats.Received-s.last.Received)/seconds, float64(stats.Sent-s.last.Sent)/seconds,
		now.Sub(s.began).Round(time.Second))
	if n := s.dropped.Load(); n > 0 {
		text += fmt.Sprintf(", %d dropped", n)
	}
	s.last, s.drawn = stats, now
	s.console.status(text)
}

// beat tells the master server of the game if it is time to.
func (s *server) beat(now time.Time) {
	if !s.master.IsValid() {
		return
	}
	count := s.inGame()
	since := now.Sub(s.beaten)
	changed := count != s.count && since >= beatAtMost
	if !changed && since < beatEvery {
		return
	}
	text := fmt.Sprintf(`\heartbeat\%d\gamename\bcommander`, s.seen.Port())
	if changed {
		text += `\statechanged\1`
	}
	s.beaten, s.count = now, count
	s.send(now, s.master, []byte(text))
}

// reread reads the lists again.
func (s *server) reread() {
	text, err := s.reload()
	if err != nil {
		text = "the bans stay as they were: " + err.Error()
	}
	s.console.say(text)
}

// event says what has happened, though not more than anybody can read.
func (s *server) event(e relay.Event) {
	if e.Kind == relay.Ready {
		s.joined++
	}
	if s.events++; s.events > eventsAtOnce {
		s.unsaid++
		return
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", e.Addr, e.Kind)
	if len(e.Name) > 0 {
		fmt.Fprintf(&b, " %q", wire.WideText(e.Name))
	}
	if e.Peer > 0 {
		fmt.Fprintf(&b, " id %d", e.Peer)
	}
	if e.Slot >= 0 {
		fmt.Fprintf(&b, " slot %d", e.Slot)
	}
	if e.Text != "" {
		fmt.Fprintf(&b, ": %s", e.Text)
	}
	s.console.say(b.String())
}

// summary says what there was.
func (s *server) summary() {
	stats := s.host.Stats()
	s.console.say(fmt.Sprintf("hosted for %s: %d joined, %d datagrams (%s) received, %d (%s) sent, %d messages passed on, %d queries answered",
		time.Since(s.began).Round(time.Second), s.joined, stats.Received, size(s.bytesIn), stats.Sent-s.unsent, size(s.bytesOut), stats.Copies, stats.Queries))
	lost := func(n int, why string) {
		if n > 0 {
			s.console.say(fmt.Sprintf("%d datagrams %s", n, why))
		}
	}
	lost(int(s.dropped.Load()), "were dropped because the host was busy")
	lost(int(s.cut.Load()), "were dropped because they were too large")
	lost(stats.Limited, "were dropped by a limit")
	lost(stats.Malformed, "did not make sense, in whole or in part")
	lost(stats.Strangers, "came from strangers")
	if s.unsent > 0 {
		lost(s.unsent, "could not be sent: "+s.sendErr.Error())
	}
	if s.feed != nil {
		lost(int(s.feed.dropped.Load()), "are not in the report because it was too slow")
	}
}

// size writes a number of bytes.
func size(n int64) string {
	if n < 1e6 {
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

// A console is standard error with a line at its end that tells how things
// stand, if it is a terminal.
type console struct {
	w     io.Writer
	on    bool
	shown string
}

func newConsole(w io.Writer, off bool) *console {
	return &console{w: w, on: !off && isTerminal(w) && os.Getenv("TERM") != "dumb"}
}

// isTerminal reports whether a stream is a terminal.
func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// say writes a line above the status.
func (c *console) say(text string) {
	shown := c.shown
	c.clear()
	fmt.Fprintf(c.w, "bcdissect: %s\n", oneLine(report.Escape(text)))
	c.status(shown)
}

// status shows the line at the end.
func (c *console) status(text string) {
	if c.on && text != "" {
		fmt.Fprintf(c.w, "\r\x1b[K%s", text)
		c.shown = text
	}
}

// clear takes the line away.
func (c *console) clear() {
	if c.shown != "" {
		fmt.Fprintf(c.w, "\r\x1b[K")
		c.shown = ""
	}
}

// A feed gives datagrams to a report. If the report is too slow, some are left
// out and counted: players do not wait for it.
type feed struct {
	queue   chan dissect.Datagram
	dropped atomic.Int64
	chunk   []byte // of memory for payloads
	number  int

	taken dissect.Datagram // by Next
	stats capture.Stats
}

// Bounds of a feed.
const (
	feedQueue = 1 << 14 // datagrams
	feedChunk = 64 << 10
)

func newFeed() *feed { return &feed{queue: make(chan dissect.Datagram, feedQueue)} }

func (f *feed) put(now time.Time, from, to netip.AddrPort, payload []byte) {
	f.number++ // as in the recording
	if len(payload) > cap(f.chunk)-len(f.chunk) {
		f.chunk = make([]byte, 0, max(feedChunk, len(payload)))
	}
	at := len(f.chunk)
	f.chunk = append(f.chunk, payload...)
	const nanoseconds = 9
	select {
	case f.queue <- dissect.Datagram{
		Number: f.number, Time: now.UTC(), Digits: nanoseconds, Src: from, Dst: to,
		Payload: f.chunk[at:len(f.chunk):len(f.chunk)], Full: len(payload),
	}:
	default:
		f.chunk = f.chunk[:at]
		f.dropped.Add(1)
	}
}

// close ends the report.
func (f *feed) close() { close(f.queue) }

// Next implements [capture.Source].
func (f *feed) Next() (*dissect.Datagram, error) {
	d, ok := <-f.queue
	if !ok {
		return nil, io.EOF
	}
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
func (*feed) Close() error { return nil }

// Stats implements source.
func (f *feed) Stats() capture.Stats { return f.stats }

// Progress implements source.
func (*feed) Progress() (read, size int64) { return 0, 0 }
