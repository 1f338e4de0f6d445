package wireshark

import (
	"io"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/capture"
	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/dissect/packet"
)

// A stream is the tap of a live capture. It writes frames with deciphered
// datagrams as soon as they come.
type stream struct {
	*capture.Copy
	idle     func() bool // whether the next frame may take long to come
	pipeline *dissect.Pipeline
	wanted   *cli.Selection
	number   int // of frames in Wireshark
	plain    []byte
}

// newStream returns a stream into a pipe, which Close closes. A datagram of the
// game is left out if none of its records is wanted.
func newStream(pipe io.WriteCloser, cfg dissect.Config, wanted *cli.Selection) *stream {
	o := capture.CopyOptions{Hold: true, Comments: []string{capture.ClearMark}}
	return &stream{Copy: capture.NewCopy("pipe", pipe, o), pipeline: dissect.New(cfg), wanted: wanted}
}

// Frame implements [capture.Tap]. Frames without a datagram go on as they are.
func (s *stream) Frame(f *capture.Frame) {
	if s.Copy.Frame(f); f.Datagram == nil {
		s.number++
		s.flush()
	}
}

// flush writes what is buffered if nothing else is there.
func (s *stream) flush() {
	if s.idle() {
		_ = s.Flush() // the error stays
	}
}

// datagram writes the frame of a datagram. Once it fails, nothing more is written.
func (s *stream) datagram(d *dissect.Datagram) error {
	d.Number = s.number + 1 // as Wireshark counts
	game, wanted := false, false
	_ = s.pipeline.Push(d, func(r *dissect.Record) error {
		if r.Kind == dissect.KindMessage || r.Kind == dissect.KindMalformed {
			game = true
		}
		wanted = wanted || s.wanted.Match(r)
		return nil // so that Push does not fail either
	})
	f := s.Held()
	if game && !wanted {
		s.Take() // and forget it
		return s.Err()
	}
	if f != nil && game && d.Form == packet.Wire && f.Payload >= 0 {
		s.plain = cipher.Decrypt(s.plain[:0], d.Payload)
		f.SetPayload(s.plain)
	}
	s.number++
	s.Release()
	s.flush()
	return s.Err()
}
