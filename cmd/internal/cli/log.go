package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/bcdissect/bcdissect/decode/plural"
	"github.com/bcdissect/bcdissect/report"
)

// Bounds of a log.
const (
	logLines = 1024    // that wait to be written
	logText  = 1 << 10 // bytes of a line
	logWait  = time.Second / 4
)

// A Log writes to standard error from a goroutine of its own. It never waits
// for whoever reads standard error: if that is blocked, lines beyond a bound
// are dropped and counted, and if it is closed, all are. On a terminal it can
// also show a status below the lines.
type Log struct {
	w        io.Writer
	statuses bool
	wake     chan struct{}
	ended    chan struct{}

	mu      sync.Mutex
	lines   []string
	dropped int    // lines, since the last one that was written
	status  string // to be shown
	closed  bool
}

// NewLog returns a log that writes to standard error. A status is shown on a
// terminal only, and if it is wanted.
func NewLog(w io.Writer, status bool) *Log {
	return newLog(w, status && IsTerminal(w) && os.Getenv("TERM") != "dumb")
}

func newLog(w io.Writer, statuses bool) *Log {
	l := &Log{w: w, statuses: statuses, wake: make(chan struct{}, 1), ended: make(chan struct{})}
	go func() {
		defer Guard()
		l.run()
	}()
	return l
}

// Say writes a line with the program's name. Control characters are escaped.
func (l *Log) Say(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	l.add(fmt.Sprintf("bcdissect: %s\n", OneLine(report.Escape(text))))
}

// Write implements [io.Writer] for whole lines. It never fails.
func (l *Log) Write(b []byte) (int, error) {
	l.add(string(b))
	return len(b), nil
}

// Fail says an error of the work that ends the command, and returns its exit status alone,
// so that nothing more is written to a standard error that may be blocked.
func (l *Log) Fail(err error) error {
	if err == nil || err.Error() == "" || IsClosedPipe(err) || StatusOf(err) == ExitUsage {
		return err
	}
	l.Say("%s", err.Error())
	if ways := Remedy(err); ways != "" {
		l.add(OneLine(ways) + "\n")
	}
	return &StatusError{Code: StatusOf(err)}
}

// Status shows a text below the lines, instead of the one before.
func (l *Log) Status(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.statuses && !l.closed {
		l.status = text
		l.stir()
	}
}

// Close takes the status away and waits until everything has been written, but
// not for long.
func (l *Log) Close() {
	l.mu.Lock()
	if !l.closed {
		l.closed, l.status = true, ""
		l.stir()
	}
	l.mu.Unlock()
	select {
	case <-l.ended:
	case <-time.After(logWait):
	}
}

func (l *Log) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.lines) >= logLines || l.closed {
		l.dropped++
		return
	}
	if len(line) > logText {
		line = line[:logText-len(cutOff)] + cutOff
	}
	l.lines = append(l.lines, line)
	l.stir()
}

const cutOff = " ...\n"

// stir wakes the goroutine that writes. The lock is held.
func (l *Log) stir() {
	select {
	case l.wake <- struct{}{}:
	default: // it is awake
	}
}

// run writes until the log is closed or its writer fails.
func (l *Log) run() {
	defer close(l.ended)
	shown := ""
	var b bytes.Buffer
	for range l.wake {
		l.mu.Lock()
		lines, dropped, status, closed := l.lines, l.dropped, l.status, l.closed
		l.lines, l.dropped = nil, 0
		l.mu.Unlock()

		b.Reset()
		if shown != "" && (len(lines) > 0 || dropped > 0 || status != shown) {
			b.WriteString("\r\x1b[K")
			shown = ""
		}
		for _, line := range lines {
			b.WriteString(line)
		}
		if dropped > 0 {
			fmt.Fprintf(&b, plural.Form(dropped, "bcdissect: %d {line was|lines were} lost because standard error was blocked\n"), dropped)
		}
		if status != "" && shown == "" {
			b.WriteString(status)
			shown = status
		}
		var err error
		if b.Len() > 0 {
			_, err = l.w.Write(b.Bytes())
		}
		if err != nil {
			l.mu.Lock()
			l.closed = true // nobody reads it any more
			l.mu.Unlock()
		}
		if err != nil || closed {
			return
		}
	}
}
