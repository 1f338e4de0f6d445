package filter

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/key"
	"github.com/bcdissect/bcdissect/fixtures/messages"
	"github.com/bcdissect/bcdissect/fixtures/recorded"
	"github.com/bcdissect/bcdissect/report/ndjson"
)

// flat is a JSON record in the filter's terms: the paths present, and their
// values as literals.
type flat struct {
	there  map[string]bool
	values map[string][]string
}

func flatten(tb testing.TB, line []byte) *flat {
	tb.Helper()
	d := json.NewDecoder(strings.NewReader(string(line)))
	d.UseNumber()
	var v map[string]any
	if err := d.Decode(&v); err != nil {
		tb.Fatalf("%v\n%s", err, line)
	}
	f := &flat{map[string]bool{}, map[string][]string{}}
	if v["gamespy"] != nil { // filters do not see its keys
		v["gamespy"] = map[string]any{}
	}
	f.add("", v)
	return f
}

func (f *flat) add(path string, v any) {
	f.there[path] = true
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			if path != "" {
				k = path + "." + k
			}
			f.add(k, e)
		}
	case []any:
		names := ""
		if len(v) > 0 {
			if _, ok := v[0].(map[string]any); !ok {
				names = map[int]string{3: "xyz", 4: "wxyz"}[len(v)]
			}
		}
		for i, e := range v {
			f.add(path, e)
			if _, ok := e.(map[string]any); !ok {
				f.add(fmt.Sprintf("%s[%d]", path, i), e)
			}
			if names != "" {
				f.add(path+"."+names[i:i+1], e)
			}
		}
	case json.Number:
		f.value(path, strings.Replace(v.String(), "-0", "0", btoi(v == "-0")))
	case bool:
		f.value(path, strconv.FormatBool(v))
	case string:
		f.value(path, v)
	}
}

func btoi(b bool) int { return map[bool]int{true: 1}[b] }

func (f *flat) value(path, v string) {
	if !slices.Contains(f.values[path], v) {
		f.values[path] = append(f.values[path], v)
	}
}

// quotedText writes a text as a filter literal.
func quotedText(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < 0x10000 && !unicode.IsPrint(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String() + `"`
}

// equals returns the expression that a path has a value, or "" if it cannot be
// compared.
func equals(path, v string) string {
	if field, ok := strings.CutPrefix(path, "fields."); ok {
		base, _, _ := strings.Cut(field, "[")
		vs := shared.paths[base]
		if vs == nil && strings.IndexByte("wxyz", base[len(base)-1]) >= 0 {
			return "" // an array with the length of a vector
		}
		if vs == nil {
			return "(" + path // a field without a name: an invalid filter, so the test fails
		}
		switch cl := vs[0].class(); {
		case vs[0].kind == decode.KindBytes:
			if strings.Contains(field, "[") || v == "" {
				return ""
			}
			return path + " == " + v
		case cl == classText && strings.HasSuffix(field, "]"):
			return "" // one of flag_names
		case cl == classText || slices.Contains([]string{"NaN", "+Inf", "-Inf"}, v) && cl != classNumber:
			return path + " == " + quotedText(v)
		case !strings.Contains(field, "[") && slices.ContainsFunc(vs, func(v variant) bool { return v.class() == classVector }):
			return ""
		}
		return path + " == " + v
	}
	k := key.Find(path)
	switch {
	case k == nil && strings.HasPrefix(path, "reassembled"):
		return "" // one of them
	case k == nil:
		return "(" + path
	case classOf(k) == classText:
		return path + " == " + quotedText(v)
	}
	return path + " == " + v
}

// present is a filter for the presence of something.
type present struct {
	name, path string
	messages   []*decode.Spec
	f          *Filter
}

// allPresences returns a filter for everything that JSON can show.
func allPresences(tb testing.TB) []present {
	tb.Helper()
	var presences []present
	for _, name := range shared.names() {
		p := present{name: name, path: name, f: must(tb, name)}
		if k := key.Find(name); k != nil { // not by its alias
			p.path = k.Name
		}
		switch head, rest, dotted := strings.Cut(name, "."); {
		case key.Find(name) != nil && key.Find(name).Scope != key.Everywhere:
			continue // JSON has them in another form, or not at all
		case key.Find(name) != nil || head == "fields":
		case specsOf(shared.specs, head) != nil && shared.paths[name] == nil:
			p.messages = specsOf(shared.specs, head)
			p.path = "fields." + rest
			if !dotted {
				p.path = ""
			}
		default:
			p.path = "fields." + name
		}
		presences = append(presences, p)
	}
	return presences
}

// want reports whether a record and its JSON have it.
func (p *present) want(r *dissect.Record, got *flat) bool {
	return got.there[p.path] && (p.messages == nil || slices.Contains(p.messages, r.Spec))
}

// TestJSON compares the filter with JSON records: the filter finds exactly the
// fields in the JSON, with the same values.
func TestJSON(t *testing.T) {
	presences := allPresences(t)
	compiled := map[string]*Filter{}
	type comparison struct{ path, value, expr string }
	var known []comparison
	records := 0
	check := func(r *dissect.Record) {
		records++
		enc := ndjson.NewEncoder(ndjson.Options{Payload: true, Start: start})
		line := enc.Append(nil, r)
		got := flatten(t, line)
		for i := range presences {
			p := &presences[i]
			if want := p.want(r, got); p.f.Match(r) != want {
				t.Errorf("%s: got %v, want %v\n%s", p.name, !want, want, line)
			}
		}
		for path, values := range got.values {
			for _, v := range values {
				expr := equals(path, v)
				if expr == "" {
					continue
				}
				if compiled[expr] == nil {
					compiled[expr] = must(t, expr)
					known = append(known, comparison{path, v, expr})
				}
				if !compiled[expr].Match(r) {
					t.Errorf("%s does not hold\n%s", expr, line)
				}
			}
		}
		for i := range min(len(known), 40) { // fields of other records
			c := known[(records*37+i*101)%len(known)]
			want := slices.Contains(got.values[c.path], c.value)
			if c.value == "0" || c.value == "1" { // may also be false or true
				want = want || slices.Contains(got.values[c.path], strconv.FormatBool(c.value == "1"))
			}
			if compiled[c.expr].Match(r) != want {
				t.Errorf("%s: got %v, want %v\n%s", c.expr, !want, want, line)
			}
		}
	}
	for _, s := range messages.All(t) {
		check(game(t, s.Payload, s.Dialect, s))
	}
	captures := []string{"stock_replay.pcap", "opcode_tour.pcap", "opcode_coverage.pcap", "forged_small.pcap", "gamespy.pcap", "stock_client.pcap", "join_flow.pcap"}
	for _, name := range captures {
		n := 0
		recorded.Records(t, name, dissect.Config{Catalog: stock}, func(r *dissect.Record) {
			if n++; n <= 400 || r.Kind != dissect.KindMessage {
				check(r)
			}
			if t.Failed() && n > 400 {
				t.FailNow()
			}
		})
	}
	t.Logf("%d records, %d names, %d comparisons", records, len(presences), len(compiled))
}
