package main

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

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/report"
	"github.com/bcdissect/bcdissect/report/dashboard"
)

// watching are the flags of the dashboard.
type watching struct {
	on    bool
	speed float64
	start atomic.Int64           // of the capture, in nanoseconds
	quit  atomic.Pointer[func()] // ends what gives records; nil if it ends by itself
}

func (w *watching) define(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.BoolVar(&w.on, "dashboard", false, "show players, rates and events on the whole terminal; see docs/dashboard.md")
	fl.Float64Var(&w.speed, "speed", 0, "dashboard: seconds of the capture that pass in a second; 0 for as fast as can be")
}

// check tells what cannot be combined.
func (w *watching) check(cmd *cobra.Command) error {
	if !w.on {
		if cmd.Flags().Changed("speed") {
			return errors.New("--speed is for --dashboard")
		}
		return nil
	}
	for _, name := range []string{"format", "output", "fields", "verbose", "hex", "payload"} {
		if cmd.Flags().Changed(name) {
			return fmt.Errorf("--%s and --dashboard exclude each other", name)
		}
	}
	if !(w.speed >= 0) || math.IsInf(w.speed, 1) {
		return fmt.Errorf("--speed %v: give a positive number, such as 1 or 20", w.speed)
	}
	return nil
}

// screen returns the terminal that the dashboard is for and where its keys come
// from, which are not to be closed before done is called.
func screen(s streams, names []string) (keys io.Reader, out *os.File, done func(), err error) {
	noTerminal := errors.New("--dashboard needs a terminal, and standard output is none that can be drawn on")
	if s.noANSI {
		return nil, nil, nil, errors.New("--dashboard cannot draw on this console; use Windows Terminal, or switch off its legacy mode")
	}
	out, ok := s.out.(*os.File)
	if !ok || !term.IsTerminal(int(out.Fd())) || os.Getenv("TERM") == "dumb" {
		return nil, nil, nil, noTerminal
	}
	if in, ok := s.in.(*os.File); ok && !slices.Contains(names, "-") && term.IsTerminal(int(in.Fd())) {
		return in, out, func() {}, nil
	}
	name := "/dev/tty"
	if onWindows {
		name = "CONIN$"
	}
	tty, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return nil, nil, nil, errors.New("--dashboard needs a terminal to take keys from, and there is none")
	}
	return tty, out, func() { _ = tty.Close() }, nil
}

// read shows captures on the dashboard until the user quits.
func (w *watching) read(f *common, s streams, names []string) error {
	var pacer *dashboard.Pacer
	if w.speed > 0 {
		pacer = dashboard.NewPacer(w.speed, time.Now, time.Sleep)
	}
	title := filepath.Base(names[0])
	if len(names) > 1 {
		title += fmt.Sprintf(" and %d more", len(names)-1)
	}
	return w.show(f, s, names, title, pacer, func(s streams, d *dashboard.Dashboard) error {
		return f.run(s, names, func(_ *output, start time.Time) (report.Sink, func(*counts) error) {
			w.start.Store(start.UnixNano())
			return paced{d, pacer}, nil
		})
	})
}

// show runs a dashboard while work gives it records. What work says on standard
// error comes when the terminal is as it was.
func (w *watching) show(f *common, s streams, names []string, title string, pacer *dashboard.Pacer, work func(streams, *dashboard.Dashboard) error) error {
	keys, out, done, err := screen(s, names)
	if err != nil {
		return err
	}
	defer done()
	d := dashboard.New(dashboard.Options{
		Title: title, Color: (&output{terminal: true}).colored(f.color.value), ASCII: s.ascii,
		Now: time.Now, Pacer: pacer, Compile: w.compile,
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
		err = work(streams{in: s.in, out: io.Discard, err: &said}, d)
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
		return failed(shown)
	}
	if panicked != nil {
		panic(panicked)
	}
	fmt.Fprintf(s.err, "%s", said.String())
	if shown != nil && err == nil {
		return failed(shown)
	}
	return err
}

// isVerdict reports whether an error comes after all records were shown.
func isVerdict(err error) bool {
	var st *status
	return errors.As(err, &st) && (st.code == exitMalformed || st.code == exitDamaged)
}

// paced gives records to the dashboard when it is time to.
type paced struct {
	*dashboard.Dashboard
	pacer *dashboard.Pacer // nil to give them at once
}

func (p paced) Record(r *dissect.Record) error {
	if p.pacer != nil && r.Datagram != nil {
		p.pacer.Wait(r.Datagram.Time)
	}
	if err := p.Dashboard.Record(r); err != nil {
		return errEnough // the user quit
	}
	return nil
}

// compile makes a filter for the dashboard.
func (w *watching) compile(expr string) (func(*dissect.Record) bool, error) {
	f, err := compileFilter("filter", expr, nil)
	if err != nil {
		return nil, err
	}
	f.Start = time.Unix(0, w.start.Load())
	return f.Match, nil
}
