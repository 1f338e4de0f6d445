package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/launch"
	"github.com/bcdissect/bcdissect/cmd/internal/sockets"
	"github.com/bcdissect/bcdissect/dissect/conform/suite"
)

// startsWithin is the timeout for the first answer of a server that conform
// starts.
const startsWithin = 30 * time.Second

// A starting is the server that conform starts and ends. Without a command, the
// user has started the server.
type starting struct {
	command string
	within  time.Duration

	s  cli.Streams
	to netip.AddrPort
	o  suite.Options // options for asking whether the server answers

	mu      sync.Mutex
	server  *launch.Server
	aborted bool
}

func (l *starting) define(fl *pflag.FlagSet) {
	fl.StringVar(&l.command, "start", "", "start the server by this shell `COMMAND`, and end it after the run; see 'bcdissect help test-your-server'")
	fl.DurationVar(&l.within, "start-within", startsWithin, "with --start: time until the server must answer")
}

func (l *starting) check(set func(flag string) bool) error {
	switch {
	case l.command == "" && (set("start") || set("start-within")):
		return errors.New("--start needs the command of a server, such as --start './server --port 22101'")
	case l.within < time.Second || l.within > time.Hour:
		return fmt.Errorf("--start-within %v: must be 1s to 1h", l.within)
	}
	return nil
}

// unstarted returns the error for a server that cannot be tried. Its exit
// status makes git bisect run skip the commit.
func unstarted(format string, args ...any) error {
	return &cli.StatusError{Code: cli.ExitSkip, Err: fmt.Errorf(format, args...)}
}

// free returns an error if another program uses the address, since the wrong
// server would be tried.
func (l *starting) free() error {
	if !l.to.Addr().IsLoopback() {
		return nil // the address may not be on this machine
	}
	conn, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(l.to))
	if err != nil {
		return unstarted("--start: %v is in use (%w); end the program that has it, or give another port", l.to, cli.Plain(err))
	}
	return conn.Close()
}

// begin starts the server unless it is running, and waits until it answers.
func (l *starting) begin(ctx context.Context) error {
	if l.command == "" || l.server != nil && !l.gone() {
		return nil
	}
	l.end()
	if err := l.free(); err != nil {
		return err
	}
	server, err := launch.Start(l.command)
	if err != nil {
		return unstarted("--start: the shell can't be started: %w", cli.Plain(err))
	}
	l.mu.Lock()
	l.server = server
	aborted := l.aborted
	l.mu.Unlock()
	if aborted {
		server.Kill()
	}
	const pause = 20 * time.Millisecond
	for deadline := time.Now().Add(l.within); ; time.Sleep(pause) {
		o := l.o
		o.Stopped = func() bool { return ctx.Err() != nil || time.Now().After(deadline) }
		if err = suite.Probe(sockets.New(ctx, l.to), o); err == nil {
			return nil
		}
		how, ended := server.Ended()
		switch {
		case ctx.Err() != nil:
			err = cli.Failed(errors.New("interrupted before the server answered"))
		case ended:
			err = unstarted("--start: the server ended before it answered (%s)", how)
		case time.Now().After(deadline):
			err = unstarted("--start: the server doesn't answer at %v within %v", l.to, l.within)
		default:
			continue
		}
		l.quote()
		l.end()
		return err
	}
}

// status returns the error of a run without a report. Such a run does not prove
// a fault of the server.
func (l *starting) status(err error) error {
	switch {
	case l.command == "" || cli.StatusOf(err) != cli.ExitSkip && !errors.Is(err, suite.ErrNoHost):
		return cli.Failed(err)
	case cli.StatusOf(err) == cli.ExitSkip:
		return err
	}
	return unstarted("%w", err)
}

// quote writes the last lines of the server's output.
func (l *starting) quote() {
	for _, line := range l.server.Said() {
		cli.Say(l.s.Err, "the server: %s", line)
	}
}

// gone reports whether the server ended without being told to.
func (l *starting) gone() bool {
	if l.server == nil {
		return false
	}
	_, ended := l.server.Ended()
	return ended
}

// died describes how the server ended without being told to. It returns "" if
// the server is running.
func (l *starting) died() string {
	const grace = 300 * time.Millisecond // a process that crashes may still write a core dump
	for deadline := time.Now().Add(grace); ; time.Sleep(grace / 10) {
		if how, ended := l.server.Ended(); ended {
			return "it ended by itself: " + how
		}
		if time.Now().After(deadline) {
			return ""
		}
	}
}

// runsOn is the ID of the case about the server's process.
const runsOn = "X-7"

// decided returns an error if no case decided anything about the server.
// Otherwise git bisect run would mark the commit as good.
func (l *starting) decided(rep *suite.Report) error {
	why := rep.NoEntry
	for i := range rep.Results {
		switch res := &rep.Results[i]; {
		case res.Verdict != suite.Skip && res.Case.ID != runsOn:
			return nil
		case why == "":
			why = res.Why
		}
	}
	return unstarted("no case could be tried: %s", why)
}

// judge adds the case about the server's process to the report of a run.
func (l *starting) judge(rep *suite.Report, chosen []*suite.Case) {
	if l.server == nil || rep == nil {
		return
	}
	if slices.ContainsFunc(rep.Results, func(res suite.Result) bool { return res.Case.ID == runsOn && res.Verdict == suite.Fail }) {
		return
	}
	died := l.died()
	if died != "" {
		l.quote()
	} else if !slices.ContainsFunc(chosen, func(c *suite.Case) bool { return c.ID == runsOn }) {
		return
	}
	rep.Add(suite.Outcome{ID: runsOn, Came: died})
}

// end ends the server and all its processes.
func (l *starting) end() {
	l.mu.Lock()
	server := l.server
	l.server = nil
	l.mu.Unlock()
	if server != nil && !server.End() {
		cli.Say(l.s.Err, "the server: some of its processes can't be ended, such as those of another user; end them yourself")
	}
}

// abort returns a function that ends the server and then the program, for a
// further Ctrl-C.
func (l *starting) abort(program func()) func() {
	if program == nil {
		return nil
	}
	return func() {
		l.mu.Lock()
		l.aborted = true
		server := l.server
		l.mu.Unlock()
		if server != nil {
			server.Kill()
		}
		program()
	}
}
