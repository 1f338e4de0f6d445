package capture

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/bcdissect/bcdissect/dissect/packet"
)

// A Series reads several capture files as one stream: frame numbers continue,
// and IP fragments are joined across files, so that a rotated capture reads
// like a single file. Files that can be read again are taken in the order of
// their first frames; an overlap in time is a remark.
//
// After a truncated or damaged file it continues with the next; a name that
// cannot be opened ends the stream. Next reports either after all readable
// data.
type Series struct {
	names    []string // not yet opened
	overlaps bool     // a file began before the end of those before it
	several  bool
	stdin    io.Reader
	file     *File // nil between files
	err      error // result of all later calls of Next
	troubles error // errors to report at the end
	decoder  decoder
	progress progress
	tap      Tap
}

// OpenAll opens the named capture files; "-" is stdin. It fails if the first
// cannot be opened. It opens the others when it reaches them.
func OpenAll(names []string, stdin io.Reader) (*Series, error) {
	return OpenTapped(names, stdin, nil)
}

// OpenTapped is OpenAll with a tap, which also sees the first section.
func OpenTapped(names []string, stdin io.Reader, tap Tap) (*Series, error) {
	names = inOrder(names)
	s := &Series{names: names, several: len(names) > 1, stdin: stdin, tap: tap}
	s.progress.expect(names, stdin)
	s.advance()
	if s.troubles != nil && len(s.names) == 0 {
		return nil, s.troubles
	}
	return s, nil
}

// inOrder returns names in the order of the first frames of the files. A file
// without one stays behind the file before it. If a name is not that of a regular
// file, the order is the given one.
func inOrder(names []string) []string {
	if len(names) < 2 {
		return names
	}
	starts := make(map[string]moment, len(names))
	var before moment
	for _, name := range names {
		if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() || name == "-" {
			return names
		}
		if at, ok := begins(name); ok {
			before = at
		}
		starts[name] = before
	}
	names = slices.Clone(names)
	slices.SortStableFunc(names, func(a, b string) int {
		switch x, y := starts[a], starts[b]; {
		case x.after(y):
			return 1
		case y.after(x):
			return -1
		}
		return 0
	})
	return names
}

// begins returns the time of the first frame of a file.
func begins(name string) (at moment, ok bool) {
	f, err := open(name, nil, new(decoder), new(progress), nil)
	if err != nil {
		return at, false // the series reports it
	}
	defer func() { _ = f.Close() }() // nothing was written
	if f.frames.next(&f.frame) != nil {
		return at, false
	}
	return momentOf(f.frame.time), true
}

// checkOverlap remarks on a file that begins before the end of those before it.
func (s *Series) checkOverlap(name string) {
	t := &s.decoder.tally
	if s.overlaps || t.frames == 0 || name == "-" {
		return
	}
	if at, ok := begins(name); ok && t.last.after(at) {
		s.overlaps = true
		t.remark(name, fmt.Sprintf("begins %.3f s before the files before it end; merge them by time first, such as with mergecap",
			t.last.time().Sub(at.time()).Seconds()))
	}
}

// Next implements [Source].
func (s *Series) Next() (*packet.Datagram, error) {
	if err := s.Each(notMore); err != nil {
		return nil, err
	}
	return &s.decoder.datagram, nil
}

// Each passes the datagrams of Next to take. It returns nil if take returned
// false, and otherwise the error of Next.
func (s *Series) Each(take func(*packet.Datagram) bool) error {
	for s.err == nil {
		if s.file == nil {
			s.advance()
			continue
		}
		err := s.file.each(take)
		if err == nil {
			return nil
		}
		_ = s.file.Close() // nothing was written
		s.file = nil
		if !errors.Is(err, io.EOF) {
			s.note(err)
		}
	}
	return s.err
}

// advance opens the next file, or sets err if there is none.
func (s *Series) advance() {
	if len(s.names) == 0 {
		if s.err = s.troubles; s.err == nil {
			s.err = io.EOF
		}
		return
	}
	if info, err := os.Stat(s.names[0]); err == nil && info.Mode().IsRegular() {
		s.checkOverlap(s.names[0])
	}
	f, err := open(s.names[0], s.stdin, &s.decoder, &s.progress, s.tap)
	if s.several {
		s.decoder.datagram.Capture = s.names[0]
	}
	s.names = s.names[1:]
	if err != nil {
		s.note(err)
		return
	}
	s.file = f
}

// note keeps an error for the end, where all are joined in one line.
func (s *Series) note(err error) {
	if s.troubles == nil {
		s.troubles = err
	} else {
		s.troubles = fmt.Errorf("%w; %w", s.troubles, err)
	}
	if !errors.Is(err, ErrCut) && !errors.Is(err, ErrDamaged) {
		s.names = nil
	}
}

// Close implements [Source]. It leaves standard input open.
func (s *Series) Close() error {
	s.names = nil
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

// BeforeRead makes Next call f before each read from a file, which may block: a
// caller that batches datagrams can then process its batch. An error of f ends
// the series.
func (s *Series) BeforeRead(f func() error) { s.progress.before = f }

// Stats counts the frames read so far in all files together.
func (s *Series) Stats() Stats { return s.decoder.stats(&s.progress) }

// Progress returns the number of bytes read and the size of all files, 0 if
// unknown. It may be called while Next runs.
func (s *Series) Progress() (read, size int64) { return s.progress.get() }
