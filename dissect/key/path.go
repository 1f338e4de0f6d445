package key

import (
	"strings"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/display"
)

// A Path is the target of a path in the fields of a layout, such as
// subsystems.entries.condition, target_name or position.x.
type Path struct {
	Base    string       // path of the field or group in the walk
	View    display.View // view of the field
	Element int          // component of a vector, or -1 for all
	Kind    decode.Kind  // kind of the field
	Names   decode.Names // value names of the field
	Who     decode.Who   // which player the field's number refers to
	Group   bool         // a struct or list, which has members
	List    bool         // a list
	Within  int          // number of enclosing lists
}

// Paths calls yield for every path in a layout, in the order of the walk. A
// path through a list stands for the member in every element. A layout may have
// the same path several times, under different conditions.
func Paths(l decode.Layout, d decode.Dialect, yield func(path string, p Path)) {
	decode.Describe(l, d, &paths{yield: yield})
}

// paths is a visitor that finds the paths of a layout.
type paths struct {
	yield  func(path string, p Path)
	groups []string
	lists  int
}

func (v *paths) at(name string) string {
	if len(v.groups) == 0 {
		return name
	}
	return strings.Join(v.groups, ".") + "." + name
}

// Begin implements [decode.Visitor].
func (v *paths) Begin(g *decode.Group) {
	if g.Kind == decode.GroupElement {
		return
	}
	at := v.at(g.Name)
	v.yield(at, Path{Base: at, Element: -1, Group: true, List: g.Kind == decode.GroupList, Within: v.lists})
	v.groups = append(v.groups, g.Name)
	if g.Kind == decode.GroupList {
		v.lists++
	}
}

// End implements [decode.Visitor].
func (v *paths) End(g *decode.Group) {
	switch g.Kind {
	case decode.GroupElement:
		return
	case decode.GroupList:
		v.lists--
	case decode.GroupStruct:
	}
	v.groups = v.groups[:len(v.groups)-1]
}

// Field implements [decode.Visitor].
func (v *paths) Field(f *decode.Field) {
	p := Path{Base: v.at(f.Name), Element: -1, Kind: f.Kind, Names: f.Names, Who: f.Who, Within: v.lists}
	for _, p.View = range display.Views(f) {
		v.yield(v.at(p.View.Member(f.Name)), p)
	}
	p.View = display.Whole
	for i, c := range f.Kind.Components() {
		p.Element = i
		v.yield(p.Base+"."+string(c), p)
	}
}
