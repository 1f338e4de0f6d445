package ndjson

import (
	"strconv"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/key"
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

// AppendString appends a JSON string.
func AppendString(dst []byte, s string) []byte { return appendString(dst, s) }

// AppendFloat appends a JSON number, or null if it is not finite.
func AppendFloat(dst []byte, x float32) []byte { return appendFloat(dst, x) }

// Values renders single fields as lines have them. Its zero value is ready to
// use.
type Values struct{ fields }

// Append appends the JSON value that a view makes of a field, or nothing if it
// makes none. Of a vector, array or bytes element is the index of the value
// that is meant, -1 for all of them.
func (v *Values) Append(dst []byte, r *dissect.Record, f *decode.Field, view key.View, element int) []byte {
	if element >= 0 {
		return appendElement(dst, f, element)
	}
	switch view {
	case key.ValueName:
		if f.Names != nil {
			if name := f.Names.Name(f.Uint); name != "" {
				dst = appendString(dst, name)
			}
		}
	case key.FlagNames:
		if f.Names != nil {
			dst = appendFlagNames(dst, f)
		}
	case key.Slot:
		if slot, ok := wire.ObjectID(f.Uint).Slot(); ok {
			dst = strconv.AppendUint(dst, uint64(slot), 10)
		}
	case key.ObjectName:
		if r.Session != nil {
			if v.text = r.Session.AppendObject(v.text[:0], wire.ObjectID(f.Uint)); len(v.text) > 0 {
				dst = appendString(dst, v.text)
			}
		}
	case key.PlayerName:
		if name := r.NameOf(f); name != "" {
			dst = appendString(dst, name)
		}
	case key.Byte:
		if f.Uint > 1 {
			dst = strconv.AppendUint(dst, f.Uint, 10)
		}
	case key.Value:
		v.b, v.bare = dst, true
		v.Field(f)
		dst, v.b = v.b, nil
	}
	return dst
}

// appendElement appends one value of many.
func appendElement(dst []byte, f *decode.Field, i int) []byte {
	switch {
	case f.Kind == decode.KindRatios && i < len(f.Bytes):
		return append(dst, ratios[f.Bytes[i]]...)
	case f.Kind == decode.KindBytes && i < len(f.Bytes):
		return strconv.AppendUint(dst, uint64(f.Bytes[i]), 10)
	case i >= len(key.Components(f.Kind)):
		return dst
	case f.Kind == decode.KindDir3:
		return append(dst, shares[uint8(index(float64(f.Vec[i])*127))]...)
	}
	return appendFloat(dst, f.Vec[i])
}

// A Group renders a group of fields as in lines: its fields are shown to it.
type Group struct{ fields }

// Open begins the group, which is a list or not.
func (g *Group) Open(r *dissect.Record, list bool) {
	g.record = r
	if g.b = append(g.b[:0], '{'); list {
		g.b[0] = '['
	}
}

// Close ends the group and returns it, until it is opened again.
func (g *Group) Close() []byte {
	g.record = nil
	if g.b[0] == '[' {
		g.b = append(g.b, ']')
	} else {
		g.b = append(g.b, '}')
	}
	return g.b
}
