package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// patience is how long a report may take to end before the user is told that
// the command waits for it; hurry is how long it may take after SIGTERM or
// SIGHUP.
const (
	patience = time.Second
	hurry    = 1250 * time.Millisecond
)

// Interrupts are the signals and the clock that end a long-running command. A
// second SIGINT or SIGTERM aborts the program, or a third one if the command is
// lenient.
//
// SIGHUP, which says that the terminal is gone, ends a command like SIGTERM. A
// command that rereads files takes it for that instead. Under nohup it never
// ends a command.
type Interrupts struct {
	Stopped <-chan struct{}  // closed when the command is to end
	Reread  <-chan os.Signal // SIGHUP of a command that rereads files; else nil

	ctx     context.Context
	signals chan os.Signal
	done    chan struct{}
	close   func()
	urgent  atomic.Bool // SIGTERM or SIGHUP came
	lenient atomic.Bool
}

// NewInterrupts begins to listen for signals. A command stops by itself after a
// time that is not zero.
func NewInterrupts(s Streams, after time.Duration, rereads bool) *Interrupts {
	ctx, stop := context.WithCancel(context.Background())
	i := &Interrupts{Stopped: ctx.Done(), ctx: ctx, signals: make(chan os.Signal, 2), done: make(chan struct{})}
	// A closed pipe makes writes fail, instead of ending the program before its
	// files are complete.
	signal.Ignore(syscall.SIGPIPE)
	signal.Notify(i.signals, os.Interrupt, syscall.SIGTERM)
	var hangup chan os.Signal
	switch {
	case rereads:
		hangup = make(chan os.Signal, 1)
		i.Reread = hangup
		signal.Notify(hangup, syscall.SIGHUP)
	case !signal.Ignored(syscall.SIGHUP): // as nohup does
		signal.Notify(i.signals, syscall.SIGHUP)
	}
	var clock <-chan time.Time
	if after > 0 {
		clock = time.After(after)
	}
	go func() {
		defer Guard()
		select {
		case sig := <-i.signals:
			i.urgent.Store(sig != os.Interrupt)
		case <-clock:
		case <-i.done:
			return
		}
		stop()
		for n := 2; ; n++ {
			select {
			case <-i.signals:
			case <-i.done:
				return
			}
			if (n > 2 || !i.lenient.Load()) && s.Abort != nil {
				s.Abort()
			}
		}
	}()
	i.close = sync.OnceFunc(func() {
		signal.Stop(i.signals)
		if hangup != nil {
			signal.Stop(hangup)
		}
		close(i.done)
		signal.Reset(syscall.SIGPIPE)
	})
	return i
}

// Lenient has only a third signal abort the program: for a command that writes its
// report in a few seconds. The program timeout sends SIGTERM twice, and people press
// Ctrl-C twice.
func (i *Interrupts) Lenient() *Interrupts {
	i.lenient.Store(true)
	return i
}

// Context returns a context that ends when the command is to end.
func (i *Interrupts) Context() context.Context { return i.ctx }

// Input returns standard input, which ends when the command is to stop: a moment
// later, since Ctrl-C in a pipeline stops the program that writes it, too, and
// that may have something left to write.
func (i *Interrupts) Input(in io.Reader) io.Reader {
	r, w := io.Pipe()
	go func() {
		defer Guard()
		_, err := io.Copy(w, in)
		_ = w.CloseWithError(err) // always nil
	}()
	go func() {
		defer Guard()
		select {
		case <-i.Stopped:
			time.Sleep(patience)
			_ = w.Close() // always nil
		case <-i.done:
		}
	}()
	return r
}

// Close gives signals their usual effects back.
func (i *Interrupts) Close() { i.close() }

// errUnwritten is the end of a report that nobody takes.
var errUnwritten = Failed(errors.New("the report is incomplete, because the program that reads it is too slow"))

// Await runs a report. Once the command is to stop it says if the report takes
// long to end; after SIGTERM or SIGHUP it leaves it unfinished.
func (i *Interrupts) Await(l *Log, report func() error) error {
	ended := make(chan error, 1)
	go func() {
		defer Guard()
		ended <- report()
	}()
	select {
	case err := <-ended:
		return err
	case <-i.Stopped:
	}
	var giveUp <-chan time.Time
	if i.urgent.Load() {
		giveUp = time.After(hurry)
	}
	hint := time.After(patience)
	for {
		select {
		case err := <-ended:
			return err
		case <-hint:
			l.Say("the report is not yet written; Ctrl-C again aborts")
		case <-giveUp:
			return errUnwritten
		}
	}
}
