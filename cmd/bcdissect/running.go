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

// running is what the commands share that report live traffic until something ends
// them: live, proxy and relay.
type running struct {
	messages  reading.Messages
	recording cli.Recording
	page      string // of --session
	web       livePages
	user      string // of -Z
	as        *privilege.User

	// For the dashboard and the browser: is told how to end the traffic, and of lost packets. It is nil
	// without them.
	opened func(quit func(), counts func() (received, dropped uint64))
	// For the browser: returns a source that also fills the browser. It is nil without one.
	tap func(reading.Source) reading.Source
	// For the browser: its w key saves to this directory, or to one below it. It is empty without one.
	saves string

	interrupts *cli.Interrupts
	log        *cli.Log
}

// defineUser defines the flag with the user in the place of root.
func (r *running) defineUser(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&r.user, "relinquish-privileges", "Z", "", "as root: become `USER` once the sockets are open (default who ran sudo, or nobody)")
}

// giveUp makes root another user. The sockets are open then, and the files are not.
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

// confine takes away all rights but those to the directories of outputs, before the
// first datagram is read.
func (r *running) confine(f *cli.Common, s cli.Streams, others ...string) error {
	if !s.Process {
		return nil
	}
	return cli.Failed(privilege.Confine(append(others, f.Output, r.recording.Name, r.page, r.saves)...))
}

// check refuses outputs that are inputs, or that overwrite each other.
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

// begin listens for signals, and has standard error written by a log, with a status
// if that is wanted. The caller defers end.
func (r *running) begin(s *cli.Streams, status, rereads bool) {
	r.interrupts = cli.NewInterrupts(*s, r.recording.After, rereads)
	r.log = cli.NewLog(s.Err, status)
	s.Err, s.Graceful = r.log, true
}

// record has a host or a proxy log, and record its datagrams if that is wanted.
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

// end says the error that ends the command, and leaves only its status.
func (r *running) end(err *error) {
	if e := r.web.close(); *err == nil {
		*err = cli.Failed(e)
	}
	*err = r.log.Fail(r.as.Explain(*err))
	r.log.Close()
	r.interrupts.Close()
}

// wantsStatus reports whether standard error shows a status: not while the report goes
// to the terminal.
func wantsStatus(f *cli.Common, s cli.Streams) bool {
	return !f.NoProgress && (f.Format.Value == cli.FormNone || f.Output != "" || !cli.IsTerminal(s.Out))
}

// show runs a command that shows traffic on the dashboard or in a report.
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

// await runs a report. A dashboard or a browser has the terminal, and waits for this goroutine.
func (r *running) await(show func() error) error {
	if r.opened != nil {
		return show()
	}
	return r.interrupts.Await(r.log, show)
}

// serve serves until it is stopped or the report of its feed has ended.
func (r *running) serve(feed *server.Feed, stopped <-chan struct{}, serve func(stop <-chan struct{}) error, show func() error) error {
	ended := make(chan error, 1)
	quit := make(chan struct{})
	go func() {
		defer feed.End()
		defer cli.Guard()
		ended <- serve(either(stopped, quit))
	}()
	reported := r.await(show)
	close(quit) // there may be nobody left to report to
	if err := <-ended; err != nil {
		return err
	}
	return reported
}

// either returns a channel that is closed when one of two is.
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

// sinks returns the maker of the sinks of the report, or of the page alone.
func (r *running) sinks(f *cli.Common) reading.SinkMaker {
	return func(out *cli.Output, start time.Time) (report.Sink, func(*reading.Counts) error) {
		if f.Format.Value == cli.FormNone {
			return new(measure.Tally), nil
		}
		return r.messages.Sink(f, out, start, true)
	}
}

// forgot says that --keep deleted a file.
func (r *running) forgot(name string) { r.log.Say("--keep: deleted %s", report.Escape(name)) }

// silent reports whether nobody wants to know of the traffic but a recording.
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
		r.tap, r.saves = tap, "." // which filepath.Dir leaves as it is
		r.opened = func(quit func(), counts func() (received, dropped uint64)) {
			w.StopBy(quit)
			w.Lost(func() uint64 { _, dropped := counts(); return dropped })
		}
		return run(f, s, makeSink)
	})
}
