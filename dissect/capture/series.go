package capture

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/bcdissect/bcdissect/dissect/packet"
)

// A Series reads the datagrams of one capture file, or of several as one stream: frame numbers
// continue, and IP fragments are joined across files, so that a rotated capture reads like a single
// file. Files that can be read again are merged by time. Each file's frames stay in their order. If
// frames have the same time, the file that begins first comes first.
//
// After a truncated or damaged file it continues with the others, but a name that cannot be opened
// ends the stream. Next reports either after all readable data.
type Series struct {
	packetReader
	queue    []input // not yet opened
	merge    bool    // they have a start
	several  bool
	stdin    io.Reader
	open     []*file   // in the order of their starts
	opened   int       // files so far
	current  *file     // the last one that was read
	until    time.Time // end of its turn
	late     bool      // a file was opened too late, since too many were open
	err      error     // result of all later calls of Next
	troubles error     // errors to report at the end
	decoder  decoder
	progress progress
	tap      Tap
}

// An input is a file that is not yet open.
type input struct {
	name  string
	start time.Time // its first frame
}

// maxOpen limits the files that are open at a time. Each takes a buffer.
const maxOpen = 64

// OpenAll opens the named capture files. The name "-" means stdin. It fails if
// the first cannot be opened. It opens the others when it reaches them.
func OpenAll(names []string, stdin io.Reader) (*Series, error) {
	return OpenTapped(names, stdin, nil)
}

// OpenTapped is OpenAll with a tap, which also sees the first section.
func OpenTapped(names []string, stdin io.Reader, tap Tap) (*Series, error) {
	s := newSeries()
	s.several, s.stdin, s.tap = len(names) > 1, stdin, tap
	s.queue, s.merge = inputs(names)
	s.progress.expect(names, stdin)
	s.advance()
	if s.troubles != nil && len(s.queue) == 0 {
		return nil, s.troubles
	}
	return s, nil
}

func newSeries() *Series {
	s := new(Series)
	s.packetReader = packetReader{&s.decoder, s.Next, func() *frame { return &s.current.frame }}
	return s
}

// inputs returns the files in the order of their first frames, and whether these
// times are known. A file without frames stays behind the file before it. If a
// name is not a regular file, the order stays as given and the times are unknown.
func inputs(names []string) (all []input, timed bool) {
	for _, name := range names {
		all = append(all, input{name: name})
	}
	if len(names) < 2 || slices.ContainsFunc(names, irregular) {
		return all, false
	}
	before := time.Unix(0, 0)
	for i := range all {
		if at, ok := begins(all[i].name); ok {
			before = at
		}
		all[i].start = before
	}
	slices.SortStableFunc(all, func(a, b input) int {
		return a.start.Compare(b.start)
	})
	return all, true
}

// irregular reports whether a name is a pipe or another file that is not
// regular. Names that do not exist are left to the series.
func irregular(name string) bool {
	info, err := os.Stat(name)
	return name == "-" || err == nil && !info.Mode().IsRegular()
}

// begins returns the time of the first frame of a file.
func begins(name string) (at time.Time, ok bool) {
	f, err := open(name, nil, new(decoder), new(progress), nil)
	if err != nil {
		return at, false // the series reports it
	}
	defer func() { _ = f.Close() }() // nothing was written
	if f.frames.next(&f.frame) != nil {
		return at, false
	}
	return f.frame.Time, true
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
		f, ends := s.turn()
		if f == nil {
			continue
		}
		s.turnTo(f)
		var until *time.Time
		if ends {
			until = &s.until
		}
		err := f.each(take, until)
		if err == nil {
			return nil
		}
		if !errors.Is(err, errLater) {
			s.end(f, err)
		}
	}
	return s.err
}

// turn returns the file with the earliest frame, and whether its turn ends: at
// s.until a frame of another file follows. It returns no file if one was opened,
// or if one was found to have ended.
func (s *Series) turn() (first *file, ends bool) {
	if len(s.open) == 0 {
		s.advance()
		return nil, false
	}
	first = s.open[0]
	if len(s.open) > 1 {
		for _, f := range s.open {
			if !f.ahead {
				s.turnTo(f)
				if err := f.lookAhead(); err != nil {
					s.end(f, err)
					return nil, false
				}
			}
			if first.frame.Time.After(f.frame.Time) {
				first = f
			}
		}
	}
	if s.merge && len(s.queue) > 0 {
		start := s.queue[0].start
		later := first.ahead && first.frame.Time.After(start)
		switch {
		case later && len(s.open) < maxOpen:
			s.advance()
			return nil, false
		case later && !s.late:
			s.late = true
			s.decoder.tally.remark(s.queue[0].name, fmt.Sprintf("is not merged: it overlaps with more than %d files", maxOpen-1))
		case !later:
			s.until, ends = start, true
		}
	}
	after := false // first, in the order of the files
	for _, f := range s.open {
		if f == first {
			after = true
			continue
		}
		at := f.frame.Time
		if !after {
			at = at.Add(-1) // the frame of s comes first if the times are equal
		}
		if !ends || s.until.After(at) {
			s.until, ends = at, true
		}
	}
	return first, ends
}

// turnTo prepares for reading from a file.
func (s *Series) turnTo(f *file) {
	f.among = len(s.open) > 1
	if f == s.current {
		return
	}
	s.current = f
	if s.several {
		s.decoder.datagram.Capture = f.given
	}
	if s.tap != nil {
		s.tap.File(f.index)
	}
}

// end closes a file that has ended with an error.
func (s *Series) end(f *file, err error) {
	_ = f.Close() // nothing was written
	s.open = slices.DeleteFunc(s.open, func(o *file) bool { return o == f })
	if errors.Is(err, io.EOF) {
		return
	}
	if s.note(err); !onlyDamage(err) {
		_ = s.Close() // its error would only repeat err
	}
}

// advance opens the next file, or sets err if there is none.
func (s *Series) advance() {
	if len(s.queue) == 0 {
		if s.err = s.troubles; s.err == nil {
			s.err = io.EOF
		}
		return
	}
	name := s.queue[0].name
	s.queue = s.queue[1:]
	if s.tap != nil {
		s.current = nil
		s.tap.File(s.opened)
	}
	f, err := open(name, s.stdin, &s.decoder, &s.progress, s.tap)
	if err != nil {
		s.note(err)
		return
	}
	f.given, f.index = name, s.opened
	s.opened++
	s.open = append(s.open, f)
}

// note keeps an error for the end, where all are joined in one line.
func (s *Series) note(err error) {
	if s.troubles == nil {
		s.troubles = err
	} else {
		s.troubles = fmt.Errorf("%w; %w", s.troubles, err)
	}
	if !onlyDamage(err) {
		s.queue = nil
	}
}

// onlyDamage reports whether an error is about nothing but the content of a file.
func onlyDamage(err error) bool { return errors.Is(err, ErrCut) || errors.Is(err, ErrDamaged) }

// Close implements [Source]. It leaves standard input open.
func (s *Series) Close() error {
	s.queue = nil
	var first error
	for _, f := range s.open {
		if err := f.Close(); err != nil && first == nil {
			first = err
		}
	}
	s.open = nil
	return first
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
