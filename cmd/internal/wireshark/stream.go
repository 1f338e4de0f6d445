package wireshark

import (
	"io"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/extract"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/capture"
	"github.com/bcdissect/bcdissect/report/wireshark"
)

// A stream is the tap of a live capture. It writes frames with annotated
// datagrams as soon as they come.
type stream struct {
	*extract.Decrypter
	idle   func() bool // whether the next frame may take long to come
	number int         // of frames in Wireshark
}

// newStream returns a stream into a pipe, which Close closes. A datagram of the
// game is left out if none of its records is wanted. Frames stay raw for a plugin
// with the engine, and are annotated for one without.
func newStream(pipe io.WriteCloser, cfg dissect.Config, wanted *cli.Selection, raw bool) *stream {
	o := capture.CopyOptions{Hold: true}
	var notes *wireshark.Annotator
	if !raw {
		o.Longer, o.Comments = true, []string{capture.ClearMark}
		notes = wireshark.NewAnnotator(wireshark.Options{})
	}
	d := extract.NewDecrypter(capture.NewCopy("pipe", pipe, o), cfg, notes)
	if raw {
		d.LeaveEnciphered()
	}
	d.LeaveOut(wanted.Match)
	return &stream{Decrypter: d}
}

// Frame implements [capture.Tap]. Frames without a datagram go on as they are.
func (s *stream) Frame(f *capture.Frame) {
	if s.Copy.Frame(f); f.Datagram == nil {
		s.number++
		s.flush()
	}
}

// flush writes the buffer if no more packets are waiting.
func (s *stream) flush() {
	if s.idle() {
		_ = s.Flush() // the error stays
	}
}

// datagram writes the frame of a datagram. Once it fails, nothing more is written.
func (s *stream) datagram(d *dissect.Datagram) error {
	d.Number = s.number + 1 // as Wireshark counts
	if s.Datagram(d) {
		s.number++
		s.flush()
	}
	return s.Err()
}
