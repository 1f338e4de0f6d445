// Package stage plays captured clients to a host over UDP.
package stage

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/reading"
	"github.com/bcdissect/bcdissect/cmd/internal/sockets"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/plural"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/conform"
	"github.com/bcdissect/bcdissect/dissect/conform/perform"
	"github.com/bcdissect/bcdissect/dissect/packet"
	"github.com/bcdissect/bcdissect/dissect/relay"
)

// Limits of a performance.
const (
	MaxSpeed     = 1000
	noAnswer     = 10 * time.Second       // time after which a host without any answer is considered missing
	lastWords    = 5 * time.Second        // time for clients to finish
	afterwards   = 700 * time.Millisecond // time for the host's answers to the last messages of clients
	longestWait  = time.Second            // maximum time between two checks of the timers
	longestGap   = time.Minute            // longest gap in the capture that is played, since a host would have dropped silent clients, or the capture's clock was set
	everySession = 512                    // maximum number of sockets
)

// Target parses the address that a flag or command names. The address must
// belong to this machine unless remote is set.
func Target(what, text string, remote bool) (netip.AddrPort, error) {
	addr, err := net.ResolveUDPAddr("udp", text)
	if err != nil {
		if noName := (*net.DNSError)(nil); errors.As(err, &noName) {
			return netip.AddrPort{}, fmt.Errorf("%s %s: no host has that name; check its spelling", what, text)
		}
		return netip.AddrPort{}, fmt.Errorf("%s %s: give the address of a host as HOST:PORT, with a port from 1 to 65535", what, text)
	}
	to := addr.AddrPort()
	to = netip.AddrPortFrom(to.Addr().Unmap(), to.Port())
	if !to.Addr().IsValid() || to.Port() == 0 {
		return to, fmt.Errorf("%s %s: give the address of a host as HOST:PORT", what, text)
	}
	if !to.Addr().IsLoopback() && !remote {
		return to, fmt.Errorf("%s %s: that is another machine; ask its owner first, then add --yes-remote", what, text)
	}
	return to, nil
}

// A Stage plays captured clients to a host. It is a sink that plays each record
// when it is due.
type Stage struct {
	ctx   context.Context
	to    netip.AddrPort
	speed float64

	performer *perform.Performer
	Hosts     *conform.Hosts
	pipeline  *dissect.Pipeline // pipeline for the datagrams sent and received
	driver    *sockets.Driver
	locals    map[*conform.Client]netip.AddrPort
	clients   map[netip.AddrPort]*conform.Client

	clock    packet.Clock
	first    time.Time // capture time of the first record
	begun    time.Time // time when the performance began
	frames   int
	answered bool
	last     time.Time // time of the host's last datagram
}

// New returns a stage that plays to an address, speed times as fast as the
// capture. The answers replace the captured hashes of the clients' files.
func New(ctx context.Context, to netip.AddrPort, speed float64, cfg conform.Config, answers map[uint8]*msg.ChecksumResponse) *Stage {
	shared := cfg
	shared.Shared = true
	s := &Stage{
		ctx: ctx, to: to, speed: speed,
		performer: perform.New(cfg.Catalog), Hosts: conform.NewHosts(shared), pipeline: dissect.New(dissect.Config{Ports: []uint16{to.Port()}, Catalog: cfg.Catalog}),
		driver: sockets.New(ctx, to), locals: map[*conform.Client]netip.AddrPort{}, clients: map[netip.AddrPort]*conform.Client{}, clock: packet.Clock{Leap: longestGap},
	}
	s.performer.Answers = answers
	return s
}

// errStopped ends a performance that the user has interrupted.
var errStopped = reading.ErrEnough

// Record implements [report.Sink].
func (s *Stage) Record(r *dissect.Record) error {
	at := s.clock.Read(r.Datagram.Time)
	if s.begun.IsZero() {
		s.first, s.begun = at, time.Now()
	}
	due := s.begun.Add(packet.Duration(float64(at.Sub(s.first)) / s.speed))
	if r.Part == 0 {
		if err := s.until(due, nil); err != nil {
			return err
		}
	}
	s.performer.Record(time.Now(), r)
	return s.flush()
}

// Close implements [report.Sink]. It lets the clients finish and leave.
func (s *Stage) Close() error {
	if s.begun.IsZero() {
		return nil
	}
	if err := s.wait(lastWords, s.performer.Idle); err != nil {
		return err
	}
	s.performer.Leave(time.Now())
	if err := s.wait(lastWords, s.performer.Idle); err != nil {
		return err
	}
	return s.wait(afterwards, nil)
}

// wait exchanges datagrams for a time, until enough returns true, or until the
// user interrupts.
func (s *Stage) wait(most time.Duration, enough func() bool) error {
	if err := s.until(time.Now().Add(most), enough); !errors.Is(err, errStopped) {
		return err
	}
	return nil
}

// until exchanges datagrams until a time, or until enough returns true.
func (s *Stage) until(due time.Time, enough func() bool) error {
	for {
		if err := s.flush(); err != nil {
			return err
		}
		now := time.Now()
		wait := due.Sub(now)
		if wait <= 0 || enough != nil && enough() {
			return nil
		}
		if !s.answered && now.Sub(s.begun) > noAnswer && len(s.locals) > 0 {
			return s.silent()
		}
		if next := s.performer.Next(); !next.IsZero() {
			wait = min(wait, max(next.Sub(now), time.Millisecond))
		}
		if a, ok := s.driver.Receive(now.Add(min(wait, longestWait))); ok {
			s.receive(a)
		}
		if s.ctx.Err() != nil {
			return errStopped
		}
	}
}

// silent returns the error for a host that does not answer.
func (s *Stage) silent() error {
	if err := s.driver.Refused(); err != nil {
		return fmt.Errorf("%v does not answer (%w): is a host running there?", s.to, err)
	}
	return fmt.Errorf("%v does not answer: is a host running there?", s.to)
}

// Failure returns the reason that the host could not be compared completely, or
// nil if it could.
func (s *Stage) Failure() error {
	switch quiet := time.Since(s.last); {
	case len(s.locals) == 0:
		return nil
	case !s.answered:
		return s.silent()
	case !s.performer.Accepted:
		return fmt.Errorf("%v answers, but accepts no client: is it a host of the game, and does it have room?", s.to)
	case quiet >= lastWords:
		return fmt.Errorf("%v fell silent %.1f seconds before the end: has it crashed? The report is of the time before", s.to, quiet.Seconds())
	case s.performer.Dropped > 0:
		return fmt.Errorf(plural.Form(s.performer.Dropped, "%v let clients go: %d {message|messages} could not be played, and the report is of the others"), s.to, s.performer.Dropped)
	}
	return nil
}

// flush sends the clients' datagrams and receives the host's.
func (s *Stage) flush() error {
	for {
		if a, ok := s.driver.Receive(time.Time{}); ok {
			s.receive(a)
			continue
		}
		now := time.Now()
		c, datagram, ok := s.performer.Send(now)
		if !ok {
			return nil
		}
		local, err := s.socket(c)
		if err != nil {
			return err
		}
		s.note(now, local, s.to, datagram)
		_ = s.driver.Send(local, datagram) // the host may start later, and lost messages are sent again
	}
}

func (s *Stage) receive(a relay.Arrival) {
	s.answered, s.last = true, a.At
	s.note(a.At, s.to, a.To, a.Datagram)
	s.performer.Receive(a.At, s.clients[a.To], a.Datagram)
}

// note adds a datagram of the performance to the comparison.
func (s *Stage) note(at time.Time, from, to netip.AddrPort, datagram []byte) {
	s.frames++
	d := dissect.Datagram{Number: s.frames, Time: at, Digits: 6, Src: from, Dst: to, Payload: datagram, Full: len(datagram)}
	// Hosts never returns an error.
	_ = s.pipeline.Push(&d, s.Hosts.Record)
}

// socket returns the address of the socket for a client.
func (s *Stage) socket(c *conform.Client) (local netip.AddrPort, err error) {
	if local, ok := s.locals[c]; ok {
		return local, nil
	}
	if len(s.locals) >= everySession {
		return local, fmt.Errorf("more than %d clients in one session are too many", everySession)
	}
	if local, err = s.driver.Open(); err == nil {
		s.locals[c], s.clients[local] = local, c
	}
	return local, err
}

// Complaints lists the problems that are not in the report.
func (s *Stage) Complaints() (list []string) {
	if skipped := s.clock.Skipped(); skipped > 0 {
		list = append(list, fmt.Sprintf("the capture pauses, or its clock jumps: %v of it were skipped, since no pause is played for longer than a minute", skipped.Round(time.Second)))
	}
	if stuck := s.performer.Stuck(); len(stuck) > 0 {
		list = append(list, fmt.Sprintf(plural.Form(len(stuck), "%d {client|clients} never got into the game of %v: %s"), len(stuck), s.to, strings.Join(stuck[:min(len(stuck), 8)], ", ")))
	}
	if others := s.performer.Others(); len(others) > 0 {
		list = append(list, fmt.Sprintf(plural.Form(len(others), "the capture holds %d more {game, at %v|games, the first at %v}; only the first game was played: choose another with --port"), len(others), others[0]))
	}
	return list
}

// Shut closes all sockets.
func (s *Stage) Shut() {
	for local := range s.clients {
		s.driver.Close(local)
	}
}
