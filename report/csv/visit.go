package csv

import (
	"slices"
	"strings"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/display"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/key"
)

// A plan maps columns to the fields of one layout.
type plan struct {
	root   *node // nil if no field is shown
	fields decode.FieldSet
}

// A layout is one of the layouts of a message.
type layout struct {
	spec    *decode.Spec
	dialect decode.Dialect
}

// A node is a group with shown fields. The root is the whole message.
type node struct {
	name   string
	parent *node
	leaves []leaf
	groups []*node
	whole  []*whole
}

// A leaf is a field that a column shows.
type leaf struct {
	name    string
	column  int
	view    display.View
	element int
	inList  bool
}

// A whole is a group that a column shows as JSON.
type whole struct {
	column int
	list   bool // the group is a list
	inList bool // the group is in a list
	depth  int  // number of open groups inside it
	group  display.JSON
}

// planOf returns the plan for the layout of r.
func (s *Sink) planOf(r *dissect.Record) *plan {
	of := layout{r.Spec, r.Layout}
	p := s.plans[of]
	if p == nil {
		p = s.newPlan(r)
		s.plans[of] = p
	}
	return p
}

func (s *Sink) newPlan(r *dissect.Record) *plan {
	p := &plan{}
	layout := r.Spec.Layout
	for _, f := range r.Spec.Forms {
		if f.Dialect == r.Layout {
			layout = f.Layout
		}
	}
	wanted := map[string][]int{} // indexes of columns by path
	for i := range s.columns {
		c := &s.columns[i]
		path := c.path
		if c.message != "" && called(r.Spec, c.message) {
			path = c.inside
		}
		if path != "" {
			wanted[path] = append(wanted[path], i)
		}
	}
	var names []string
	whole := false
	key.Paths(layout, r.Layout, func(path string, at key.Path) {
		for _, i := range wanted[path] {
			if s.want(p, i, at) {
				names = append(names, strings.Split(at.Base, ".")...)
			}
		}
		whole = whole || at.Group && len(wanted[path]) > 0
	})
	if !whole { // no column shows a whole group, so only the named fields are needed
		p.fields = decode.Fields(names...)
	}
	return p
}

// want adds a column to the plan. It reports whether the path has the element.
func (s *Sink) want(p *plan, column int, at key.Path) bool {
	element := s.columns[column].element
	if at.Element >= 0 {
		element = at.Element
	}
	if element >= 0 && (at.View != display.Whole || at.Group ||
		at.Kind != decode.KindRatios && at.Kind != decode.KindBytes && element >= len(at.Kind.Components())) {
		return false
	}
	if p.root == nil {
		p.root = &node{}
	}
	steps := strings.Split(at.Base, ".")
	last := len(steps) - 1
	n := p.root
	for _, name := range steps[:last] {
		n = n.group(name)
	}
	if at.Group {
		n = n.group(steps[last])
		n.whole = append(n.whole, &whole{column: column, list: at.List, inList: at.Within > 0})
		return true
	}
	l := leaf{steps[last], column, at.View, element, at.Within > 0}
	if !slices.Contains(n.leaves, l) { // a field may be described twice
		n.leaves = append(n.leaves, l)
	}
	return true
}

func (n *node) group(name string) *node {
	for _, g := range n.groups {
		if g.name == name {
			return g
		}
	}
	g := &node{name: name, parent: n}
	n.groups = append(n.groups, g)
	return g
}

// called reports whether a message has a name.
func called(s *decode.Spec, name string) bool {
	return slices.ContainsFunc(s.Names(), func(n string) bool { return strings.EqualFold(n, name) })
}

// visitor sets cells to the fields that it visits.
type visitor struct {
	record *dissect.Record
	cells  []cell
	json   bool // cells are JSON
	viewer decode.Viewer
	values display.Presenter
	at     *node
	skip   int      // number of open groups without shown fields
	open   []*whole // groups that are being rendered
}

// visit sets the cells of fields.
func (s *Sink) visit(r *dissect.Record) {
	p := s.planOf(r)
	if p.root == nil {
		return
	}
	v := &s.fields
	v.record, v.cells, v.at, v.skip, v.open = r, s.cells, p.root, 0, v.open[:0]
	v.viewer.Limit(p.fields)
	r.Visit(&v.viewer, v)
	v.record = nil
}

// Begin implements [decode.Visitor].
func (v *visitor) Begin(g *decode.Group) {
	for _, w := range v.open {
		w.depth++
		w.group.Begin(g)
	}
	if g.Kind == decode.GroupElement && v.skip == 0 {
		return
	}
	if v.skip == 0 {
		for _, n := range v.at.groups {
			if n.name != g.Name {
				continue
			}
			for _, w := range n.whole {
				w.depth = 0
				w.group = display.JSON{Presenter: &v.values, Names: v.record, B: append(w.group.B[:0], w.brackets()[0])}
				v.open = append(v.open, w)
			}
			v.at = n
			return
		}
	}
	v.skip++
}

// End implements [decode.Visitor].
func (v *visitor) End(g *decode.Group) {
	for i := 0; i < len(v.open); {
		w := v.open[i]
		if w.depth == 0 {
			v.close(w)
			v.open = slices.Delete(v.open, i, i+1)
			continue
		}
		w.depth--
		w.group.End(g)
		i++
	}
	switch {
	case v.skip > 0:
		v.skip--
	case g.Kind != decode.GroupElement:
		v.at = v.at.parent
	}
}

// brackets returns the brackets around the members of a group.
func (w *whole) brackets() string {
	if w.list {
		return "[]"
	}
	return "{}"
}

// close writes a group to its cell.
func (v *visitor) close(w *whole) {
	c := &v.cells[w.column]
	text := append(w.group.B, w.brackets()[1])
	if !w.inList {
		c.text, c.form = append(c.text[:0], text...), plain
		return
	}
	sep := byte(',')
	if c.form == empty {
		c.form, sep = list, '['
	}
	c.text = append(append(c.text, sep), text...)
}

// Field implements [decode.Visitor].
func (v *visitor) Field(f *decode.Field) {
	for _, w := range v.open {
		w.group.Field(f)
	}
	if v.skip > 0 {
		return
	}
	for i := range v.at.leaves {
		if l := &v.at.leaves[i]; l.name == f.Name {
			v.appendField(&v.cells[l.column], f, l)
		}
	}
}
