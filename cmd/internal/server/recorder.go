package server

import (
	"net/netip"
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/dissect/capture"
)

// A Recorder writes datagrams to a file. If that fails, it says so once and
// gives up: the players go on. The zero value writes nothing.
type Recorder struct {
	log     *cli.Log
	packets *capture.DatagramWriter
	file    capture.FileWriter // nil once it has failed
	failed  error
}

// NewRecorder returns a recorder that closes its file in the end.
func NewRecorder(file capture.FileWriter, log *cli.Log) Recorder {
	return Recorder{log: log, packets: capture.NewDatagramWriter(file), file: file}
}

// Wanted reports whether there is a recording, failed or not.
func (r *Recorder) Wanted() bool { return r.packets != nil }

// Active reports whether datagrams are written.
func (r *Recorder) Active() bool { return r.file != nil }

// Write writes a borrowed datagram.
func (r *Recorder) Write(now time.Time, from, to netip.AddrPort, payload []byte) {
	if r.file != nil {
		r.check(r.packets.Write(now, from, to, payload))
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
	r.log.Say("recording has ended: %s", err.Error())
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
