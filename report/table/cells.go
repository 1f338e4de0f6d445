package table

import (
	"bytes"

	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/report"
)

// A Teller makes the texts of records for lists and trees that other packages
// draw. The texts are those of a [Sink] without a width.
type Teller struct{ sink *Sink }

// NewTeller returns a teller.
func NewTeller() *Teller { return &Teller{New(nil, Options{})} }

// Cells are the parts of a record's line. The bytes are escaped, and valid
// until the next call.
type Cells struct {
	Way      []byte // sender and receiver
	Name     string // name of the message
	Contents []byte // the most important fields
	Marks    []byte // errors and notes
	Look     string // the style of the name: normal, faint, red, yellow, green, cyan, magenta or blue
}

// looks are the names of styles.
var looks = [styleCount]string{
	normal: "normal", faint: "faint", red: "red", yellow: "yellow", green: "green", cyan: "cyan", magenta: "magenta", blue: "blue",
}

// Cells returns the parts of the line of r.
func (t *Teller) Cells(r *dissect.Record) Cells {
	s := t.sink
	s.head.reset(normal)
	s.body.reset(normal)
	s.tail.reset(normal)
	b := s.head.b
	if r.Dir == dissect.FromHost {
		b = append(b, s.signs.fromHost...)
	}
	b = s.appendPlayer(b, r)
	switch {
	case r.Dir == dissect.ToHost:
		b = append(b, s.signs.toHost...)
	case r.Dir == dissect.DirUnknown && len(b) > 0:
		b = append(append(append(b, ' '), s.signs.arrow...), " ?"...)
	}
	way := len(b)
	b = AppendName(b, r)
	s.head.b = b
	s.contents(r)
	s.marks(r)
	_, look := styles(r)
	return Cells{Way: b[:way], Name: string(b[way:]), Contents: s.body.b, Marks: s.tail.b, Look: looks[look]}
}

// A Branch is a field or a group of fields of a message.
type Branch struct {
	Depth  int           `json:"depth"`
	Off    int           `json:"off"` // offset of the first byte in the record's Bytes
	End    int           `json:"end"` // offset after the last byte, equal to Off if there are no bytes
	Name   string        `json:"name"`
	Value  string        `json:"value"`
	Doc    string        `json:"doc,omitempty"` // documentation of a field
	Group  bool          `json:"-"`             // the branches after it with more depth belong to it
	Object wire.ObjectID `json:"-"`
}

// Tree returns the fields of r in the order of its bytes, and the bytes to
// which the offsets refer. These are the bytes of the complete game message if
// r completes one from fragments, and otherwise those of the record.
func (t *Teller) Tree(r *dissect.Record) (branches []Branch, data []byte) {
	base := 0
	switch {
	case len(r.Pieces) > 0 || r.Kind == dissect.KindPayload:
		data = r.Payload
	default:
		data = r.Bytes
		if r.Kind == dissect.KindMessage && r.Transport.Size > 0 && r.Transport.Size <= len(data) {
			base = r.Transport.Size
			branches = append(branches, Branch{End: base, Name: "transport", Value: r.Transport.Type.Kind()})
		}
	}
	rows := t.sink.gather(r)
	for i := range rows.rows {
		row := &rows.rows[i]
		b := Branch{Depth: row.depth, Name: row.name, Value: string(rows.text[row.from:row.to]), Doc: row.doc, Group: row.group, Object: wire.ObjectID(row.object)}
		if row.list {
			b.Value = string(appendCount(nil, row.n, "element"))
		}
		if row.off < row.end && base+row.end <= len(data) {
			b.Off, b.End = base+row.off, base+row.end
		}
		branches = append(branches, b)
	}
	return append(branches, pairs(r)...), data
}

// pairs returns the pairs of a GameSpy message, which backslashes separate.
func pairs(r *dissect.Record) (all []Branch) {
	if r.Kind != dissect.KindGameSpy {
		return nil
	}
	rest := bytes.TrimPrefix(r.Bytes, []byte{'\\'})
	for key, value := range r.GameSpy.Pairs() {
		off := len(r.Bytes) - len(rest)
		_, after, _ := bytes.Cut(rest, []byte{'\\'})
		_, after, more := bytes.Cut(after, []byte{'\\'})
		end := len(r.Bytes) - len(after)
		if more {
			end--
		}
		rest = after
		all = append(all, Branch{Name: key.String(), Value: value.String(), Off: off, End: end})
	}
	return all
}

// Remarks returns the error and the notes of r, escaped.
func (t *Teller) Remarks(r *dissect.Record) []string {
	var all []string
	if r.Err != nil {
		all = append(all, "error: "+string(appendReason(nil, r.Err, false)))
	}
	for _, n := range r.Notes {
		all = append(all, report.Escape(n.Code)+": "+report.Escape(n.Text))
	}
	return all
}

// Header returns the lines about the datagram and the message's header, escaped.
func (t *Teller) Header(r *dissect.Record) string { return string(t.sink.header(nil, r)) }

// Line returns the line of r, without a line end.
func (s *Sink) Line(r *dissect.Record) string {
	s.lineText = s.line(s.lineText[:0], r)
	return string(bytes.TrimSuffix(s.lineText, []byte("\n")))
}
