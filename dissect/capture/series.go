package capture

import (
	"errors"
	"fmt"
	"io"

	"github.com/bcdissect/bcdissect/dissect/packet"
)

// A Series reads several capture files one after another as one stream: frames
// are counted through, and IP fragments are joined across files, so that the
// files of a capture that was rotated read like one.
//
// A file that was cut short or is damaged does not keep those behind it from
// being read; a name that cannot be opened ends the stream there. Either is
// told after everything that could be read.
type Series struct {
	names    []string // not yet opened
	several  bool
	stdin    io.Reader
	file     *File // nil between files
	err      error // every further result of Next
	troubles error // its result at the end
	decoder  decoder
	progress progress
}

// OpenAll opens the named capture files; "-" is stdin. It fails if the first
// cannot be opened. The others are opened when their turn comes.
func OpenAll(names []string, stdin io.Reader) (*Series, error) {
	s := &Series{names: names, several: len(names) > 1, stdin: stdin}
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

// Each calls take with the results of Next, one datagram after another. It
// returns nil if take has returned false, otherwise the error of Next.
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
	f, err := open(s.names[0], s.stdin, &s.decoder, &s.progress)
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

// note keeps a trouble for the end, all of them in one line.
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

// BeforeRead makes Next call f each time before it reads from a file, and so
// may have to wait: a caller that batches datagrams can then pass on its batch.
// An error of f ends the series.
func (s *Series) BeforeRead(f func() error) { s.progress.before = f }

// Stats counts the frames read so far in all files together.
func (s *Series) Stats() Stats { return s.decoder.stats(&s.progress) }

// Progress returns how many bytes of the files were read and how large they
// are, 0 if that is not known. It may be called while Next runs.
func (s *Series) Progress() (read, size int64) { return s.progress.get() }
