package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"strings"
	"sync"
	"time"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/conform"
	"github.com/bcdissect/bcdissect/report"
)

// What a performance waits for, and how much comes in at once.
const (
	maxSpeed     = 1000
	noAnswer     = 10 * time.Second       // after which a host that never said anything is not there
	lastWords    = 5 * time.Second        // that clients have to finish in
	afterwards   = 700 * time.Millisecond // that the host's answers to a leave take at most
	longestWait  = time.Second            // between two looks at the timers
	arrivals     = 4096                   // datagrams that wait to be looked at
	biggest      = 2048                   // bytes of a datagram that are read
	everySession = 512                    // sockets
)

// perform plays the clients of captures to a host over UDP.
func (r *replaying) perform(s streams, names []string) error {
	to, err := r.target()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var verdict error
	var st *stage
	err = r.run(s, names, func(out *output, start time.Time) (report.Sink, func(*counts) error) {
		st = newStage(ctx, to, r)
		return st, func(*counts) (err error) {
			for _, text := range st.complaints() {
				fmt.Fprintf(s.err, "bcdissect: %s\n", oneLine(text))
			}
			verdict, err = r.write(s, out, start, st.hosts)
			return err
		}
	})
	if st != nil {
		st.shut()
	}
	if err != nil {
		return err
	}
	return verdict
}

// target returns the address to play to, which must be this machine's unless
// the user says that another is meant.
func (r *replaying) target() (netip.AddrPort, error) {
	addr, err := net.ResolveUDPAddr("udp", r.to)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("--to %s: give the address of a host as HOST:PORT: %w", r.to, err)
	}
	to := addr.AddrPort()
	to = netip.AddrPortFrom(to.Addr().Unmap(), to.Port())
	if !to.Addr().IsValid() || to.Port() == 0 {
		return to, fmt.Errorf("--to %s: give the address of a host as HOST:PORT", r.to)
	}
	if !to.Addr().IsLoopback() && !r.remote {
		return to, fmt.Errorf("--to %s: that is another machine; play to hosts of others only with their leave, and then with --yes-remote", r.to)
	}
	return to, nil
}

// A stage is where captured clients play to a host: a sink of records that
// takes each when it is due.
type stage struct {
	ctx   context.Context
	to    netip.AddrPort
	speed float64

	performer *conform.Performer
	hosts     *conform.Hosts
	pipeline  *dissect.Pipeline // of what is sent and received here
	sockets   map[*conform.Client]*net.UDPConn
	readers   sync.WaitGroup
	incoming  chan arrival

	first   time.Time // of the capture
	begun   time.Time // of the performance
	frames  int
	heard   bool
	refused error
}

// An arrival is a datagram of the host.
type arrival struct {
	client   *conform.Client
	socket   *net.UDPConn
	datagram []byte
	at       time.Time
}

func newStage(ctx context.Context, to netip.AddrPort, r *replaying) *stage {
	shared := r.cfg
	shared.Shared = true
	cfg := dissect.Config{Ports: []uint16{to.Port()}, Catalog: r.cfg.Catalog}
	return &stage{
		ctx: ctx, to: to, speed: r.speed,
		performer: conform.NewPerformer(r.cfg.Catalog), hosts: conform.NewHosts(shared), pipeline: dissect.New(cfg),
		sockets: map[*conform.Client]*net.UDPConn{}, incoming: make(chan arrival, arrivals),
	}
}

// errStopped ends a performance that the user interrupted.
var errStopped = errEnough

// Record implements [report.Sink].
func (s *stage) Record(r *dissect.Record) error {
	if s.begun.IsZero() {
		s.first, s.begun = r.Datagram.Time, time.Now()
	}
	due := s.begun.Add(time.Duration(float64(r.Datagram.Time.Sub(s.first)) / s.speed))
	if r.Part == 0 {
		if err := s.until(due, nil); err != nil {
			return err
		}
	}
	s.performer.Record(time.Now(), r)
	return s.flush()
}

// Close implements [report.Sink]: it lets the clients finish and leave.
func (s *stage) Close() error {
	if s.begun.IsZero() {
		return nil
	}
	if err := s.until(time.Now().Add(lastWords), s.performer.Idle); err != nil && !errors.Is(err, errStopped) {
		return err
	}
	s.performer.Leave(time.Now())
	if err := s.until(time.Now().Add(lastWords), s.performer.Idle); err != nil && !errors.Is(err, errStopped) {
		return err
	}
	if err := s.until(time.Now().Add(afterwards), nil); err != nil && !errors.Is(err, errStopped) {
		return err
	}
	return nil
}

// until carries datagrams until a time has come, or something is so.
func (s *stage) until(due time.Time, enough func() bool) error {
	for {
		if err := s.flush(); err != nil {
			return err
		}
		now := time.Now()
		wait := due.Sub(now)
		if wait <= 0 || enough != nil && enough() {
			return nil
		}
		if !s.heard && now.Sub(s.begun) > noAnswer && len(s.sockets) > 0 {
			return s.silent()
		}
		if next := s.performer.Next(); !next.IsZero() {
			wait = min(wait, max(next.Sub(now), time.Millisecond))
		}
		timer := time.NewTimer(min(wait, longestWait))
		select {
		case a := <-s.incoming:
			s.receive(a)
		case <-timer.C:
		case <-s.ctx.Done():
			timer.Stop()
			return errStopped
		}
		timer.Stop()
	}
}

// silent says that nobody is there.
func (s *stage) silent() error {
	if s.refused != nil {
		return fmt.Errorf("%v does not answer (%w): is a host running there?", s.to, s.refused)
	}
	return fmt.Errorf("%v does not answer: is a host running there?", s.to)
}

// flush sends what is to be sent, and takes what has come.
func (s *stage) flush() error {
	for {
		select {
		case a := <-s.incoming:
			s.receive(a)
			continue
		default:
		}
		now := time.Now()
		c, datagram, ok := s.performer.Send(now)
		if !ok {
			return nil
		}
		socket, err := s.socket(c)
		if err != nil {
			return err
		}
		s.note(now, local(socket), s.to, datagram)
		if _, err := socket.Write(datagram); err != nil {
			s.refused = err // it may come up yet; what is lost is sent again
		}
	}
}

func (s *stage) receive(a arrival) {
	s.heard = true
	s.note(a.at, s.to, local(a.socket), a.datagram)
	s.performer.Receive(a.at, a.client, a.datagram)
}

// note takes a datagram of the performance for the comparison.
func (s *stage) note(at time.Time, from, to netip.AddrPort, datagram []byte) {
	s.frames++
	d := dissect.Datagram{Number: s.frames, Time: at, Digits: 6, Src: from, Dst: to, Payload: datagram, Full: len(datagram)}
	// Hosts never fails.
	_ = s.pipeline.Push(&d, s.hosts.Record)
}

func local(socket *net.UDPConn) netip.AddrPort {
	if a, ok := socket.LocalAddr().(*net.UDPAddr); ok {
		p := a.AddrPort()
		return netip.AddrPortFrom(p.Addr().Unmap(), p.Port())
	}
	return netip.AddrPort{}
}

// socket returns the socket of a client.
func (s *stage) socket(c *conform.Client) (*net.UDPConn, error) {
	if socket := s.sockets[c]; socket != nil {
		return socket, nil
	}
	if len(s.sockets) >= everySession {
		return nil, fmt.Errorf("more than %d clients in one session are too many", everySession)
	}
	socket, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(s.to))
	if err != nil {
		return nil, err
	}
	s.sockets[c] = socket
	s.readers.Add(1)
	go func() {
		defer s.readers.Done()
		for {
			buf := make([]byte, biggest)
			n, err := socket.Read(buf)
			switch {
			case errors.Is(err, net.ErrClosed):
				return
			case err != nil: // the host is not there, or not yet
				time.Sleep(time.Millisecond)
				continue
			}
			select {
			case s.incoming <- arrival{c, socket, buf[:n], time.Now()}:
			case <-s.ctx.Done():
				return
			}
		}
	}()
	return socket, nil
}

// complaints says what the report does not.
func (s *stage) complaints() (list []string) {
	if stuck := s.performer.Stuck(); len(stuck) > 0 {
		list = append(list, fmt.Sprintf("%d clients never got into the game of %v: %s", len(stuck), s.to, strings.Join(stuck[:min(len(stuck), 8)], ", ")))
	}
	if s.performer.Dropped > 0 {
		list = append(list, fmt.Sprintf("%d messages could not be played", s.performer.Dropped))
	}
	return list
}

// shut closes the sockets.
func (s *stage) shut() {
	for _, socket := range s.sockets {
		_ = socket.Close() // nothing is kept in it
	}
	done := make(chan struct{})
	go func() {
		s.readers.Wait()
		close(done)
	}()
	for {
		select {
		case <-s.incoming: // a reader may wait for room
		case <-done:
			return
		}
	}
}
