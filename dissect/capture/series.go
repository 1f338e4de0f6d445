package capture

import (
	"errors"
	"fmt"
	"io"

	"github.com/bcdissect/bcdissect/dissect/packet"
)

// A Series reads several capture files as one stream: frame numbers continue,
// and IP fragments are joined across files, so that a rotated capture reads
// like a single file.
//
// After a truncated or damaged file it continues with the next; a name that
// cannot be opened ends the stream. Next reports either after all readable
// data.
type Series struct {
	names    []string // not yet opened
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
	s := &Series{names: names, several: len(names) > 1, stdin: stdin, tap: tap}
	s.progress.expect(names, stdin)
	s.advance()
	if s.troubles != nil && len(s.names) == 0 {
		return nil, s.troubles
	}
	return s, nil
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
