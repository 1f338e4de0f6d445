// Not part of the library: package report is the base of all reporters. A
// [Sink] renders records. Each output format has its own package below this
// one. They share the counts of [Tally], the escaping of text from the network,
// and a writer of lines.
//
// A sink must not keep a record after Record returns. Sinks are not safe for
// concurrent use, and do not close the writer.
package report

import (
	"errors"
	"io"

	"github.com/bcdissect/bcdissect/dissect"
)

// A Sink renders records.
type Sink interface {
	// Record renders one record. It returns the error of the underlying writer.
	// After an error every later call returns it again.
	Record(r *dissect.Record) error
	// Close writes the rest of the output.
	Close() error
}

// A Flusher is a sink that can flush its buffer, so that other output can be
// written after it.
type Flusher interface {
	Sink
	Flush() error
}

// NeedsOf returns the parts of records that a sink needs. A sink without a
// method Needs needs all parts.
func NeedsOf(s Sink) (n dissect.Needs) {
	if s, ok := s.(interface{ Needs() dissect.Needs }); ok {
		n = s.Needs()
	}
	return n
}

// ErrClosed is the error for a record after Close.
var ErrClosed = errors.New("report: the sink is closed")

// A Keeper is a writer that can keep text instead of copying it.
type Keeper interface {
	io.Writer
	// Keep writes text and takes ownership of it. It returns an empty buffer
	// that the caller can use instead.
	Keep(text []byte) (empty []byte, err error)
}

// bunch is the number of bytes that a [Lines] collects before it writes them.
const bunch = 1 << 16

// Lines buffers the output of a sink and writes it in large pieces, or after
// each record. After an error it writes nothing more.
type Lines struct {
	w    io.Writer
	buf  []byte
	live bool
	err  error
}

// NewLines returns a Lines that writes to w. If live is set, it writes after
// each record, for people who watch the output.
func NewLines(w io.Writer, live bool) *Lines {
	l := &Lines{w: w, live: live}
	if !live {
		l.buf = make([]byte, 0, bunch+bunch/4)
	}
	return l
}

// Err returns the first error.
func (l *Lines) Err() error { return l.err }

// Buffer returns the buffer to which the caller appends the next record.
func (l *Lines) Buffer() []byte { return l.buf }

// Done returns the buffer with the appended text to l.
func (l *Lines) Done(buf []byte) error {
	l.buf = buf
	if l.err == nil && !l.live && len(buf) < bunch {
		return nil
	}
	return l.flush()
}

// Flush writes the buffered text.
func (l *Lines) Flush() error { return l.flush() }

// Close flushes the buffer. Later records are errors.
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
