package server

import (
	"net/netip"
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/decode/plural"
	"github.com/bcdissect/bcdissect/dissect/capture"
)

// A Recorder writes datagrams to a file and passes them to a report. If writing
// fails, it reports the error once and stops writing, and the game continues.
// The zero value does nothing.
type Recorder struct {
	Log     *cli.Log
	Feed    *Feed // feed of the report, nil for none
	Packets int   // number of datagrams after which the program stops, 0 for no limit

	noted   int // number of datagrams recorded or reported
	packets *capture.DatagramWriter
	file    capture.FileWriter // nil after an error
	failed  error
}

// Record sets the file to which datagrams are written. The recorder closes it.
func (r *Recorder) Record(file capture.FileWriter) {
	r.packets, r.file = capture.NewDatagramWriter(file), file
}

// Wanted reports whether datagrams were to be recorded, even if that failed.
func (r *Recorder) Wanted() bool { return r.packets != nil }

// Active reports whether datagrams are being written.
func (r *Recorder) Active() bool { return r.file != nil }

// Failed returns the first error of the recording, nil if there is none.
func (r *Recorder) Failed() error { return r.failed }

// Full reports whether the wanted number of datagrams has been reached.
func (r *Recorder) Full() bool { return r.Packets > 0 && r.noted == r.Packets }

// Note records and reports a datagram until the wanted number is reached. It
// does not keep the payload.
func (r *Recorder) Note(now time.Time, from, to netip.AddrPort, payload []byte) {
	if r.Full() {
		return
	}
	r.noted++
	if r.file != nil {
		r.check(r.packets.Write(now, from, to, payload))
		r.packets.Comment = ""
	}
	if r.Feed != nil {
		r.Feed.Put(now, from, to, payload)
	}
}

// Remark adds a comment to the next recorded datagram.
func (r *Recorder) Remark(text string) {
	if r.packets != nil {
		r.packets.Comment = text
	}
}

// Lost logs the number of lost datagrams and the reason, unless the number is
// 0.
func (r *Recorder) Lost(n int, why string, args ...any) {
	if n > 0 {
		r.Log.Say(plural.Form(n, "%d {datagram|datagrams} "+why), append([]any{n}, args...)...)
	}
}

// Flush writes buffered datagrams to the file, so that they survive a crash of
// the program.
func (r *Recorder) Flush(c capture.Counters) {
	if r.file != nil {
		r.check(r.file.Flush(c))
	}
}

func (r *Recorder) check(err error) {
	if err == nil {
		return
	}
	r.Log.Say("recording has ended: %s", err.Error())
	r.failed = err
	_ = r.file.Close() // the first error is reported
	r.file = nil
}

// Close completes the file. It returns the first error of the recording.
func (r *Recorder) Close(c capture.Counters) error {
	if r.file == nil {
		return r.failed
	}
	if err := r.file.Flush(c); err != nil {
		r.failed = err
	}
	if err := r.file.Close(); r.failed == nil {
		r.failed = err
	}
	r.file = nil
	return r.failed
}
