package main

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
)

// broken is a stream whose use panics.
type broken struct{ err error }

func (b broken) Read([]byte) (int, error)  { panic(b.err) }
func (b broken) Write([]byte) (int, error) { panic(b.err) }

// panics is a program for the scripts. It panics where it reads its input, which a
// goroutine does, or with the argument version where it writes its output.
func panics() {
	b := broken{errors.New("index out of range\n[5]")}
	os.Exit(run(os.Args[1:], cli.Streams{In: b, Out: b, Err: os.Stderr}))
}

// Every goroutine of the program defers the guard that makes a panic an error with
// a status.
func TestGoroutinesAreGuarded(t *testing.T) {
	set, found := token.NewFileSet(), 0
	err := filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			var body ast.Expr
			switch n := n.(type) {
			case *ast.GoStmt:
				body = n.Call.Fun
			case *ast.CallExpr: // a call of Go on a sync.WaitGroup
				if f, ok := n.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Go" && len(n.Args) == 1 {
					body = n.Args[0]
				}
			}
			if body == nil {
				return true
			}
			found++
			if f, ok := body.(*ast.FuncLit); !ok || !guarded(f.Body.List) {
				t.Errorf("%s: the goroutine doesn't begin with defer cli.Guard()", set.Position(n.Pos()))
			}
			return true
		})
		return nil
	})
	if err != nil || found < 20 {
		t.Errorf("%d goroutines, %v", found, err)
	}
}

// guarded reports whether the guard is among the deferred calls that a function
// begins with.
func guarded(list []ast.Stmt) bool {
	for _, s := range list {
		d, ok := s.(*ast.DeferStmt)
		if !ok {
			return false
		}
		switch f := d.Call.Fun.(type) {
		case *ast.SelectorExpr:
			if f.Sel.Name == "Guard" {
				return true
			}
		case *ast.Ident:
			if f.Name == "Guard" {
				return true
			}
		}
	}
	return false
}
