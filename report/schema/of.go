package schema

import (
	"reflect"
	"strings"
	"time"

	"github.com/bcdissect/bcdissect/dissect/match"
)

// of returns the schema of a type as package encoding/json encodes it.
func of(t reflect.Type) *Schema {
	switch t.Kind() {
	case reflect.Pointer:
		return of(t.Elem())
	case reflect.String:
		return &Schema{Type: "string"}
	case reflect.Bool:
		return &Schema{Type: "boolean"}
	case reflect.Float32, reflect.Float64:
		return &Schema{Type: "number"}
	case reflect.Array:
		return &Schema{Type: "array", Items: of(t.Elem()), MinItems: t.Len(), MaxItems: t.Len()}
	case reflect.Slice:
		return &Schema{Type: "array", Items: of(t.Elem())}
	case reflect.Map:
		return &Schema{Type: "object", Additional: of(t.Elem())}
	case reflect.Struct:
		if t == reflect.TypeFor[time.Time]() {
			return &Schema{Type: "string", Format: "date-time"}
		}
		s := &Schema{Type: "object", Properties: map[string]*Schema{}, Additional: false}
		s.members(t)
		return s
	default:
		return &Schema{Type: "integer"}
	}
}

// members adds the JSON columns of a struct.
func (s *Schema) members(t reflect.Type) {
	for _, c := range match.Columns(t, match.JSON) {
		p := of(c.Type)
		if c.Rows {
			n := width(c.Type)
			p = &Schema{Type: "array", Items: &Schema{Type: "number"}, MinItems: n, MaxItems: n}
		}
		if c.List {
			p = &Schema{Type: "array", Items: p}
		}
		to, name := s, c.Name
		if group, member, within := strings.Cut(c.Name, "."); within {
			if to = s.Properties[group]; to == nil {
				to = &Schema{Type: "object", Properties: map[string]*Schema{}, Additional: false}
				s.Properties[group] = to
				s.Required = append(s.Required, group)
			}
			name = member
		}
		if !c.Optional && to.Properties[name] == nil { // a field may hide a field of an embedded struct
			to.Required = append(to.Required, name)
		}
		to.Properties[name] = p
	}
}

// width returns the number of values in a row.
func width(t reflect.Type) (n int) {
	for f := range t.Fields() {
		if n++; f.Type.Kind() == reflect.Array {
			n += f.Type.Len() - 1
		}
	}
	return n
}
