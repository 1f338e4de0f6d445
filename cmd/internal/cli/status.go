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
	ExitDiffers   = 4   // replay or diff found differences, or conform a broken rule
	ExitMalformed = 5   // --strict and something was malformed
	ExitInternal  = 70  // a fault of the program itself, as EX_SOFTWARE in sysexits.h
	ExitSkip      = 125 // the server of conform --start never answered; git bisect run skips such a commit
	ExitAborted   = 130
)

// A StatusError is an exit status that is not told by the kind of error alone.
type StatusError struct {
	Code  int
	Err   error  // nil if there is nothing to say
	Caret string // lines that point at the fault, if the error is of an expression
}

func (s *StatusError) Error() string {
	if s.Err == nil {
		return ""
	}
	return s.Err.Error()
}

func (s *StatusError) Unwrap() error { return s.Err }

// Failed marks an error as one of the work, not of how it was asked for.
func Failed(err error) error {
	if err == nil {
		return nil
	}
	return &StatusError{Code: ExitFailed, Err: err}
}

// StatusOf returns the exit status of an error. Those without one come from the
// parser of the command line: an unknown flag, or the wrong number of arguments.
func StatusOf(err error) int {
	if err == nil || IsClosedPipe(err) {
		return ExitOK
	}
	if st := (*StatusError)(nil); errors.As(err, &st) {
		return st.Code
	}
	return ExitUsage
}

// Say writes a line that is neither report nor error.
func Say(w io.Writer, format string, args ...any) {
	fmt.Fprintf(w, "bcdissect: %s\n", OneLine(fmt.Sprintf(format, args...)))
}

// OneLine keeps an error on one line. Characters that control the terminal or the
// direction of writing, which came in with the name of a file or a server, become
// question marks.
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

// Remedy returns the remedy that an error carries, or "".
func Remedy(err error) string {
	if e := (interface{ Remedy() string })(nil); errors.As(err, &e) {
		return e.Remedy()
	}
	return ""
}

// Plain returns the reason in an error of the system, without the operation and what it
// was for.
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

// PlainPath puts the name before an error and leaves out the operation.
func PlainPath(name string, err error) error { return fmt.Errorf("%s: %w", name, Plain(err)) }

// OfOutput names standard output in an error of writing to it, which is one of
// the work.
func OfOutput(err error, s Streams) error {
	out, ok := s.Out.(*os.File)
	if p := (*fs.PathError)(nil); ok && errors.As(err, &p) && p.Op == "write" && p.Path == out.Name() {
		return Failed(PlainPath("standard output", p))
	}
	return err
}

// IsClosedPipe reports whether the reader of our output has gone away, which
// ends the program quietly. Windows has its own numbers for it.
func IsClosedPipe(err error) bool {
	const (
		windowsBrokenPipe = syscall.Errno(109)
		windowsNoData     = syscall.Errno(232)
		windowsNoReader   = syscall.Errno(233)
	)
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) ||
		OnWindows && (errors.Is(err, windowsBrokenPipe) || errors.Is(err, windowsNoData) || errors.Is(err, windowsNoReader))
}
