package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/fixtures"
)

// TestLibrary compares the packages that are public by their comments with the
// list in docs/library.md and with the guarded ones in docs/api.
func TestLibrary(t *testing.T) {
	t.Parallel()
	root := filepath.Dir(fixtures.Dir())
	public := map[string]bool{}
	for _, tree := range []string{"decode", "dissect"} {
		err := filepath.WalkDir(filepath.Join(root, tree), func(path string, d fs.DirEntry, err error) error {
			switch name := d.Name(); {
			case err != nil:
				return err
			case d.IsDir() && (name == "internal" || name == "testdata"):
				return fs.SkipDir
			case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
				return nil
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.PackageClauseOnly|parser.ParseComments)
			if err != nil {
				return err
			}
			if doc := file.Doc.Text(); doc != "" && !strings.HasPrefix(doc, "Not part of the library:") {
				dir, _ := filepath.Rel(root, filepath.Dir(path))
				public[filepath.ToSlash(dir)] = true
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	doc, err := os.ReadFile(filepath.Join(root, "docs", "library.md"))
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for line := range strings.Lines(string(doc)) {
		if rest, is := strings.CutPrefix(line, "| `"); is {
			name, _, _ := strings.Cut(rest, "`")
			listed = append(listed, name)
		}
	}
	guarded, err := filepath.Glob(filepath.Join(root, "docs", "api", "*.export"))
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range guarded {
		guarded[i] = strings.ReplaceAll(strings.TrimSuffix(filepath.Base(name), ".export"), "-", "/")
	}
	var want []string
	for name := range public {
		want = append(want, name)
	}
	slices.Sort(want)
	slices.Sort(listed)
	slices.Sort(guarded)
	if !slices.Equal(listed, want) {
		t.Errorf("docs/library.md lists %q; public are %q", listed, want)
	}
	if !slices.Equal(guarded, want) {
		t.Errorf("docs/api guards %q; public are %q", guarded, want)
	}
}
