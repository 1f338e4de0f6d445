package main

import (
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/privilege"
	"github.com/bcdissect/bcdissect/cmd/internal/reading"
	"github.com/bcdissect/bcdissect/cmd/internal/server"
	"github.com/bcdissect/bcdissect/cmd/internal/watch"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/measure"
	"github.com/bcdissect/bcdissect/report"
	"github.com/bcdissect/bcdissect/report/dashboard"
)

// running has what live, proxy and relay share. These commands report live
// traffic until a limit, a signal or an error ends them.
type running struct {
	messages  reading.Messages
	recording cli.Recording
	page      string // file of --session
	web       livePages
	user      string // user of -Z
	as        *privilege.User

	// The dashboard and the browser set opened. It is called with functions
	// that end the traffic and count packets. It is nil without them.
	opened func(quit func(), counts func() (received, dropped uint64))
	// The browser sets tap, which returns a source that also fills the browser.
	// It is nil without one.
	tap func(reading.Source) reading.Source
	// The w key of the browser saves to this directory, or to one below it. It
	// is empty without a browser.
	saves string

	interrupts *cli.Interrupts
	log        *cli.Log
}

// defineUser defines the flag for the user that replaces root.
func (r *running) defineUser(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&r.user, "relinquish-privileges", "Z", "", "as root: become `USER` once the sockets are open (default who ran sudo, or nobody)")
}

// giveUp changes the user from root to another. The command calls it when the
// sockets are open and before it opens files.
func (r *running) giveUp(s cli.Streams) error {
	if !s.Process || r.as.Name == "" {
		return nil
	}
	if err := r.as.Become(); err != nil {
		return cli.Failed(err)
	}
	r.log.Say("gave up root, running as %s", r.as.Name)
	return nil
}

// confine gives up all rights except those to the folders of outputs. The
// command calls it before it reads the first datagram.
func (r *running) confine(f *cli.Common, s cli.Streams, others ...string) error {
	if !s.Process {
		return nil
	}
	return cli.Failed(privilege.Confine(append(others, f.Output, r.recording.Name, r.page, r.saves)...))
}

// check returns an error for outputs that are also inputs, or that overwrite
// each other.
func (r *running) check(f *cli.Common, inputs ...string) (err error) {
	if r.as, err = privilege.Choose(r.user); err != nil {
		return err
	}
	if err := r.web.check(f); err != nil {
		return err
	}
	inputs = append(slices.Clone(f.Defined), inputs...)
	if r.page != "" {
		if err := checkPage(r.page, f, &r.recording, inputs...); err != nil {
			return err
		}
	}
	return cli.CheckOverwrite(f.Output, nil, inputs...)
}

// begin begins to listen for signals, and sends standard error through a log.
// If status is set, the log shows a status. The caller defers end.
func (r *running) begin(s *cli.Streams, status, rereads bool) {
	r.interrupts = cli.NewInterrupts(*s, r.recording.After, rereads)
	r.log = cli.NewLog(s.Err, status)
	s.Err, s.Graceful = r.log, true
}

// record makes a host or a proxy write to the log, and record its datagrams if
// the user wants that.
func (r *running) record(f *cli.Common, to *server.Recorder, name, what string, inputs ...string) error {
	to.Log, to.Packets = r.log, r.recording.Packets
	if r.recording.Name == "" {
		return nil
	}
	r.recording.Forgot = r.forgot
	file, err := r.recording.OpenDatagrams(f.Output, name, what, append(inputs, f.Defined...)...)
	if err == nil {
		to.Record(file)
	}
	return err
}

// end writes the error that ends the command and keeps only its exit status.
func (r *running) end(err *error) {
	if e := r.web.close(); *err == nil {
		*err = cli.Failed(e)
	}
	*err = r.log.Fail(r.as.Explain(*err))
	r.log.Close()
	r.interrupts.Close()
}

// wantsStatus reports whether standard error shows a status. It does not if the
// report goes to the terminal.
func wantsStatus(f *cli.Common, s cli.Streams) bool {
	return !f.NoProgress && (f.Format.Value == cli.FormNone || f.Output != "" || !cli.IsTerminal(s.Out))
}

// show runs a command that shows traffic on the dashboard, in the browser or in
// a report.
func (r *running) show(cmd *cobra.Command, w *watch.Flags, f *cli.Common, s cli.Streams, title string, run func(*cli.Common, cli.Streams, reading.SinkMaker) error) error {
	if err := w.Check(cmd); err != nil {
		return err
	}
	if err := r.recording.Check(time.Now()); err != nil {
		return err
	}
	switch {
	case w.On:
		return r.watch(w, f, s, title, run)
	case w.Browsing:
		return r.browse(w, f, s, title, run)
	}
	if err := r.messages.Check(f, cmd); err != nil {
		return err
	}
	return run(f, s, r.sinks(f))
}

// await runs a report. Without a dashboard or a browser it also watches for the
// end of the command.
func (r *running) await(show func() error) error {
	if r.opened != nil {
		return show()
	}
	return r.interrupts.Await(r.log, show)
}

// serve calls serve until it is stopped or the report of its feed has ended.
func (r *running) serve(feed *server.Feed, stopped <-chan struct{}, serve func(stop <-chan struct{}) error, show func() error) error {
	ended := make(chan error, 1)
	quit := make(chan struct{})
	go func() {
		defer feed.End()
		defer cli.Guard()
		ended <- serve(either(stopped, quit))
	}()
	reported := r.await(show)
	close(quit) // the report has ended, so serve must stop
	if err := <-ended; err != nil {
		return err
	}
	return reported
}

// either returns a channel that is closed when a or b is closed.
func either(a, b <-chan struct{}) <-chan struct{} {
	c := make(chan struct{})
	go func() {
		defer close(c)
		defer cli.Guard()
		select {
		case <-a:
		case <-b:
		}
	}()
	return c
}

// sinks returns the maker of the sinks of the report. Without a report it makes
// sinks only for the page.
func (r *running) sinks(f *cli.Common) reading.SinkMaker {
	return func(out *cli.Output, start time.Time) (report.Sink, func(*reading.Counts) error) {
		if f.Format.Value == cli.FormNone {
			return new(measure.Tally), nil
		}
		return r.messages.Sink(f, out, start, true)
	}
}

// forgot reports that --keep deleted a file.
func (r *running) forgot(name string) { r.log.Say("--keep: deleted %s", report.Escape(name)) }

// silent reports whether the traffic is only recorded and not shown.
func (r *running) silent(f *cli.Common) bool {
	return r.page == "" && r.web.server == nil && f.Format.Value == cli.FormNone && r.opened == nil
}

// withPage adds the pages of --session and --web to a report.
func (r *running) withPage(makeSink reading.SinkMaker) reading.SinkMaker {
	makeSink = r.web.with(makeSink)
	if r.page == "" {
		return makeSink
	}
	return withPage(r.page, r.log.Say, makeSink)
}

// watch shows traffic on the dashboard until the user quits.
func (r *running) watch(w *watch.Flags, f *cli.Common, s cli.Streams, title string, run func(*cli.Common, cli.Streams, reading.SinkMaker) error) error {
	return w.Show(f, s, nil, title, nil, func(s cli.Streams, d *dashboard.Dashboard) error {
		ended := make(chan struct{})
		defer close(ended)
		r.opened = func(quit func(), counts func() (received, dropped uint64)) {
			w.StopBy(quit)
			go func() {
				defer cli.Guard()
				tick := time.NewTicker(time.Second)
				defer tick.Stop()
				for {
					select {
					case <-ended:
						return
					case <-tick.C:
						d.SetDrops(counts())
					}
				}
			}()
		}
		return run(f, s, w.Sink(d, nil))
	})
}

// browse shows traffic in the browser until the user quits.
func (r *running) browse(w *watch.Flags, f *cli.Common, s cli.Streams, title string, run func(*cli.Common, cli.Streams, reading.SinkMaker) error) error {
	command := func(r *dissect.Record) string { return decodeCommand(r, f) }
	return w.Browse(f, s, title, command, func(s cli.Streams, makeSink reading.SinkMaker, tap func(reading.Source) reading.Source) error {
		r.tap, r.saves = tap, "." // filepath.Dir returns "." unchanged
		r.opened = func(quit func(), counts func() (received, dropped uint64)) {
			w.StopBy(quit)
			w.Lost(func() uint64 { _, dropped := counts(); return dropped })
		}
		return run(f, s, makeSink)
	})
}
