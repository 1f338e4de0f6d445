package main

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/proxy"
	"github.com/bcdissect/bcdissect/cmd/internal/reading"
	"github.com/bcdissect/bcdissect/cmd/internal/server"
	"github.com/bcdissect/bcdissect/cmd/internal/watch"
	"github.com/bcdissect/bcdissect/dissect/measure"
	"github.com/bcdissect/bcdissect/report"
	"github.com/bcdissect/bcdissect/report/dashboard"
)

// forwarding are the flags of a proxy.
type forwarding struct {
	target    *proxy.Target
	listen    string
	recording cli.Recording
	page      string // of --session

	opened func(p *proxy.Proxy, quit func()) // is told of the proxy, if not nil
}

func newProxy(s cli.Streams) *cobra.Command {
	var f cli.Common
	var m reading.Messages
	var p forwarding
	var w watch.Flags
	cmd := &cobra.Command{
		Use:   "proxy HOST[:PORT]",
		Short: "Record and show your own game without administrator rights",
		Long: `Proxy stands between the game on this computer and a host: join 127.0.0.1 in the
game, and proxy forwards every datagram to HOST and back, unchanged. It shows
the messages and records them with -w. It needs neither Npcap nor
administrator rights. The port is 22101 unless another is given.

Only programs on this computer can connect, unless -l names another address.
Ctrl-C ends the connection to the host and completes the file of -w; a second
Ctrl-C aborts. See docs/proxy.md.`,
		Example: `  bcdissect proxy game.example.org
  bcdissect proxy game.example.org -w evening.pcapng -T none
  bcdissect proxy 192.0.2.7:22102 --dashboard
  bcdissect proxy 192.0.2.7 -Y 'Chat or TeamChat' --session evening.html`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if p.target, err = proxy.ParseTarget(args[0]); err != nil {
				return err
			}
			if err := w.Check(cmd); err != nil {
				return err
			}
			if err := p.recording.Check(time.Now()); err != nil {
				return err
			}
			if w.On {
				return p.watch(&w, &f, s)
			}
			if err := m.Check(&f, cmd); err != nil {
				return err
			}
			return p.run(&f, s, func(out *cli.Output, start time.Time) (report.Sink, func(*reading.Counts) error) {
				if f.Format.Value == cli.FormNone {
					return new(measure.Tally), nil // the page alone
				}
				return m.Sink(&f, out, start, true)
			})
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVarP(&p.listen, "listen", "l", "127.0.0.1:"+server.GamePort, "`ADDRESS` and UDP port to listen on; 0.0.0.0:22101 also serves other computers")
	fl.StringVar(&p.page, "session", "", "also keep a page of the matches in this HTML `FILE`, written every minute")
	p.recording.Define(cmd, "record the datagrams in this `FILE`, as pcapng; %Y%m%d-%H%M%S is the time")
	fl.BoolVar(&w.On, "dashboard", false, "show players, rates and events live; see docs/dashboard.md")
	f.DefineReport(cmd, "table", "none", "table", "json", "histogram", "csv", "fields")
	m.Define(&f, cmd)
	cli.Hide(cmd, "clear", "from", "to", "frames") // for captures
	return cmd
}

// watch shows the game on the dashboard until the user quits.
func (p *forwarding) watch(w *watch.Flags, f *cli.Common, s cli.Streams) error {
	return w.Show(f, s, nil, p.target.String(), nil, func(s cli.Streams, d *dashboard.Dashboard) error {
		ended := make(chan struct{})
		defer close(ended)
		p.opened = func(srv *proxy.Proxy, quit func()) {
			w.StopBy(quit)
			go func() {
				defer cli.Guard()
				drops(d, ended, func() (received, dropped uint64) {
					c := srv.Counts()
					return uint64(c.FromClients + c.FromHost), uint64(c.Dropped + c.Unnoted)
				})
			}()
		}
		return p.run(f, s, w.Sink(d, nil))
	})
}

// open resolves the host and opens the socket for clients.
func (p *forwarding) open() (*proxy.Proxy, error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	hosts, err := p.target.Resolve(ctx)
	if err != nil {
		return nil, err
	}
	conn, err := proxy.Listen(p.listen)
	if err != nil {
		return nil, err
	}
	if err := proxy.CheckLoop(conn, hosts[0]); err != nil {
		_ = conn.Close() // nothing came
		return nil, err
	}
	return proxy.New(conn, p.target, hosts[0]), nil
}

// run forwards until something ends it.
func (p *forwarding) run(f *cli.Common, s cli.Streams, makeSink reading.SinkMaker) (err error) {
	cfg, err := f.Config()
	if err != nil {
		return err
	}
	if p.page != "" {
		if err := checkPage(p.page, f, &p.recording, f.Defined...); err != nil {
			return err
		}
	}
	if err := cli.CheckOverwrite(f.Output, nil, f.Defined...); err != nil {
		return err
	}
	srv, err := p.open()
	if err != nil {
		return err
	}
	defer srv.Close()
	toTerminal := f.Format.Value != cli.FormNone && f.Output == "" && cli.IsTerminal(s.Out)
	interrupts := cli.NewInterrupts(s, p.recording.After, false)
	defer interrupts.Close()
	log := cli.NewLog(s.Err, !f.NoProgress && !toTerminal)
	defer log.Close()
	s.Err, s.Graceful, srv.Log = log, true, log
	defer func() { err = log.Fail(err) }()
	srv.Packets = p.recording.Packets
	if p.recording.Name != "" {
		file, err := p.recording.Open(f.Output, proxy.RecordingOptions(), slices.Clone(f.Defined)...)
		if err != nil {
			return err
		}
		srv.Recorder = server.NewRecorder(file, log)
	}
	srv.Greet()
	if p.page != "" {
		makeSink = withPage(p.page, log.Say, makeSink)
	} else if f.Format.Value == cli.FormNone && p.opened == nil {
		return srv.Serve(interrupts.Stopped)
	}
	cfg.Ports = []uint16{p.target.Port()}
	srv.Feed = server.NewFeed()
	show := func() error { return reading.Report(f, s, cfg, srv.Feed, makeSink) }
	if p.opened == nil {
		return withReport(srv.Feed, interrupts.Stopped, srv.Serve, func() error { return interrupts.Await(log, show) })
	}
	// The dashboard has the terminal, and waits for this goroutine.
	quit := make(chan struct{})
	p.opened(srv, sync.OnceFunc(func() { close(quit) }))
	return withReport(srv.Feed, either(interrupts.Stopped, quit), srv.Serve, show)
}
