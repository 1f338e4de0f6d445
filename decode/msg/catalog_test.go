package msg

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/fixtures/messages"
)

// A layout is one of the layouts of a spec.
type layout struct {
	spec    *decode.Spec
	dialect decode.Dialect
	layout  decode.Layout
}

func (l *layout) String() string { return fmt.Sprintf("%v-%s-%v", l.spec.Code, l.spec.Name, l.dialect) }

func layouts() []layout {
	var all []layout
	for _, s := range Catalog().All() {
		if !s.Known() {
			continue
		}
		all = append(all, layout{s, decode.Stock, s.Layout})
		for _, f := range s.Forms {
			all = append(all, layout{s, f.Dialect, f.Layout})
		}
	}
	return all
}

// samplesOf returns the samples of a layout.
func samplesOf(tb testing.TB, l *layout) []*messages.Sample {
	tb.Helper()
	var found []*messages.Sample
	for _, s := range messages.All(tb) {
		if s.SpecIn(Catalog()) == l.spec && s.Dialect == l.dialect {
			found = append(found, s)
		}
	}
	return found
}

// A shown is a field shown to a visitor.
type shown struct {
	path, doc string
	kind      decode.Kind
	off, end  int
}

// unplaced returns the field without its offsets.
func (f shown) unplaced() shown { f.off, f.end = 0, 0; return f }

// A collector records fields with the paths used in docs and filters: an
// element of list x is x[].
type collector struct {
	groups []string
	fields []shown
	errs   []string
}

func (c *collector) Field(f *decode.Field) {
	c.fields = append(c.fields, shown{path: c.path(f.Name), doc: f.Doc, kind: f.Kind, off: f.Off, end: f.End})
}

func (c *collector) Begin(g *decode.Group) {
	name := g.Name
	if g.Kind == decode.GroupElement {
		name = "[]"
	} else if g.Doc == "" || !fieldName.MatchString(name) {
		c.errs = append(c.errs, fmt.Sprintf("group %q has the doc %q", c.path(name), g.Doc))
	}
	c.groups = append(c.groups, name)
}

func (c *collector) End(*decode.Group) { c.groups = c.groups[:len(c.groups)-1] }

func (c *collector) path(name string) string {
	return strings.ReplaceAll(strings.Join(append(slices.Clone(c.groups), name), "."), ".[]", "[]")
}

var fieldName = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)

func describe(l *layout) *collector {
	c := new(collector)
	decode.Describe(l.layout, l.dialect, c)
	return c
}

func show(s *messages.Sample, r *decode.Result) *collector {
	c := new(collector)
	new(decode.Viewer).Show(r.Message, s.Payload, 1, r.Dialect, c)
	return c
}

// read reads a sample, which must fit its own dialect completely.
func read(tb testing.TB, d *decode.Decoder, spec *decode.Spec, s *messages.Sample) decode.Result {
	tb.Helper()
	r := d.Read(spec, s.Payload, s.Dialect, s)
	if !r.Exact() || r.Dialect != s.Dialect {
		tb.Fatalf("%s: read as %v, rest %x, error %v", s.Name, r.Dialect, r.Rest, r.Err)
	}
	return r
}

func TestSpecs(t *testing.T) {
	seen := map[string]decode.Opcode{}
	for _, s := range Catalog().All() {
		t.Run(s.Name, func(t *testing.T) {
			for _, name := range append([]string{s.Name, s.Constant}, s.Aliases...) {
				if name == "" {
					continue
				}
				if other, ok := seen[name]; ok {
					t.Errorf("%s also names %v", name, other)
				}
				seen[name] = s.Code
				if !s.HasName(name) || Catalog().Find(name).Code != s.Code {
					t.Errorf("not found by the name %s", name)
				}
			}
			if s.Known() {
				if got, want := fmt.Sprintf("%T", s.Layout.New()), "*msg."+s.Name; got != want {
					t.Errorf("the type is %s, want %s", got, want)
				}
			} else if s.Evidence != decode.Open || s.Dir != decode.Nobody {
				t.Errorf("no layout, but direction %v and evidence %v", s.Dir, s.Evidence)
			}
			if !strings.HasSuffix(s.Doc, ".") || strings.Contains(s.Doc, "\n") {
				t.Errorf("not one sentence: %q", s.Doc)
			}
			if s.Known() && !s.CatchAll && s.Topic == decode.TopicOther {
				t.Error("no topic: reports would not know how to show it")
			}
			if s.Known() && len(s.Brief) == 0 && len(describe(&layout{s, decode.Stock, s.Layout}).fields) > 0 {
				t.Error("no brief: a line of a report would show nothing of it")
			}
			var paths []string
			for _, l := range layouts() {
				if l.spec.Code == s.Code {
					for _, f := range describe(&l).fields {
						paths = append(paths, f.path)
					}
				}
			}
			for _, p := range s.Brief {
				p = strings.TrimSuffix(p, "_names") // flags are shown by name
				if p == "flag" {
					p = "flags"
				}
				if !slices.ContainsFunc(paths, func(q string) bool { return q == p || strings.HasPrefix(q, p+"[]") || strings.HasPrefix(q, p+".") }) {
					t.Errorf("brief: there is no %s among %s", p, paths)
				}
			}
		})
	}
}

// Host fields exist, and comparisons of hosts omit only these.
func TestHostFields(t *testing.T) {
	compared := 0
	for _, s := range messages.All(t) {
		spec := s.SpecIn(Catalog())
		if len(spec.HostFields) == 0 {
			continue
		}
		compared++
		r := read(t, decode.NewDecoder(), spec, s)
		var names []string
		for _, f := range spec.HostFields {
			names = append(names, f.Name)
		}
		b, err := decode.AppendBlank(nil, spec, r.Message, r.Dialect, names)
		if err != nil || len(b) != len(s.Payload) {
			t.Fatalf("%s: %x, %v", s.Name, b, err)
		}
		again := decode.NewDecoder().Read(spec, b, r.Dialect, s)
		before, after := &values{of: map[string]any{}}, &values{of: map[string]any{}}
		new(decode.Viewer).Show(r.Message, s.Payload, 1, r.Dialect, before)
		new(decode.Viewer).Show(again.Message, b, 1, r.Dialect, after)
		for path, v := range before.of {
			switch blank := slices.Contains(names, path); {
			case blank && after.of[path] != float64(0):
				t.Errorf("%s: %s is %v", s.Name, path, after.of[path])
			case !blank && after.of[path] != v:
				t.Errorf("%s: %s was %v and is %v", s.Name, path, v, after.of[path])
			}
		}
	}
	if compared < 5 {
		t.Errorf("only %d samples have such fields", compared)
	}
	for _, s := range Catalog().All() {
		for _, f := range s.HostFields {
			if !slices.ContainsFunc(describe(&layout{s, decode.Stock, s.Layout}).fields, func(d shown) bool { return d.path == f.Name }) {
				t.Errorf("%s: there is no field %s", s.Name, f.Name)
			}
		}
	}
}

// The head of a message ends with the last field that must decode.
func TestHeads(t *testing.T) {
	seen := 0
	for _, s := range messages.All(t) {
		spec := s.SpecIn(Catalog())
		if spec.Head == 0 || s.Dialect != decode.Stock {
			continue
		}
		r := read(t, decode.NewDecoder(), spec, s)
		for _, f := range show(s, &r).fields {
			if f.path == "species" {
				seen++
				if f.end != spec.Head {
					t.Errorf("%s: the species ends at %d, the head at %d", s.Name, f.end, spec.Head)
				}
			}
		}
	}
	if seen < 4 {
		t.Errorf("only %d samples", seen)
	}
}

// The stock host's handling of clients' messages, from section 2.4 of the
// reference used for the catalogue. Later messages are not in it.
func TestRelayClasses(t *testing.T) {
	known := map[decode.Relay]string{
		decode.RelaySlots:   "02 03",
		decode.RelayForward: "07 08 09 0A 0B 0C 0E 0F 10 11 12 19 1A 1B",
		decode.RelayEcho:    "2C 41",
		decode.RelayTeam:    "2D",
		decode.RelayConsume: "0D 13 14 15 17 18 1C 1F 27 29 2B",
		decode.RelayAnswer:  "1D 1E 21 2A",
		decode.RelayNone:    "00 01 04 05 06 16 20 22 23 24 25 26 28 35 36 37 38 39 3F 40",
	}
	for class, codes := range known {
		for code := range strings.FieldsSeq(codes) {
			op, err := strconv.ParseUint(code, 16, 8)
			if err != nil {
				t.Fatal(err)
			}
			if s := Catalog().Lookup(decode.Opcode(op)); s == nil || s.Code != decode.Opcode(op) || s.Relay != class {
				t.Errorf("%s: got %v, want %v", code, s, class)
			}
		}
	}
	for _, s := range Catalog().All() {
		if s.Dir == decode.FromClient && s.Relay == decode.RelayNone {
			t.Errorf("%v %s comes from clients: say what the host does with it", s.Code, s.Name)
		}
	}
}

// A spec missing from the catalogue has no effect, and no other test would
// notice.
func TestAllInCatalog(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	specs := map[string]string{} // file of each variable
	listed := map[string]bool{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				for i, v := range n.Values {
					if lit, ok := v.(*ast.CompositeLit); ok && isSpec(lit.Type) {
						specs[n.Names[i].Name] = name
					}
				}
			case *ast.UnaryExpr: // &theSpec, in the catalogue or as an alternative of one in it
				if id, ok := n.X.(*ast.Ident); ok && n.Op == token.AND {
					listed[id.Name] = true
				}
			}
			return true
		})
	}
	if len(specs) < 50 {
		t.Errorf("found %d specs", len(specs))
	}
	for v, file := range specs {
		if !listed[v] {
			t.Errorf("%s: %s is not in Catalog()", file, v)
		}
	}
}

func isSpec(e ast.Expr) bool {
	s, ok := e.(*ast.SelectorExpr)
	return ok && s.Sel.Name == "Spec"
}

func TestDescriptions(t *testing.T) {
	for _, l := range layouts() {
		t.Run(l.String(), func(t *testing.T) {
			d := describe(&l)
			for _, e := range d.errs {
				t.Error(e)
			}
			for _, f := range d.fields {
				name := f.path[strings.LastIndex(f.path, ".")+1:]
				if !fieldName.MatchString(name) {
					t.Errorf("field name %q", f.path)
				}
				if f.doc == "" || strings.HasSuffix(f.doc, ".") || f.doc != strings.TrimSpace(f.doc) {
					t.Errorf("%s: doc %q", f.path, f.doc)
				}
			}
		})
	}
}

// Every sample decodes completely, shows only described fields, accounts for
// every byte, and is rewritten unchanged.
func TestSamples(t *testing.T) {
	everShown := map[shown]bool{} // without offsets: shared walks are tested once
	for _, l := range layouts() {
		t.Run(l.String(), func(t *testing.T) {
			samples := samplesOf(t, &l)
			if len(samples) == 0 {
				t.Fatal("no sample in fixtures/messages")
			}
			described := describe(&l).fields
			for _, s := range samples {
				r := read(t, decode.NewDecoder(), l.spec, s)
				v := show(s, &r)
				for _, e := range v.errs {
					t.Errorf("%s: %s", s.Name, e)
				}
				at := 1
				for _, f := range v.fields {
					everShown[f.unplaced()] = true
					if !slices.ContainsFunc(described, func(d shown) bool { return d.unplaced() == f.unplaced() }) {
						t.Errorf("%s: %s, %v: %q, is not described", s.Name, f.path, f.kind, f.doc)
					}
					if f.off > f.end || f.end > len(s.Payload) || f.kind.Derived() && f.off != f.end || f.off != at {
						t.Errorf("%s: %s from %d to %d after %d", s.Name, f.path, f.off, f.end, at)
					}
					at = f.end
				}
				if at != len(s.Payload) {
					t.Errorf("%s: fields end at %d of %d", s.Name, at, len(s.Payload))
				}
				if err := decode.RoundTrips(l.spec, &r, s.Payload); err != nil {
					t.Errorf("%s: %v", s.Name, err)
				}
			}
		})
	}
	for _, l := range layouts() {
		for _, f := range describe(&l).fields {
			if !everShown[f.unplaced()] && f.kind != decode.KindPlace && !strings.Contains(f.path, "trees[].trees[].trees[]") {
				t.Errorf("%v: no sample shows %s, %v", &l, f.path, f.kind)
			}
		}
	}
}

// Every prefix of a sample fails with a located error, or reads as a shorter
// message.
func TestPrefixes(t *testing.T) {
	for _, s := range messages.All(t) {
		spec := s.SpecIn(Catalog())
		if spec == nil || !spec.Known() {
			t.Errorf("%s: no such message", s.Name)
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			d := decode.NewDecoder()
			for n := 1; n < len(s.Payload); n++ {
				p := s.Payload[:n:n]
				r := d.Read(spec, p, s.Dialect, s)
				if r.Err == nil {
					if !r.Exact() && r.Dialect == s.Dialect && !shortSnapshot(spec, &r) {
						t.Errorf("+%d: rest %x", n, r.Rest)
					}
					if err := decode.RoundTrips(spec, &r, p); err != nil {
						t.Errorf("+%d: %v", n, err)
					}
					continue
				}
				switch {
				case !errors.Is(r.Err, decode.ErrShort) && !errors.Is(r.Err, decode.ErrState) && !errors.Is(r.Err, decode.ErrBits):
					t.Errorf("+%d: %v", n, r.Err)
				case errors.Is(r.Err, decode.ErrShort) && r.Err.Need <= r.Err.Have:
					t.Errorf("+%d: needs %d, has %d", n, r.Err.Need, r.Err.Have)
				case r.Err.Offset < 0 || r.Err.Offset > n || r.Err.Field == "" || r.Err.Message != spec.Name:
					t.Errorf("+%d: %v", n, r.Err)
				}
				show(s, &r)
			}
		})
	}
}

// shortSnapshot reports whether the message is a ship creation with an
// incomplete snapshot. Such a snapshot is not decoded, because a modified ship
// has a snapshot of another length.
func shortSnapshot(s *decode.Spec, r *decode.Result) bool {
	return (s.Code == 0x02 || s.Code == 0x03) && len(r.Rest) > 0
}

func TestReadDoesNotAllocate(t *testing.T) {
	d := decode.NewDecoder()
	for _, s := range messages.All(t) {
		spec := s.SpecIn(Catalog())
		read(t, d, spec, s)
		if n := testing.AllocsPerRun(10, func() { d.Read(spec, s.Payload, s.Dialect, s) }); n != 0 {
			t.Errorf("%s: %v allocations; a message with a list needs a Reset that keeps the list's memory", s.Name, n)
		}
	}
}

// A reused decoder gives the same result as a new one.
func TestDecoderForgets(t *testing.T) {
	old := decode.NewDecoder()
	for range 2 {
		for _, s := range messages.All(t) {
			spec := s.SpecIn(Catalog())
			r1, r2 := old.Read(spec, s.Payload, s.Dialect, s), decode.NewDecoder().Read(spec, s.Payload, s.Dialect, s)
			b1, err1 := decode.Append(nil, spec, r1.Message, r1.Dialect)
			b2, err2 := decode.Append(nil, spec, r2.Message, r2.Dialect)
			if err1 != nil || err2 != nil || !bytes.Equal(b1, b2) {
				t.Errorf("%s: got %x (%v), want %x (%v)", s.Name, b1, err1, b2, err2)
			}
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range messages.All(f) {
		f.Add(s.Payload, uint8(s.Dialect), s.Species)
	}
	d := decode.NewDecoder()
	f.Fuzz(func(t *testing.T, payload []byte, dialect, species uint8) {
		if len(payload) == 0 {
			return
		}
		spec := Catalog().Lookup(decode.Opcode(payload[0]))
		if spec == nil || !spec.Known() {
			return
		}
		s := &messages.Sample{Dialect: decode.Dialect(dialect % 3), Species: species, Payload: payload}
		r := d.Read(spec, payload, s.Dialect, s)
		if len(r.Rest) > len(payload)-1 || r.Err != nil && (r.Err.Offset < 0 || r.Err.Offset > len(payload) || r.Err.Error() == "") {
			t.Fatalf("rest of %d in %d, error %v", len(r.Rest), len(payload), r.Err)
		}
		v := show(s, &r)
		at := 1
		for _, f := range v.fields {
			if f.off != at {
				t.Fatalf("%s begins at %d, the field before ends at %d", f.path, f.off, at)
			}
			at = f.end
		}
		if at+len(r.Rest) != len(payload) {
			t.Fatalf("fields end at %d and %d bytes are over, of %d: %v", at, len(r.Rest), len(payload), r.Err)
		}
		if len(v.groups) != 0 {
			t.Fatalf("groups left open: %s", v.groups)
		}
		// The work is bounded: a byte holds at most eight bits, and the fields
		// without bytes are few.
		if n := len(v.fields); n > 8*len(payload)+32 {
			t.Fatalf("%d fields in %d bytes", n, len(payload))
		}
		if !r.Exact() {
			return
		}
		// Some bit groups have several encodings, so the first rewrite may differ
		// from the input. Later ones must not.
		once, err := decode.Append(nil, spec, r.Message, r.Dialect)
		if err != nil {
			t.Fatalf("not written: %v", err)
		}
		if spec.Code == 0x1C && !bytes.Equal(once, payload) {
			return // a block's number of entries depends on its length, which has changed
		}
		again := d.Read(spec, once, r.Dialect, s)
		if !again.Exact() {
			t.Fatalf("%x, written from %x, has rest %x and error %v", once, payload, again.Rest, again.Err)
		}
		twice, err := decode.Append(nil, spec, again.Message, again.Dialect)
		if err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("written as %x, then as %x: %v", once, twice, err)
		}
	})
}

func BenchmarkRead(b *testing.B) {
	for _, s := range messages.All(b) {
		spec := s.SpecIn(Catalog())
		b.Run(s.Name, func(b *testing.B) {
			d := decode.NewDecoder()
			b.ReportAllocs()
			b.SetBytes(int64(len(s.Payload)))
			for b.Loop() {
				d.Read(spec, s.Payload, s.Dialect, s)
			}
		})
	}
}

// Directories are nested four deep at most.
func TestDepthOfDirectories(t *testing.T) {
	for depth, ok := range map[int]bool{0: true, 1: true, 4: true, 5: false} {
		m := ChecksumResponse{Round: 1, Found: true}
		for tree, n := &m.Tree, 0; n < depth; tree, n = &tree.Trees[0], n+1 {
			tree.Subdirs, tree.Trees = []uint32{uint32(n)}, make([]ChecksumTree, 1)
		}
		_, err := decode.Append(nil, Catalog().Lookup(OpChecksumResponse), &m, decode.Stock)
		e, refused := errors.AsType[*decode.Error](err)
		// Opcode, round and hash; for each of the four around it no files and one
		// directory; and no files.
		if refused == ok || refused && (e.Detail != tooDeep || e.Offset != 1+1+4+4*(2+1+4)+2) {
			t.Errorf("%d: got %v", depth, err)
		}
	}
}
