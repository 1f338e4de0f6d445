// Package report is for what is said about records. A [Sink] renders them; each
// form of output has a package of its own below this one. Here is what they
// share: the counts of [Tally], the escaping of text from the network, and a
// writer of lines.
//
// A sink borrows the record until Record returns. Sinks are not safe for
// concurrent use, and do not close what they write to.
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
	// Close writes what is left to write.
	Close() error
}

// A Flusher is a sink that can be made to write what it has collected, so that
// what it writes can be put between what others write.
type Flusher interface {
	Sink
	Flush() error
}

// A Counter is a sink that does not look at the values of ship updates: it
// takes records of them without a Message.
type Counter interface {
	Sink
	OmitsValues()
}

// ErrClosed is returned by a sink that is given a record after Close.
var ErrClosed = errors.New("report: the sink is closed")

// bunch is how many bytes a [Lines] collects before it writes them.
const bunch = 1 << 16

// Lines collects what a sink renders and writes it in large pieces, or a piece
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

// Done takes back the buffer with what was appended.
func (l *Lines) Done(buf []byte) error {
	l.buf = buf
	if l.err == nil && !l.live && len(buf) < bunch {
		return nil
	}
	return l.flush()
}

// Flush writes what has been collected.
func (l *Lines) Flush() error { return l.flush() }

// Close writes what is left. Later records are refused.
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
		n, err := l.w.Write(l.buf)
		if err == nil && n < len(l.buf) {
			err = io.ErrShortWrite
		}
		l.err = err
	}
	l.buf = l.buf[:0]
	return l.err
}
