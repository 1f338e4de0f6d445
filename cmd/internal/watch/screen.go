package watch

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/report"
)

// screen returns the terminal for a program and the reader for its keys. Both
// must not be closed before done is called. Errors name the program, such as
// --dashboard.
func screen(program string, s cli.Streams, names []string) (keys io.Reader, out *os.File, done func(), err error) {
	if s.NoANSI {
		return nil, nil, nil, fmt.Errorf("%s: cannot draw on this console; use Windows Terminal, or switch off its legacy mode", program)
	}
	out, ok := s.Out.(*os.File)
	if !ok || !term.IsTerminal(int(out.Fd())) || os.Getenv("TERM") == "dumb" {
		return nil, nil, nil, fmt.Errorf("%s: standard output is not a terminal that can be drawn on%s", program, instead[program])
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
		return nil, nil, nil, fmt.Errorf("%s: no terminal to read keys from; run it in a terminal", program)
	}
	return tty, out, func() { _ = tty.Close() }, nil
}

// instead has the suggestions for users without a terminal.
var instead = map[string]string{"browse": "; use bcdissect read"}

// onHangup calls stop on SIGHUP. Otherwise the runtime would end the program
// and not restore the terminal.
func onHangup(stop func()) (unwatch func()) {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	go func() {
		defer cli.Guard()
		if _, ok := <-hangup; ok {
			stop()
		}
	}()
	return sync.OnceFunc(func() {
		signal.Stop(hangup)
		close(hangup)
	})
}

// compiler returns a function that compiles filters for a screen. The filters
// may use the names and presets of the command line. The function start returns
// the time of the first frame.
func compiler(f *cli.Common, cfg dissect.Config, start func() time.Time) func(expr string) (func(*dissect.Record) bool, error) {
	return func(expr string) (func(*dissect.Record) bool, error) {
		compiled, err := f.CompileFilter("filter", expr, cfg.Catalog)
		if bad := (*cli.StatusError)(nil); errors.As(err, &bad) {
			column := len(expr)
			if shown, mark, _ := strings.Cut(bad.Caret, "\n"); shown == expr { // only if the error quotes the whole expression
				column = strings.IndexByte(mark, '^')
			}
			return nil, &report.FilterError{Text: err.Error(), Column: column}
		}
		if err != nil {
			return nil, err
		}
		var once sync.Once
		return func(r *dissect.Record) bool {
			once.Do(func() { compiled.Start = start() }) // start is known when the first record arrives
			return compiled.Match(r)
		}, nil
	}
}

// title returns a title for captures.
func title(names []string) string {
	text := filepath.Base(names[0])
	if names[0] == "-" {
		text = "standard input"
	}
	if len(names) > 1 {
		text += fmt.Sprintf(" and %d more", len(names)-1)
	}
	return text
}
