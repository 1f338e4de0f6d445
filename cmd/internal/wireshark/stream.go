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
// datagrams without delay.
type stream struct {
	*extract.Decrypter
	idle   func() bool // reports whether the next frame may take long to arrive
	number int         // number of frames in Wireshark
}

// newStream returns a stream that writes to a pipe. Close closes the pipe. The
// stream drops a datagram of the game if none of its records is selected. If
// raw is set, it does not annotate frames, for a plugin that has the engine.
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

// Frame implements [capture.Tap]. Frames without a datagram are written
// unchanged.
func (s *stream) Frame(f *capture.Frame) {
	if s.Copy.Frame(f); f.Datagram == nil {
		s.number++
		s.flush()
	}
}

// flush writes the buffer if no more packets are waiting.
func (s *stream) flush() {
	if s.idle() {
		_ = s.Flush() // the error is returned later
	}
}

// datagram writes the frame of a datagram. After an error nothing more is
// written.
func (s *stream) datagram(d *dissect.Datagram) error {
	d.Number = s.number + 1 // the number that Wireshark will give it
	if s.Datagram(d) {
		s.number++
		s.flush()
	}
	return s.Err()
}
