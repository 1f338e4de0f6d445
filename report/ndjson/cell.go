package ndjson

import (
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// AppendTime appends the time of r without quotes, or nothing if it has none.
func (e *Encoder) AppendTime(dst []byte, r *dissect.Record) []byte {
	if d := r.Datagram; d != nil && !d.Time.IsZero() {
		return append(e.clock.Append(dst, d.Time, d.Digits), 'Z')
	}
	return dst
}

// AppendSeconds appends the seconds from the start to r, or nothing if it has
// no time.
func (e *Encoder) AppendSeconds(dst []byte, r *dissect.Record) []byte {
	d := r.Datagram
	if d == nil || d.Time.IsZero() {
		return dst
	}
	if e.start.IsZero() {
		e.start = d.Time
	}
	return appendSeconds(dst, d.Time.Sub(e.start), d.Digits)
}

// AppendObject appends the object or array under a key of the first level, or
// nothing if r does not have it.
func (e *Encoder) AppendObject(dst []byte, r *dissect.Record, name string) []byte {
	from := len(dst)
	switch name {
	case "ack":
		if r.Transport.Type != transport.Acknowledge {
			return dst
		}
		dst = sequence(dst, &r.Transport)
	case "fragment":
		dst = fragment(dst, &r.Transport)
	case "reassembled":
		dst = pieces(dst, r.Pieces)
	case "fields":
		dst = e.appendFields(dst, r)
	case "gamespy":
		dst = gameSpy(dst, r)
	case "error":
		if r.Err != nil {
			dst = fault(dst, r)
		}
	case "notes":
		if len(r.Notes) > 0 {
			dst = notes(dst, r.Notes)
		}
	}
	if len(dst) == from {
		return dst
	}
	value := dst[from+len(`,"`)+len(name)+len(`":`):]
	return append(dst[:from], value...)
}
