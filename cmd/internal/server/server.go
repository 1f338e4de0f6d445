// Package server runs the host of a game on a UDP socket. It receives, sends
// and records datagrams, logs events and feeds a report.
package server

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/decode/plural"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/capture"
	"github.com/bcdissect/bcdissect/dissect/capture/device"
	"github.com/bcdissect/bcdissect/dissect/relay"
)

// Limits of a server.
const (
	socketBuffer  = 1 << 20 // bytes of the system's receive buffer
	largest       = 2048    // bytes of a datagram, and the game's have at most 512
	waitingAtMost = 1024    // datagrams that wait for the host
	batch         = 256     // datagrams that the host handles before it answers
	eventsAtOnce  = 50      // events that are logged in a second
	oddAtMost     = 100     // datagrams without a session that are recorded in a second
	farewell      = time.Second
	shortest      = time.Millisecond // time between two checks of the timers
	beatEvery     = 300 * time.Second
	beatAtMost    = 10 * time.Second // time between two heartbeats, even if the game has not changed
)

// An inbound is a datagram that waits for the host.
type inbound struct {
	from netip.AddrPort
	size int
	data *[largest]byte
}

// A Server is a host on a socket. One goroutine owns everything except the
// receiving side of the socket.
type Server struct {
	Recorder

	conn    Conn
	Host    *relay.Host
	seen    netip.AddrPort // address of the host in recordings
	Name    string
	Players int
	Master  netip.AddrPort // destination of heartbeats if it is valid
	Bans    *Bans          // banned addresses, which are read again on SIGHUP
	// Strangers makes the server also record and report datagrams without a
	// session that get no answer.
	Strangers bool
	Metrics   bool // make metrics for requests

	waiting chan inbound
	orders  chan order
	metrics atomic.Pointer[[]byte] // metrics that publish has rendered
	free    chan *[largest]byte
	broken  chan error
	dropped atomic.Int64 // datagrams dropped because the host was busy
	cut     atomic.Int64 // datagrams dropped because they were too large

	skipped int          // received datagrams that were not recorded because the host ignored them
	unnoted int          // sent datagrams that were not recorded
	odd     int          // datagrams without a session that were recorded in this second
	noRoom  atomic.Int64 // datagrams dropped because the system's buffer was full

	began    time.Time
	events   int // events logged in this second
	unsaid   int // events that were not logged
	joined   int
	bytesIn  int64
	bytesOut int64
	unsent   int
	sendErr  error // error of the last datagram that was not sent
	beaten   time.Time
	count    int // number of players that the master server knows
	last     relay.Stats
	drawn    time.Time
}

// New returns a server on a socket. The address seen is the address of the host
// in recordings.
func New(conn Conn, seen netip.AddrPort) *Server {
	return &Server{
		conn: conn, seen: seen,
		waiting: make(chan inbound, waitingAtMost), free: make(chan *[largest]byte, waitingAtMost), broken: make(chan error, 1),
		orders: make(chan order), Bans: &Bans{},
	}
}

// receive reads datagrams into the queue until the socket is closed. It never
// waits for the host. If the queue is full, it drops datagrams, as the system
// does.
func (s *Server) receive() {
	var spare [largest]byte
	buffers := 0
	socket := NewSocket(s.conn, &s.noRoom)
	for {
		data := &spare
		select {
		case data = <-s.free:
		default:
			if buffers < waitingAtMost {
				data = new([largest]byte)
				buffers++
			}
		}
		n, from, err := socket.Receive(data[:])
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case Gone(err): // Windows reports here that a client's port is closed
		case n == largest || TooLong(err):
			s.cut.Add(1)
		case err != nil:
			s.broken <- err
			return
		case data == &spare:
			s.dropped.Add(1)
		default:
			s.waiting <- inbound{from, n, data} // never blocks, since the channel has room for every buffer
			continue
		}
		if data != &spare {
			s.free <- data
		}
	}
}

// Serve runs the host until stop is closed, and then disconnects all players.
// It reads the lists again when reread receives a signal.
func (s *Server) Serve(stop <-chan struct{}, reread <-chan os.Signal) error {
	received := make(chan struct{})
	go func() {
		defer close(received)
		defer cli.Guard()
		s.receive()
	}()
	err := s.loop(stop, reread)
	_ = s.conn.Close() // makes receive return
	<-received
	s.Log.Status("")
	if e := s.Recorder.Close(s.counters()); err == nil {
		err = e
	}
	s.summary()
	return cli.Failed(err)
}

func (s *Server) loop(stop <-chan struct{}, reread <-chan os.Signal) error {
	s.began = time.Now()
	s.beat(s.began)
	if s.Metrics {
		s.publish()
	}
	second := time.NewTicker(time.Second)
	defer second.Stop()
	timer := time.NewTimer(0)
	defer timer.Stop()
	var deadline <-chan time.Time // time until which players may acknowledge the end, nil while hosting
	takeLeave := func() {
		stop, deadline = nil, time.After(farewell)
		s.Log.Say("stopping: disconnecting all players")
		s.Host.Shutdown(time.Now())
	}
	for {
		select {
		case p := <-s.waiting:
			s.take(time.Now(), p)
		case <-timer.C:
		case <-second.C:
			s.everySecond(time.Now())
		case <-reread:
			s.reread(time.Now())
		case o := <-s.orders:
			o.answer <- s.obey(time.Now(), o.request)
		case err := <-s.broken:
			return err
		case <-stop:
			takeLeave()
		case <-deadline:
			return nil
		}
		next := s.answer()
		if s.Full() && deadline == nil {
			takeLeave()
		}
		if deadline != nil && s.Host.Idle() {
			return nil
		}
		if next.IsZero() {
			timer.Stop()
		} else {
			timer.Reset(max(time.Until(next), shortest))
		}
	}
}

// take passes a datagram to the host.
func (s *Server) take(now time.Time, p inbound) {
	payload := p.data[:p.size]
	s.bytesIn += int64(p.size)
	known, before := s.Host.Knows(p.from), s.Host.Stats()
	s.Host.Receive(now, p.from, payload)
	if s.Strangers || s.matters(p.from, known, &before) {
		s.Note(now, p.from, s.seen, payload)
	} else {
		s.skipped++
	}
	s.free <- p.data
}

// matters reports whether to record a datagram: the host has accepted or
// answered it. Recording all datagrams would let strangers fill the disk.
func (s *Server) matters(from netip.AddrPort, known bool, before *relay.Stats) bool {
	after := s.Host.Stats()
	switch {
	case after.Limited > before.Limited && after.Messages == before.Messages, after.Strangers > before.Strangers:
		return false
	case known || after.Queries > before.Queries || s.Host.Knows(from):
		return true
	}
	return after.Events != before.Events && s.oddOne()
}

// oddOne counts a datagram without a session, such as a refused connection. It
// returns false if there were too many in this second.
func (s *Server) oddOne() bool {
	s.odd++
	return s.odd <= oddAtMost
}

// answer passes all waiting datagrams to the host and then sends its answers,
// so that one answer can acknowledge several datagrams.
func (s *Server) answer() (next time.Time) {
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
	next = s.Host.Advance(now)
	for {
		to, datagram, ok := s.Host.Send()
		if !ok {
			return next
		}
		s.send(now, to, datagram)
	}
}

func (s *Server) send(now time.Time, to netip.AddrPort, datagram []byte) {
	if _, err := s.conn.WriteToUDPAddrPort(datagram, to); err != nil {
		s.unsent++
		s.sendErr = cli.Plain(err)
		return
	}
	s.bytesOut += int64(len(datagram))
	if s.Strangers || datagram[0] == '\\' || s.Host.Knows(to) || s.oddOne() {
		s.Note(now, s.seen, to, datagram)
	} else {
		s.unnoted++
	}
}

// counters returns the counters for the end of a recording.
func (s *Server) counters() capture.Counters {
	noRoom := s.noRoom.Load()
	lost := s.dropped.Load() + s.cut.Load() + noRoom
	return capture.Counters{
		Counters: device.Counters{Received: uint64(int64(s.Host.Stats().Received) + lost), Dropped: uint64(lost)},
		Skipped:  uint64(s.skipped), NoRoom: uint64(noRoom),
		Time: time.Now(),
	}
}

// everySecond does the work that is not needed for each datagram.
func (s *Server) everySecond(now time.Time) {
	s.Flush(s.counters())
	if s.unsaid > 0 {
		s.Log.Say("and %d more", s.unsaid)
	}
	s.events, s.unsaid, s.odd = 0, 0, 0
	if s.Master.IsValid() {
		s.beat(now)
	}
	s.draw(now)
	if s.Metrics {
		s.publish()
	}
}

// inGame returns the number of players.
func (s *Server) inGame() int { return s.Host.Status().Players }

// draw updates the status line.
func (s *Server) draw(now time.Time) {
	stats := s.Host.Stats()
	seconds := max(now.Sub(s.drawn).Seconds(), 0.1)
	text := fmt.Sprintf(plural.Form(s.Players, "%d of %d {player|players}, %.0f datagrams/s in, %.0f out, up %s"),
		s.inGame(), s.Players, float64(stats.Received-s.last.Received)/seconds, float64(stats.Sent-s.last.Sent)/seconds,
		now.Sub(s.began).Round(time.Second))
	if n := s.dropped.Load() + s.noRoom.Load(); n > 0 {
		text += fmt.Sprintf(", %d dropped", n)
	}
	s.last, s.drawn = stats, now
	s.Log.Status(text)
}

// beat sends a heartbeat to the master server if it is due.
func (s *Server) beat(now time.Time) {
	if !s.Master.IsValid() {
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
	s.send(now, s.Master, []byte(text))
}

// reread reads the bans again and disconnects players who are now banned.
func (s *Server) reread(now time.Time) {
	if err := s.Bans.Load(); err != nil {
		s.Log.Say("the bans stay as they were: %s", err.Error())
		return
	}
	s.Log.Say(plural.Form(len(s.Bans.list), "%d {ban|bans} read from %s, %d removed from the game"), len(s.Bans.list), s.Bans.File, s.Host.Recheck(now))
}

// Event logs an event of the host. It limits the number of routine events in a second.
func (s *Server) Event(e relay.Event) {
	if e.Kind == relay.Ready {
		s.joined++
	}
	if e.Kind.Routine() {
		if s.events++; s.events > eventsAtOnce {
			s.unsaid++
			return
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", e.Addr, e.Kind)
	if len(e.Name) > 0 {
		fmt.Fprintf(&b, " %q", wire.WideText(e.Name).Raw())
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
	if e.Kind == relay.Forged {
		s.Remark(b.String())
	}
	s.Log.Say("%s", b.String())
}

// summary logs the totals of the game.
func (s *Server) summary() {
	stats := s.Host.Stats()
	s.Log.Say("hosted for %s: %d joined, %d %s (%s) received, %d (%s) sent, %d %s passed on, %d %s answered",
		time.Since(s.began).Round(time.Second), s.joined, stats.Received, plural.Form(stats.Received, "{datagram|datagrams}"), Size(s.bytesIn),
		stats.Sent-s.unsent, Size(s.bytesOut), stats.Copies, plural.Form(stats.Copies, "{message|messages}"),
		stats.Queries, plural.Form(stats.Queries, "{query|queries}"))
	s.Lost(int(s.noRoom.Load()), "{was|were} dropped by the system because the host was busy")
	s.Lost(int(s.dropped.Load()), "{was|were} dropped because the host was busy")
	s.Lost(int(s.cut.Load()), "{was|were} dropped because {it was|they were} too large")
	s.Lost(stats.Limited, "{was|were} dropped by a limit")
	s.Lost(stats.Malformed, "did not make sense, in whole or in part")
	s.Lost(stats.Strangers, "came from strangers")
	if s.Wanted() || s.Feed != nil {
		s.Lost(s.skipped+s.unnoted, "of strangers and beyond limits {is|are} not recorded (--strangers)")
	}
	if s.unsent > 0 {
		s.Lost(s.unsent, "could not be sent: %v", s.sendErr)
	}
	if s.Feed != nil {
		s.Lost(int(s.Feed.Dropped()), "{is|are} not in the report because it was too slow")
	}
}

// Size formats a number of bytes.
func Size(n int64) string {
	if n < 1e6 {
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}
