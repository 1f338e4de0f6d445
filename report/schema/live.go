package schema

import (
	"maps"
	"slices"

	"github.com/bcdissect/bcdissect/report/ndjson"
)

// LiveAPI is the name of the schema of what the live page tells other programs.
const LiveAPI = "api/live"

// liveAPI returns the schema of an answer of api/live, and of the data of each of
// its events. Spectators get neither addresses nor the host's.
func liveAPI() *Schema {
	document := of(ndjson.LiveType)
	m := document.Properties["matches"].Items
	for _, name := range ndjson.NotLiveLists {
		m.drop(name)
	}
	m.walk(func(s *Schema) {
		for _, name := range ndjson.NotLive {
			s.drop(name)
		}
		s.optional("address")
	})
	m.optional("host")
	integer := &Schema{Type: "integer"}
	object := func(properties map[string]*Schema) *Schema {
		return &Schema{Type: "object", Properties: properties, Required: slices.Sorted(maps.Keys(properties)), Additional: false}
	}
	values, lists := object(nil), object(nil)
	values.Properties, lists.Properties = map[string]*Schema{}, map[string]*Schema{}
	for name, p := range m.Properties {
		if p.Type != "array" {
			values.Properties[name] = &Schema{AnyOf: []*Schema{p, {Type: "null"}}}
			continue
		}
		l := object(map[string]*Schema{"length": integer})
		l.Additional, l.Names = p.Items, &Schema{Pattern: "^(length|0|[1-9][0-9]*)$"}
		lists.Properties[name] = l
	}
	change := object(map[string]*Schema{"match": integer, "values": values, "lists": lists})
	change.Properties["whole"] = &Schema{Const: true}
	begin := object(map[string]*Schema{"schema": integer, "delay": {Type: "number"}, "match": integer, "first": integer, "most": integer})
	return &Schema{AnyOf: []*Schema{document, begin, change, object(nil)}}
}

// walk calls f with a schema and those of its members and items.
func (s *Schema) walk(f func(*Schema)) {
	f(s)
	for _, p := range s.Properties {
		p.walk(f)
	}
	if s.Items != nil {
		s.Items.walk(f)
	}
}

// drop removes a key.
func (s *Schema) drop(name string) {
	delete(s.Properties, name)
	s.optional(name)
}

// optional allows that a key is absent.
func (s *Schema) optional(name string) {
	s.Required = slices.DeleteFunc(s.Required, func(n string) bool { return n == name })
}
