// Not part of the library: package ndjson renders records as JSON, one object
// on each line, and counts as one object. docs/json.md describes both. Existing
// keys do not change.
//
// A visitor appends the fields directly to the buffer, so that a line without
// an error needs no allocation. Every record becomes one line of valid JSON
// without terminal control characters.
package ndjson

import (
	"io"
	"time"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/report"
)

// Schema is the version of docs/json.md. It increases with changes that break
// scripts.
const Schema = 2

// Options control the contents of lines.
type Options struct {
	Payload   bool      // write the complete game payload in hexadecimal
	NoCapture bool      // the records do not come from a capture: write no frame, times and addresses
	Live      bool      // write each line without delay
	Start     time.Time // origin of rel, zero for the first record
}

// A Sink writes a line for each record.
type Sink struct {
	lines *report.Lines
	enc   *Encoder
}

// New returns a sink that writes to w.
func New(w io.Writer, o Options) *Sink {
	return &Sink{lines: report.NewLines(w, o.Live), enc: NewEncoder(o)}
}

// SetStart sets the origin of rel. It is for callers who learn the time of the
// first frame only by reading it.
func (s *Sink) SetStart(t time.Time) { s.enc.start, s.enc.at = t, nil }

// Record writes the line of r.
func (s *Sink) Record(r *dissect.Record) error {
	if err := s.lines.Err(); err != nil {
		return err
	}
	return s.lines.Done(append(s.enc.Append(s.lines.Buffer(), r), '\n'))
}

// Flush implements [report.Flusher].
func (s *Sink) Flush() error { return s.lines.Flush() }

// Close flushes the output.
func (s *Sink) Close() error { return s.lines.Close() }
