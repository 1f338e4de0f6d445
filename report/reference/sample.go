package reference

import (
	"strconv"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/display"
)

// A Sample is a message for the page.
type Sample struct {
	Title   string
	From    string // origin of the bytes
	Dialect decode.Dialect
	Env     decode.Env // facts needed to decode it, may be nil
	Payload []byte
}

// A Row is one field of a sample.
type Row struct {
	Offset int
	Bytes  []byte // part of the payload, empty if the field has no separate bytes
	Path   string // path, with x[0] for an element of list x
	Value  string // value in the form for people
}

// Rows decodes a sample up to the first error.
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

// shownBytes is the maximum number of bytes of a field in a row.
const shownBytes = 16

// bytesText returns bytes in hexadecimal. If there are too many, it returns
// only the first.
func bytesText(b []byte) string {
	return string(new(display.Presenter).AppendBytes(nil, b, shownBytes))
}
