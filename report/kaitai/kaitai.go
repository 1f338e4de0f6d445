// Not part of the library: package kaitai converts the lines of opcodes -T json
// to a description for Kaitai Struct (https://kaitai.io), a parser generator.
package kaitai

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/bcdissect/bcdissect/report/reference"
)

// base is the part that all descriptions have. A test makes its types of kinds.
//
//go:embed base.json
var base []byte

// An object is a part of a description in JSON, which is also valid YAML.
type object = map[string]any

// A writer makes a description.
type writer struct {
	types   object
	kinds   object // types by the names of kinds
	species int    // number of species in the tables
}

// New returns the description for the lines of messages and ships.
func New(messages []reference.Entry, ships []reference.Ship) (spec map[string]any, err error) {
	if err := json.Unmarshal(base, &spec); err != nil {
		return nil, err
	}
	g := &writer{types: spec["types"].(object), kinds: spec["-kinds"].(object)}
	spec["instances"] = g.tables(ships)
	capital := regexp.MustCompile(`([a-z0-9])([A-Z])`)
	cases, written := object{}, map[string]string{} // types by the JSON of their fields
	for i := range 2 * len(messages) {
		e := &messages[i%len(messages)]
		if e.Rest != (i < len(messages)) { // first the entries that stand for all other opcodes
			continue
		}
		for _, l := range e.Layouts { // the layout of the original game comes first, and OpenBC uses it unless it has its own
			fields, _ := json.Marshal(l.Fields) // cannot fail, since all values of the type can be encoded
			name := written[string(fields)]
			if name == "" {
				name = strings.ToLower(e.Layer + "_" + capital.ReplaceAllString(e.Name, "${1}_$2") + "_" + l.Dialect)
				written[string(fields)] = name
				(&group{writer: g, fields: l.Fields, root: name}).group(name, "")
			}
			for code := 0; e.Code != nil && code < 256; code++ {
				if code != *e.Code && (!e.Rest || code < *e.Code) || e.Instead != "" && cases[strconv.Itoa(code)] != nil {
					continue
				}
				if cases[strconv.Itoa(code+256)] = name + "(0, species, 0)"; l.Dialect == "stock" {
					cases[strconv.Itoa(code)] = name + "(0, species, 0)"
				}
			}
		}
	}
	spec["seq"] = []object{{"id": "opcode", "type": "u1"}, {"id": "body", "type": object{"switch-on": "opcode + 256 * openbc", "cases": cases}}}
	return spec, nil
}

// tables returns the subsystems of all ships, one ship after another.
func (g *writer) tables(ships []reference.Ship) object {
	all := map[string][]string{}
	add := func(table string, value any) { all[table] = append(all[table], fmt.Sprint(value)) }
	for ; len(ships) > 0; g.species++ {
		s := reference.Ship{} // no class has this number
		if g.species == int(ships[0].Species) {
			s, ships = ships[0], ships[1:]
		}
		add("class", strconv.Quote(s.Name))
		add("first", len(all["name"]))
		add("size", len(s.Subsystems))
		for _, e := range s.Subsystems {
			for table, word := range map[string]string{"name": e.Name, "kind": e.Kind, "role": e.Role, "children": strconv.Itoa(len(e.Children))} {
				add(table, strconv.Quote(word))
			}
		}
	}
	tables := object{}
	for name, values := range all {
		tables["aux_"+name] = object{"value": "[" + strings.Join(values, ", ") + "]"}
	}
	return tables
}

// A group is the unfinished type of a message, a struct or an element.
type group struct {
	*writer
	fields       []reference.Field // fields of the message
	ship         string            // expression for the species
	root, prefix string            // name of the message's type, and prefix of the paths of the type's fields
	seq          []object
	instances    object
	bits         string // expression for the unread part of the open byte of bits
}

// group adds the type for the fields whose paths begin with a prefix.
func (t *group) group(name, prefix string) {
	g := group{writer: t.writer, fields: t.fields, root: t.root, prefix: prefix, ship: "aux_species", bits: "aux_open"}
	g.instances = object{"aux_in": object{"value": "_root.aux_first[aux_species] + aux_index"}}
	for i := range t.fields {
		if f := &t.fields[i]; strings.HasPrefix(f.Path, prefix) && !strings.Contains(f.Path[len(prefix):], ".") {
			g.field(f)
		}
	}
	g.instances["aux_bits"] = object{"value": g.bits}
	g.seq = append(g.seq, object{"id": "aux_end", "type": "here(_io.pos)"})
	params := []object{{"id": "aux_open", "type": "u2"}, {"id": "aux_species", "type": "u1"}, {"id": "aux_index", "type": "u1"}}
	t.types[name] = object{"params": params, "seq": g.seq, "instances": g.instances}
}

// typeOf returns the name of the type for a struct or for a list's elements.
func (t *group) typeOf(path string) string {
	return t.root + "_" + strings.NewReplacer("[].", "_", ".", "_").Replace(path)
}

// size returns the expression for the number of subsystems of the ship.
func (t *group) size() string {
	return fmt.Sprintf("(%[1]s < %[2]d ? _root.aux_size[%[1]s] : 0)", t.ship, t.species)
}

// ref returns the expression for a field.
func (t *group) ref(path string) (r string) {
	p := t.prefix
	for ; path != "" && !strings.HasPrefix(path, p); r += "_parent." {
		p = p[:strings.LastIndexByte("."+strings.TrimSuffix(p, "."), '.')]
	}
	return r + strings.TrimPrefix(path, p)
}

var comparisons = map[string]string{
	"has": "(%s & %d) == %[2]d", "lacks": "(%s & %d) == 0", "equals": "%s == %d", "differs": "%s != %d",
	"in": "(%s)", "not_in": "not (%s)",
}

// terms adds expressions for conditions. An expression also requires that the
// field in the condition exists.
func (t *group) terms(all []string, conds []reference.Condition) []string {
	for _, c := range conds {
		x := ""
		switch c.Op {
		case "fits":
			continue
		case "more":
			x = "aux_more_" + t.ref(c.At)
		case "in", "not_in":
			for _, word := range c.Values {
				x += fmt.Sprintf(" or _root.aux_%s[aux_in] == %q", c.Subsystem, word)
			}
			x = fmt.Sprintf(comparisons[c.Op], strings.TrimPrefix(x, " or "))
		default:
			r, f := t.ref(c.Field), &t.fields[slices.IndexFunc(t.fields, func(f reference.Field) bool { return f.Path == c.Field })]
			if all = t.terms(all, f.If); f.Kind == "bit" {
				r = "(" + r + ".value ? 1 : 0)"
			}
			x = fmt.Sprintf(comparisons[c.Op], r, *c.Value)
		}
		if !slices.Contains(all, x) {
			all = append(all, x)
		}
	}
	return all
}

// field adds a field.
func (t *group) field(f *reference.Field) {
	id := f.Path[len(t.prefix):]
	for n := 2; t.instances[id] != nil || slices.ContainsFunc(t.seq, func(a object) bool { return a["id"] == id }); n++ {
		id = fmt.Sprintf("%s_%d", f.Path[len(t.prefix):], n)
	}
	a := object{"id": id, "doc": f.Doc}
	if terms := t.terms(nil, f.If); len(terms) > 0 {
		a["if"] = strings.Join(terms, " and ")
	}
	for _, c := range f.If {
		switch {
		case c.At != f.Path:
		case c.Op == "more":
			t.instances["aux_more_"+id] = object{"value": "not _io.eof"}
		default: // parsed separately from the fields around it, since it may fail
			t.seq = append(t.seq, object{"id": "aux_at_" + id, "type": "here(_io.pos)"})
			a["pos"] = "aux_at_" + id + ".pos"
			t.instances["aux_fits_"+id] = object{"value": fmt.Sprintf("(%[1]s.size > 0 ? %[1]s.last.aux_end.pos : aux_at_%[1]s.pos) == _io.size", id)}
		}
	}
	switch {
	case f.From != nil:
		t.derived(a, f)
	case f.Kind == "list":
		t.list(a, f)
	case f.Kind == "struct":
		t.group(t.typeOf(f.Path), f.Path+".")
		t.add(a, fmt.Sprintf("%s(%s, %s, 0)", t.typeOf(f.Path), t.bits, t.ship), id+".aux_bits", f.Path+".")
	case f.Kind == "bit":
		t.add(a, fmt.Sprintf("bit(%s, %v)", t.bits, f.Inverted), id+".aux_bits", f.Path)
	default:
		t.plain(a, f)
	}
}

// instance adds a field that is not in the sequence of the other fields.
func (t *group) instance(a object) {
	t.instances[a["id"].(string)] = a
	delete(a, "id")
}

// add adds a field and updates the unread part of the open byte of bits.
func (t *group) add(a object, kind, rest, prefix string) {
	id := a["id"].(string)
	if a["type"] = kind; a["pos"] != nil {
		t.instance(a)
		return
	}
	t.seq = append(t.seq, a)
	if slices.ContainsFunc(t.fields, func(f reference.Field) bool { return f.Kind == "bit" && strings.HasPrefix(f.Path, prefix) }) {
		if a["if"] != nil {
			rest = fmt.Sprintf("(%s ? %s : %s)", a["if"], rest, t.bits)
		}
		t.bits = "aux_bits_" + id
		t.instances[t.bits] = object{"value": rest}
	}
}

// list adds a list and the type of its elements.
func (t *group) list(a object, f *reference.Field) {
	c, id := f.Count, a["id"].(string)
	of, index := t.ref(c.Field+c.List+c.First), id+".size"
	rest := fmt.Sprintf("(%[1]s.size > 0 ? %[1]s.last.aux_bits : %[2]s)", id, t.bits)
	switch a["repeat"] = "expr"; {
	case c.Rest:
		a["repeat"] = "eos"
	case c.Field != "":
		a["repeat-expr"] = of
	case c.List != "":
		a["repeat-expr"] = of + ".size"
	case c.First != "":
		a["repeat"], a["repeat-until"] = "until", fmt.Sprintf("%[1]s.size >= %[2]s or (%[1]s.size >= %[3]d and _io.pos - aux_at_%[4]s.pos >= %[5]d)", id, t.size(), c.Least, of, c.Bytes)
		index = fmt.Sprintf("(%s + %s.size) %% %s", of, id, t.size())
	default:
		a["repeat-expr"] = t.size()
	}
	if f.Like == "" {
		t.group(t.typeOf(f.Path), f.Path+"[].")
	}
	t.add(a, fmt.Sprintf("%s(%s, %s, %s)", t.typeOf(cmp.Or(f.Like, f.Path)), rest, t.ship, index), rest, f.Path+"[].")
}

// plain adds a field with its own bytes.
func (t *group) plain(a object, f *reference.Field) {
	for _, l := range t.fields {
		switch c := l.Count; {
		case c != nil && c.First == f.Path:
			t.seq = append(t.seq, object{"id": fmt.Sprint("aux_at_", a["id"]), "type": "here(_io.pos)"})
			a["valid"] = object{"expr": "_ < " + t.size()}
		case c != nil && c.Field == f.Path:
			a["valid"] = object{"expr": fmt.Sprintf("_ * %d <= _io.size - _io.pos", l.Least)}
		}
	}
	a["type"] = t.kinds[f.Kind]
	if c := f.Count; c != nil {
		if a["repeat"], a["repeat-expr"] = "expr", fmt.Sprint(c.Value); c.Subsystem != "" {
			a["repeat-expr"] = "_root.aux_" + c.Subsystem + "[aux_in].to_i"
		}
	}
	t.seq = append(t.seq, a)
}

// rules are the expressions for derived fields. Their arguments are a field,
// the number of subsystems, and the species.
var rules = map[string]string{
	"class of species":              `%[2]s > 0 ? _root.aux_class[%[3]s] : ""`,
	"class of object":               `%[2]s > 0 ? _root.aux_class[%[3]s] : ""`,
	"subsystem index":               "%[1]s",
	"subsystem name":                `%[1]s < %[2]s ? _root.aux_name[_root.aux_first[%[3]s] + %[1]s] : ""`,
	"subsystem name, if index is 0": `%[1]s == 0 and %[2]s > 0 ? _root.aux_name[_root.aux_first[%[3]s]] : ""`,
	"last position plus offset":     "[_root.base_x + %[1]s.single[0], _root.base_y + %[1]s.single[1], _root.base_z + %[1]s.single[2]]",
}

// derived adds a field that is computed from others, unless the computation
// needs other messages.
func (t *group) derived(a object, f *reference.Field) {
	of := cmp.Or(t.ref(f.From.Of), "aux_index")
	if f.From.Is == "class of species" {
		t.ship = of
	}
	if rule := rules[f.From.Is]; rule != "" {
		if a["value"] = fmt.Sprintf(rule, of, t.size(), t.ship); strings.Contains(rule, "base_x") {
			a["if"] = fmt.Sprint(a["if"], " and _root.has_base == 1")
		}
		t.instance(a)
	}
}
