package diff

import (
	"bytes"
	"fmt"
	"math"
	"strings"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/display"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
)

// A Field is a field in which two messages differ. It is nil for a side that
// lacks it. The values share memory with the records of the finding.
type Field struct {
	Path wire.Untrusted // path such as flags.0.angle, or for GameSpy text the key, which comes from the network
	A, B *decode.Field
	Text [2]wire.Untrusted // values that are not fields: GameSpy text and undecoded bytes. They come from the network.
}

// maxFields is the maximum number of fields of a finding.
const maxFields = 64

// A Finder is a sink that stores the records of the findings of one capture,
// which is read a second time.
type Finder struct {
	wanted map[[2]int][]*Place
}

// NewFinder returns a finder for the records of A, or of B.
func NewFinder(r *Report, ofB bool) *Finder {
	f := &Finder{wanted: map[[2]int][]*Place{}}
	for _, x := range r.Findings {
		p := x.A
		if ofB {
			p = x.B
		}
		if p != nil {
			k := [2]int{p.Frame, p.Part}
			f.wanted[k] = append(f.wanted[k], p)
		}
	}
	return f
}

// Record takes a record of the pipeline. It is borrowed until the call returns.
func (f *Finder) Record(r *dissect.Record) error {
	if r.Datagram == nil || r.Kind == dissect.KindEvicted {
		return nil
	}
	for _, p := range f.wanted[[2]int{r.Datagram.Number, r.Part}] {
		if p.Record == nil {
			p.Record = r.Clone()
		}
	}
	return nil
}

// Close does nothing. It exists so that Finder is a sink.
func (f *Finder) Close() error { return nil }

// Explain determines the fields that differ. It skips findings without records.
func (r *Report) Explain() {
	for _, f := range r.Findings {
		if f.Kind == Differs && f.A.Record != nil && f.B.Record != nil {
			f.Fields = r.fieldsOf(f.A.Record, f.B.Record)
			if len(f.Fields) == 0 && f.Flags == "" {
				f.Fields = unnamed(f.A.Record, f.B.Record)
			}
		}
	}
}

// fieldsOf returns the fields in which two messages differ.
func (r *Report) fieldsOf(a, b *dissect.Record) []Field {
	if a.Kind == dissect.KindGameSpy {
		return pairsOf(a, b)
	}
	x, y, lengths := list(a), list(b), r.A.Lengths
	var out []Field
	add := func(f Field) {
		if len(out) < maxFields {
			out = append(out, f)
		}
	}
	at := make(map[string]int, len(y))
	for j, v := range y {
		at[v.path] = j
	}
	for i := range x {
		v := &x[i]
		j, both := at[v.path]
		switch {
		case !both:
			add(Field{Path: wire.Untrusted(v.path), A: &v.field})
		case v.means == ofClock:
		case v.means == renamed && r.stands(v.id, y[j].id):
		case lengths && isText(v.field.Kind) && len(v.field.Bytes) == len(y[j].field.Bytes):
		case !sameValue(&v.field, &y[j].field):
			add(Field{Path: wire.Untrusted(v.path), A: &v.field, B: &y[j].field})
		}
		delete(at, v.path)
	}
	for j := range y {
		v := &y[j]
		if _, left := at[v.path]; left {
			add(Field{Path: wire.Untrusted(v.path), B: &v.field})
		}
	}
	if restA, restB := rest(a), rest(b); !bytes.Equal(restA, restB) && (!lengths || len(restA) != len(restB)) {
		add(Field{Path: "residue", Text: [2]wire.Untrusted{hex(restA), hex(restB)}})
	}
	return out
}

// unnamed returns the bytes of messages that differ only in bits without a
// field, from the first difference on.
func unnamed(a, b *dissect.Record) []Field {
	var sides [2][]byte
	for i, r := range []*dissect.Record{a, b} {
		sides[i] = bytes.Clone(body(r))
		for _, v := range list(r) {
			if v.means != asSent && v.field.End <= len(sides[i]) {
				clear(sides[i][v.field.Off:v.field.End])
			}
		}
	}
	n := 0
	for n < min(len(sides[0]), len(sides[1])) && sides[0][n] == sides[1][n] {
		n++
	}
	return []Field{{Path: wire.Untrusted(fmt.Sprintf("bytes +%d", n)), Text: [2]wire.Untrusted{hex(sides[0][n:]), hex(sides[1][n:])}}}
}

// body returns the bytes of a message that are compared.
func body(r *dissect.Record) []byte {
	switch {
	case len(r.Payload) > 0:
		return r.Payload
	case r.Kind == dissect.KindMessage:
		return r.Bytes[min(r.Transport.Size, len(r.Bytes)):]
	}
	return r.Bytes
}

// rest returns the bytes of a message that do not belong to fields.
func rest(r *dissect.Record) []byte {
	switch {
	case r.Message != nil || len(r.Rest) > 0:
		return r.Rest
	}
	return body(r)
}

// pairsOf returns the keys in which GameSpy texts differ.
func pairsOf(a, b *dissect.Record) (out []Field) {
	y := map[wire.Untrusted]wire.Untrusted{}
	for key, value := range b.GameSpy.Pairs() {
		y[key] = value
	}
	for key, value := range a.GameSpy.Pairs() {
		if other, both := y[key]; (!both || other != value) && key != queryID && len(out) < maxFields {
			out = append(out, Field{Path: key, Text: [2]wire.Untrusted{value, other}})
		}
		delete(y, key)
	}
	for key, value := range b.GameSpy.Pairs() {
		if _, left := y[key]; left && key != queryID && len(out) < maxFields {
			out = append(out, Field{Path: key, Text: [2]wire.Untrusted{"", value}})
		}
	}
	return out
}

// A listed is a field of a message with its path.
type listed struct {
	path  string
	field decode.Field
	means meaning
	id    id
}

// maxListed is the maximum number of fields of a message that are compared.
const maxListed = 1024

// list returns the fields of a message.
func list(r *dissect.Record) (all []listed) {
	var w decode.Viewer
	r.Visit(&w, &display.Flat{Take: func(path string, f *decode.Field) {
		if !f.Kind.Derived() && len(all) < maxListed {
			m, v := meaningOf(r, f, strings.Count(path, "."))
			all = append(all, listed{path, *f, m, v})
		}
	}})
	return all
}

// sameValue reports whether two fields have the same value. Only the value of
// the field's kind is set.
func sameValue(a, b *decode.Field) bool {
	if a.Kind != b.Kind {
		return false
	}
	switch a.Kind.Type() {
	case decode.TypeInt, decode.TypeBool:
		return a.Whole() == b.Whole()
	case decode.TypeFloat:
		return math.Float64bits(a.Float) == math.Float64bits(b.Float)
	case decode.TypeVector:
		for i := range a.Kind.Components() {
			if math.Float32bits(a.Vec[i]) != math.Float32bits(b.Vec[i]) {
				return false
			}
		}
		return true
	default:
		return bytes.Equal(a.Bytes, b.Bytes)
	}
}

func hex(b []byte) wire.Untrusted {
	const digits, most = "0123456789abcdef", 64
	var s strings.Builder
	for i, c := range b {
		if i == most {
			s.WriteString("...")
			break
		}
		s.WriteByte(digits[c>>4])
		s.WriteByte(digits[c&15])
	}
	return wire.Untrusted(s.String())
}
