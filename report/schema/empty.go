package schema

import (
	"encoding/json"
	"maps"
	"slices"
)

// Empty returns a line that has every key of the schema with the value null.
// Some database engines learn the columns from the first lines of a file. With
// this line first, they know all columns.
func (s *Schema) Empty() []byte {
	all := *s
	if all.Properties["fields"] != nil { // fields of any message
		all.Properties = maps.Clone(all.Properties)
		fields := &Schema{Properties: map[string]*Schema{}}
		for _, name := range slices.Sorted(maps.Keys(s.Defs)) {
			fields.merge(s.Defs[name])
		}
		all.Properties["fields"] = fields
	}
	b, _ := json.Marshal(all.empty()) // maps, arrays and nil cannot fail
	return append(b, '\n')
}

func (s *Schema) empty() any {
	switch {
	case s.Items != nil && s.Items.Properties != nil:
		return []any{s.Items.empty()}
	case len(s.Properties) > 0:
		object := map[string]any{}
		for name, p := range s.Properties {
			object[name] = p.empty()
		}
		return object
	}
	return nil
}

// merge adds the properties of another object, including nested ones.
func (s *Schema) merge(o *Schema) {
	for name, p := range o.Properties {
		have := s.Properties[name]
		if have == nil {
			have = &Schema{}
			s.Properties[name] = have
		}
		to, from := have, p
		if p.Items != nil {
			if have.Items == nil {
				have.Items = &Schema{}
			}
			to, from = have.Items, p.Items
		}
		if from.Properties != nil {
			if to.Properties == nil {
				to.Properties = map[string]*Schema{}
			}
			to.merge(from)
		}
	}
}
