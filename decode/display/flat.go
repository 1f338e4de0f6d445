package display

import (
	"strconv"
	"strings"

	"github.com/bcdissect/bcdissect/decode"
)

// Flat is a visitor that passes on each field with its path, such as
// list.0.angle for the field angle in the first element of list.
type Flat struct {
	Take func(path string, f *decode.Field)

	groups []string
}

// Begin implements [decode.Visitor].
func (v *Flat) Begin(g *decode.Group) {
	name := g.Name
	if g.Kind == decode.GroupElement {
		name = strconv.Itoa(g.Index)
	}
	v.groups = append(v.groups, name)
}

// End implements [decode.Visitor].
func (v *Flat) End(*decode.Group) { v.groups = v.groups[:len(v.groups)-1] }

// Field implements [decode.Visitor].
func (v *Flat) Field(f *decode.Field) {
	v.Take(strings.Join(append(v.groups[:len(v.groups):len(v.groups)], f.Name), "."), f)
}
