package capture

import (
	"errors"
	"fmt"
	"io/fs"
)

// The kinds of errors. Errors that wrap these name the file, in complete
// sentences for people.
var (
	ErrNotCapture = errors.New("not a capture")
	ErrEmpty      = errors.New("empty")
	ErrCut        = errors.New("cut short") // everything before the cut was returned
	ErrDamaged    = errors.New("damaged")   // everything before the damage was returned
)

// A stop is the reason why the reader of a file format stopped. The file turns
// it into a sentence with its own name and the number of the frame.
type stop struct {
	kind    error  // ErrCut, ErrDamaged or the reader's error
	offset  int64  // in the capture, after unpacking
	inFrame bool   // a frame had begun
	why     string // the reason, with ErrDamaged
}

func (s *stop) Error() string {
	if s.why == "" {
		return s.kind.Error()
	}
	return s.kind.Error() + ": " + s.why
}

func (s *stop) Unwrap() error { return s.kind }

// damagedAt returns the stop for damage at an offset.
func damagedAt(offset int64, inFrame bool, format string, args ...any) error {
	return &stop{kind: ErrDamaged, offset: offset, inFrame: inFrame, why: fmt.Sprintf(format, args...)}
}

// sentence makes an error for people. frames is the number of frames so far. If
// packed is set, offsets count unpacked bytes and not bytes of the file.
func (s *stop) sentence(name string, frames int, packed bool) error {
	if !errors.Is(s.kind, ErrCut) && !errors.Is(s.kind, ErrDamaged) {
		return named(name, s.kind)
	}
	place := fmt.Sprintf("after frame %d", frames)
	switch {
	case s.inFrame:
		place = fmt.Sprintf("in frame %d", frames+1)
	case frames == 0:
		place = "before the first frame"
	}
	place = fmt.Sprintf("%s at byte %d", place, s.offset)
	if packed {
		place += " of the unpacked capture"
	}
	if s.why != "" {
		return fmt.Errorf("%s: %w %s: %s; everything before it was read", name, s.kind, place, s.why)
	}
	return fmt.Errorf("%s: %w %s: everything before it was read", name, s.kind, place)
}

// named puts the name before an error and removes the operation and the name
// that the os package puts there.
func named(name string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return fmt.Errorf("%s: %w", name, err)
}
