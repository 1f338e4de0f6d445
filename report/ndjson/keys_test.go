package ndjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/display"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/capture"
	"github.com/bcdissect/bcdissect/dissect/key"
	"github.com/bcdissect/bcdissect/dissect/transport"
	"github.com/bcdissect/bcdissect/fixtures"
)

// lineChecker checks lines against the table of keys and the descriptions of
// the messages.
type lineChecker struct {
	keys   map[string]bool              // those that came
	fields map[string]map[string]string // fields of each message by name, path and type
	types  map[string]string            // types of each path in a line, in any message
}

// jsonType returns the name of a value's type. For an array it is the type of
// the elements.
func jsonType(v any) string {
	switch v := v.(type) {
	case nil:
		return "number" // NaN or infinite
	case bool:
		return "bool"
	case string:
		return "string"
	case float64:
		return "number"
	case []any:
		if len(v) == 0 {
			return "array of anything"
		}
		return "array of " + jsonType(v[0])
	default:
		return "object"
	}
}

// same reports whether two types are equal. An array of anything equals every array.
func same(a, b string) bool {
	const open = "array of anything"
	return a == b || a == open && strings.HasPrefix(b, "array of ") || b == open && strings.HasPrefix(a, "array of ")
}

// describe is a visitor that collects the types of the fields of a message.
type describe struct {
	path []string
	of   map[string]string
}

func (d *describe) at(name string) string {
	return strings.Join(append(slices.Clone(d.path), name), ".")
}

func (d *describe) Begin(g *decode.Group) {
	switch g.Kind {
	case decode.GroupStruct:
		d.of[d.at(g.Name)] = "object"
	case decode.GroupList:
		d.of[d.at(g.Name)] = "array of object"
	case decode.GroupElement:
		return
	}
	d.path = append(d.path, g.Name)
}

func (d *describe) End(g *decode.Group) {
	if g.Kind != decode.GroupElement {
		d.path = d.path[:len(d.path)-1]
	}
}

func (d *describe) Field(f *decode.Field) {
	for _, v := range display.Views(f) {
		shape := v.Shape(f.Kind)
		name := map[string]string{"integer": "number", "number": "number", "boolean": "bool", "string": "string"}[shape.Type]
		if shape.Array {
			name = "array of " + name
		}
		d.of[d.at(v.Member(f.Name))] = name
	}
}

// layoutsOf returns the fields of a spec in all its forms.
func layoutsOf(s *decode.Spec) map[string]string {
	d := &describe{of: map[string]string{}}
	if s.Known() {
		decode.Describe(s.Layout, decode.Stock, d)
	}
	for _, f := range s.Forms {
		decode.Describe(f.Layout, f.Dialect, d)
	}
	return d.of
}

func newLineChecker() *lineChecker {
	c := &lineChecker{keys: map[string]bool{}, fields: map[string]map[string]string{}, types: map[string]string{}}
	for _, s := range msg.Catalog().All() {
		c.fields[s.Name] = layoutsOf(s)
	}
	c.fields[""] = map[string]string{}
	for _, s := range transport.Specs() { // any of them may have the short form
		maps.Copy(c.fields[""], layoutsOf(s))
	}
	return c
}

// check checks one line against the table: every key is in it, with its type,
// and in its order.
func (c *lineChecker) check(line []byte) error {
	var raw map[string]any
	if err := json.Unmarshal(line, &raw); err != nil {
		return err
	}
	name, _ := raw["name"].(string)
	fields := c.fields[name]
	if pairs, ok := raw["gamespy"].(map[string]any); ok {
		c.keys["gamespy"] = true
		for at, v := range pairs { // any keys
			if _, ok := v.(string); !ok {
				return fmt.Errorf("gamespy.%s is not text", at)
			}
		}
		delete(raw, "gamespy")
	}
	if err := c.object("", raw, fields); err != nil {
		return err
	}
	return c.order(line)
}

func (c *lineChecker) object(path string, v map[string]any, fields map[string]string) error {
	for name, value := range v {
		at := strings.TrimPrefix(path+"."+name, ".")
		got := jsonType(value)
		var want string
		if field, ok := strings.CutPrefix(at, "fields."); ok {
			if want, ok = fields[field]; !ok {
				return fmt.Errorf("%s is not described", at)
			}
		} else {
			k := key.Find(at)
			if k == nil || k.Scope != key.Everywhere {
				return fmt.Errorf("%s is not in the table", at)
			}
			c.keys[at] = true
			want = strings.Replace(k.Type.String(), "int", "number", 1)
			if k.List {
				want = "array of " + want
			}
		}
		if !same(got, want) {
			return fmt.Errorf("%s is %s, not %s", at, got, want)
		}
		if before, ok := c.types[at]; ok && !same(before, got) {
			return fmt.Errorf("%s is %s, and was %s before", at, got, before)
		}
		c.types[at] = got
		list, _ := value.([]any)
		if m, ok := value.(map[string]any); ok {
			list = []any{m}
		}
		for _, e := range list {
			if m, ok := e.(map[string]any); ok {
				if k := key.Find(at); k != nil && at != "fields" && k.List { // members of its elements
					at = k.Name
				}
				if err := c.object(at, m, fields); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// order reports keys of the record that are not in the order of the table.
func (c *lineChecker) order(line []byte) error {
	last, depth, text := -1, 0, false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case text && c == '\\':
			i++
		case c == '"':
			text = !text
		case text:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
		if depth != 1 || !text || line[i] != '"' || line[i-1] == ':' {
			continue
		}
		name, _, _ := bytes.Cut(line[i+1:], []byte{'"'})
		at := slices.IndexFunc(key.All(), func(k key.Key) bool { return k.Name == string(name) })
		if at <= last {
			return fmt.Errorf("%s is not in its place", name)
		}
		last = at
	}
	return nil
}

// allCaptures returns the names of the captures below fixtures/captures.
func allCaptures(t *testing.T) []string {
	t.Helper()
	root := fixtures.Path("captures")
	var all []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if name := filepath.Base(path); err == nil && !d.IsDir() && strings.Contains(name, ".pcap") && !strings.HasSuffix(name, ".json") {
			all = append(all, path)
		}
		return err
	})
	if err != nil || len(all) < 15 {
		t.Fatalf("%d captures, %v", len(all), err)
	}
	return all
}

// The encoder follows the table and the descriptions, in every line of every
// capture: there is one list of keys.
func TestKeys(t *testing.T) {
	c := newLineChecker()
	lines := 0
	for _, path := range allCaptures(t) {
		enc := NewEncoder(Options{Payload: true})
		var line []byte
		checked := map[*decode.Spec]int{}
		emit := func(r *dissect.Record) error {
			if d := r.Datagram; d != nil && d.Number%2 == 0 { // as if it were one of several files
				d.Capture = filepath.Base(path)
				defer func() { d.Capture = "" }()
			}
			line = enc.Append(line[:0], r)
			lines++
			if checked[r.Spec]++; checked[r.Spec] > fixtures.More(200, math.MaxInt) {
				return nil
			}
			if err := c.check(line); err != nil {
				return fmt.Errorf("%w\n%s", err, line)
			}
			return nil
		}
		if err := readCapture(path, emit); err != nil {
			t.Errorf("%s: %v", filepath.Base(path), err)
		}
	}
	for _, k := range key.All() {
		if k.Scope == key.Everywhere && !c.keys[k.Name] {
			t.Errorf("no line has the key %s", k.Name)
		}
	}
	if lines < 10000 {
		t.Errorf("only %d lines", lines)
	}
}

// readCapture passes a capture through a pipeline. A capture may end too early.
func readCapture(path string, emit func(*dissect.Record) error) error {
	src, err := capture.Open(path, nil)
	if err != nil {
		return err
	}
	defer src.Close()
	p := dissect.New(dissect.Config{})
	for {
		d, err := src.Next()
		if errors.Is(err, io.EOF) || errors.Is(err, capture.ErrCut) {
			return p.Flush(emit)
		}
		if err != nil {
			return err
		}
		if err := p.Push(d, emit); err != nil {
			return err
		}
	}
}

// The check finds a key that is not in the table, one that is not of its type,
// one that is not in its place, and a field that is not described.
func TestKeysFinds(t *testing.T) {
	for line, want := range map[string]string{
		`{"frame":1,"colour":2}`: "colour is not in the table",
		`{"frame":"1"}`:          "frame is string, not number",
		`{"msg":1,"peer":2}`:     "peer is not in its place",
		`{"src_ip":"::1"}`:       "src_ip is not in the table",
		`{"name":"Chat","fields":{"sender":1,"mood":2}}`:                       "fields.mood is not described",
		`{"name":"StateUpdate","fields":{"subsystems":[]}}`:                    "fields.subsystems is array of anything, not object",
		`{"name":"StateUpdate","fields":{"subsystems":{"entries":[{"a":1}]}}}`: "fields.subsystems.entries.a is not described",
		`{"notes":[{"code":1}]}`:                                               "notes.code is number, not string",
		`{"reassembled":["1"]}`:                                                "reassembled is array of string, not array of number",
		`{"frame":1,"peer":2,"kind":"standard","name":"Chat","fields":{}}`:     "",
	} {
		got := ""
		if err := newLineChecker().check([]byte(line)); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", line, got, want)
		}
	}
}
