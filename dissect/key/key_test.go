package key

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/display"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect/transport"
	"github.com/bcdissect/bcdissect/fixtures"
)

// docs/json.md contains the table.
func TestPage(t *testing.T) {
	const begin, end = "<!-- keys: written by make golden -->\n", "<!-- /keys -->\n"
	page := fixtures.Read(t, "../docs/json.md")
	head, rest, ok := bytes.Cut(page, []byte(begin))
	_, tail, ended := bytes.Cut(rest, []byte(end))
	if !ok || !ended {
		t.Fatal("docs/json.md has no place for the table of keys")
	}
	var b strings.Builder
	b.Write(head)
	b.WriteString(begin)
	write := func(title string, s Scope) {
		fmt.Fprintf(&b, "| %s | type | meaning |\n|---|---|---|\n", title)
		for _, k := range All() {
			if k.Scope != s {
				continue
			}
			kind := k.Type.String()
			if k.List {
				kind = "array of " + kind + "s"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", k.Name, kind, k.Doc)
		}
	}
	write("key", Everywhere)
	b.WriteString("\nColumns (`-T csv`) and filters have these as well:\n\n")
	write("key", Column)
	b.WriteString("\nOnly filters have these:\n\n")
	write("key", Filter)
	b.WriteString(end)
	b.Write(tail)
	fixtures.Golden(t, "../../docs/json.md", []byte(b.String()))
}

// Every key has the getter of its type, a meaning, and follows its object.
func TestTable(t *testing.T) {
	seen := map[string]*Key{}
	for i := range All() {
		k := &All()[i]
		if seen[k.Name] != nil || k.Doc == "" || Find(k.Name) != k {
			t.Errorf("%s is there twice, or without a meaning", k.Name)
		}
		seen[k.Name] = k
		getters := map[string]bool{
			"Int": k.Int != nil, "Word": k.Word != nil && k.Words != nil, "Text": k.Text != nil, "Append": k.Append != nil,
			"Bytes": k.Bytes != nil, "Addr": k.Addr != nil, "Has": k.Has != nil,
		}
		want := map[Type][]string{
			Int: {"Int"}, Bool: {"Int"}, Word: {"Word"}, Text: {"Text", "Append"}, Hex: {"Bytes"}, Address: {"Addr"}, IP: {"Addr"},
			Object: {"Has", "Text"}, Time: nil, Seconds: nil,
		}[k.Type]
		if want != nil && !slices.ContainsFunc(want, func(g string) bool { return getters[g] }) {
			t.Errorf("%s has none of the getters %v", k.Name, want)
		}
		if object, _, ok := strings.Cut(k.Name, "."); ok && (seen[object] == nil || seen[object].Type != Object) {
			t.Errorf("%s stands before its object", k.Name)
		}
	}
}

// docs/filter.md names every alias with its key.
func TestAliases(t *testing.T) {
	page := string(fixtures.Read(t, "../docs/filter.md"))
	n := 0
	for _, k := range All() {
		for _, alias := range k.Aliases {
			n++
			if want := fmt.Sprintf("| `%s` | `%s` |", alias, k.Name); !strings.Contains(page, want) {
				t.Errorf("docs/filter.md does not say that %s", want)
			}
			if found := Find(alias); found == nil || found.Name != k.Name {
				t.Errorf("%s is not found", alias)
			}
		}
	}
	if n < 10 {
		t.Errorf("only %d aliases", n)
	}
}

// shapes is a visitor that collects the JSON type of every name.
type shapes struct {
	where string
	of    map[string]map[string][]string // name, type, places
}

func (s *shapes) add(name, shape string) {
	if s.of[name] == nil {
		s.of[name] = map[string][]string{}
	}
	if at := s.of[name][shape]; !slices.Contains(at, s.where) {
		s.of[name][shape] = append(at, s.where)
	}
}

func (s *shapes) Begin(g *decode.Group) {
	switch g.Kind {
	case decode.GroupStruct:
		s.add(g.Name, "object")
	case decode.GroupList:
		s.add(g.Name, "array of objects")
	case decode.GroupElement:
	}
}

func (s *shapes) End(*decode.Group) {}

func (s *shapes) Field(f *decode.Field) {
	for _, v := range display.Views(f) {
		shape := v.Shape(f.Kind)
		shape.Null = false // null can replace any number
		s.add(v.Member(f.Name), fmt.Sprintf("%+v", shape))
	}
}

func (s *shapes) specs(all []*decode.Spec) {
	for _, spec := range all {
		if spec.Known() {
			s.where = spec.Name
			decode.Describe(spec.Layout, decode.Stock, s)
		}
		for _, f := range spec.Forms {
			s.where = spec.Name + " of " + f.Dialect.String()
			decode.Describe(f.Layout, f.Dialect, s)
		}
	}
}

// twoTypes returns the names with two types.
func (s *shapes) twoTypes() []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(s.of)) {
		if len(s.of[name]) > 1 {
			all = append(all, fmt.Sprintf("%s: %v", name, s.of[name]))
		}
	}
	return all
}

// A name has the same type in every message, form and header. The members of
// error and notes, which describe the record, are counted separately.
func TestOneType(t *testing.T) {
	s := &shapes{of: map[string]map[string][]string{}}
	s.specs(msg.Catalog().All())
	s.specs(transport.Specs())
	if len(s.of) < 120 {
		t.Errorf("only %d names", len(s.of))
	}
	s.where = "the record"
	for _, k := range All() {
		name := k.Name[strings.LastIndexByte(k.Name, '.')+1:]
		if k.Scope == Filter || strings.HasPrefix(k.Name, "error.") || strings.HasPrefix(k.Name, "notes.") {
			continue
		}
		switch {
		case k.Type == Object && k.List:
			s.add(name, "array of objects")
		case k.Type == Object:
			s.add(name, "object")
		default:
			shape := display.Shape{Type: map[string]string{"int": "integer", "bool": "boolean", "number": "number", "string": "string"}[k.Type.String()], Array: k.List}
			s.add(name, fmt.Sprintf("%+v", shape))
		}
	}
	for _, line := range s.twoTypes() {
		t.Errorf("%s: one name has two types: rename the newer field", line)
	}
}

// The check finds two types of a value, of an element, and of a companion.
func TestTwoTypes(t *testing.T) {
	s := &shapes{of: map[string]map[string][]string{}}
	for _, f := range []decode.Field{
		{Name: "speed", Kind: decode.KindF32},
		{Name: "speed", Kind: decode.KindU8},
		{Name: "offset", Kind: decode.KindVec3},
		{Name: "offset", Kind: decode.KindQuat},
		{Name: "target_id", Kind: decode.KindObject},
		{Name: "target_slot", Kind: decode.KindBit},
		{Name: "target_name", Kind: decode.KindStr8}, // target_id's name has the same type
	} {
		s.Field(&f)
	}
	s.Begin(&decode.Group{Name: "speed", Kind: decode.GroupList})
	var names []string
	for _, line := range s.twoTypes() {
		names = append(names, line[:strings.IndexByte(line, ':')])
	}
	if want := []string{"offset", "speed", "target_slot"}; !slices.Equal(names, want) {
		t.Errorf("got %v, want %v", names, want)
	}
}
