package capture

import (
	"errors"

	"github.com/bcdissect/bcdissect/dissect/capture/tracelog"
)

// A logReader reads a log as if each of its records were a frame.
type logReader struct {
	b      *buffer
	log    tracelog.Log
	record tracelog.Record
}

// newLog returns a reader if the file's first bytes are a log's, and nil
// otherwise.
func newLog(b *buffer, head []byte, remark func(string)) frameReader {
	log := tracelog.New(b, head, remark)
	if log == nil {
		return nil
	}
	return &logReader{b: b, log: log}
}

func (l *logReader) next(f *frame) error {
	if err := l.log.Next(&l.record); err != nil {
		if bad, ok := errors.AsType[*tracelog.DamageError](err); ok {
			return &stop{kind: ErrDamaged, offset: bad.Offset, inFrame: true, why: bad.Reason}
		}
		return l.b.failed(err, false, false)
	}
	r := &l.record
	f.Time, f.digits, f.flaw, f.logged = r.Time, r.Digits, gaveDatagram, &r.Datagram
	switch {
	case r.Unsent:
		f.flaw = unsent
	case len(r.Payload) == 0 && r.Full > 0:
		f.flaw = cutShort
	}
	return nil
}
