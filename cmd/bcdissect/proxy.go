package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"

	"github.com/spf13/cobra"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/proxy"
	"github.com/bcdissect/bcdissect/cmd/internal/reading"
	"github.com/bcdissect/bcdissect/cmd/internal/server"
	"github.com/bcdissect/bcdissect/cmd/internal/watch"
)

// forwarding are the flags of a proxy.
type forwarding struct {
	running
	impair []string
	truth  string // file of --impair-log
	tap    cli.Choice

	target *proxy.Target
	listen string
}

func newProxy(s cli.Streams) *cobra.Command {
	var f cli.Common
	var p forwarding
	var w watch.Flags
	cmd := &cobra.Command{
		Use:   "proxy HOST[:PORT]",
		Short: "Record and show your own game without administrator rights",
		Long: `Proxy stands between the game on this computer and a host. Join 127.0.0.1 in the
game: proxy forwards every datagram to HOST and back, unchanged. It shows the
messages, and records them with -w. It needs neither Npcap nor administrator
rights. The port is 22101 unless you give another.

To try your server on a bad line, add --impair loss=5%,delay=40ms. Proxy then
loses and delays datagrams on purpose. Other properties are jitter, burst,
reorder, duplicate, rate, queue and seed. Put to-server: or to-client: in front
to impair one direction. Repeat the flag for the other.

Only programs on this computer can connect, unless -l names another address.
Ctrl-C ends the connection to the host and completes the file of -w. A second
Ctrl-C aborts.`,
		Example: `  # watch the messages of your own game
  bcdissect proxy game.example.org
  # record your game without a report
  bcdissect proxy game.example.org -w evening.pcapng -T none
  # see players, rates and events while you play
  bcdissect proxy 192.0.2.7:22102 --dashboard
  # list the chat, and keep a page of the match
  bcdissect proxy 192.0.2.7 -Y 'Chat or TeamChat' --session evening.html
  # try your server on a bad line
  bcdissect proxy localhost:22102 --impair loss=5%,delay=40ms,jitter=10ms`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if p.target, err = proxy.ParseTarget(args[0]); err != nil {
				return err
			}
			if len(p.impair) == 0 && (p.truth != "" || cmd.Flags().Changed("impair-tap")) {
				return errors.New("--impair-log and --impair-tap need an impaired line: add --impair loss=5%")
			}
			return p.show(cmd, &w, &f, s, p.target.String(), p.run)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVarP(&p.listen, "listen", "l", "127.0.0.1:"+server.GamePort, "`ADDRESS` and UDP port to listen on (0.0.0.0:22101 also serves other computers)")
	fl.StringVar(&p.page, "session", "", "also keep a page of the matches in this HTML `FILE`, written every minute")
	p.web.define(cmd)
	p.recording.Define(cmd, "record the datagrams in this `FILE`, as pcapng (%Y%m%d-%H%M%S is the time)")
	fl.BoolVar(&w.On, "dashboard", false, "show players, rates and events live; see 'bcdissect help dashboard'")
	p.defineUser(cmd)
	p.tap = cli.NewChoice(string(proxy.AtHost), string(proxy.AtHost), string(proxy.AtRouter), string(proxy.AtClient))
	fl.StringArrayVar(&p.impair, "impair", nil, "make the line bad: `PROPERTIES` such as loss=5%,delay=40ms,seed=7, repeatable")
	fl.StringVar(&p.truth, "impair-log", "", "log what --impair did to each datagram in this `FILE`, as JSON lines")
	fl.Var(&p.tap, "impair-tap", "with --impair: where on the line to record and report")
	p.tap.Complete(cmd, "impair-tap")
	f.DefineReport(cmd, "table", "none", "table", "json", "histogram", "csv", "fields")
	p.messages.Define(&f, cmd)
	cli.Hide(cmd, "clear", "from", "to", "frames") // only for captures
	return cmd
}

// open opens the proxy. Ctrl-C cancels it.
func (p *forwarding) open() (*proxy.Proxy, error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	return proxy.Open(ctx, p.target, p.listen)
}

// impairment returns the impairment that the flags describe, nil for none.
func (p *forwarding) impairment(output string) (*proxy.Impairment, error) {
	if len(p.impair) == 0 {
		return nil, nil
	}
	for _, other := range [][2]string{{"--output", output}, {"--write", p.recording.Name}, {"--session", p.page}} {
		if err := cli.CheckDistinct("--impair-log", p.truth, other[0], other[1]); err != nil {
			return nil, err
		}
	}
	return proxy.NewImpairment(p.impair, proxy.Tap(p.tap.Value))
}

// run forwards datagrams until a limit, a signal or an error ends it.
func (p *forwarding) run(f *cli.Common, s cli.Streams, makeSink reading.SinkMaker) (err error) {
	cfg, err := f.Config()
	if err != nil {
		return err
	}
	if err := p.check(f); err != nil {
		return err
	}
	bad, err := p.impairment(f.Output)
	if err != nil {
		return err
	}
	srv, err := p.open()
	if err != nil {
		return err
	}
	defer srv.Close()
	p.begin(&s, wantsStatus(f, s), false)
	defer p.end(&err)
	if err := p.web.open(p.log); err != nil {
		return err
	}
	if err := p.giveUp(s); err != nil {
		return err
	}
	srv.Impair = bad
	if err := p.record(f, &srv.Recorder, "proxy", "traffic between clients and host"); err != nil {
		return err
	}
	if p.truth != "" {
		if bad.Log, err = cli.OpenOutput(p.truth, s); err != nil {
			return err
		}
	}
	if err := p.confine(f, s, p.truth); err != nil {
		return err
	}
	srv.Greet()
	makeSink = p.withPage(makeSink)
	if p.silent(f) {
		return srv.Serve(p.interrupts.Stopped)
	}
	cfg.Ports = []uint16{p.target.Port()}
	srv.Feed = server.NewFeed()
	stopped := p.interrupts.Stopped
	if p.opened != nil {
		quit := make(chan struct{})
		stopped = either(stopped, quit)
		p.opened(sync.OnceFunc(func() { close(quit) }), func() (received, dropped uint64) {
			c := srv.Counts()
			return uint64(c.FromClients + c.FromHost), uint64(c.Dropped + c.Unnoted)
		})
	}
	return p.serve(srv.Feed, stopped, srv.Serve, func() error { return reading.Report(f, s, cfg, srv.Feed, makeSink) })
}
