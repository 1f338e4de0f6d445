package cli

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

// An Output is where a report goes.
type Output struct {
	io.Writer
	name     string   // for errors
	file     *os.File // to be closed; nil for standard output
	Terminal bool
	Width    int // columns of the terminal, 0 if it is none
	Display
}

// OpenOutput opens the file of -o, or standard output if there is none.
func OpenOutput(name string, s Streams) (*Output, error) {
	if name != "" && name != "-" {
		f, err := os.Create(name)
		if err != nil {
			return nil, Failed(PlainPath(name, err))
		}
		return &Output{Writer: f, name: name, file: f}, nil
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

// Write implements [io.Writer]. Its errors name the output.
func (o *Output) Write(b []byte) (int, error) {
	n, err := o.Writer.Write(b)
	if err != nil {
		err = PlainPath(o.name, err)
	}
	return n, err
}

// To returns the same output with another writer, which Close leaves open.
func (o *Output) To(w io.Writer) *Output {
	other := *o
	other.Writer, other.file = w, nil
	return &other
}

// Close closes the file of -o.
func (o *Output) Close() error {
	if o.file == nil {
		return nil
	}
	return o.file.Close()
}

// CheckOverwrite refuses an output that would overwrite what is read.
func CheckOverwrite(output string, stdin io.Reader, inputs ...string) error {
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

// Colored decides about colour: the flag first, then NO_COLOR, then the
// variables that force it, then whether a terminal is there to show it.
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
