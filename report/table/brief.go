package table

import (
	"strings"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/dissect"
)

// A path leads to a field or a group that the line of a message shows.
type path struct {
	full  string
	base  string // of a path that means the names of an enumeration or of flags: the field itself
	label string
}

// paths are those of one spec.
type paths struct {
	all     []path
	lengths uint64 // bit n: a path has n bytes modulo 64
}

// compile makes the paths of a spec's brief.
func compile(spec *decode.Spec) *paths {
	ps := &paths{}
	for _, b := range spec.Brief {
		p := path{full: b}
		if base, ok := strings.CutSuffix(b, "_names"); ok {
			p.base = base + "s"
		} else if base, ok := strings.CutSuffix(b, "_name"); ok {
			p.base = base
		}
		p.label = p.full
		if p.base != "" {
			p.label = p.base
		}
		p.label = p.label[strings.LastIndexByte(p.label, '.')+1:]
		p.label = strings.TrimSuffix(p.label, "_id")
		ps.lengths |= 1<<(len(p.full)&63) | 1<<(len(p.base)&63)
		ps.all = append(ps.all, p)
	}
	return ps
}

// mayHave is a cheap test whether one of the paths has n bytes.
func (ps *paths) mayHave(n int) bool { return ps.lengths>>(n&63)&1 != 0 }

// shownElements is how many elements of a list a line shows.
const shownElements = 8

// A briefer is a visitor that gathers the values of the fields that a line
// shows.
type briefer struct {
	specs map[*decode.Spec]*paths

	sink   *Sink
	r      *dissect.Record
	paths  *paths
	values [][]byte // of each path
	counts []int    // values or elements of each path

	prefix []byte // path of the open groups, each with a dot after it
	marks  []int  // length of prefix before each open group

	// While a group that is shown as a whole is open:
	group   int // its path, from 1; 0 for none
	depth   int // open groups with it
	list    bool
	element int // values shown of the current element
	start   int // where they begin
}

// append adds the brief of r's message to the line.
func (b *briefer) append(s *Sink, r *dissect.Record) {
	t := &s.body
	if r.Spec == nil {
		return
	}
	ps := b.specs[r.Spec]
	if ps == nil {
		ps = compile(r.Spec)
		b.specs[r.Spec] = ps
	}
	if len(ps.all) == 0 {
		return
	}
	b.sink, b.r, b.paths = s, r, ps
	b.prefix, b.marks, b.group, b.list = b.prefix[:0], b.marks[:0], 0, false
	for len(b.values) < len(ps.all) {
		b.values = append(b.values, nil)
		b.counts = append(b.counts, 0)
	}
	for i := range ps.all {
		b.values[i], b.counts[i] = b.values[i][:0], 0
	}
	r.Visit(&s.viewer, b)
	for i := range ps.all {
		if len(b.values[i]) > 0 {
			s.key(ps.all[i].label)
			t.b = append(t.b, b.values[i]...)
		}
		if n := b.counts[i] - shownElements; n > 0 {
			t.b = append(t.b, " +"...)
			t.b = appendInt(t.b, int64(n))
		}
	}
}

// Begin implements [decode.Visitor].
func (b *briefer) Begin(g *decode.Group) {
	b.marks = append(b.marks, len(b.prefix))
	if g.Kind == decode.GroupElement {
		if b.group > 0 {
			b.element = 0
			b.separate()
		}
		return
	}
	if b.group > 0 && g.Kind == decode.GroupList && !b.list { // what the list says is worth more than what came before it
		b.values[b.group-1] = b.values[b.group-1][:0]
		b.list = true
	}
	if b.group == 0 && b.paths.mayHave(len(b.prefix)+len(g.Name)) {
		for i := range b.paths.all {
			if b.is(b.paths.all[i].full, g.Name) {
				b.group, b.depth, b.list = i+1, len(b.marks), g.Kind == decode.GroupList
				break
			}
		}
	}
	b.prefix = append(append(b.prefix, g.Name...), '.')
}

// End implements [decode.Visitor].
func (b *briefer) End(*decode.Group) {
	if b.group > 0 && len(b.marks) == b.depth {
		b.group = 0
	}
	b.prefix = b.prefix[:b.marks[len(b.marks)-1]]
	b.marks = b.marks[:len(b.marks)-1]
}

// Field implements [decode.Visitor].
func (b *briefer) Field(f *decode.Field) {
	if b.group > 0 {
		b.part(f)
		return
	}
	if !b.paths.mayHave(len(b.prefix) + len(f.Name)) {
		return
	}
	for i := range b.paths.all {
		p := &b.paths.all[i]
		if b.is(p.full, f.Name) || p.base != "" && f.Names != nil && b.is(p.base, f.Name) {
			if b.add(i) {
				b.values[i] = b.sink.appendShort(b.values[i], b.r, f)
			}
		}
	}
}

// part adds a field of a group that is shown as a whole. Of an element it shows
// what names it and the first value after that.
func (b *briefer) part(f *decode.Field) {
	i := b.group - 1
	v := b.values[i]
	switch {
	case !b.list: // a struct: all fields with their names
		if len(v) > 0 {
			v = append(v, ' ')
		}
		v = append(append(v, f.Name...), ' ')
	case b.counts[i] > shownElements || b.element > 1:
		return
	case b.element == 1 && f.Kind == decode.KindText && f.Name == "name": // better than the number that came before it
		v = v[:b.start]
	case b.element == 1:
		v = append(v, ' ')
		b.element++
	default:
		b.element++
	}
	b.values[i] = b.sink.appendShort(v, b.r, f)
}

// separate begins another element.
func (b *briefer) separate() {
	i := b.group - 1
	if b.counts[i]++; b.counts[i] > 1 && b.counts[i] <= shownElements {
		b.values[i] = append(b.values[i], ", "...)
	}
	b.start = len(b.values[i])
}

// add begins another value of a path, unless there are enough.
func (b *briefer) add(i int) bool {
	if b.counts[i]++; b.counts[i] > shownElements {
		return false
	}
	if b.counts[i] > 1 {
		b.values[i] = append(b.values[i], ", "...)
	}
	return true
}

// is reports whether full is the path of what has the name in the open groups.
func (b *briefer) is(full, name string) bool {
	n := len(b.prefix)
	return len(full) == n+len(name) && full[n:] == name && full[:n] == string(b.prefix)
}
