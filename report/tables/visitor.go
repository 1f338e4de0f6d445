package tables

import (
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/display"
	"github.com/bcdissect/bcdissect/dissect"
)

// A visitor sets the columns of a table's open row to the fields of a message.
type visitor struct {
	t       *rows
	record  *dissect.Record
	at      *node
	next    int // index of the leaf that is expected next
	skip    int // number of open groups that are not in the plan
	element int // index of the list element, -1 outside a list
	json    display.JSON
	depth   int // number of open groups in the JSON, 0 for none
	values  display.Presenter
	text    []byte
	viewer  decode.Viewer

	rows  *rows  // table of elements that have their own rows
	outer *rows  // the value of t outside such an element
	list  *node  // list with such elements
	fill  func() // sets the header of such a row
}

// show sets the columns of t's open row to the message of r.
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
		v.json = display.JSON{Presenter: &v.values, Names: v.record, B: append(v.json.B[:0], '[')}
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
		v.set(v.at.json, &display.Item{Type: decode.TypeText, Text: append(v.json.B, ']')})
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
	for i := range leaves { // most fields come in the order of the plan
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

// set sets a column to an item. In a list it sets the current element of the
// column's list.
func (v *visitor) set(column int, it *display.Item) {
	if v.element < 0 {
		v.t.put(column, it)
	} else if c, ok := v.t.at(column, v.element); ok {
		v.t.append(c, it)
	}
}

func (v *visitor) leaf(l *leaf, f *decode.Field) {
	for i, c := range l.parts {
		v.set(c, &display.Item{Type: decode.TypeFloat, Float: f.Vec[i]})
	}
	for i := range l.views {
		w := &l.views[i]
		if it, ok := v.values.Item(f, w.View, v.record); ok {
			v.set(w.column, &it)
		} else if f.Kind == decode.KindRatios {
			v.shares(l, w.column, f)
		}
	}
}

// shares sets the column to the values of an array of shares of 255.
func (v *visitor) shares(l *leaf, column int, f *decode.Field) {
	if !l.array { // the field is inside a list
		v.text = v.values.AppendJSON(v.text[:0], f, display.Whole, v.record)
		v.set(column, &display.Item{Type: decode.TypeText, Text: v.text})
		return
	}
	for i := range f.Bytes {
		it, _ := display.Element(f, i)
		v.t.append(v.t.add(column, element), &it)
	}
	v.t.end(column)
}
