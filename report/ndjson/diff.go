package ndjson

import (
	"io"
	"reflect"
	"slices"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/display"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/conform/diff"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// DiffType is the type of the object that [Diff] writes.
var DiffType = reflect.TypeFor[diffReport]()

type diffReport struct {
	A diffCapture `json:"a"`
	B diffCapture `json:"b"`
	*diff.Report
	Found      []diffFinding   `json:"findings>Pairs"`
	Counts     [diff.Kinds]int `json:"only_a+only_b+differs+order+timing>Pairs"`
	Anonymized bool            `json:"anonymized"`
	Same       bool            `json:"equal"`
}

type diffCapture struct {
	File string `json:"file"`
	*diff.Capture
}

type diffFinding struct {
	*diff.Finding
	Conversation int             `json:"conversation>Kind"`
	FrameA       int             `json:"frame_a>Dir,omitempty"`
	FrameB       int             `json:"frame_b>Dir,omitempty"`
	Type         *transport.Type `json:"type>Dir,omitempty"`
	Opcode       *decode.Opcode  `json:"opcode>Dir,omitempty"`
	Name         string          `json:"name>Dir"`
	Late         *time.Duration  `json:"late_ms>Dir,omitempty" as:"millis" digits:"6"`
	Fields       []diffField     `json:"fields,omitempty"`
}

type diffField struct {
	Path string  `json:"path"`
	A    *string `json:"a,omitempty"`
	B    *string `json:"b,omitempty"`
}

// Diff writes the comparison of two captures with the given names as one object
// on one line. If c is nil, it uses the catalogue of the original game.
func Diff(w io.Writer, r *diff.Report, names [2]string, c *decode.Catalog) error {
	if c == nil {
		c = msg.Catalog()
	}
	out := diffReport{A: diffCapture{names[0], r.A}, B: diffCapture{names[1], r.B}, Report: r, Anonymized: r.A.Lengths, Same: r.Equal()}
	for k := range out.Counts {
		out.Counts[k] = r.Count(diff.Kind(k))
	}
	for _, f := range r.Findings {
		v := diffFinding{Finding: f, Conversation: slices.Index(r.Pairs, f.Pair) + 1, Name: f.Name(c)}
		if f.A != nil {
			v.FrameA = f.A.Frame
		}
		if f.B != nil {
			v.FrameB = f.B.Frame
		}
		if f.Transport() {
			v.Type = &f.Type
		}
		if f.Game {
			v.Opcode = &f.Opcode
		}
		if f.Kind == diff.Timing {
			v.Late = &f.Late
		}
		for i := range f.Fields {
			a, b := f.Fields[i].Text[0].Raw(), f.Fields[i].Text[1].Raw()
			d := diffField{Path: f.Fields[i].Path.Raw(), A: &a, B: &b}
			if a, b := f.Fields[i].A, f.Fields[i].B; a != nil || b != nil {
				d.A, d.B = diffValue(f.A.Record, a), diffValue(f.B.Record, b)
			}
			v.Fields = append(v.Fields, d)
		}
		out.Found = append(out.Found, v)
	}
	return write(w, &out)
}

// diffValue returns the value of a field as in JSON but without quotes. It
// returns nil if the message lacks the field.
func diffValue(r *dissect.Record, f *decode.Field) *string {
	if f == nil {
		return nil
	}
	var p display.Presenter
	s := string(p.AppendJSON(nil, f, display.Whole, r))
	if f.Kind.Type() >= decode.TypeText {
		s = string(f.AppendText(nil))
	}
	return &s
}
