package filter

import (
	"net/netip"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/display"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
)

// An atom is a test of the fields at a path in every layout with that path.
// After a walk has passed the fields to the atoms of its layout, each atom has
// its result.
type atom struct {
	view    display.View
	element int
	all     bool // all values must match, and not only one
	has     bool // only the field's presence is tested

	// The accepted values, of which the field for the class is set. All are nil if
	// the class cannot be compared.
	numbers   *numbers
	texts     *texts
	bytes     *texts
	addresses *addresses

	specs []*decode.Spec // specs of the layouts

	seen uint64 // epoch of the last match in which there was a value
	hit  uint64 // epoch of the last match in which a value was accepted, or with all, rejected
}

func (a *atom) eval(f *Filter, r *dissect.Record) bool {
	if f.walked != f.epoch {
		f.walked = f.epoch
		f.walk(r)
	}
	if a.all {
		return a.seen == f.epoch && a.hit != f.epoch
	}
	return a.hit == f.epoch
}

func (a *atom) cost() int { return costField }

// tell records that there is a value and whether it is accepted.
func (a *atom) tell(f *Filter, is bool) {
	a.seen = f.epoch
	if is != a.all {
		a.hit = f.epoch
	}
}

// look tests a field.
func (a *atom) look(f *Filter, v *decode.Field) {
	switch a.view {
	case display.Whole:
		if a.has {
			a.tell(f, true)
			return
		}
		a.value(f, v)
	case display.FlagNames:
		if v.Names == nil {
			return
		}
		if a.has {
			a.tell(f, true)
			return
		}
		for b := range display.Bits(v.Uint) {
			a.tell(f, a.texts.has(wire.Untrusted(display.FlagName(v, b))))
		}
	case viewElement:
		if it, ok := display.Element(v, a.element); ok {
			a.item(f, it)
		}
	case viewLen:
		a.length(f, v)
	default:
		if it, ok := f.values.Item(v, a.view, f.visitor.record); ok {
			a.item(f, it)
		}
	}
}

// item compares what a view shows, or one value of several.
func (a *atom) item(f *Filter, it display.Item) {
	switch {
	case a.has:
		a.tell(f, true)
	case it.Type == decode.TypeInt:
		a.tell(f, a.numbers.whole(it.Int))
	case it.Type == decode.TypeFloat:
		a.tell(f, a.numbers.float(float64(it.Float)))
	default:
		a.tell(f, a.texts.hasBytes(it.Text))
	}
}

// value compares the value of a field.
func (a *atom) value(f *Filter, v *decode.Field) {
	switch v.Kind.Type() {
	case decode.TypeInt, decode.TypeBool:
		a.whole(f, v, v.Whole())
	case decode.TypeFloat:
		if a.numbers != nil && !a.numbers.bits && !a.numbers.bool {
			it, _ := f.values.Item(v, display.Whole, nil)
			a.item(f, it)
		}
	case decode.TypeShares:
		if a.numbers != nil && !a.numbers.bits && !a.numbers.bool {
			for i := range v.Bytes {
				it, _ := display.Element(v, i)
				a.item(f, it)
			}
		}
	case decode.TypeText:
		if a.texts != nil {
			a.tell(f, a.texts.hasBytes(f.plain(v)))
		}
	case decode.TypeIPv4:
		if a.addresses != nil {
			ip, _ := netip.AddrFromSlice(v.Bytes)
			a.tell(f, a.addresses.has(ip, 0))
		}
	case decode.TypeBytes:
		if a.bytes != nil {
			a.tell(f, a.bytes.hasBytes(v.Bytes))
		}
	case decode.TypeVector: // has no single value
	}
}

func (a *atom) whole(f *Filter, v *decode.Field, n int64) {
	if a.numbers == nil || a.numbers.bool && v.Kind.Type() != decode.TypeBool {
		return
	}
	if len(a.numbers.players) > 0 && !a.numbers.bits {
		a.tell(f, a.numbers.is(n, f.visitor.record.NameOf(v)))
		return
	}
	if a.numbers.bool { // any byte other than 0 is true, as in JSON
		n = min(n, 1)
	}
	if is, ok := a.numbers.field(v, n); ok {
		a.tell(f, is)
	}
}

// length tests the length of a value.
func (a *atom) length(f *Filter, v *decode.Field) {
	n := display.Elements(v)
	if v.Kind.Type() == decode.TypeText {
		n = utf8.RuneCount(f.plain(v))
	}
	a.tell(f, a.has || a.numbers.whole(int64(n)))
}

// plain returns the text of a field in UTF-8. It is valid until the next call.
func (f *Filter) plain(v *decode.Field) []byte {
	f.text = v.AppendText(f.text[:0])
	return f.text
}

// A shown describes the fields that the filter needs of a spec's messages.
type shown struct {
	id        int                        // index of the spec in the index
	byDialect [decode.OpenBC + 1]*branch // indexed by the layout's dialect, nil if the filter needs no fields
}

// A branch is a group with needed fields. The first branch is the whole
// message.
type branch struct {
	name   string
	parent *branch
	leaves []leaf
	groups []*branch
	has    []*atom // atoms that test the group's presence
	counts []*atom // atoms that compare the number of elements
	count  int

	names  []string // for the whole message: names of the fields and groups to show
	choice decode.FieldSet
}

// A leaf is a field with its atoms.
type leaf struct {
	name  string
	atoms []*atom
}

// walk passes the fields of a record to the atoms of its layout.
func (f *Filter) walk(r *dissect.Record) {
	s := f.seen[r.Spec]
	if s == nil || r.Message == nil || int(r.Layout) >= len(s.byDialect) {
		return
	}
	if b := s.byDialect[r.Layout]; b != nil {
		v := &f.visitor
		v.f, v.at, v.skip, v.record = f, b, 0, r
		f.viewer.Limit(b.choice)
		r.Visit(&f.viewer, &f.visitor)
	}
}

// A visitor passes fields to their atoms.
type visitor struct {
	f      *Filter
	at     *branch
	skip   int // number of open groups without needed fields
	record *dissect.Record
}

// Begin implements [decode.Visitor].
func (v *visitor) Begin(g *decode.Group) {
	switch {
	case v.skip > 0:
		v.skip++
		return
	case g.Kind == decode.GroupElement:
		v.at.count++
		return
	}
	for _, b := range v.at.groups {
		if b.name != g.Name {
			continue
		}
		for _, a := range b.has {
			a.tell(v.f, true)
		}
		if len(b.leaves) == 0 && len(b.groups) == 0 && len(b.counts) == 0 {
			break
		}
		b.count = 0
		v.at = b
		return
	}
	v.skip = 1
}

// End implements [decode.Visitor].
func (v *visitor) End(g *decode.Group) {
	switch {
	case v.skip > 0:
		v.skip--
		return
	case g.Kind == decode.GroupElement:
		return
	}
	b := v.at
	for _, a := range b.counts {
		a.tell(v.f, a.has || a.numbers.whole(int64(b.count)))
	}
	v.at = b.parent
}

// Field implements [decode.Visitor].
func (v *visitor) Field(f *decode.Field) {
	if v.skip > 0 {
		return
	}
	for i := range v.at.leaves {
		l := &v.at.leaves[i]
		if l.name != f.Name {
			continue
		}
		for _, a := range l.atoms {
			a.look(v.f, f)
		}
		break
	}
}

// want adds an atom to a layout.
func (f *Filter) want(v *variant, a *atom) {
	to := &f.seen[v.layout.spec].byDialect[v.layout.dialect]
	if *to == nil {
		*to = &branch{}
	}
	b := *to
	names := strings.Split(v.base, ".")
	for _, name := range names {
		if !slices.Contains(b.names, name) {
			b.names = append(b.names, name)
			b.choice = decode.Fields(b.names...)
		}
	}
	a.specs = append(a.specs, v.layout.spec)
	last := len(names) - 1
	for _, name := range names[:last] {
		b = b.group(name)
	}
	switch {
	case !v.group:
		l := b.leaf(names[last])
		if n := len(l.atoms); n == 0 || l.atoms[n-1] != a { // a layout may describe a field twice
			l.atoms = append(l.atoms, a)
		}
	case a.view == viewLen:
		b = b.group(names[last])
		b.counts = append(b.counts, a)
	default:
		b = b.group(names[last])
		b.has = append(b.has, a)
	}
}

func (b *branch) group(name string) *branch {
	for _, g := range b.groups {
		if g.name == name {
			return g
		}
	}
	g := &branch{name: name, parent: b}
	b.groups = append(b.groups, g)
	return g
}

func (b *branch) leaf(name string) *leaf {
	for i := range b.leaves {
		if b.leaves[i].name == name {
			return &b.leaves[i]
		}
	}
	b.leaves = append(b.leaves, leaf{name: name})
	return &b.leaves[len(b.leaves)-1]
}
