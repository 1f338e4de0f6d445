package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"
	"unicode"
)

// Exit statuses that scripts rely on.
const (
	ExitOK        = 0
	ExitFailed    = 1
	ExitUsage     = 2
	ExitDamaged   = 3   // the capture was cut short or its container is damaged
	ExitDiffers   = 4   // replay or diff found differences, or conform found a broken rule
	ExitMalformed = 5   // the user gave --strict and something was malformed
	ExitInternal  = 70  // an internal error of the program, EX_SOFTWARE in sysexits.h
	ExitSkip      = 125 // the server of conform --start never answered, and git bisect run skips the commit
	ExitAborted   = 130
)

// A StatusError is an error with an exit status that its kind does not
// determine.
type StatusError struct {
	Code  int
	Err   error  // nil if there is nothing to report
	Caret string // lines that point at the fault in an expression
}

func (s *StatusError) Error() string {
	if s.Err == nil {
		return ""
	}
	return s.Err.Error()
}

func (s *StatusError) Unwrap() error { return s.Err }

// Failed marks an error that is not a usage error.
func Failed(err error) error {
	if err == nil {
		return nil
	}
	return &StatusError{Code: ExitFailed, Err: err}
}

// StatusOf returns the exit status of an error. Errors without a status come
// from the parser of the command line, for example for an unknown flag.
func StatusOf(err error) int {
	if err == nil || IsClosedPipe(err) {
		return ExitOK
	}
	if st := (*StatusError)(nil); errors.As(err, &st) {
		return st.Code
	}
	return ExitUsage
}

// Say writes a line that is neither part of the report nor an error.
func Say(w io.Writer, format string, args ...any) {
	fmt.Fprintf(w, "bcdissect: %s\n", OneLine(fmt.Sprintf(format, args...)))
}

// OneLine keeps an error on one line. It replaces characters that control the
// terminal or the writing direction by question marks. They can come from the
// name of a file or a server.
func OneLine(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case !unicode.IsGraphic(r):
			return '?'
		}
		return r
	}, strings.TrimSpace(s))
}

// Remedy returns the next step that an error suggests, or "".
func Remedy(err error) string {
	if e := (interface{ Remedy() string })(nil); errors.As(err, &e) {
		return e.Remedy()
	}
	return ""
}

// Plain returns the reason in an error of the system, without the operation and
// its path.
func Plain(err error) error {
	if p := (*fs.PathError)(nil); errors.As(err, &p) {
		err = p.Err
	}
	if o := (*net.OpError)(nil); errors.As(err, &o) {
		err = o.Err
	}
	if s := (*os.SyscallError)(nil); errors.As(err, &s) {
		err = s.Err
	}
	return err
}

// PlainPath puts the name before an error and drops the operation.
func PlainPath(name string, err error) error { return fmt.Errorf("%s: %w", name, Plain(err)) }

// OfOutput adds "standard output" to an error of writing to it and marks it as
// Failed.
func OfOutput(err error, s Streams) error {
	out, ok := s.Out.(*os.File)
	if p := (*fs.PathError)(nil); ok && errors.As(err, &p) && p.Op == "write" && p.Path == out.Name() {
		return Failed(PlainPath("standard output", p))
	}
	return err
}

// IsClosedPipe reports whether the reader of standard output has closed it. The
// program then ends without an error. Windows has its own error numbers for it.
func IsClosedPipe(err error) bool {
	const (
		windowsBrokenPipe = syscall.Errno(109)
		windowsNoData     = syscall.Errno(232)
		windowsNoReader   = syscall.Errno(233)
	)
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) ||
		OnWindows && (errors.Is(err, windowsBrokenPipe) || errors.Is(err, windowsNoData) || errors.Is(err, windowsNoReader))
}
