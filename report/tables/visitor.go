package tables

import (
	"encoding/hex"
	"strconv"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/key"
	"github.com/bcdissect/bcdissect/report/ndjson"
)

// A visitor puts the fields of a message into the open row of its table.
type visitor struct {
	t       *rows
	record  *dissect.Record
	at      *node
	next    int // leaf that is likely the next
	skip    int // open groups that are not in the plan
	element int // of the list, -1 outside
	json    ndjson.Group
	depth   int // groups in the open JSON, 0 for none
	values  ndjson.Values
	text    []byte
	viewer  decode.Viewer

	rows  *rows  // of elements that are rows of their own
	outer *rows  // t, while such an element is open
	list  *node  // its list
	fill  func() // fills the header of such a row
}

// show fills the open row of t with the message of r.
func (v *visitor) show(t *rows, p *plan, elements *rows, r *dissect.Record) {
	v.t, v.record, v.at, v.next, v.skip, v.element, v.depth, v.rows, v.outer = t, r, p.root, 0, 0, -1, 0, elements, nil
	r.Visit(&v.viewer, v)
	v.record = nil
}

// Begin implements [decode.Visitor].
func (v *visitor) Begin(g *decode.Group) {
	switch {
	case v.depth > 0:
		v.depth++
		v.json.Begin(g)
		return
	case v.skip > 0:
		v.skip++
		return
	case g.Kind == decode.GroupElement && v.at.rows != nil && v.outer == nil:
		v.beginRow()
		return
	case g.Kind == decode.GroupElement:
		v.element = g.Index
		return
	}
	n := v.at.group(g.Name)
	switch {
	case n == nil:
		v.skip = 1
	case n.json >= 0:
		v.json.Open(v.record, true)
		v.depth = 1
	default:
		v.at, v.next = n, 0
	}
	if v.depth == 1 {
		v.at = n
	}
}

// End implements [decode.Visitor].
func (v *visitor) End(g *decode.Group) {
	switch {
	case v.depth > 1:
		v.depth--
		v.json.End(g)
		return
	case v.depth == 1:
		v.depth = 0
		v.bytes(v.at.json, v.json.Close())
		v.at, v.next = v.at.parent, 0
		return
	case v.skip > 0:
		v.skip--
		return
	case g.Kind == decode.GroupElement && v.outer != nil && v.at.parent == nil:
		v.t, v.at, v.next, v.outer = v.outer, v.list, 0, nil
		return
	case g.Kind == decode.GroupElement:
		for _, c := range v.at.all {
			v.t.gaps(c, v.element+1)
		}
		v.element = -1
		return
	}
	if v.at.list && v.at.rows == nil {
		for _, c := range v.at.all {
			v.t.end(c)
		}
	}
	v.at, v.next = v.at.parent, 0
}

// beginRow begins the row of an element.
func (v *visitor) beginRow() {
	v.outer, v.list = v.t, v.at
	v.t, v.at, v.next = v.rows, v.at.rows.root, 0
	v.t.begin()
	v.fill()
}

// Field implements [decode.Visitor].
func (v *visitor) Field(f *decode.Field) {
	switch {
	case v.depth > 0:
		v.json.Field(f)
		return
	case v.skip > 0:
		return
	}
	leaves := v.at.leaves
	for i := range leaves { // most come in the order of the plan
		at := v.next + i
		if at >= len(leaves) {
			at -= len(leaves)
		}
		if leaves[at].name == f.Name {
			v.next = at + 1
			if v.next == len(leaves) {
				v.next = 0
			}
			v.leaf(&leaves[at], f)
			return
		}
	}
}

// The methods below set a column, or within a list the element of its list.

func (v *visitor) int(column int, n int64) {
	if v.element < 0 {
		v.t.int(column, n)
	} else if c, ok := v.t.at(column, v.element); ok {
		c.ints = append(c.ints, n)
	}
}

func (v *visitor) float(column int, x float32) {
	if v.element < 0 {
		v.t.float(column, x)
	} else if c, ok := v.t.at(column, v.element); ok {
		c.floats = append(c.floats, x)
	}
}

func (v *visitor) string(column int, s string) {
	if v.element < 0 {
		v.t.text(column, s)
	} else if c, ok := v.t.at(column, v.element); ok {
		c.texts = append(c.texts, keep(v.t, s))
	}
}

func (v *visitor) bytes(column int, s []byte) {
	if v.element < 0 {
		v.t.bytes(column, s)
	} else if c, ok := v.t.at(column, v.element); ok {
		c.texts = append(c.texts, keep(v.t, s))
	}
}

func (v *visitor) leaf(l *leaf, f *decode.Field) {
	for i, c := range l.parts {
		v.float(c, f.Vec[i])
	}
	for i := range l.views {
		w := &l.views[i]
		switch w.View {
		case key.Value:
			v.value(l, w.column, f)
		case key.ValueName:
			if f.Names != nil {
				if name := f.Names.Name(f.Uint); name != "" {
					v.string(w.column, name)
				}
			}
		case key.Slot:
			if slot, ok := wire.ObjectID(f.Uint).Slot(); ok {
				v.int(w.column, int64(slot))
			}
		case key.ObjectName:
			if s := v.record.Session; s != nil {
				if v.text = s.AppendObject(v.text[:0], wire.ObjectID(f.Uint)); len(v.text) > 0 {
					v.bytes(w.column, v.text)
				}
			}
		case key.PlayerName:
			if name := v.record.NameOf(f); name != "" {
				v.string(w.column, name)
			}
		case key.Byte:
			if f.Kind == decode.KindBool8 && f.Uint > 1 {
				v.int(w.column, int64(f.Uint))
			}
		case key.FlagNames:
		}
	}
}

// value sets the column of a field's own value.
func (v *visitor) value(l *leaf, column int, f *decode.Field) {
	switch f.Kind {
	case decode.KindU8, decode.KindU16, decode.KindU32, decode.KindEnum8, decode.KindEnum32, decode.KindFlags8, decode.KindObject,
		decode.KindHash16, decode.KindHash32, decode.KindIndex:
		v.int(column, int64(f.Uint))
	case decode.KindI8, decode.KindI16, decode.KindI32:
		v.int(column, f.Int)
	case decode.KindPercent8: // a whole number
		v.int(column, int64(f.Float))
	case decode.KindF32, decode.KindCF16, decode.KindRatio8, decode.KindPower8:
		v.float(column, float32(f.Float))
	case decode.KindBit, decode.KindBool8:
		v.int(column, int64(min(f.Uint, 1)))
	case decode.KindRatios:
		v.shares(l, column, f)
	case decode.KindStr8, decode.KindStr16, decode.KindStr32, decode.KindStr32z, decode.KindWStr32, decode.KindWStrz:
		v.text = f.AppendText(v.text[:0])
		v.bytes(column, v.text)
	case decode.KindIPv4:
		v.text = v.text[:0]
		for i, b := range f.Bytes {
			if i > 0 {
				v.text = append(v.text, '.')
			}
			v.text = strconv.AppendUint(v.text, uint64(b), 10)
		}
		v.bytes(column, v.text)
	case decode.KindBytes:
		v.text = hex.AppendEncode(v.text[:0], f.Bytes)
		v.bytes(column, v.text)
	case decode.KindText:
		v.string(column, f.Text)
	case decode.KindDir3, decode.KindVec3, decode.KindQuat, decode.KindVec4h, decode.KindVec4f, decode.KindPlace:
	}
}

// shares sets the column of an array of shares of 255.
func (v *visitor) shares(l *leaf, column int, f *decode.Field) {
	if !l.array { // within a list
		v.text = v.values.Append(v.text[:0], v.record, f, key.Value, -1)
		v.bytes(column, v.text)
		return
	}
	for _, b := range f.Bytes {
		v.t.addFloat(column, float32(b)/255)
	}
	v.t.end(column)
}
