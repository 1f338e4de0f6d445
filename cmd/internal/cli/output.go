package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/term"

	"github.com/bcdissect/bcdissect/dissect/capture/private"
	"github.com/bcdissect/bcdissect/report"
)

// An Output is the destination of a report.
type Output struct {
	io.Writer
	name     string   // name for errors
	file     *os.File // file to close, nil for standard output
	draft    *Draft   // new version of an existing file, which Close replaces, or nil
	failed   bool
	created  bool // the file did not exist before
	Terminal bool
	Width    int // columns of the terminal, 0 if the output is not a terminal
	Display
}

// OpenOutput opens the file of -o. Without -o it returns standard output.
func OpenOutput(name string, s Streams) (*Output, error) {
	if name != "" && name != "-" {
		o := &Output{name: name, created: absent(name)}
		if err := o.create(s); err != nil {
			return nil, Failed(PlainPath(name, err))
		}
		return o, nil
	}
	o := &Output{Writer: s.Out, name: "standard output", Display: s.Display}
	if f, ok := s.Out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		o.Terminal = true
		if w, _, err := term.GetSize(int(f.Fd())); err == nil {
			o.Width = w
		}
	}
	return o, nil
}

// WriteOutput opens the file of -o, or standard output without -o, calls write
// with it and closes it.
func WriteOutput(name string, s Streams, write func(*Output) error) error {
	out, err := OpenOutput(name, s)
	if err != nil {
		return err
	}
	err = write(out)
	if e := out.Close(); e != nil && err == nil {
		err = PlainPath(name, e)
	}
	return Failed(err)
}

// create creates the file. If the file exists and is not empty, the report goes
// to a draft that replaces the file when the report is complete.
func (o *Output) create(s Streams) error {
	old, err := os.Stat(o.name)
	if err == nil && old.Mode().IsRegular() && old.Size() > 0 {
		path, err := replaced(o.name)
		if err != nil {
			return err
		}
		if o.draft, err = newDraft(o.name, path, s); err == nil {
			o.Writer, o.file = o.draft, o.draft.File
			o.draft.KeepMode()
			return nil
		} // if the folder does not allow new files
	}
	f, err := private.Open(o.name, os.O_RDWR|os.O_CREATE|os.O_TRUNC) // reports contain names and chat
	o.Writer, o.file = f, f
	return err
}

// removeWhenKilled removes a file when a signal ends the program. The caller
// must call created once with the name of the file.
func removeWhenKilled(abort func()) (created func(name string), stop func()) {
	signals, done, file := make(chan os.Signal, 1), make(chan struct{}), make(chan string, 1)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	go func() {
		defer Guard()
		select {
		case <-done:
		case s := <-signals:
			_ = os.Remove(<-file) // a leftover file does not justify an error
			signal.Reset(s)
			if p, err := os.FindProcess(os.Getpid()); err != nil || p.Signal(s) != nil {
				if abort != nil { // some systems do not let a program send itself a signal
					abort()
				}
			}
		}
	}()
	return func(name string) { file <- name }, func() {
		signal.Stop(signals)
		close(done)
	}
}

// Write implements [io.Writer]. Its errors name the output.
func (o *Output) Write(b []byte) (int, error) {
	n, err := o.Writer.Write(b)
	if err != nil {
		o.failed = true
		err = PlainPath(o.name, err)
	}
	return n, err
}

// Keep implements [report.Keeper].
func (o *Output) Keep(text []byte) ([]byte, error) {
	if k, ok := o.Writer.(report.Keeper); ok {
		return k.Keep(text)
	}
	n, err := o.Write(text)
	if err == nil && n < len(text) {
		err = io.ErrShortWrite
	}
	return text[:0], err
}

// To returns the output with another writer, which Close does not close.
func (o *Output) To(w io.Writer) *Output {
	other := *o
	other.Writer, other.file = w, nil
	return &other
}

// Close closes the file of -o. If everything was written, the file replaces the
// one that existed before.
func (o *Output) Close() error {
	if o.file == nil {
		return nil
	}
	err := o.file.Close()
	switch {
	case o.draft == nil:
		return err
	case err == nil && !o.failed:
		return o.draft.accept()
	}
	o.draft.Discard()
	return err
}

// Discard closes the file of -o if there is nothing to write. It keeps a file
// that existed before, and removes a new one.
func (o *Output) Discard() error {
	o.failed = true
	err := o.Close()
	if o.created && o.file != nil {
		err = errors.Join(err, os.Remove(o.name))
	}
	return err
}

// CheckOverwrite returns an error if the output is one of the inputs.
func CheckOverwrite(output string, stdin io.Reader, inputs ...string) error {
	return CheckInput("--output", output, stdin, inputs...)
}

// CheckInput returns an error if the file that a flag names for writing is one
// of the inputs.
func CheckInput(flag, name string, stdin io.Reader, inputs ...string) error {
	if sameFile(name, stdin, inputs...) {
		return fmt.Errorf("%s %s: is an input file; give another name", flag, name)
	}
	return nil
}

// CheckDistinct returns an error if two flags name the same file for writing.
func CheckDistinct(flag, name, otherFlag, other string) error {
	if name == "" || other == "" {
		return nil
	}
	if sameFile(name, nil, other) || absent(name) && resolve(name) == resolve(other) {
		return fmt.Errorf("%s %s: %s also writes there; give another name", flag, name, otherFlag)
	}
	return nil
}

// Rereadable reports whether all inputs can be read more than once. A pipe
// cannot, and a missing file counts as readable.
func Rereadable(names ...string) bool {
	return !slices.ContainsFunc(names, func(name string) bool {
		info, err := os.Stat(name)
		return name == "-" || err == nil && !info.Mode().IsRegular()
	})
}

// absent reports whether no file has the name.
func absent(name string) bool {
	_, err := os.Stat(name)
	return err != nil
}

// resolve returns the path of a file that need not exist, with links in the
// path of its folder resolved.
func resolve(name string) string {
	folder, err := filepath.EvalSymlinks(filepath.Dir(name))
	if err == nil {
		folder, err = filepath.Abs(folder)
	}
	if err != nil {
		return filepath.Clean(name)
	}
	return filepath.Join(folder, filepath.Base(name))
}

// sameFile reports whether name is a regular file that is also one of the
// others, perhaps by another name.
func sameFile(name string, stdin io.Reader, others ...string) bool {
	file, err := os.Stat(name)
	if exists := err == nil; !exists || !file.Mode().IsRegular() {
		return false // a file that does not exist cannot be overwritten
	}
	for _, other := range others {
		in, err := os.Stat(other)
		if f, ok := stdin.(*os.File); ok && other == "-" {
			in, err = f.Stat()
		}
		if err == nil && os.SameFile(in, file) {
			return true
		}
	}
	return false
}

// Colored reports whether to use colours. The flag decides first, then
// NO_COLOR, then the variables that force colours, then whether the output is a
// terminal.
func (o *Output) Colored(flag string) bool {
	switch {
	case flag == "always":
		return true
	case flag == "never", os.Getenv("NO_COLOR") != "":
		return false
	case isOn("CLICOLOR_FORCE"), isOn("FORCE_COLOR"):
		return true
	}
	return o.Terminal && !o.NoANSI && os.Getenv("TERM") != "dumb"
}

func isOn(variable string) bool {
	v := os.Getenv(variable)
	return v != "" && v != "0"
}
