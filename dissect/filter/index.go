package filter

import (
	"maps"
	"slices"
	"strings"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/display"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect/key"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// An index has the described fields of all messages.
type index struct {
	specs []*decode.Spec // the specs of the catalogue, then of the transport
	game  int            // number of specs in the catalogue
	paths map[string][]variant
}

// A layout is one of the layouts of a spec.
type layout struct {
	spec    *decode.Spec
	dialect decode.Dialect
}

// Views in addition to the views of package display.
const (
	viewElement = display.PlayerName + 1 + iota // element of a vector, array or bytes
	viewLen
)

// A variant is a path in one layout.
type variant struct {
	layout  *layout
	base    string // path of the field or group in the walk
	view    display.View
	element int
	kind    decode.Kind
	names   decode.Names
	who     decode.Who
	group   bool // a struct or list, which has no value
	list    bool
}

// class returns the class of the variant's value.
func (v *variant) class() class {
	switch {
	case v.view >= viewElement:
		return classNumber
	case v.view != display.Whole && v.view.Shape(v.kind).Type == "string":
		return classText
	case v.view != display.Whole:
		return classNumber
	case v.group:
		return classNone
	}
	return typeClasses[v.kind.Type()]
}

var typeClasses = [...]class{
	decode.TypeInt: classNumber, decode.TypeBool: classBool, decode.TypeFloat: classNumber, decode.TypeVector: classVector,
	decode.TypeShares: classNumber, decode.TypeText: classText, decode.TypeIPv4: classAddress, decode.TypeBytes: classBytes,
}

// whole reports whether the variant's value is a whole number.
func (v *variant) whole() bool {
	switch v.view {
	case viewLen:
		return true
	case viewElement:
		return v.kind == decode.KindBytes
	default:
		shape := v.view.Shape(v.kind)
		return shape.Type == "integer" || shape.Type == "boolean"
	}
}

// newIndex indexes the messages of a catalogue and of the transport.
func newIndex(catalog *decode.Catalog) *index {
	if catalog == nil {
		catalog = msg.Catalog()
	}
	ix := &index{specs: catalog.All(), paths: map[string][]variant{}}
	ix.game = len(ix.specs)
	ix.specs = append(ix.specs, transport.Specs()...)
	for _, s := range ix.specs {
		if s.Known() {
			ix.describe(s, s.Layout, decode.Stock)
		}
		for _, f := range s.Forms {
			ix.describe(s, f.Layout, f.Dialect)
		}
	}
	return ix
}

func (ix *index) describe(s *decode.Spec, l decode.Layout, d decode.Dialect) {
	of := &layout{spec: s, dialect: d}
	key.Paths(l, d, func(path string, p key.Path) {
		v := variant{layout: of, base: p.Base, view: p.View, kind: p.Kind, names: p.Names, who: p.Who, group: p.Group, list: p.List}
		if p.Element >= 0 {
			v.view, v.element = viewElement, p.Element
		}
		ix.paths[path] = append(ix.paths[path], v)
	})
}

// specsOf returns the specs with exactly the given name. If there are none, it
// ignores case.
func specsOf(specs []*decode.Spec, name string) []*decode.Spec {
	var found []*decode.Spec
	for _, s := range specs {
		if s.HasName(name) {
			found = append(found, s)
		}
	}
	if found != nil {
		return found
	}
	for _, s := range specs {
		if slices.ContainsFunc(s.Names(), func(n string) bool { return strings.EqualFold(name, n) }) {
			found = append(found, s)
		}
	}
	return found
}

// namesOf returns all names of specs.
func namesOf(specs []*decode.Spec) []string {
	var all []string
	for _, s := range specs {
		all = append(all, s.Names()...)
	}
	return all
}

// among returns the variants of some specs.
func among(vs []variant, specs []*decode.Spec) []variant {
	var own []variant
	for _, v := range vs {
		if slices.Contains(specs, v.layout.spec) {
			own = append(own, v)
		}
	}
	return own
}

// own returns the field paths of some specs in order.
func (ix *index) own(specs []*decode.Spec) []string {
	var all []string
	for path, vs := range ix.paths {
		if slices.ContainsFunc(vs, func(v variant) bool { return slices.Contains(specs, v.layout.spec) }) {
			all = append(all, path)
		}
	}
	slices.Sort(all)
	return all
}

// sorted returns all paths in order.
func (ix *index) sorted() []string { return slices.Sorted(maps.Keys(ix.paths)) }
