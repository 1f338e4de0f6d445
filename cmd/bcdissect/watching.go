package main

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/net/netutil"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/livepage"
	"github.com/bcdissect/bcdissect/cmd/internal/reading"
	"github.com/bcdissect/bcdissect/cmd/internal/server"
	"github.com/bcdissect/bcdissect/cmd/internal/site"
	"github.com/bcdissect/bcdissect/report"
)

// Limits of the live page.
const (
	leastDelay  = time.Second
	mostDelay   = time.Hour
	watchers    = 600           // connections at the same time, since each browser opens several
	writeBuffer = 256 << 10     // size of a connection's buffer in the system, in bytes
	liveGrowth  = 10            // growth of the heap in percent between garbage collections meanwhile
	anyPort     = "127.0.0.1:0" // address of --web without a value
)

// A livePages is the page of a match that is being played, for viewers in
// browsers. The flag --web requests it.
type livePages struct {
	address string        // address to listen on, empty for none
	delay   time.Duration // delay of the page on the public address, 0 for none

	server *livepage.Server
	end    chan struct{}
	ended  chan error
}

// define defines the flags.
func (w *livePages) define(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&w.address, "web", "", "show the match in browsers while it's played, at this `ADDRESS`; see 'bcdissect help live-page'")
	fl.Lookup("web").NoOptDefVal = anyPort
	fl.DurationVar(&w.delay, "public-delay", 0, "with --web: also a public page without chat and addresses, `TIME` later, such as 30s")
}

// check returns an error for flags that cannot be combined.
func (w *livePages) check(f *cli.Common) error {
	switch {
	case w.address == "" && w.delay != 0:
		return errors.New("--public-delay is for the page of --web; add --web")
	case w.delay != 0 && (w.delay < leastDelay || w.delay > mostDelay):
		return fmt.Errorf("--public-delay %v: must be %v to %v", w.delay, leastDelay, mostDelay)
	case w.address != "" && !f.All:
		return errors.New("--web needs every record; drop the flags that choose some")
	}
	return nil
}

// open begins to serve the page and prints its address. The caller defers
// close.
func (w *livePages) open(log *cli.Log) error {
	if w.address == "" {
		return nil
	}
	l, err := server.ListenLocally("--web", w.address, "8080", "; without an address, --web takes a free one")
	if err != nil {
		return err
	}
	if w.server, err = livepage.New(w.delay, log.Say); err != nil {
		_ = l.Close() // no connection was accepted
		return cli.Failed(fmt.Errorf("--web: %w", cli.Plain(err)))
	}
	cli.CollectOften(liveGrowth)
	at := l.Addr().(*net.TCPAddr).AddrPort()
	w.say(log, server.SeenAs(netip.AddrPortFrom(at.Addr().Unmap(), at.Port()))) // 0.0.0.0 is for other computers
	w.end, w.ended = make(chan struct{}), make(chan error, 1)
	go func() {
		defer cli.Guard()
		w.ended <- site.Serve(netutil.LimitListener(smallBuffers{l}, watchers), w.server.Handler(), w.end)
	}()
	return nil
}

// smallBuffers is a listener whose connections have small buffers in the
// system. By default a viewer who reads nothing would fill megabytes.
type smallBuffers struct{ net.Listener }

// Accept implements [net.Listener].
func (l smallBuffers) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetWriteBuffer(writeBuffer) // the system's default also works
	}
	return c, err
}

// say prints the addresses of the page.
func (w *livePages) say(log *cli.Log, at netip.AddrPort) {
	own := w.server.Address(at, false)
	log.Say("live page: %s", own)
	log.Say("overlay:   %soverlay", own)
	if w.delay > 0 {
		log.Say("public, %v old: %s", w.delay, w.server.Address(at, true))
	}
}

// close stops the server of the page.
func (w *livePages) close() error {
	if w.server == nil {
		return nil
	}
	err := w.server.Close()
	close(w.end)
	return errors.Join(err, <-w.ended)
}

// with returns a maker of sinks that also update the page.
func (w *livePages) with(makeSink reading.SinkMaker) reading.SinkMaker {
	if w.server == nil {
		return makeSink
	}
	return func(out *cli.Output, start time.Time) (report.Sink, func(*reading.Counts) error) {
		sink, finish := makeSink(out, start)
		return w.server.Sink(sink, start), finish
	}
}
