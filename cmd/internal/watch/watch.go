// Package watch shows the records of a command on the dashboard.
package watch

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/reading"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/report"
	"github.com/bcdissect/bcdissect/report/dashboard"
)

// Flags are the flags of the dashboard.
type Flags struct {
	On    bool
	speed float64
	start atomic.Int64           // of the capture, in nanoseconds
	quit  atomic.Pointer[func()] // ends the source of records; nil if it ends by itself
}

// Define defines the flags.
func (w *Flags) Define(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.BoolVar(&w.On, "dashboard", false, "show players, rates and events live; see docs/dashboard.md")
	fl.Float64Var(&w.speed, "speed", 0, "dashboard: playback speed (1 = real time, 0 = as fast as possible)")
}

// Check reports flags that cannot be combined.
func (w *Flags) Check(cmd *cobra.Command) error {
	if !w.On {
		return nil
	}
	if err := cli.CheckEffect(cmd, cli.FormDashboard); err != nil {
		return err
	}
	if !(w.speed >= 0) || math.IsInf(w.speed, 1) {
		return fmt.Errorf("--speed %v: give a positive number, such as 1 or 20", w.speed)
	}
	return nil
}

// screen returns the terminal that the dashboard is for and where its keys come
// from, which are not to be closed before done is called.
func screen(s cli.Streams, names []string) (keys io.Reader, out *os.File, done func(), err error) {
	noTerminal := errors.New("--dashboard needs a terminal, and standard output is none that can be drawn on")
	if s.NoANSI {
		return nil, nil, nil, errors.New("--dashboard cannot draw on this console; use Windows Terminal, or switch off its legacy mode")
	}
	out, ok := s.Out.(*os.File)
	if !ok || !term.IsTerminal(int(out.Fd())) || os.Getenv("TERM") == "dumb" {
		return nil, nil, nil, noTerminal
	}
	if in, ok := s.In.(*os.File); ok && !slices.Contains(names, "-") && term.IsTerminal(int(in.Fd())) {
		return in, out, func() {}, nil
	}
	name := "/dev/tty"
	if cli.OnWindows {
		name = "CONIN$"
	}
	tty, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return nil, nil, nil, errors.New("--dashboard needs a terminal to take keys from, and there is none")
	}
	return tty, out, func() { _ = tty.Close() }, nil
}

// Captures shows captures on the dashboard until the user quits.
func (w *Flags) Captures(f *cli.Common, s cli.Streams, names []string) error {
	var pacer *dashboard.Pacer
	if w.speed > 0 {
		pacer = dashboard.NewPacer(w.speed, time.Now, time.Sleep)
		if !again(names) {
			pacer.OneWay()
		}
	}
	title := filepath.Base(names[0])
	if len(names) > 1 {
		title += fmt.Sprintf(" and %d more", len(names)-1)
	}
	return w.Show(f, s, names, title, pacer, func(s cli.Streams, d *dashboard.Dashboard) error {
		for {
			var said strings.Builder // of the last time, when all was read
			once := s
			once.Err = &said
			err := reading.Captures(f, once, names, w.Sink(d, pacer))
			if pacer != nil && (err == nil || isVerdict(err)) {
				if !pacer.Rewinds() {
					_ = d.Close() // never fails
				}
				if pacer.Rest() {
					pacer.Rewound()
					d.Restart()
					continue
				}
			}
			fmt.Fprintf(s.Err, "%s", said.String())
			return err
		}
	})
}

// again reports whether captures can be read more than once.
func again(names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool {
		info, err := os.Stat(name)
		return name == "-" || err == nil && !info.Mode().IsRegular()
	})
}

// Sink returns a maker of sinks that shows records on the dashboard.
func (w *Flags) Sink(d *dashboard.Dashboard, pacer *dashboard.Pacer) reading.SinkMaker {
	return func(_ *cli.Output, start time.Time) (report.Sink, func(*reading.Counts) error) {
		w.start.Store(start.UnixNano())
		return paced{d, pacer}, nil
	}
}

// StopBy sets the function that ends the source of records.
func (w *Flags) StopBy(quit func()) { w.quit.Store(&quit) }

// Show runs a dashboard while work gives it records. Standard error of work
// appears once the terminal is restored.
func (w *Flags) Show(f *cli.Common, s cli.Streams, names []string, title string, pacer *dashboard.Pacer, work func(cli.Streams, *dashboard.Dashboard) error) error {
	keys, out, done, err := screen(s, names)
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
		Now: time.Now, Pacer: pacer, Compile: w.compiler(cfg),
	})

	// The runtime ends the program on a hangup, and would leave the terminal
	// as the dashboard set it up.
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	go func() {
		if _, ok := <-hangup; ok {
			d.Stop()
		}
	}()

	var said strings.Builder
	var panicked any
	ended := make(chan error, 1)
	go func() {
		var err error
		defer func() {
			if panicked = recover(); panicked != nil {
				d.Stop()
			}
			ended <- err
		}()
		err = work(cli.Streams{In: s.In, Out: io.Discard, Err: &said}, d)
		if err != nil && !isVerdict(err) {
			d.Stop() // there is nothing to look at
			return
		}
		_ = d.Close() // never fails
	}()
	shown := d.Run(keys, out)
	d.Stop()
	signal.Stop(hangup)
	close(hangup)
	if quit := w.quit.Load(); quit != nil {
		(*quit)()
	}
	select {
	case err = <-ended:
	case <-time.After(time.Second): // it waits for packets or for a pipe
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

// isVerdict reports whether an error comes after all records were shown.
func isVerdict(err error) bool {
	var st *cli.StatusError
	return errors.As(err, &st) && (st.Code == cli.ExitMalformed || st.Code == cli.ExitDamaged)
}

// paced gives records to the dashboard when it is time to.
type paced struct {
	*dashboard.Dashboard
	pacer *dashboard.Pacer // nil to give them at once
}

func (p paced) Record(r *dissect.Record) error {
	if p.pacer != nil && r.Datagram != nil {
		p.pacer.Wait(r.Datagram.Time)
		if p.pacer.Rewinds() {
			return reading.ErrEnough
		}
	}
	if err := p.Dashboard.Record(r); err != nil {
		return reading.ErrEnough // the user quit
	}
	return nil
}

// compiler returns a maker of filters for the dashboard, with the names that the
// command line knows, too.
func (w *Flags) compiler(cfg dissect.Config) func(expr string) (func(*dissect.Record) bool, error) {
	return func(expr string) (func(*dissect.Record) bool, error) {
		compiled, err := cli.CompileFilter("filter", expr, cfg.Catalog)
		if bad := (*cli.StatusError)(nil); errors.As(err, &bad) {
			column := len(expr)
			if shown, mark, _ := strings.Cut(bad.Caret, "\n"); shown == expr { // not a part of it
				column = strings.IndexByte(mark, '^')
			}
			return nil, &dashboard.FilterError{Text: err.Error(), Column: column}
		}
		if err != nil {
			return nil, err
		}
		compiled.Start = time.Unix(0, w.start.Load())
		return compiled.Match, nil
	}
}
