package dissect

import (
	"errors"
	"io"
	"iter"
	"os" //nolint:depguard // for standard input, which "-" means as in the program

	"github.com/bcdissect/bcdissect/dissect/capture"
	"github.com/bcdissect/bcdissect/dissect/packet"
)

// File yields the records of a capture file or a log, or of standard input if
// the name is "-". A record is valid until the next one is yielded; Clone keeps
// it. If the file cannot be read to its end, the last pair holds the error and
// no record.
func File(name string) iter.Seq2[*Record, error] { return Files(Config{}, name) }

// Files is File for several files, which are merged by time, with options.
func Files(cfg Config, names ...string) iter.Seq2[*Record, error] {
	return func(yield func(*Record, error) bool) {
		src, err := capture.OpenAll(names, os.Stdin)
		if err != nil {
			yield(nil, err)
			return
		}
		defer func() { _ = src.Close() }() // nothing was written
		Read(cfg, src)(yield)
	}
}

// Read yields the records of a source, such as a live capture, which it does
// not close.
func Read(cfg Config, src packet.Source) iter.Seq2[*Record, error] {
	return func(yield func(*Record, error) bool) {
		p := New(cfg)
		emit := func(r *Record) error {
			if !yield(r, nil) {
				return errBreak
			}
			return nil
		}
		for {
			d, err := src.Next()
			switch {
			case errors.Is(err, io.EOF):
				_ = p.Flush(emit) // only emit fails
				return
			case err != nil:
				if p.Flush(emit) == nil {
					yield(nil, err)
				}
				return
			case p.Push(d, emit) != nil:
				return
			}
		}
	}
}

// Records yields the records of one datagram.
func (p *Pipeline) Records(d *Datagram) iter.Seq[*Record] {
	return func(yield func(*Record) bool) {
		_ = p.Push(d, func(r *Record) error { // only the function fails
			if !yield(r) {
				return errBreak
			}
			return nil
		})
	}
}

// errBreak ends reading when the loop over the records has ended.
var errBreak = errors.New("the loop has ended")
