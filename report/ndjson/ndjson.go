// Not part of the library: package ndjson renders records as JSON, one object a
// line, and counts as one object. docs/json.md describes both; keys that exist
// do not change.
//
// Lines are made by appending: fields are shown to a visitor that writes them
// straight into the buffer, and a line without an error costs no allocation.
// Every record makes one line of valid JSON, without control characters for a
// terminal.
package ndjson

import (
	"io"
	"time"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/report"
)

// Schema is the number of the description in docs/json.md. It counts changes
// that break scripts.
const Schema = 2

// Options choose the contents of lines.
type Options struct {
	Payload   bool      // the complete game payload as hex
	NoCapture bool      // records are of no capture: no frame, times and addresses
	Live      bool      // write every line at once
	Start     time.Time // origin of rel; the first record if it is zero
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

// SetStart sets the time that rel counts from. It is for callers who learn the
// time of the first frame only when they have read it.
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
