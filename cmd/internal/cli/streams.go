// Package cli provides the streams, exit statuses, flags and outputs that the
// commands share.
package cli

import (
	"io"
	"os"

	"golang.org/x/term"
)

// Streams are where the program reads from and writes to.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	Display
	Abort    func() // ends the program at once, nil if that is not possible
	Graceful bool   // the command completes its report after an interrupt
	Process  bool   // the program runs only for this command and may give up rights permanently
}

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(w any) bool {
	if l, ok := w.(*Log); ok {
		w = l.w
	}
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// OnWindows tells whether the program runs on Windows.
const OnWindows = os.PathSeparator == '\\'
