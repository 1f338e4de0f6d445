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

// Timeouts for a report to end. After hintDelay the user is told that the
// command waits for the report. After urgentTimeout the report is abandoned if
// the signal was SIGTERM or SIGHUP.
const (
	hintDelay     = time.Second
	urgentTimeout = 1250 * time.Millisecond
)

// Interrupts are the signals and the timer that end a long-running command. A
// second SIGINT or SIGTERM aborts the program. If the command is lenient, the
// third one does.
//
// SIGHUP means that the terminal is gone, and ends a command like SIGTERM. A
// command that rereads files does so on SIGHUP instead. Under nohup, SIGHUP
// never ends a command.
type Interrupts struct {
	Stopped <-chan struct{}  // closed when the command is to end
	Reread  <-chan os.Signal // SIGHUP for a command that rereads files, else nil

	ctx     context.Context
	signals chan os.Signal
	done    chan struct{}
	close   func()
	urgent  atomic.Bool // SIGTERM or SIGHUP arrived
	lenient atomic.Bool
}

// NewInterrupts begins to listen for signals. If after is not zero, the command
// stops after that time.
func NewInterrupts(s Streams, after time.Duration, rereads bool) *Interrupts {
	ctx, stop := context.WithCancel(context.Background())
	i := &Interrupts{Stopped: ctx.Done(), ctx: ctx, signals: make(chan os.Signal, 2), done: make(chan struct{})}
	// With SIGPIPE ignored, a closed pipe makes writes fail. The signal would
	// end the program before its files are complete.
	signal.Ignore(syscall.SIGPIPE)
	signal.Notify(i.signals, os.Interrupt, syscall.SIGTERM)
	var hangup chan os.Signal
	switch {
	case rereads:
		hangup = make(chan os.Signal, 1)
		i.Reread = hangup
		signal.Notify(hangup, syscall.SIGHUP)
	case !signal.Ignored(syscall.SIGHUP): // nohup ignores SIGHUP
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

// Lenient makes only a third signal abort the program. It is for a command that
// writes its report in a few seconds: the program timeout sends SIGTERM twice,
// and people press Ctrl-C twice.
func (i *Interrupts) Lenient() *Interrupts {
	i.lenient.Store(true)
	return i
}

// Context returns a context that is cancelled when the command is to end.
func (i *Interrupts) Context() context.Context { return i.ctx }

// Input returns standard input. It ends a moment after the command is to stop:
// Ctrl-C also stops the program before it in a pipeline, and that program may
// still have data to write.
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
			time.Sleep(hintDelay)
			_ = w.Close() // always nil
		case <-i.done:
		}
	}()
	return r
}

// Close restores the usual effects of the signals.
func (i *Interrupts) Close() { i.close() }

// errUnwritten is the error for a report that its reader did not read in time.
var errUnwritten = Failed(errors.New("the report is incomplete, because the program that reads it is too slow"))

// Await runs a report and returns its error. Once the command is to stop, it
// prints a hint if the report takes long to end. After SIGTERM or SIGHUP it
// returns an error if the report takes too long.
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
		giveUp = time.After(urgentTimeout)
	}
	hint := time.After(hintDelay)
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
