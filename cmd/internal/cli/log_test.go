package cli

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// If standard error is not read, callers do not wait, and the number of lost
// lines is reported afterwards. Every lost line is counted.
func TestLogBlocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		l := newLog(w, false)
		const said = 5000
		for n := range said {
			l.Say("line %d", n)
		}
		begun := time.Now()
		l.Close()
		if took := time.Since(begun); took != logWait {
			t.Errorf("Close took %v", took)
		}
		go func() {
			<-l.ended
			_ = w.Close()
		}()
		lines, left, next := 0, 0, 0
		for s := bufio.NewScanner(r); s.Scan(); {
			var n int
			if _, err := fmt.Sscanf(s.Text(), "bcdissect: line %d", &n); err == nil {
				if n < next {
					t.Errorf("line %d comes after line %d", n, next-1)
				}
				next = n + 1
				lines++
			} else if _, err := fmt.Sscanf(s.Text(), "bcdissect: %d line", &n); err == nil && strings.Contains(s.Text(), " lost because") {
				left += n
			} else {
				t.Errorf("got %q", s.Text())
			}
		}
		if lines+left != said || lines < logLines || left == 0 {
			t.Errorf("%d lines and %d lost, want %d in all", lines, left, said)
		}
	})
}

// The program does not end when standard error is closed.
func TestLogClosed(t *testing.T) {
	r, w := io.Pipe()
	_ = r.CloseWithError(syscall.EPIPE)
	l := newLog(w, false)
	l.Say("nobody hears it")
	<-l.ended
	for range 2 * logLines {
		l.Say("nor this")
	}
	l.Close()
	if len(l.lines) > 0 {
		t.Errorf("%d lines are kept for nobody", len(l.lines))
	}
}

// Lines stand above the status, which is taken away in the end.
func TestLogStatus(t *testing.T) {
	r, w := io.Pipe()
	l := newLog(w, true)
	got := func(want string) {
		t.Helper()
		b := make([]byte, 1<<10)
		n, err := io.ReadAtLeast(r, b, len(want))
		if err != nil || string(b[:n]) != want {
			t.Errorf("got %q and %v, want %q", b[:n], err, want)
		}
	}
	l.Status("1 of 8 players")
	got("1 of 8 players")
	l.Say("left \x1b[31m")
	got("\r\x1b[Kbcdissect: left \\x1b[31m\n1 of 8 players")
	l.Status("0 of 8 players")
	got("\r\x1b[K0 of 8 players")
	go l.Close()
	got("\r\x1b[K")
	<-l.ended

	var b bytes.Buffer
	l = newLog(&b, false)
	l.Status("1 of 8 players")
	l.Say("%s", strings.Repeat("x", 2*logText))
	l.Close()
	if n := b.Len(); n != logText || !strings.HasSuffix(b.String(), "xxx"+cutOff) {
		t.Errorf("got %d bytes that end with %q", n, b.String()[n-10:])
	}
}

// An error is written once and keeps its exit status. The usage is not shown
// with it.
func TestLogFail(t *testing.T) {
	var b bytes.Buffer
	l := newLog(&b, false)
	usage, pipe := errors.New("unknown flag"), Failed(syscall.EPIPE)
	if got := l.Fail(usage); !errors.Is(got, usage) {
		t.Errorf("got %v", got)
	}
	if got := l.Fail(pipe); !errors.Is(got, syscall.EPIPE) {
		t.Errorf("got %v", got)
	}
	err := l.Fail(&StatusError{Code: ExitMalformed, Err: errors.New("it is malformed")})
	if err.Error() != "" || StatusOf(err) != ExitMalformed {
		t.Errorf("got %q with status %d", err, StatusOf(err))
	}
	l.Close()
	if b.String() != "bcdissect: it is malformed\n" {
		t.Errorf("got %q", b.String())
	}
}
