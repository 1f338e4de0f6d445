package tables

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/display"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// A plan defines the columns for the fields of a kind of message.
type plan struct {
	table    Table
	root     *node
	elements *plan // plan of a list whose elements have their own table, else nil
}

// A node is a struct or a list in a message.
type node struct {
	name   string
	list   bool
	inList bool // the node is inside a list
	leaves []leaf
	groups []*node
	json   int // column of a list inside a list, which is stored as JSON, -1 for other nodes
	rows   *plan
	parent *node
	all    []int // columns of a list
}

// A leaf is a field of a message, with the columns for its views.
type leaf struct {
	name  string
	views []view
	parts []int // columns of the components of a vector
	array bool  // the field is an array of shares
}

type view struct {
	display.View
	column int
}

// A planner makes a plan from the description of a message.
type planner struct {
	*plan
	at    *node
	path  []string
	taken map[string]string // for each name of a column, the path of the field that has it
	rows  *planner          // planner of the list whose elements have their own table
	open  bool              // the planner is inside that list
	depth int               // number of open groups inside that list, including the element
	skip  int               // number of open groups below a list that is stored as JSON
}

// planFor returns the plan for a message of the game or of the transport layer.
func planFor(s *decode.Spec) *plan {
	if isTransport(s) {
		kind := transport.Type(s.Code).Kind()
		return planForKind(kind)
	}
	p := newPlanner(Table{Name: messages + s.Name, Doc: s.Doc})
	layouts := []decode.Form{{Dialect: decode.Stock, Layout: s.Layout}}
	for _, f := range append(layouts, s.Forms...) {
		decode.Describe(f.Layout, f.Dialect, p)
	}
	if s.Code == msg.OpStateUpdate && p.elements != nil {
		p.table.Name, p.table.Doc = updates, "a StateUpdate, its absolute position filled in"
	}
	return p.plan
}

// planForKind returns the plan for all messages of a transport type.
func planForKind(kind string) *plan {
	p := newPlanner(Table{Name: messages + kind, Doc: "Transport messages of this kind."})
	for _, s := range transport.Specs() {
		if k := transport.Type(s.Code).Kind(); k == kind || !isTransport(s) {
			decode.Describe(s.Layout, decode.Stock, p)
		}
	}
	return p.plan
}

// isTransport reports whether the spec is a message of the transport layer.
func isTransport(s *decode.Spec) bool { return slices.Contains(transport.Catalog(), s) }

func newPlanner(t Table) *planner {
	t.Columns = newHeader(headers).columns()
	root := &node{json: -1}
	p := &planner{plan: &plan{table: t, root: root}, at: root, taken: map[string]string{captureColumn: ""}}
	for _, c := range t.Columns {
		p.taken[c.Name] = "" // not a field
	}
	return p
}

// column returns the index of the column of a path. It adds the column if there
// is none. If a header has the name, the column gets the prefix field_.
func (p *planner) column(path []string, t Type, list bool, doc string) int {
	full := strings.Join(path, ".")
	name := strings.ReplaceAll(strings.Join(path, "_"), ".", "_")
	for n := 1; ; n++ {
		try := name
		if n > 1 {
			try = fmt.Sprintf("%s_%d", name, n)
		}
		owner, taken := p.taken[try]
		switch {
		case !taken:
			p.taken[try] = full
			p.table.Columns = append(p.table.Columns, Column{Name: try, Type: t, List: list, Doc: doc})
			return len(p.table.Columns) - 1
		case owner == full:
			return slices.IndexFunc(p.table.Columns, func(c Column) bool { return c.Name == try })
		case owner == "":
			name, n = "field_"+name, 0
		}
	}
}

// Begin implements [decode.Visitor].
func (p *planner) Begin(g *decode.Group) {
	switch {
	case p.open:
		if p.depth++; p.depth > 1 { // the element itself is the row
			p.rows.Begin(g)
		}
		return
	case p.skip > 0:
		p.skip++
		return
	case g.Kind == decode.GroupElement:
		return
	}
	n := p.at.group(g.Name)
	if n == nil {
		n = &node{name: g.Name, list: g.Kind == decode.GroupList, inList: p.at.list || p.at.inList, json: -1, parent: p.at}
		p.at.groups = append(p.at.groups, n)
	}
	p.path = append(p.path, g.Name)
	switch {
	case n.list && n.inList:
		n.json = p.column(p.path, Text, true, "JSON: "+g.Doc)
		n.parent.listNode().own(n.json)
		p.skip = 1
	case n.list && g.Name == "entries" && strings.Join(p.path, ".") == "subsystems.entries":
		if p.rows == nil {
			p.rows = newPlanner(Table{Name: subsystems, Doc: "an entry of the subsystem block of a StateUpdate"})
			for _, c := range objectColumns {
				p.rows.column([]string{c.Name}, c.Type, false, c.Doc)
				p.rows.taken[c.Name] = ""
			}
			p.elements, n.rows = p.rows.plan, p.rows.plan
		}
		p.open = true
	}
	p.at = n
}

// objectColumns are the columns of the ship in the rows of its subsystems.
var objectColumns = []Column{
	{Name: "object_id", Type: Int, Doc: "the ship"},
	{Name: "object_name", Type: Text, Doc: "description of the ship"},
	{Name: "ship", Type: Text, Doc: "class of the ship"},
}

// End implements [decode.Visitor].
func (p *planner) End(g *decode.Group) {
	switch {
	case p.open && p.depth > 0:
		if p.depth--; p.depth > 0 {
			p.rows.End(g)
		}
		return
	case p.skip > 1:
		p.skip--
		return
	case g.Kind == decode.GroupElement:
		return
	}
	p.skip, p.open = 0, false
	p.path = p.path[:len(p.path)-1]
	p.at = p.at.parent
}

// relative are the fields of a ship update that repeat others: the table has
// the absolute position, and the hash if there is one.
var relative = []string{"position_delta", "has_hash"}

// Field implements [decode.Visitor].
func (p *planner) Field(f *decode.Field) {
	switch {
	case p.open:
		p.rows.Field(f)
		return
	case p.skip > 0, p.table.Name == messages+"StateUpdate" && slices.Contains(relative, f.Name):
		return
	}
	i := slices.IndexFunc(p.at.leaves, func(l leaf) bool { return l.name == f.Name })
	if i < 0 {
		i = len(p.at.leaves)
		p.at.leaves = append(p.at.leaves, leaf{name: f.Name})
	}
	l := &p.at.leaves[i]
	within := p.at.listNode()
	add := func(name string, t Type, list bool, doc string) int {
		c := p.column(append(slices.Clone(p.path), name), t, list || within != nil, doc)
		within.own(c)
		return c
	}
	doc := docOf(f)
	for _, v := range display.Views(f) {
		switch {
		case v == display.FlagNames || slices.ContainsFunc(l.views, func(o view) bool { return o.View == v }):
			continue
		case v == display.Whole && len(f.Kind.Components()) > 0:
			if len(l.parts) == 0 {
				for _, c := range f.Kind.Components() {
					l.parts = append(l.parts, add(f.Name+"_"+string(c), Float, false, doc))
				}
			}
			continue
		case v == display.Whole && f.Kind == decode.KindRatios && within != nil:
			l.views = append(l.views, view{v, add(f.Name, Text, true, "JSON: "+doc)})
			continue
		case v == display.Whole && f.Kind == decode.KindRatios:
			l.array = true
			l.views = append(l.views, view{v, add(f.Name, Float, true, doc)})
			continue
		case v != display.Whole:
			doc := docOfView(v, f.Name)
			l.views = append(l.views, view{v, add(v.Member(f.Name), typeOf(v.Shape(f.Kind)), false, doc)})
			continue
		}
		l.views = append(l.views, view{v, add(f.Name, typeOf(v.Shape(f.Kind)), false, doc)})
	}
}

// docOf returns the documentation of a field, with the names of its bits.
func docOf(f *decode.Field) string {
	doc := f.Doc
	if f.Kind != decode.KindFlags8 || f.Names == nil {
		return doc
	}
	var bits []string
	for bit := range uint64(8) {
		if name := f.Names.Name(bit); name != "" {
			bits = append(bits, fmt.Sprintf("%d %s", 1<<bit, name))
		}
	}
	return doc + ": " + strings.Join(bits, ", ")
}

// docOfView returns the documentation of an additional column of a field.
func docOfView(v display.View, field string) string {
	if v == display.Byte {
		return "the byte, if it is neither 0 nor 1"
	}
	return [...]string{
		display.ValueName: "name of", display.PlayerName: "name of the player", display.Slot: "player slot of", display.ObjectName: "description of",
	}[v] + " `" + field + "`"
}

// typeOf returns the column type for values of a shape.
func typeOf(s display.Shape) Type {
	switch s.Type {
	case "integer":
		return Int
	case "number":
		return Float
	case "boolean":
		return Bool
	default:
		return Text
	}
}

func (n *node) group(name string) *node {
	for _, g := range n.groups {
		if g.name == name {
			return g
		}
	}
	return nil
}

// listNode returns the list that the node is or that contains it, nil if there
// is none.
func (n *node) listNode() *node {
	for ; n != nil; n = n.parent {
		if n.list {
			return n
		}
	}
	return nil
}

// own adds a column to the columns of the list.
func (n *node) own(column int) {
	if n != nil && !slices.Contains(n.all, column) {
		n.all = append(n.all, column)
	}
}
