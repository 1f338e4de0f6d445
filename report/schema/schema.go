// Not part of the library: package schema describes the JSON of each command as
// a JSON Schema of draft 2020-12. The schema of records is derived from the
// table of keys and the descriptions of the messages.
package schema

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/display"
	"github.com/bcdissect/bcdissect/dissect/key"
	"github.com/bcdissect/bcdissect/dissect/transport"
	"github.com/bcdissect/bcdissect/report/ndjson"
)

// A Schema is a JSON Schema, or a part of one.
type Schema struct {
	Version     string             `json:"$schema,omitempty"`
	ID          string             `json:"$id,omitempty"`
	Title       string             `json:"title,omitempty"`
	Description string             `json:"description,omitempty"`
	Ref         string             `json:"$ref,omitempty"`
	Type        any                `json:"type,omitempty"` // a string, or a list of strings
	Const       any                `json:"const,omitempty"`
	Enum        []string           `json:"enum,omitempty"`
	Format      string             `json:"format,omitempty"`
	Properties  map[string]*Schema `json:"properties,omitempty"`
	Required    []string           `json:"required,omitempty"`
	Additional  any                `json:"additionalProperties,omitempty"` // false, or a schema
	Names       *Schema            `json:"propertyNames,omitempty"`
	Pattern     string             `json:"pattern,omitempty"`
	Items       *Schema            `json:"items,omitempty"`
	MinItems    int                `json:"minItems,omitempty"`
	MaxItems    int                `json:"maxItems,omitempty"`
	AnyOf       []*Schema          `json:"anyOf,omitempty"`
	AllOf       []*Schema          `json:"allOf,omitempty"`
	If          *Schema            `json:"if,omitempty"`
	Then        *Schema            `json:"then,omitempty"`
	Else        *Schema            `json:"else,omitempty"`
	Defs        map[string]*Schema `json:"$defs,omitempty"`
}

// Marshal returns the schema as indented JSON.
func (s *Schema) Marshal() ([]byte, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	err := e.Encode(s)
	return []byte(b.String()), err
}

// root makes a complete schema document.
func root(s *Schema, command, description string) *Schema {
	s.Version = "https://json-schema.org/draft/2020-12/schema"
	s.Title = "bcdissect " + command + " -T json"
	s.Description = description
	s.Defs = defs(s.Defs)
	return s
}

// defs adds the version of docs/json.md to the definitions of a schema, where
// validators ignore it.
func defs(all map[string]*Schema) map[string]*Schema {
	if all == nil {
		all = map[string]*Schema{}
	}
	all["schema"] = &Schema{Description: "the number that bcdissect version -T json has as schema", Const: ndjson.Schema}
	return all
}

// records returns the schema of the lines for records of a catalogue. If capture
// is set, the keys that a record of a capture always has are required.
func records(c *decode.Catalog, command string, capture bool) *Schema {
	s := &Schema{Type: "object", Properties: map[string]*Schema{}, Required: []string{"dir"}, Additional: false, Defs: map[string]*Schema{}}
	if capture {
		s.Required = []string{"frame", "src", "dst", "dir"}
	}
	for _, k := range key.All() {
		if k.Scope == key.Everywhere {
			s.add(&k)
		}
	}
	s.Properties["gamespy"].Additional = &Schema{Type: "string"}
	s.Properties["fields"].Additional = nil // fields are added below for each message

	name := &Schema{If: &Schema{Required: []string{"name"}}, Then: &Schema{}, Else: &Schema{}}
	seen := map[string]bool{}
	for _, spec := range c.All() {
		s.define(spec)
		if !seen[spec.Name] {
			name.Then.AllOf = append(name.Then.AllOf, fieldsOf("name", spec.Name, ref(spec)))
		}
		seen[spec.Name] = true
	}
	byKind := map[string][]*Schema{}
	var kinds []string
	for _, spec := range transport.Specs() {
		s.define(spec)
		kind := transport.Type(spec.Code).Kind()
		if !slices.Contains(transport.Catalog(), spec) {
			continue // the short form, which can occur with any type
		}
		if byKind[kind] == nil {
			kinds = append(kinds, kind)
		}
		byKind[kind] = append(byKind[kind], ref(spec))
	}
	short := ref(transport.Specs()[len(transport.Specs())-1])
	for _, kind := range kinds {
		name.Else.AllOf = append(name.Else.AllOf, fieldsOf("kind", kind, &Schema{AnyOf: append(byKind[kind], short)}))
	}
	rest := &Schema{Properties: map[string]*Schema{"kind": {Enum: kinds}}, Required: []string{"kind"}}
	name.Else.AllOf = append(name.Else.AllOf, &Schema{If: rest, Else: &Schema{Properties: map[string]*Schema{"fields": short}}})
	s.AllOf = []*Schema{name}
	return root(s, command, "One line for each record, see 'bcdissect help json'.")
}

// add adds a key to the properties.
func (s *Schema) add(k *key.Key) {
	at := s
	name := k.Name
	if object, member, ok := strings.Cut(name, "."); ok {
		if at = s.Properties[object]; at.Items != nil {
			at = at.Items
		}
		name = member
	}
	p := &Schema{Type: k.Type.String()}
	switch k.Type {
	case key.Object:
		p.Properties, p.Additional = map[string]*Schema{}, false
	case key.Int:
		p.Type = "integer"
	case key.Bool:
		p.Type = "boolean"
	case key.Time:
		p.Format = "date-time"
	case key.Word:
		if k.Offer == nil { // no other values occur
			p.Enum = k.Words
		}
	default:
	}
	if k.List {
		p = &Schema{Type: "array", Items: p}
	}
	p.Description = k.Doc
	at.Properties[name] = p
}

// fieldsOf returns the condition that the fields of records with a value under
// a key have a schema.
func fieldsOf(name, value string, fields *Schema) *Schema {
	return &Schema{
		If:   &Schema{Properties: map[string]*Schema{name: {Const: value}}, Required: []string{name}},
		Then: &Schema{Properties: map[string]*Schema{"fields": fields}},
	}
}

func ref(s *decode.Spec) *Schema { return &Schema{Ref: "#/$defs/" + s.Name} }

// define adds the fields of a message in all its layouts to the definitions. No
// field is required, since fields depend on others, and a truncated message
// lacks the last ones.
func (s *Schema) define(spec *decode.Spec) {
	d := s.Defs[spec.Name]
	if d == nil {
		d = &Schema{Description: spec.Doc, Type: "object", Properties: map[string]*Schema{}, Additional: false}
		s.Defs[spec.Name] = d
	}
	v := &fields{open: []*Schema{d}}
	if spec.Known() {
		decode.Describe(spec.Layout, decode.Stock, v)
	}
	for _, f := range spec.Forms {
		decode.Describe(f.Layout, f.Dialect, v)
	}
}

// fields is a visitor that adds each field to the innermost open schema.
type fields struct{ open []*Schema }

func (v *fields) in() *Schema { return v.open[len(v.open)-1] }

// Begin implements [decode.Visitor].
func (v *fields) Begin(g *decode.Group) {
	if g.Kind == decode.GroupElement {
		v.open = append(v.open, v.in().Items)
		return
	}
	p := v.in().Properties[g.Name]
	if p == nil {
		p = &Schema{Description: g.Doc, Type: "object", Properties: map[string]*Schema{}, Additional: false}
		if g.Kind == decode.GroupList {
			p = &Schema{Description: g.Doc, Type: "array", Items: &Schema{Type: "object", Properties: map[string]*Schema{}, Additional: false}}
		}
		v.in().Properties[g.Name] = p
	}
	v.open = append(v.open, p)
}

// End implements [decode.Visitor].
func (v *fields) End(*decode.Group) { v.open = v.open[:len(v.open)-1] }

// Field implements [decode.Visitor].
func (v *fields) Field(f *decode.Field) {
	for _, view := range display.Views(f) {
		shape := view.Shape(f.Kind)
		p := &Schema{Type: shape.Type}
		if shape.Null {
			p.Type = []string{shape.Type, "null"}
		}
		if shape.Array {
			p = &Schema{Type: "array", Items: p, MinItems: shape.Len, MaxItems: shape.Len}
		}
		if view == display.Whole {
			p.Description = f.Doc
		}
		name := view.Member(f.Name)
		if v.in().Properties[name] == nil {
			v.in().Properties[name] = p
		}
	}
}
