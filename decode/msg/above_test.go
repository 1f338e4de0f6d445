package msg

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/constant"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const modulePath = "github.com/bcdissect/bcdissect"

// A built is a package as listed by the go command.
type built struct{ path, dir, export, files string }

// builtPackages returns the program's packages and all their imports.
func builtPackages(t *testing.T) map[string]built {
	t.Helper()
	cmd := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Dir}}\t{{.Export}}\t{{join .GoFiles \" \"}}", modulePath+"/...")
	cmd.Dir = filepath.Join("..", "..")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.Bytes())
	}
	all := map[string]built{}
	for line := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		all[f[0]] = built{f[0], f[1], f[2], f[3]}
	}
	return all
}

// above reports whether a package stands above the descriptions of messages.
func above(path string) bool {
	switch path {
	case modulePath + "/dissect/relay/relaytest": // for tests only
		return false
	case modulePath + "/dissect/cipher", modulePath + "/dissect/transport": // below them
		return false
	}
	if strings.HasPrefix(path, modulePath+"/dissect/capture") { // as are frames and files
		return false
	}
	for _, tree := range []string{"dissect", "report", "cmd"} {
		if strings.HasPrefix(path, modulePath+"/"+tree+"/") || path == modulePath+"/"+tree {
			return true
		}
	}
	return false
}

// A checker finds numeric opcodes, offsets into game messages, and untrusted text
// that is printed raw.
type checker struct {
	fset     *token.FileSet
	importer types.Importer
	raw      map[string]int // uses of the raw characters of untrusted text, by package
}

// rawUses lists the packages that may use the raw characters of untrusted text, how
// often at most, and what for.
var rawUses = map[string]struct {
	most int
	why  string
}{
	"cmd/bcdissect":            {2, "query: OneLine escapes names"},
	"cmd/internal/anonymize":   {3, "what is replaced"},
	"cmd/internal/cli":         {3, "comparison with --player, OneLine escapes names in completions"},
	"cmd/internal/query":       {2, "%q escapes it; numbers are read"},
	"cmd/internal/server":      {1, "%q escapes it"},
	"dissect":                  {1, "bytes of a description, which presenters escape"},
	"dissect/conform/perform":  {1, "names in explanations, which reports escape"},
	"dissect/conform/diff":     {3, "keys of messages, for comparison"},
	"dissect/conform/result":   {1, "names in explanations, which reports escape"},
	"dissect/conform/suite":    {17, "comparison; answers in explanations, which reports escape"},
	"dissect/filter":           {5, "comparison"},
	"dissect/internal/session": {1, "bytes of a description, which presenters escape"},
	"dissect/key":              {1, "bytes of a value, which presenters escape"},
	"dissect/league":           {11, "comparison of players; texts in which addresses are looked for"},
	"dissect/match":            {6, "comparison of players, of lines of chat and of recordings; a name in a finding, which is untrusted itself"},
	"dissect/measure":          {2, "comparison; names in explanations, which reports escape"},
	"dissect/relay":            {5, "comparison; names for clients and server lists"},
	"report/acmi":              {1, "a recording has its own rules"},
	"report/ndjson":            {4, "JSON"},
	"report/page":              {2, "the writer of the page's JSON escapes it"},
	"report/table":             {2, "its width and its last dot"},
	"report/tables":            {3, "Parquet and CSV"},
	"report/verdicts":          {1, "XML, after visible"},
	"report/wireshark":         {1, "comparison with the keys that have a field"},
}

func newChecker(all map[string]built) *checker {
	fset := token.NewFileSet()
	lookup := func(path string) (io.ReadCloser, error) { return os.Open(all[path].export) }
	return &checker{fset, importer.ForCompiler(fset, "gc", lookup), map[string]int{}}
}

func (c *checker) parse(name string, src any) (*ast.File, error) {
	return parser.ParseFile(c.fset, name, src, parser.SkipObjectResolution)
}

// check returns a line for each fact that the code should read from the message
// descriptions.
func (c *checker) check(path string, files []*ast.File) (found []string, err error) {
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: c.importer, FakeImportC: true}
	if _, err := conf.Check(path, c.fset, files, info); err != nil {
		return nil, err
	}
	report := func(n ast.Node, format string, args ...any) {
		p := c.fset.Position(n.Pos())
		found = append(found, fmt.Sprintf("%s:%d: %s", filepath.Base(p.Filename), p.Line, fmt.Sprintf(format, args...)))
	}
	compared := func(a, b ast.Expr) {
		if firstByte(info, a) && number(info, b, path) {
			report(b, "the first byte of a message is compared with a number; use an opcode of decode/msg")
		}
	}
	bodies := bodiesIn(info, files)
	none := map[ast.Expr]bool{} // zeros that are not opcodes, and steps behind what is read
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ReturnStmt:
				zeros(none, n.Results)
			case *ast.AssignStmt:
				zeros(none, n.Rhs)
				if s, ok := n.Rhs[0].(*ast.SliceExpr); ok && types.ExprString(s.X) == types.ExprString(n.Lhs[0]) && s.High == nil {
					none[s] = true
				}
			case *ast.BasicLit:
				if n.Kind == token.INT && isOpcode(info.Types[n].Type) && !none[n] {
					report(n, "%s is an opcode; use its name in decode/msg", n.Value)
				}
			case *ast.BinaryExpr:
				if n.Op == token.EQL || n.Op == token.NEQ {
					compared(n.X, n.Y)
					compared(n.Y, n.X)
				}
			case *ast.SwitchStmt:
				for _, clause := range n.Body.List {
					for _, e := range clause.(*ast.CaseClause).List {
						if n.Tag != nil {
							compared(n.Tag, e)
						}
					}
				}
			case *ast.KeyValueExpr:
				if key, ok := n.Key.(*ast.BasicLit); ok && strings.HasPrefix(key.Value, "0x") && len(key.Value) == len("0x00") {
					report(n, "a table by opcode; what it says belongs into the specs")
				}
			case *ast.CallExpr:
				if f, ok := n.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Raw" && isUntrusted(info.Types[f.X].Type) {
					c.raw[strings.TrimPrefix(path, modulePath+"/")]++
				}
				if unescaped(info, n) {
					report(n, "untrusted text goes on as it is; use String for people, Raw for the rest")
				}
			case *ast.IndexExpr:
				if v := info.Types[n.Index].Value; v != nil && v.Kind() == constant.Int && bodies.holds(n.X) && constant.Sign(v) > 0 {
					report(n, "a place in a message; read the message and use its field")
				}
			case *ast.SliceExpr:
				for _, at := range []ast.Expr{n.Low, n.High} {
					if at == nil || none[n] {
						continue
					}
					if v := info.Types[at].Value; v != nil && constant.Compare(v, token.GTR, constant.MakeInt64(1)) && bodies.holds(n.X) {
						report(n, "a place in a message; read the message and use its field")
					}
				}
			}
			return true
		})
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

// unescaped reports whether a call takes the characters of a wire.Untrusted
// without saying so: a conversion, append and copy do.
func unescaped(info *types.Info, call *ast.CallExpr) bool {
	if len(call.Args) == 0 {
		return false
	}
	last := call.Args[len(call.Args)-1]
	if !isUntrusted(info.Types[last].Type) {
		return false
	}
	switch f := info.Types[call.Fun]; {
	case f.IsType():
		return !isUntrusted(f.Type)
	case f.IsBuiltin():
		name := types.ExprString(call.Fun)
		return name == "append" && call.Ellipsis.IsValid() || name == "copy"
	}
	return false
}

func isUntrusted(t types.Type) bool {
	return t != nil && types.TypeString(t, nil) == modulePath+"/decode/wire.Untrusted"
}

// zeros records the expressions that are 0.
func zeros(found map[ast.Expr]bool, list []ast.Expr) {
	for _, e := range list {
		if b, ok := e.(*ast.BasicLit); ok && b.Value == "0" {
			found[e] = true
		}
	}
}

func isOpcode(t types.Type) bool {
	return t != nil && types.TypeString(t, nil) == modulePath+"/decode.Opcode"
}

// firstByte reports whether e is x[0], possibly converted.
func firstByte(info *types.Info, e ast.Expr) bool {
	e = ast.Unparen(e)
	if call, ok := e.(*ast.CallExpr); ok && len(call.Args) == 1 && info.Types[call.Fun].IsType() {
		e = ast.Unparen(call.Args[0])
	}
	x, ok := e.(*ast.IndexExpr)
	if !ok {
		return false
	}
	b, ok := info.Types[e].Type.Underlying().(*types.Basic)
	v := info.Types[x.Index].Value
	return ok && b.Kind() == types.Uint8 && v != nil && constant.Sign(v) == 0
}

// number reports whether e is a constant with a numeric value in the package
// itself.
func number(info *types.Info, e ast.Expr, path string) bool {
	e = ast.Unparen(e)
	if info.Types[e].Value == nil {
		return false
	}
	switch e := e.(type) {
	case *ast.BasicLit:
		return e.Kind == token.INT
	case *ast.Ident:
		o := info.Uses[e]
		return o != nil && o.Pkg() != nil && o.Pkg().Path() == path
	case *ast.CallExpr:
		return len(e.Args) == 1 && number(info, e.Args[0], path)
	}
	return false
}

// Bodies are the variables, fields, parameters and functions of a package whose values are the
// bytes of messages, whatever their names.
type bodies struct {
	info *types.Info
	of   map[types.Object]bool
}

// bodiesIn follows the bytes of messages through assignments, calls and results.
func bodiesIn(info *types.Info, files []*ast.File) *bodies {
	b := &bodies{info, map[types.Object]bool{}}
	for before := -1; before < len(b.of); {
		before = len(b.of)
		for _, f := range files {
			for _, decl := range f.Decls {
				b.follow(decl)
			}
		}
	}
	return b
}

// follow notes what a declaration does with the bytes of messages.
func (b *bodies) follow(decl ast.Decl) {
	var result types.Object
	if f, ok := decl.(*ast.FuncDecl); ok {
		result = b.info.Defs[f.Name]
	}
	ast.Inspect(decl, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			result = nil // a return statement after this may be the literal's
		case *ast.AssignStmt:
			for i := range n.Rhs {
				if len(n.Lhs) == len(n.Rhs) {
					b.takes(b.object(n.Lhs[i]), n.Rhs[i])
				}
			}
		case *ast.ValueSpec:
			for i := range n.Values {
				b.takes(b.info.Defs[n.Names[i]], n.Values[i])
			}
		case *ast.CallExpr:
			if f, ok := b.object(n.Fun).(*types.Func); ok {
				params := f.Signature().Params()
				for i := range min(len(n.Args), params.Len()) {
					b.takes(params.At(i), n.Args[i])
				}
			}
		case *ast.ReturnStmt:
			if len(n.Results) > 0 {
				b.takes(result, n.Results[0])
			}
		}
		return true
	})
}

// takes notes that an object has the value of e.
func (b *bodies) takes(o types.Object, e ast.Expr) {
	if o != nil && o.Pkg() != nil && b.holds(e) {
		b.of[o] = true
	}
}

// object returns what e names.
func (b *bodies) object(e ast.Expr) types.Object {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return b.info.ObjectOf(e)
	case *ast.SelectorExpr:
		return b.info.Uses[e.Sel]
	}
	return nil
}

// holds reports whether e has the bytes of a message, the opcode first or behind it.
func (b *bodies) holds(e ast.Expr) bool {
	e = ast.Unparen(e)
	if t := b.info.Types[e].Type; t == nil || types.TypeString(t.Underlying(), nil) != "[]byte" {
		return false
	}
	switch e := e.(type) {
	case *ast.Ident, *ast.SelectorExpr:
		if s, ok := e.(*ast.SelectorExpr); ok && strings.HasSuffix(types.TypeString(b.info.Types[s.X].Type, nil), "Datagram") {
			return false // enciphered
		}
		o := b.object(e)
		return o != nil && (b.of[o] || o.Name() == "payload" || o.Name() == "Payload" || o.Name() == "Body")
	case *ast.SliceExpr:
		return b.holds(e.X)
	case *ast.CompositeLit: // []byte{byte(msg.OpChat), …
		if len(e.Elts) > 0 {
			call, ok := e.Elts[0].(*ast.CallExpr)
			return ok && len(call.Args) == 1 && isOpcode(b.info.Types[call.Args[0]].Type)
		}
	case *ast.CallExpr:
		o := b.object(e.Fun)
		switch {
		case o == nil:
		case b.of[o], o.Name() == "Append" && o.Pkg() != nil && o.Pkg().Path() == modulePath+"/decode":
			return true
		case o.Name() == "append" && len(e.Args) == 2 && (b.info.Types[e.Args[0]].IsNil() || types.ExprString(e.Args[0]) == "[]byte(nil)"):
			return b.holds(e.Args[1]) // a copy
		case o.Name() == "Clone", strings.HasPrefix(strings.ToLower(o.Name()), "append"):
			return len(e.Args) > 0 && b.holds(e.Args[0])
		}
	}
	return false
}

// Packages above the message descriptions know neither opcodes nor field
// offsets, and escape text from the network or say that they don't.
func TestNoOpcodesAbove(t *testing.T) {
	all := builtPackages(t)
	c := newChecker(all)
	checked := 0
	for path, p := range all {
		if !above(path) {
			continue
		}
		checked++
		var files []*ast.File
		for name := range strings.FieldsSeq(p.files) {
			f, err := c.parse(filepath.Join(p.dir, name), nil)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
		}
		found, err := c.check(path, files)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			t.Errorf("%s/%s", strings.TrimPrefix(path, modulePath+"/"), f)
		}
	}
	for path, n := range c.raw {
		if n > rawUses[path].most {
			t.Errorf("%s uses Raw of untrusted text %d times, at most %d are listed: print the text itself, or say in rawUses what for", path, n, rawUses[path].most)
		}
	}
	for path, use := range rawUses {
		if c.raw[path] == 0 {
			t.Errorf("%s uses no raw text (%s): remove it from rawUses", path, use.why)
		}
	}
	if checked < 15 {
		t.Errorf("only %d packages were looked at", checked)
	}

	planted := func(src string) (found []string) {
		f, err := c.parse("planted.go", "package planted\n\nimport (\n\"github.com/bcdissect/bcdissect/decode\"\n\"github.com/bcdissect/bcdissect/decode/msg\"\n"+
			"\"github.com/bcdissect/bcdissect/decode/wire\"\n"+
			"\"github.com/bcdissect/bcdissect/dissect/transport\"\n)\n\nvar _ decode.Opcode\nvar _ wire.Untrusted\nvar _ msg.Chat\nvar _ transport.Type\n\n"+src)
		if err != nil {
			t.Fatal(err)
		}
		if found, err = c.check("planted", []*ast.File{f}); err != nil {
			t.Fatal(err)
		}
		return found
	}
	for _, src := range []string{
		"func f(op decode.Opcode) bool { return op == 0x15 }",
		"func f(op decode.Opcode) bool { return op != 21 }",
		"func f(op decode.Opcode) bool { switch op { case 0x15: return true }; return false }",
		"var f = decode.Opcode(0x15)",
		"const f decode.Opcode = 0x15",
		"func f(b []byte) bool { return b[0] == 0x15 }",
		"func f(b []byte) bool { return int(b[0]) == 0x15 }",
		"func f(b []byte) bool { switch b[0] { case 0x15: return true }; return false }",
		"const ready = 0x2A\nfunc f(b []byte) bool { return ready == b[0] }",
		"var f = map[decode.Opcode]string{0x15: \"\"}",
		"var f = [256]string{0x15: \"\"}",
		"func f(payload []byte) byte { return payload[9] }",
		"const at = 9\nfunc f(payload []byte) byte { return payload[at] }",
		"func f(payload []byte) []byte { return payload[5:9] }",
		"func f(m transport.Message) byte { return m.Body[1] }",
		"func f(m transport.Message) byte { b := m.Body; return b[9] }",
		"func f(m transport.Message) byte { b := append([]byte(nil), m.Body...); return b[9] }",
		"func f(m transport.Message) byte { return g(m.Body) }\nfunc g(b []byte) byte { return b[9] }",
		"func f(m transport.Message) byte { return g(m)[9] }\nfunc g(m transport.Message) []byte { return m.Body[1:] }",
		"type s struct { raw []byte }\nfunc (x *s) f(m transport.Message) byte { x.raw = m.Body; return x.raw[9] }",
		"func f() []byte { b := append([]byte{byte(msg.OpChat)}, 0, 0); b[1] = 7; return b }",
		"func f(t wire.Untrusted) string { return string(t) }",
		"func f(t wire.Untrusted) []byte { return []byte(t[1:]) }",
		"func f(t wire.Untrusted) any { type text string; return text(t) }",
		"func f(b []byte, t wire.Untrusted) []byte { return append(b, (t)...) }",
		"func f(b []byte, t wire.Untrusted) int { return copy(b, t) }",
	} {
		if len(planted(src)) == 0 {
			t.Errorf("not found: %s", src)
		}
	}
	for _, src := range []string{
		"func f(op decode.Opcode) bool { return op == msg.OpChat }",
		"func f(b []byte) bool { return decode.Opcode(b[0]) == msg.OpChat }",
		"func f(b []byte) bool { return b[0] == transport.UnassignedPeer || b[0] == '\\\\' }",
		"func f(payload []byte) []byte { return payload[1:] }",
		"func f(b []byte) byte { return b[9] }",
		"func f(m transport.Message, at int) byte { return m.Body[at] }",
		"func f() (op decode.Opcode, ok bool) { return 0, false }",
		"func f(flags byte) bool { return flags&0x80 != 0 }",
		"func f(t wire.Untrusted) string { return t.String() + t.Raw() }",
		"func f(all []wire.Untrusted, s string) []wire.Untrusted { return append(all, wire.Untrusted(s)) }",
	} {
		if found := planted(src); len(found) > 0 {
			t.Errorf("%s: %v", src, found)
		}
	}
}
