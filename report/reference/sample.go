package reference

import (
	"strconv"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/display"
)

// A Sample is a message for the page.
type Sample struct {
	Title   string
	From    string // the origin of the bytes
	Dialect decode.Dialect
	Env     decode.Env // facts needed to read it; may be nil
	Payload []byte
}

// A Row is one field of a sample.
type Row struct {
	Offset int
	Bytes  []byte // empty if the field has none of its own; part of the payload
	Path   string // an element of list x is x[0]
	Value  string // for people
}

// Rows decodes a sample, up to the first byte that does not decode.
func Rows(s *decode.Spec, sample *Sample) []Row {
	d := decode.NewDecoder()
	r := d.Read(s, sample.Payload, sample.Dialect, sample.Env)
	if r.Message == nil {
		return nil
	}
	v := &dissection{payload: sample.Payload, values: display.Presenter{Dumped: shownBytes}}
	new(decode.Viewer).Show(r.Message, sample.Payload, 1, r.Dialect, v)
	return v.rows
}

// dissection is a visitor that makes rows.
type dissection struct {
	payload []byte
	values  display.Presenter
	path    path
	rows    []Row
}

func (v *dissection) Begin(g *decode.Group) { v.path.begin(g, "["+strconv.Itoa(g.Index)+"]") }
func (v *dissection) End(*decode.Group)     { v.path.end() }

func (v *dissection) Field(f *decode.Field) {
	v.rows = append(v.rows, Row{Offset: f.Off, Bytes: v.payload[f.Off:f.End], Path: v.path.join(f.Name), Value: string(v.values.AppendText(nil, f, nil))})
}

// shownBytes is how many bytes of a field a row shows.
const shownBytes = 16

// bytesText returns bytes in hexadecimal, the first of many only.
func bytesText(b []byte) string {
	return string(new(display.Presenter).AppendBytes(nil, b, shownBytes))
}
