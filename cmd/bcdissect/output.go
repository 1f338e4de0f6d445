package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/term"
)

// An output is where a report goes.
type output struct {
	io.Writer
	name     string   // for errors
	file     *os.File // to be closed; nil for standard output
	terminal bool
	width    int // columns of the terminal, 0 if it is none
	display
}

// openOutput opens the file of -o, or standard output if there is none.
func openOutput(name string, s streams) (*output, error) {
	if name != "" && name != "-" {
		f, err := os.Create(name)
		if err != nil {
			return nil, failed(plainPath(name, err))
		}
		return &output{Writer: f, name: name, file: f}, nil
	}
	o := &output{Writer: s.out, name: "standard output", display: s.display}
	if f, ok := s.out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		o.terminal = true
		if w, _, err := term.GetSize(int(f.Fd())); err == nil {
			o.width = w
		}
	}
	return o, nil
}

// Write implements [io.Writer]. Its errors name the output.
func (o *output) Write(b []byte) (int, error) {
	n, err := o.Writer.Write(b)
	if err != nil {
		err = plainPath(o.name, err)
	}
	return n, err
}

func (o *output) Close() error {
	if o.file == nil {
		return nil
	}
	return o.file.Close()
}

// spare refuses an output that would overwrite what is read.
func spare(output string, stdin io.Reader, inputs ...string) error {
	out, err := os.Stat(output)
	if exists := err == nil; !exists || !out.Mode().IsRegular() {
		return nil // nothing can be overwritten
	}
	for _, name := range inputs {
		in, err := os.Stat(name)
		if f, ok := stdin.(*os.File); ok && name == "-" {
			in, err = f.Stat()
		}
		if err == nil && os.SameFile(in, out) {
			return fmt.Errorf("--output %s: that is what is read, and would be overwritten; give another name", output)
		}
	}
	return nil
}

// colored decides about colour: the flag first, then NO_COLOR, then the
// variables that force it, then whether a terminal is there to show it.
func (o *output) colored(flag string) bool {
	switch {
	case flag == "always":
		return true
	case flag == "never", os.Getenv("NO_COLOR") != "":
		return false
	case isOn("CLICOLOR_FORCE"), isOn("FORCE_COLOR"):
		return true
	}
	return o.terminal && !o.noANSI && os.Getenv("TERM") != "dumb"
}

func isOn(variable string) bool {
	v := os.Getenv(variable)
	return v != "" && v != "0"
}

// plainPath puts the name before an error and leaves out the operation.
func plainPath(name string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return fmt.Errorf("%s: %w", name, err)
}

// isClosedPipe reports whether the reader of our output has gone away, which
// ends the program quietly. Windows has its own numbers for it.
func isClosedPipe(err error) bool {
	const (
		windowsBrokenPipe = syscall.Errno(109)
		windowsNoData     = syscall.Errno(232)
		windowsNoReader   = syscall.Errno(233)
	)
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) ||
		onWindows && (errors.Is(err, windowsBrokenPipe) || errors.Is(err, windowsNoData) || errors.Is(err, windowsNoReader))
}

const onWindows = os.PathSeparator == '\\'
