// Package watch shows records on a whole terminal: records of a command on the
// dashboard, and records of captures in the browser.
package watch

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/reading"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/packet"
	"github.com/bcdissect/bcdissect/report"
	"github.com/bcdissect/bcdissect/report/dashboard"
)

// Flags are the flags of the dashboard and of the browser of live traffic.
type Flags struct {
	On       bool
	Browsing bool
	speed    float64
	start    atomic.Int64                  // time of the first frame in nanoseconds
	quit     atomic.Pointer[func()]        // ends the source of records, nil if the source ends on its own
	lost     atomic.Pointer[func() uint64] // returns the number of lost packets, nil if that is unknown
}

// Define defines the flags.
func (w *Flags) Define(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.BoolVar(&w.On, "dashboard", false, "show players, rates and events live; see 'bcdissect help dashboard'")
	fl.Float64Var(&w.speed, "speed", 0, "dashboard: playback speed (1 = real time, 0 = as fast as possible)")
}

// Check returns an error for flags that cannot be combined.
func (w *Flags) Check(cmd *cobra.Command) error {
	form := cli.FormDashboard
	switch {
	case w.On && w.Browsing:
		return errors.New("--dashboard and --browse: each needs the whole terminal; give one of them")
	case w.Browsing:
		form = cli.FormBrowser
	case !w.On:
		return nil
	}
	if err := cli.CheckEffect(cmd, form); err != nil {
		return err
	}
	if !(w.speed >= 0) || math.IsInf(w.speed, 1) {
		return fmt.Errorf("--speed %v: give a positive number, such as 1 or 20", w.speed)
	}
	return nil
}

// Captures shows captures on the dashboard until the user quits.
func (w *Flags) Captures(f *cli.Common, s cli.Streams, names []string) error {
	var pacer *dashboard.Pacer
	if w.speed > 0 {
		pacer = dashboard.NewPacer(w.speed, time.Now, time.Sleep)
		if !cli.Rereadable(names...) {
			pacer.OneWay()
		}
	}
	return w.Show(f, s, names, title(names), pacer, func(s cli.Streams, d *dashboard.Dashboard) error {
		for {
			var said strings.Builder // from the last reading
			once := s
			once.Err = &said
			err := reading.Captures(f, once, names, w.Sink(d, pacer))
			if pacer != nil && (err == nil || isVerdict(err)) {
				if !pacer.Rewinds() {
					_ = d.Close() // it never returns an error
				}
				if pacer.Rest() {
					d.Restart()
					continue
				}
			}
			fmt.Fprintf(s.Err, "%s", said.String())
			return err
		}
	})
}

// Sink returns a maker of sinks that show records on the dashboard.
func (w *Flags) Sink(d *dashboard.Dashboard, pacer *dashboard.Pacer) reading.SinkMaker {
	return func(_ *cli.Output, start time.Time) (report.Sink, func(*reading.Counts) error) {
		w.start.Store(packet.Nanos(start))
		return paced{d, pacer}, nil
	}
}

// StopBy sets the function that ends the source of records.
func (w *Flags) StopBy(quit func()) { w.quit.Store(&quit) }

// Lost sets the function that returns the number of lost packets.
func (w *Flags) Lost(count func() uint64) { w.lost.Store(&count) }

// Show runs a dashboard while work passes records to it. Standard error of work
// is shown when the terminal has been restored.
func (w *Flags) Show(f *cli.Common, s cli.Streams, names []string, title string, pacer *dashboard.Pacer, work func(cli.Streams, *dashboard.Dashboard) error) error {
	keys, out, done, err := screen("--dashboard", s, names)
	if err != nil {
		return err
	}
	defer done()
	cfg, err := f.Config()
	if err != nil {
		return err
	}
	d := dashboard.New(dashboard.Options{
		Title: title, Color: (&cli.Output{Terminal: true}).Colored(f.Color.Value), ASCII: s.ASCII,
		Now: time.Now, Pacer: pacer, Compile: compiler(f, cfg, func() time.Time { return time.Unix(0, w.start.Load()) }),
	})

	return w.run(keys, out, s, d, func(s cli.Streams) error {
		err := work(s, d)
		if err == nil || isVerdict(err) {
			_ = d.Close() // it never returns an error
		}
		return err
	})
}

// A screenful is a program that uses the whole terminal.
type screenful interface {
	Run(keys io.Reader, out io.Writer) error
	Stop()
}

// run runs a program while work passes records to it. Standard error of work is
// shown when the terminal has been restored.
func (w *Flags) run(keys io.Reader, out io.Writer, s cli.Streams, p screenful, work func(cli.Streams) error) error {
	unwatch := onHangup(p.Stop)
	defer unwatch()

	var said strings.Builder
	var panicked any
	ended := make(chan error, 1)
	go func() {
		defer cli.Guard()
		var err error
		defer func() {
			if panicked = recover(); panicked != nil {
				p.Stop()
			}
			ended <- err
		}()
		err = work(cli.Streams{In: s.In, Out: io.Discard, Err: &said, Process: s.Process})
		if err != nil && !isVerdict(err) {
			p.Stop() // there are no records to show
		}
	}()
	shown := p.Run(keys, out)
	p.Stop()
	unwatch()
	if quit := w.quit.Load(); quit != nil {
		(*quit)()
	}
	var err error
	select {
	case err = <-ended:
	case <-time.After(time.Second): // work is waiting for packets or for a pipe
		return cli.Failed(shown)
	}
	if panicked != nil {
		panic(panicked)
	}
	fmt.Fprintf(s.Err, "%s", said.String())
	if shown != nil && err == nil {
		return cli.Failed(shown)
	}
	return err
}

// isVerdict reports whether an error only occurs after all records were shown.
func isVerdict(err error) bool {
	var st *cli.StatusError
	return errors.As(err, &st) && (st.Code == cli.ExitMalformed || st.Code == cli.ExitDamaged)
}

// paced passes records to the dashboard when they are due.
type paced struct {
	*dashboard.Dashboard
	pacer *dashboard.Pacer // nil to pass records without delay
}

func (p paced) Record(r *dissect.Record) error {
	if p.pacer != nil && r.Datagram != nil {
		p.pacer.Wait(r.Datagram.Time)
		if p.pacer.Rewinds() {
			return reading.ErrEnough
		}
	}
	if err := p.Dashboard.Record(r); err != nil {
		return reading.ErrEnough // the user has quit
	}
	return nil
}
