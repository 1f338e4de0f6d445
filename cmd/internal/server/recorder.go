package server

import (
	"net/netip"
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/decode/plural"
	"github.com/bcdissect/bcdissect/dissect/capture"
)

// A Recorder writes datagrams to a file and gives them to a report. If writing
// fails, it says so once and gives up: the players go on. The zero value does nothing.
type Recorder struct {
	Log     *cli.Log
	Feed    *Feed // of the report; nil for none
	Packets int   // to record or report before the program stops; 0 for no end

	noted   int // recorded or reported
	packets *capture.DatagramWriter
	file    capture.FileWriter // nil once it has failed
	failed  error
}

// Record has datagrams written to a file, which the recorder closes.
func (r *Recorder) Record(file capture.FileWriter) {
	r.packets, r.file = capture.NewDatagramWriter(file), file
}

// Wanted reports whether there is a recording, failed or not.
func (r *Recorder) Wanted() bool { return r.packets != nil }

// Active reports whether datagrams are written.
func (r *Recorder) Active() bool { return r.file != nil }

// Full reports whether there are as many datagrams as wanted.
func (r *Recorder) Full() bool { return r.Packets > 0 && r.noted == r.Packets }

// Note records and reports a borrowed datagram, unless there are enough.
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

// Remark has the next datagram recorded with a comment.
func (r *Recorder) Remark(text string) {
	if r.packets != nil {
		r.packets.Comment = text
	}
}

// Lost says why some datagrams did not get where they should, if there are any.
func (r *Recorder) Lost(n int, why string, args ...any) {
	if n > 0 {
		r.Log.Say(plural.Form(n, "%d {datagram|datagrams} "+why), append([]any{n}, args...)...)
	}
}

// Flush protects all that was written against a crash of the program.
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
	_ = r.file.Close() // the error that matters is known
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
