package table

import (
	"math/bits"
	"strings"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/report"
)

// A path leads to a field or a group that the line of a message shows.
type path struct {
	full  string
	base  string // for a path that means the names of an enumeration or of flags: the field itself
	label string
	key   string // the label between two values
	spare spare
	words *[256]string // words of a flags byte, nil for the names of the flags
	named bool         // the next path is the name for this number
}

// A spare tells when the label of a value is not shown. Numbers and the word
// none always have their label.
type spare uint8

const (
	never   spare = iota
	leading       // only before the first value of a line
	always
)

// spares are the labels that are not needed because the values explain
// themselves.
var spares = map[string]spare{
	"object": leading, "player": leading, "sender": leading, "name": leading, "weapon": leading, "tube": leading, "id": leading,
	"text": always, "flags": always, "code": always, "reason": always, "team": always,
}

// paths are the paths of one spec, at most 64.
type paths struct {
	all    []path
	choice decode.FieldSet // fields of the groups along the paths
	at     [64]uint64      // indexed by pathBit: bit n is set if path n is possible
}

// pathBit returns a number below 64. It is the same for all paths that have the
// same length and whose last names begin with the same letter.
func pathBit(prefix int, name string) int {
	if name == "" {
		return prefix & 63
	}
	return (prefix + len(name) + 3*int(name[0])) & 63
}

// compile returns the paths of a spec's brief.
func compile(spec *decode.Spec) *paths {
	ps := &paths{}
	var names []string
	for i, b := range spec.Brief {
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
		p.spare = spares[p.label]
		if n := len(ps.all); p.label == "name" && n > 0 && ps.all[n-1].label == "index" {
			p.spare, ps.all[n-1].named = always, true
		}
		if p.label == "flags" && spec.FlagWords != nil {
			p.words = flagWords(spec.FlagWords)
		}
		p.key = "  "
		if p.label != "" {
			p.key += p.label + " "
		}
		for _, way := range []string{p.full, p.base} {
			if way == "" {
				continue
			}
			last := way[strings.LastIndexByte(way, '.')+1:]
			ps.at[pathBit(len(way)-len(last), last)] |= 1 << i
			names = append(names, strings.Split(way, ".")...)
		}
		ps.all = append(ps.all, p)
	}
	ps.choice = decode.Fields(names...)
	return ps
}

// flagWords returns the words of every value of a flags byte.
func flagWords(words []string) *[256]string {
	all := new([256]string)
	for v := range all {
		var set []string
		for bit, word := range words {
			if v>>bit&1 != 0 {
				set = append(set, word)
			}
		}
		all[v] = strings.Join(set, " ")
	}
	return all
}

// isSpare reports whether a value needs no label.
func (p *path) isSpare(first bool, value []byte) bool {
	if p.spare == never || p.spare == leading && !first {
		return false
	}
	return value[0] < '0' || value[0] > '9' && string(value) != "none"
}

// shownElements is the number of elements of a list that a line shows.
const shownElements = 8

// A briefer is a visitor that collects the values of the fields that a line
// shows.
type briefer struct {
	specs  map[*decode.Spec]*paths
	viewer decode.Viewer
	copies report.Copies

	sink   *Sink
	r      *dissect.Record
	spec   *decode.Spec
	paths  *paths
	values []value // values of each path, empty between two records
	met    uint64  // bit n is set if path n was found

	prefix []byte // path of the open groups, each with a dot after it
	marks  []int  // length of prefix before each open group

	// The following are set while a group that is shown as a whole is open.
	whole   *value // value of the group, nil for none
	inside  int    // number of open groups in it
	list    bool
	element int // number of values shown of the current element
	start   int // offset at which they begin
}

// A value is the text that a line shows for a path.
type value struct {
	text []byte
	n    int // number of values or elements, including those that were not added
}

// append adds the brief of r's message to the line.
func (b *briefer) append(s *Sink, r *dissect.Record) {
	if r.Spec == nil {
		return
	}
	if r.Spec != b.spec {
		b.use(r.Spec)
	}
	if len(b.paths.all) == 0 {
		return
	}
	var keep *report.Copy
	if !s.opts.Color && r.Spec.Phrase == nil {
		var text []byte
		if text, keep = b.copies.Find(r); text != nil {
			s.body.b = append(s.body.b, text...)
			return
		}
	}
	b.sink, b.r, b.met = s, r, 0
	b.prefix, b.marks, b.whole = b.prefix[:0], b.marks[:0], nil
	b.viewer.Limit(b.paths.choice)
	r.Visit(&b.viewer, b)
	if r.Spec.Phrase != nil && r.Dir == dissect.FromHost {
		b.phrase(r)
	}
	from := len(s.body.b)
	s.body.b = b.gather(s, s.body.b)
	keep.Keep(s.body.b[from:])
}

// phrase replaces the value of the first path by the phrase of a message.
func (b *briefer) phrase(r *dissect.Record) {
	v := &b.values[0]
	if text := r.Spec.Phrase(r.Message); text != "" && b.met&1 != 0 {
		v.text = append(v.text[:0], text...)
	}
}

// gather appends the collected values to the line's text.
func (b *briefer) gather(s *Sink, text []byte) []byte {
	for set := b.met; set != 0; set &= set - 1 {
		i := bits.TrailingZeros64(set)
		p, v := &b.paths.all[i], &b.values[i]
		if len(v.text) > 0 {
			switch {
			case p.named && len(b.values[i+1].text) > 0:
				v.text, v.n = v.text[:0], 0
				continue
			case p.isSpare(len(text) == 0, v.text):
				if len(text) > 0 {
					text = append(text, ' ', ' ')
				}
			case s.opts.Color:
				s.body.b = text
				s.key(p.label)
				text = s.body.b
			case len(text) == 0:
				text = append(text, p.key[2:]...)
			default:
				text = append(text, p.key...)
			}
			text = append(text, v.text...)
		}
		if n := v.n - shownElements; n > 0 {
			text = append(text, " +"...)
			text = appendInt(text, int64(n))
		}
		v.text, v.n = v.text[:0], 0
	}
	return text
}

// use switches to the paths of spec.
func (b *briefer) use(spec *decode.Spec) {
	ps := b.specs[spec]
	if ps == nil {
		ps = compile(spec)
		b.specs[spec] = ps
	}
	b.spec, b.paths = spec, ps
	for len(b.values) < len(ps.all) {
		b.values = append(b.values, value{})
	}
}

// Begin implements [decode.Visitor].
func (b *briefer) Begin(g *decode.Group) {
	if b.whole != nil {
		b.inside++
		b.within(g)
		return
	}
	if g.Kind != decode.GroupElement && b.open(g) {
		return
	}
	b.marks = append(b.marks, len(b.prefix))
	if g.Kind != decode.GroupElement {
		b.prefix = append(append(b.prefix, g.Name...), '.')
	}
}

// open begins a group that is shown as a whole, if a path leads to it.
func (b *briefer) open(g *decode.Group) bool {
	for set := b.paths.at[pathBit(len(b.prefix), g.Name)]; set != 0; set &= set - 1 {
		i := bits.TrailingZeros64(set)
		if b.is(b.paths.all[i].full, g.Name) {
			b.met |= 1 << i
			b.whole, b.inside, b.list = &b.values[i], 0, g.Kind == decode.GroupList
			b.viewer.Limit(decode.FieldSet{})
			return true
		}
	}
	return false
}

// within begins a group in one that is shown as a whole.
func (b *briefer) within(g *decode.Group) {
	v := b.whole
	switch {
	case g.Kind == decode.GroupElement:
		v.add()
		b.element, b.start = 0, len(v.text)
	case g.Kind == decode.GroupList && !b.list: // the list is more important than the fields before it
		v.text = v.text[:0]
		b.list = true
	}
}

// End implements [decode.Visitor].
func (b *briefer) End(*decode.Group) {
	switch {
	case b.inside > 0 && b.whole != nil:
		b.inside--
	case b.whole != nil:
		b.whole = nil
		b.viewer.Limit(b.paths.choice)
	default:
		b.prefix = b.prefix[:b.marks[len(b.marks)-1]]
		b.marks = b.marks[:len(b.marks)-1]
	}
}

// Field implements [decode.Visitor].
func (b *briefer) Field(f *decode.Field) {
	if b.whole != nil {
		b.part(f)
		return
	}
	for set := b.paths.at[pathBit(len(b.prefix), f.Name)]; set != 0; set &= set - 1 {
		i := bits.TrailingZeros64(set)
		p := &b.paths.all[i]
		if b.is(p.full, f.Name) || p.base != "" && f.Names != nil && b.is(p.base, f.Name) {
			b.met |= 1 << i
			if v := &b.values[i]; v.add() && p.words != nil {
				v.text = append(v.text, p.words[uint8(f.Uint)]...)
			} else if p.words == nil && v.n <= shownElements {
				v.text = b.sink.values.AppendBrief(v.text, f, b.r)
			}
		}
	}
}

// part adds a field of a group that is shown as a whole. Of each element it
// shows the name and the first value after it.
func (b *briefer) part(f *decode.Field) {
	v := b.whole
	text := v.text
	switch {
	case !b.list: // a struct: all fields with their names
		if len(text) > 0 {
			text = append(text, ' ')
		}
		text = append(append(text, f.Name...), ' ')
	case v.n > shownElements || b.element > 1:
		return
	case b.element == 1 && f.Kind == decode.KindText && f.Name == "name": // more useful than the number before it
		text = text[:b.start]
	case b.element == 1:
		text = append(text, ' ')
		b.element++
	default:
		b.element++
	}
	v.text = b.sink.values.AppendBrief(text, f, b.r)
}

// add begins another value or element, and reports whether there was room.
func (v *value) add() bool {
	if v.n++; v.n > shownElements {
		return false
	}
	if v.n > 1 {
		v.text = append(v.text, ", "...)
	}
	return true
}

// is reports whether full is the path of the name in the open groups.
func (b *briefer) is(full, name string) bool {
	n := len(b.prefix)
	if n == 0 {
		return full == name
	}
	return len(full) == n+len(name) && full[n:] == name && full[:n] == string(b.prefix)
}
