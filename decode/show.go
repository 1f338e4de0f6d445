package decode

// A FastShower is a message that can also be shown without a codec.
type FastShower interface {
	Message
	// ShowFast shows a message that decodes to its last byte, opcode included, as
	// its walk does. It may report false for any other message, but only before it
	// has shown anything. The walk then shows it.
	ShowFast(s *Showing, payload []byte, d Dialect) bool
}

// A Showing passes the fields of a [FastShower] to a visitor. Its methods skip
// fields and groups that are hidden.
type Showing struct {
	v     Visitor
	hide  uint64 // bits of the names to hide. See nameBit.
	field Field
	group Group
}

// A Shown is a field or a group as its walk describes it.
type Shown struct {
	Name  string
	Doc   string
	Kind  Kind // kind of a field
	Names Names
	hide  uint64 // bit of the name, as in Showing
}

// DescribeShown sets the given fields and groups to the fields and groups of a
// layout, in the order of its walk. It panics if the numbers differ.
func DescribeShown(l Layout, d Dialect, all ...*Shown) {
	v := shownVisitor{all}
	Describe(l, d, &v)
	if len(v.left) > 0 {
		panic("decode: the layout has fewer fields")
	}
}

// A shownVisitor describes the fields and groups of a layout, one after another.
type shownVisitor struct{ left []*Shown }

func (v *shownVisitor) next(s Shown) {
	s.hide = 1 << nameBit(s.Name)
	*v.left[0], v.left = s, v.left[1:]
}

// Field implements [Visitor].
func (v *shownVisitor) Field(f *Field) {
	names := f.Names
	if n, ok := names.(FlagNames); ok { // a walk passes the names as a pointer
		names = &n
	}
	v.next(Shown{Name: f.Name, Doc: f.Doc, Kind: f.Kind, Names: names})
}

// Begin implements [Visitor].
func (v *shownVisitor) Begin(g *Group) {
	if g.Kind != GroupElement {
		v.next(Shown{Name: g.Name, Doc: g.Doc})
	}
}

// End implements [Visitor].
func (v *shownVisitor) End(*Group) {}

// Shows reports whether a field or group is shown.
func (s *Showing) Shows(d *Shown) bool { return s.hide&d.hide == 0 }

// show passes the field to the visitor. The caller must have set the value.
func (s *Showing) show(d *Shown, off, end int) {
	f := &s.field
	f.Name, f.Doc, f.Kind, f.Names, f.Off, f.End = d.Name, d.Doc, d.Kind, d.Names, off, end
	s.v.Field(f)
}

// Uint shows a number at an offset of the message.
func (s *Showing) Uint(d *Shown, off, end int, v uint64) {
	if s.Shows(d) {
		s.field.Uint = v
		s.show(d, off, end)
	}
}

// Bool shows a bit.
func (s *Showing) Bool(d *Shown, off, end int, v bool) {
	var u uint64
	if v {
		u = 1
	}
	s.Uint(d, off, end, u)
}

// Float shows a float.
func (s *Showing) Float(d *Shown, off, end int, v float64) {
	if s.Shows(d) {
		s.field.Float = v
		s.show(d, off, end)
	}
}

// Vec shows a vector.
func (s *Showing) Vec(d *Shown, off, end int, x, y, z float32) {
	if s.Shows(d) {
		v := &s.field.Vec
		v[0], v[1], v[2], v[3] = x, y, z, 0
		s.show(d, off, end)
	}
}

// Bytes shows an array of bytes.
func (s *Showing) Bytes(d *Shown, off int, v []byte) {
	if s.Shows(d) {
		s.field.Bytes = v
		s.show(d, off, off+len(v))
		s.field.Bytes = nil
	}
}

// Text shows a derived text, unless it is empty.
func (s *Showing) Text(d *Shown, off int, v string) {
	if v != "" && s.Shows(d) {
		s.field.Text = v
		s.show(d, off, off)
	}
}

// Begin begins a group. If it reports false, the group is hidden: do not show
// its fields, and do not call End. index is the index of an element, or -1 for
// other groups.
func (s *Showing) Begin(d *Shown, kind GroupKind, index int) bool {
	if !s.Shows(d) {
		return false
	}
	g := &s.group
	g.Name, g.Doc, g.Kind, g.Index = d.Name, d.Doc, kind, index
	s.v.Begin(g)
	return true
}

// End ends a group.
func (s *Showing) End(d *Shown, kind GroupKind, index int) {
	g := &s.group
	g.Name, g.Doc, g.Kind, g.Index = d.Name, "", kind, index
	s.v.End(g)
}
