package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/fixtures"
)

// A document is a page of the repository.
type document struct {
	text    []string // all lines
	lines   []string // without code blocks, which are empty lines
	anchors map[string]bool
}

var (
	docLink    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	docCode    = regexp.MustCompile("`[^`]*`")
	docHeading = regexp.MustCompile(`^#+\s+(.*)`)
	notInLink  = regexp.MustCompile(`[^\p{L}\p{N}_\- ]`)
	docWord    = regexp.MustCompile(`[\w.~:@*/-]+`)
	docSource  = regexp.MustCompile(`^\w[\w/-]*\.go$`)
)

func readDocument(t *testing.T, name string) *document {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	p := &document{anchors: map[string]bool{}}
	code := false
	for line := range strings.Lines(string(b)) {
		line = strings.TrimRight(line, "\r\n")
		p.text = append(p.text, line)
		fence := strings.HasPrefix(line, "```")
		if fence {
			code = !code
		}
		if code || fence {
			line = ""
		}
		p.lines = append(p.lines, line)
		if m := docHeading.FindStringSubmatch(line); m != nil {
			text := docLink.ReplaceAllString(m[1], "]")
			at := strings.ReplaceAll(notInLink.ReplaceAllString(strings.ToLower(text), ""), " ", "-")
			anchor := at
			for n := 1; p.anchors[anchor]; n++ {
				anchor = fmt.Sprintf("%s-%d", at, n)
			}
			p.anchors[anchor] = true
		}
	}
	return p
}

// A repository knows its files and folders by their names, with slashes.
type repository struct {
	tops  map[string]bool // the folders with documents and code
	files string          // the paths, each between line ends and after a slash
}

func readRepository(t *testing.T, root string) *repository {
	t.Helper()
	r := &repository{tops: map[string]bool{}}
	for _, top := range []string{"cmd", "decode", "dissect", "docs", "fixtures", "report"} {
		r.tops[top] = true
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Name() == "node_modules" {
				return filepath.SkipDir
			}
			path, _ = filepath.Rel(root, path)
			r.files += "/" + filepath.ToSlash(path) + "\n"
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// missing returns the names in a line that look like names of files or folders
// but exist nowhere in the repository. A name may lack leading folders:
// relay/session.go means dissect/relay/session.go.
func (r *repository) missing(line string) (names []string) {
	for _, word := range docWord.FindAllString(line, -1) {
		word, _, _ = strings.Cut(word, "*")
		cut := strings.HasSuffix(word, "-") // fixtures/messages/1c-*.hex
		word = strings.TrimRight(word, ".:/-")
		top, _, below := strings.Cut(word, "/")
		if (below && r.tops[top] || docSource.MatchString(word)) && !strings.Contains(r.files, "/"+word+"\n") && !cut {
			names = append(names, word)
		}
	}
	return names
}

// Links in the documents lead to files and headings that exist, files that the
// documents name exist, and all rows of a table have as many cells as its first.
func TestDocuments(t *testing.T) {
	root := filepath.Dir(fixtures.Dir())
	var names []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "fixtures/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, found...)
	}
	if len(names) < 30 {
		t.Fatalf("only %d documents", len(names))
	}
	files := readRepository(t, root)
	pages := map[string]*document{}
	for _, name := range names {
		pages[name] = readDocument(t, name)
	}
	for _, name := range names {
		if filepath.Base(name) != "CHANGELOG.md" { // names what there was
			for i, line := range pages[name].text {
				for _, missing := range files.missing(line) {
					t.Errorf("%s:%d: %s: there is no such file", strings.TrimPrefix(name, root), i+1, missing)
				}
			}
		}
		cells := 0
		for i, line := range pages[name].lines {
			place := fmt.Sprintf("%s:%d", strings.TrimPrefix(name, root), i+1)
			for _, m := range docLink.FindAllStringSubmatch(docCode.ReplaceAllString(line, ""), -1) {
				path, anchor, _ := strings.Cut(m[1], "#")
				if strings.Contains(path, ":") { // a link to the web
					continue
				}
				to := name
				if path != "" {
					to = filepath.Join(filepath.Dir(name), filepath.FromSlash(path))
				}
				if _, err := os.Stat(to); err != nil {
					t.Errorf("%s: %s: there is no such file", place, m[1])
				} else if p := pages[to]; anchor != "" && p != nil && !p.anchors[anchor] {
					t.Errorf("%s: %s: there is no such heading", place, m[1])
				}
			}
			if !strings.HasPrefix(line, "|") {
				cells = 0
				continue
			}
			n := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|") - 1
			if cells == 0 {
				cells = n
			}
			if n != cells {
				t.Errorf("%s: a row of %d cells in a table of %d", place, n, cells)
			}
		}
	}
}
