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

// Limits of a log.
const (
	logLines = 1024    // lines that wait to be written
	logText  = 1 << 10 // bytes of a line, longer ones are cut
	logWait  = time.Second / 4
)

// A Log writes to standard error from its own goroutine, so callers never wait
// for the reader of standard error. If the reader is slow, lines above a limit
// are dropped and counted. If standard error is closed, all lines are dropped.
// On a terminal the log can also show a status below the lines.
type Log struct {
	w        io.Writer
	statuses bool
	wake     chan struct{}
	ended    chan struct{}

	mu      sync.Mutex
	lines   []string
	dropped int    // lines dropped since the last written line
	status  string // status to show
	closed  bool
}

// NewLog returns a log that writes to standard error. It shows the status if
// status is set and w is a terminal.
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

// Fail writes the error that ends the command and returns only its exit status.
// The error is not written again, since standard error may be blocked.
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

// Status replaces the text below the lines.
func (l *Log) Status(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.statuses && !l.closed {
		l.status = text
		l.stir()
	}
}

// Close removes the status and waits a short time until everything has been
// written.
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

// stir wakes the goroutine that writes. The caller must have locked l.
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
			l.closed = true // standard error is closed
			l.mu.Unlock()
		}
		if err != nil || closed {
			return
		}
	}
}
