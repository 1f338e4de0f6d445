package schema

import (
	"reflect"
	"strings"
)

// of returns the schema of a type's encoding by package encoding/json.
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
		s := &Schema{Type: "object", Properties: map[string]*Schema{}, Additional: false}
		s.members(t)
		return s
	default:
		return &Schema{Type: "integer"}
	}
}

// members adds the fields of a struct, and those of structs embedded in it.
func (s *Schema) members(t reflect.Type) {
	for f := range t.Fields() {
		tag, tagged := f.Tag.Lookup("json")
		name, options, _ := strings.Cut(tag, ",")
		switch {
		case f.Anonymous && !tagged:
			s.members(f.Type)
			continue
		case name == "-" || !f.IsExported():
			continue
		}
		s.Properties[name] = of(f.Type)
		if !strings.Contains(options, "omit") {
			s.Required = append(s.Required, name)
		}
	}
}
