package main

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/reading"
	"github.com/bcdissect/bcdissect/cmd/internal/watch"
	"github.com/bcdissect/bcdissect/decode/plural"
	"github.com/bcdissect/bcdissect/dissect/capture"

	capturefilter "github.com/bcdissect/bcdissect/dissect/capture/bpf"
	"github.com/bcdissect/bcdissect/dissect/capture/device"
)

// capturing are the flags of a live capture.
type capturing struct {
	device.Options
	running

	filter string
}

func newLive(s cli.Streams) *cobra.Command {
	var f cli.Common
	var l capturing
	var w watch.Flags
	cmd := &cobra.Command{
		Use:   "live",
		Short: "Decode traffic from a network interface while people play",
		Long: `Live captures packets from a network interface and reports the messages of the
game as they come. Ctrl-C ends the capture, completes the report and the file of
-w, and counts the packets that came and that were lost. A second Ctrl-C aborts.

Live takes the interface of the default route unless -i names another. Run
'bcdissect interfaces' to list them. Not every user may capture packets. If you
may not, the error tells what to do.`,
		Example: `  # watch the messages of a running game
  bcdissect live
  # record a game on one interface, without other traffic
  bcdissect live -i eth0 -f 'udp port 22101' -w evening.pcapng
  # read the chat while it is written
  bcdissect live -i any -Y 'Chat or TeamChat'
  # step through the messages while they come
  bcdissect live --browse
  # record all the time, and keep the last two hours
  bcdissect live -w ring.pcapng -b duration:600 -b files:12 -o /dev/null`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := l.checkCapture(); err != nil {
				return err
			}
			return l.show(cmd, &w, &f, s, cmp.Or(l.Interface, "live"), l.run)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVarP(&l.Interface, "interface", "i", "", "capture from this `INTERFACE` (on Linux, any is all of them)")
	// The only error is that the flag does not exist.
	_ = cmd.RegisterFlagCompletionFunc("interface", completeInterface)
	fl.StringVarP(&l.filter, "capture-filter", "f", "", "capture only packets that match `BPF`, such as 'udp port 22101'; see 'bcdissect help live'")
	fl.StringVar(&l.page, "session", "", "also keep a page of the matches in this HTML `FILE`, written every minute")
	l.web.define(cmd)
	l.recording.Define(cmd, "also save the raw packets to this `FILE`, as pcapng (%Y%m%d-%H%M%S is the time)")
	fl.IntVarP(&l.SnapLen, "snapshot-length", "s", 0, "keep `N` bytes of each packet (0 = all)")
	fl.BoolVar(&l.Promiscuous, "promiscuous", false, "also capture packets for other machines")
	fl.BoolVar(&w.On, "dashboard", false, "show players, rates and events live; see 'bcdissect help dashboard'")
	fl.BoolVar(&w.Browsing, "browse", false, "browse the messages while they come, as browse does with captures")
	l.defineUser(cmd)
	f.Define(cmd, "table", "table", "json", "histogram", "csv", "fields")
	l.messages.Define(&f, cmd)
	cli.Hide(cmd, "clear") // only for captures
	return cmd
}

// checkCapture parses the flags that do not depend on the interface.
func (l *capturing) checkCapture() error {
	if l.SnapLen < 0 || l.SnapLen > device.MaxSnapLen {
		return fmt.Errorf("--snapshot-length %d: at most %d bytes can be kept", l.SnapLen, device.MaxSnapLen)
	}
	// The link type does not matter: a mistake in the filter is a mistake on
	// any network.
	const ethernet = 1
	_, err := capturefilter.Compile(l.filter, ethernet, 0)
	if bad := (*capturefilter.Error)(nil); errors.As(err, &bad) {
		return &cli.StatusError{Code: cli.ExitUsage, Err: errors.New("--capture-filter: " + bad.Message), Caret: bad.Caret()}
	}
	return err
}

// run captures until a limit, a signal or an error ends it.
func (l *capturing) run(f *cli.Common, s cli.Streams, makeSink reading.SinkMaker) (err error) {
	cfg, err := f.Config()
	if err != nil {
		return err
	}
	if err := l.check(f); err != nil {
		return err
	}
	if err := cli.CheckDistinct("--output", f.Output, "--write", l.recording.Name); err != nil {
		return err
	}
	if l.Interface == "" {
		if l.Interface, err = device.Default(); err != nil {
			return cli.Failed(err)
		}
	}
	l.Filter = capturefilter.Program(l.filter, uint32(l.SnapLen))
	live, err := capture.OpenLive(capture.LiveOptions{Options: l.Options, Packets: l.recording.Packets})
	if err != nil {
		return cli.Failed(err)
	}
	defer func() {
		if e := live.Close(); e != nil && err == nil {
			err = cli.Failed(e)
		}
	}()
	l.begin(&s, false, false)
	defer l.end(&err)
	if err := l.web.open(l.log); err != nil {
		return err
	}
	if err := l.giveUp(s); err != nil {
		return err
	}
	if l.recording.Name != "" {
		o := live.WriterOptions()
		o.Filter, l.recording.Forgot = l.filter, l.forgot
		file, e := l.recording.Open(f.Output, &o, f.Defined...)
		if e != nil {
			return e
		}
		live.Tee(file)
		defer func() {
			_ = live.Close() // the error is reported above, and the writer must not be used any more
			if e := file.Close(); e != nil && err == nil {
				err = cli.Failed(e)
			}
		}()
	}
	if l.opened != nil {
		quit := func() { _ = live.Close() } // the last call of Close returns the error
		l.opened(quit, func() (received, dropped uint64) {
			c := live.Counters()
			return c.Received, c.Dropped + c.Overflowed
		})
	}
	l.log.Say("capturing on %s", live.Interface())
	go func() {
		defer cli.Guard()
		<-l.interrupts.Stopped
		_ = live.Close() // the last call of Close returns the error
	}()
	if err := l.confine(f, s); err != nil {
		return err
	}
	makeSink = l.withPage(makeSink)
	var src reading.Source = liveSource{live}
	if l.tap != nil {
		src = l.tap(src)
	}
	shown := func() error { return reading.Report(f, s, cfg, src, makeSink) }
	err = l.await(shown)
	l.summary(live)
	return err
}

// summary logs the numbers of captured and dropped packets.
func (l *capturing) summary(live *capture.Live) {
	_ = live.Close() // after Close the counters are complete
	c := live.Counters()
	l.log.Say(plural.Form(c.Read, "%d {packet|packets} captured, %d dropped by the system, %d not in the report because it was too slow"), c.Read, c.Dropped, c.Overflowed)
	if l.recording.Name != "" && c.Overflowed > 0 {
		l.log.Say("the file of -w has them all")
	}
}

// A liveSource is a live capture, which has no known size.
type liveSource struct{ *capture.Live }

// Progress implements [reading.Source].
func (liveSource) Progress() (read, size int64) { return 0, 0 }
