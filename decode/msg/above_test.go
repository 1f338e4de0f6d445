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

// A checker finds numeric opcodes and offsets into game messages.
type checker struct {
	fset     *token.FileSet
	importer types.Importer
}

func newChecker(all map[string]built) *checker {
	fset := token.NewFileSet()
	lookup := func(path string) (io.ReadCloser, error) { return os.Open(all[path].export) }
	return &checker{fset, importer.ForCompiler(fset, "gc", lookup)}
}

func (c *checker) parse(name string, src any) (*ast.File, error) {
	return parser.ParseFile(c.fset, name, src, parser.SkipObjectResolution)
}

// check returns a line for each fact that the code should read from the message
// descriptions.
func (c *checker) check(path string, files []*ast.File) (found []string, err error) {
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}
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
	none := map[ast.Expr]bool{} // zeros that are not opcodes
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ReturnStmt:
				zeros(none, n.Results)
			case *ast.AssignStmt:
				zeros(none, n.Rhs)
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
			case *ast.IndexExpr:
				if v := info.Types[n.Index].Value; gameBody(n.X) && v != nil && v.Kind() == constant.Int && constant.Sign(v) > 0 {
					report(n, "a place in a message; read the message and use its field")
				}
			case *ast.SliceExpr:
				for _, at := range []ast.Expr{n.Low, n.High} {
					if at == nil {
						continue
					}
					if v := info.Types[at].Value; gameBody(n.X) && v != nil && constant.Compare(v, token.GTR, constant.MakeInt64(1)) {
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

// gameBody reports whether e is named like the bytes of a game message.
func gameBody(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name == "payload"
	case *ast.SelectorExpr:
		return e.Sel.Name == "Payload"
	}
	return false
}

// Packages above the message descriptions know neither opcodes nor field
// offsets.
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
	if checked < 15 {
		t.Errorf("only %d packages were looked at", checked)
	}

	planted := func(src string) (found []string) {
		f, err := c.parse("planted.go", "package planted\n\nimport (\n\"github.com/bcdissect/bcdissect/decode\"\n\"github.com/bcdissect/bcdissect/decode/msg\"\n"+
			"\"github.com/bcdissect/bcdissect/dissect/transport\"\n)\n\nvar _ decode.Opcode\nvar _ msg.Chat\nvar _ transport.Type\n\n"+src)
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
		"func f() (op decode.Opcode, ok bool) { return 0, false }",
		"func f(flags byte) bool { return flags&0x80 != 0 }",
	} {
		if found := planted(src); len(found) > 0 {
			t.Errorf("%s: %v", src, found)
		}
	}
}
