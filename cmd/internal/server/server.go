// Package server runs the host of a game behind a UDP socket: it receives and
// sends datagrams, records them, logs events and feeds a report.
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

// Bounds of a server.
const (
	socketBuffer  = 1 << 20 // bytes that the system may keep for it
	largest       = 2048    // bytes of a datagram; the game's have 512 at most
	waitingAtMost = 1024    // datagrams that wait for the host
	batch         = 256     // of them that the host takes before it answers
	eventsAtOnce  = 50      // that are said in a second
	oddAtMost     = 100     // datagrams without a session that are recorded in a second
	farewell      = time.Second
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

// A Server is a host behind a socket. One goroutine owns all of it but for the
// socket's receiving side.
type Server struct {
	Recorder

	conn    Conn
	Host    *relay.Host
	seen    netip.AddrPort // the address that recordings give the host
	Name    string
	Players int
	Master  netip.AddrPort // that heartbeats go to, if it is valid
	Bans    *Bans          // that are read again on a hangup
	// Strangers are to be recorded and reported, too: datagrams without a
	// session that nobody answers.
	Strangers bool
	Metrics   bool // are made for scrapers

	waiting chan inbound
	orders  chan order
	metrics atomic.Pointer[[]byte] // for scrapers; see publish
	free    chan *[largest]byte
	broken  chan error
	dropped atomic.Int64 // because the host was busy
	cut     atomic.Int64 // because they were too large

	skipped int          // received datagrams that were not, because the host ignored them
	unnoted int          // sent datagrams that were not
	odd     int          // in this second, noted of those without a session
	noRoom  atomic.Int64 // in the system's buffer

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

// New returns a server behind a socket; seen is the address that recordings
// give it.
func New(conn Conn, seen netip.AddrPort) *Server {
	s := &Server{
		conn: conn, seen: seen,
		waiting: make(chan inbound, waitingAtMost), free: make(chan *[largest]byte, waitingAtMost), broken: make(chan error, 1),
		orders: make(chan order), Bans: &Bans{},
	}
	for range waitingAtMost {
		s.free <- new([largest]byte)
	}
	return s
}

// receive reads datagrams into the queue until the socket is closed. It never
// waits for the host: without room it drops datagrams, as the system does.
func (s *Server) receive() {
	var spare [largest]byte
	socket := NewSocket(s.conn, &s.noRoom)
	for {
		data := &spare
		select {
		case data = <-s.free:
		default:
		}
		n, from, err := socket.Receive(data[:])
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case Gone(err): // Windows says here that a client is no longer there
		case n == largest || TooLong(err):
			s.cut.Add(1)
		case err != nil:
			s.broken <- err
			return
		case data == &spare:
			s.dropped.Add(1)
		default:
			s.waiting <- inbound{from, n, data} // there is room for every free buffer
			continue
		}
		if data != &spare {
			s.free <- data
		}
	}
}

// Serve runs the host until stop is closed, and takes leave of all players. It
// reads the lists again when it is told to.
func (s *Server) Serve(stop <-chan struct{}, reread <-chan os.Signal) error {
	received := make(chan struct{})
	go func() {
		defer close(received)
		defer cli.Guard()
		s.receive()
	}()
	err := s.loop(stop, reread)
	_ = s.conn.Close() // so that receive ends
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
	var deadline <-chan time.Time // of players to say goodbye; nil while hosting
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

// take gives the host a datagram.
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

// matters reports whether a datagram is worth recording: the host has taken it,
// or answers it. Strangers could otherwise fill the disk.
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

// oddOne counts a datagram without a session, such as a connect that is
// refused. It reports whether there were few of them in this second.
func (s *Server) oddOne() bool {
	s.odd++
	return s.odd <= oddAtMost
}

// answer gives the host all waiting datagrams, so that it can answer them at
// once, and sends its answers.
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

// everySecond does the work that need not follow every datagram.
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

// inGame counts the players.
func (s *Server) inGame() int { return s.Host.Status().Players }

// draw shows how things stand.
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

// beat tells the master server of the game if it is time to.
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

// reread reads the bans again, and puts out who is banned now.
func (s *Server) reread(now time.Time) {
	if err := s.Bans.Load(); err != nil {
		s.Log.Say("the bans stay as they were: %s", err.Error())
		return
	}
	s.Log.Say(plural.Form(len(s.Bans.list), "%d {ban|bans} read from %s, %d removed from the game"), len(s.Bans.list), s.Bans.File, s.Host.Recheck(now))
}

// Event logs an event of the host, at a rate that people can read.
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

// Size writes a number of bytes.
func Size(n int64) string {
	if n < 1e6 {
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}
