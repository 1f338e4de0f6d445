package msg

import (
	"fmt"
	"slices"
	"testing"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/fixtures/messages"
)

// A trail is a visitor that records field offsets.
type trail struct {
	groups []string
	names  [][]string // names of each field and the groups around it
	seen   []string   // each field with its bytes
}

func (v *trail) Field(f *decode.Field) {
	names := append(slices.Clone(v.groups), f.Name)
	v.names = append(v.names, names)
	v.seen = append(v.seen, fmt.Sprint(names, f.Kind, f.Off, f.End))
}

func (v *trail) Begin(g *decode.Group) { v.groups = append(v.groups, g.Name) }
func (v *trail) End(*decode.Group)     { v.groups = v.groups[:len(v.groups)-1] }

// TestLimit limits the walk of every sample to each field, which must look the
// same as without the limit.
func TestLimit(t *testing.T) {
	for _, s := range messages.All(t) {
		spec := s.SpecIn(Catalog())
		res := decode.NewDecoder().Read(spec, s.Payload, s.Dialect, s)
		if res.Message == nil {
			continue
		}
		var w decode.Viewer
		show := func(c decode.FieldSet) *trail {
			v := &trail{}
			w.Limit(c)
			w.Show(res.Message, s.Payload, 1, res.Dialect, v)
			return v
		}
		all := show(decode.FieldSet{})
		for i, names := range all.names {
			part := show(decode.Fields(names...))
			if !slices.Contains(part.seen, all.seen[i]) {
				t.Errorf("%s: a set of %q hides it", s.Name, names)
			}
			for _, f := range part.seen {
				if !slices.Contains(all.seen, f) {
					t.Errorf("%s: a choice of %q shows %s", s.Name, names, f)
				}
			}
			if len(all.names) > 20 && len(part.names) > len(all.names)/2 && len(names) == 1 {
				t.Errorf("%s: a choice of %q shows %d of %d fields", s.Name, names, len(part.names), len(all.names))
			}
		}
	}
}

// A lister is a visitor that checks the name lists of fields.
type lister struct{ t *testing.T }

func (v lister) Begin(*decode.Group) {}
func (v lister) End(*decode.Group)   {}
func (v lister) Field(f *decode.Field) {
	if f.Names == nil {
		return
	}
	n := 0
	for value, name := range decode.Values(f.Names) {
		if n++; name == "" || f.Names.Name(value) != name {
			v.t.Errorf("%s: %d is listed as %q, but called %q", f.Name, value, name, f.Names.Name(value))
		}
	}
	if n == 0 {
		v.t.Errorf("%s: no names are listed", f.Name)
	}
	for range decode.Values(f.Names) {
		break
	}
}

// TestValues checks that names of values can be listed, and that the list
// matches the names.
func TestValues(t *testing.T) {
	for _, l := range layouts() {
		decode.Describe(l.layout, l.dialect, lister{t})
	}
}
