// Not part of the library: package report is the base of all reporters. A
// [Sink] renders records; each form of output has a package of its own below
// this one. They share the counts of [Tally], the escaping of text from the
// network, and a writer of lines.
//
// A sink borrows the record until Record returns. Sinks are not safe for
// concurrent use, and do not close the writer.
package report

import (
	"errors"
	"io"

	"github.com/bcdissect/bcdissect/dissect"
)

// A Sink takes records one after another and renders them.
type Sink interface {
	// Record renders one record. Its error is that of the writer below; it
	// is returned again by every later call.
	Record(r *dissect.Record) error
	// Close writes the rest of the output.
	Close() error
}

// A Flusher is a sink that can flush its buffer, so that its output can be
// interleaved with that of others.
type Flusher interface {
	Sink
	Flush() error
}

// NeedsOf returns the parts of records that a sink needs: all, unless it has a
// method Needs.
func NeedsOf(s Sink) (n dissect.Needs) {
	if s, ok := s.(interface{ Needs() dissect.Needs }); ok {
		n = s.Needs()
	}
	return n
}

// ErrClosed is returned by a sink that is given a record after Close.
var ErrClosed = errors.New("report: the sink is closed")

// A Keeper is a writer that can take text over instead of copying it.
type Keeper interface {
	io.Writer
	// Keep is Write for text that the caller gives away. It returns empty memory
	// in its place.
	Keep(text []byte) (empty []byte, err error)
}

// bunch is how many bytes a [Lines] collects before it writes them.
const bunch = 1 << 16

// Lines buffers the output of a sink and writes it in large pieces, or a piece
// for each record. After an error it writes nothing more.
type Lines struct {
	w    io.Writer
	buf  []byte
	live bool
	err  error
}

// NewLines returns a Lines that writes to w. If live is set, it does so at the
// end of every record, for people who watch.
func NewLines(w io.Writer, live bool) *Lines {
	l := &Lines{w: w, live: live}
	if !live {
		l.buf = make([]byte, 0, bunch+bunch/4)
	}
	return l
}

// Err returns the first error.
func (l *Lines) Err() error { return l.err }

// Buffer returns the buffer that the next record is to be appended to.
func (l *Lines) Buffer() []byte { return l.buf }

// Done takes back the buffer with the appended text.
func (l *Lines) Done(buf []byte) error {
	l.buf = buf
	if l.err == nil && !l.live && len(buf) < bunch {
		return nil
	}
	return l.flush()
}

// Flush writes the buffered text.
func (l *Lines) Flush() error { return l.flush() }

// Close flushes. Later records are refused.
func (l *Lines) Close() error {
	if errors.Is(l.err, ErrClosed) {
		return nil
	}
	err := l.flush()
	if err == nil {
		l.err = ErrClosed
	}
	return err
}

func (l *Lines) flush() error {
	if l.err == nil && len(l.buf) > 0 {
		if k, ok := l.w.(Keeper); ok {
			l.buf, l.err = k.Keep(l.buf)
			return l.err
		}
		n, err := l.w.Write(l.buf)
		if err == nil && n < len(l.buf) {
			err = io.ErrShortWrite
		}
		l.err = err
	}
	l.buf = l.buf[:0]
	return l.err
}
