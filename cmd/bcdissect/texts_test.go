package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/bcdissect/bcdissect/fixtures"
)

// A text is a string of the source that can reach users.
type text struct{ place, kind, words string }

// Kinds of texts. Rules differ by kind.
const (
	kindHelp  = "help"  // help for a command or a flag
	kindError = "error" // ends a command, or explains damaged input
	kindNote  = "note"  // written to standard error while a command runs
	kindOther = "text"  // tables, headings, documentation of fields, verdicts
)

// kinds are the kinds by the name of the function that gets the text, or by the
// field that holds it.
var kinds = map[string]string{
	"Short": kindHelp, "Long": kindHelp, "Example": kindHelp, "Usage": kindHelp,
	"Errorf": kindError, "New": kindError, "errorf": kindError, "fault": kindError, "faultAt": kindError, "fail": kindError,
	"refuse": kindError, "damaged": kindError, "damagedAt": kindError, "unfit": kindError, "unstarted": kindError,
	"Say": kindNote, "say": kindNote, "Note": kindNote, "note": kindNote,
}

// flagFunction matches the functions that define a flag.
var flagFunction = regexp.MustCompile(`^(Bool|String|StringArray|StringSlice|Int|Uint16|Uint64|Float64|Duration)?(Var|VarP)$|^Define\w*$`)

// notShown are folders whose texts only developers see.
var notShown = []string{
	"cmd/bcdissect/packaging", "cmd/bcdissect/testdata", "cmd/internal/server/servertest", "cmd/web/site", "dissect/relay/relaytest", "report/page/browsertest",
	"report/acmi/acmitest",
}

// collectTexts returns the texts of all source files but tests.
func collectTexts(t *testing.T) (all []text) {
	t.Helper()
	root := filepath.Dir(fixtures.Dir())
	for _, top := range []string{"cmd", "decode", "dissect", "report"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, d fs.DirEntry, err error) error {
			name, _ := filepath.Rel(root, path)
			name = filepath.ToSlash(name)
			switch {
			case err != nil:
				return err
			case d.IsDir() && (slices.Contains(notShown, name) || d.Name() == "node_modules"):
				return filepath.SkipDir
			case !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
				return nil
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			c := collector{add: func(at token.Pos, kind, words string) {
				all = append(all, text{name + ":" + strconv.Itoa(set.Position(at).Line), kind, words})
			}}
			c.collect(file, kindOther)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// A collector walks the syntax of a file.
type collector struct {
	add func(at token.Pos, kind, words string)
}

// collect adds the texts below a node. The kind is used for texts whose
// function or field does not determine a kind.
func (c *collector) collect(node ast.Node, kind string) {
	ast.Inspect(node, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field: // its tag is for programs
			return n.Tag == nil
		case *ast.CallExpr:
			name := lastName(n.Fun)
			of := kinds[name]
			if flagFunction.MatchString(name) {
				of = kindHelp
			}
			if of == "" {
				return true
			}
			for _, arg := range n.Args {
				c.collect(arg, of)
			}
			return false
		case *ast.KeyValueExpr:
			if of := kinds[lastName(n.Key)]; of != "" {
				c.collect(n.Value, of)
				return false
			}
		case ast.Expr:
			if words, isText := literal(n); isText {
				if strings.Contains(strings.TrimSpace(words), " ") {
					c.add(n.Pos(), kind, words)
				}
				return false
			}
		}
		return true
	})
}

// lastName returns the name of a function or field without what it belongs to.
func lastName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// literal returns a string literal, or a sum of at least one literal with … for
// other parts.
func literal(e ast.Expr) (words string, isText bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			words, _ = strconv.Unquote(e.Value)
			return words, true
		}
	case *ast.BinaryExpr:
		a, first := literal(e.X)
		b, second := literal(e.Y)
		if e.Op == token.ADD && (first || second) {
			if !first {
				a = "…"
			}
			if !second {
				b = "…"
			}
			return a + b, true
		}
	}
	return "…", false
}

// oddWords are turns that readers stumble over.
var oddWords = regexp.MustCompile(`(?i)\b(amid|stead|besides?|but for|says? so|of (its|their) own|(some|no|every)body|(left|leaves?|leaving) out|is alone|are alone)\b|, too($|[.;:)])`)

// A failed error says what it did, or repeats the machinery.
var machinery = regexp.MustCompile(`(?i)\bfailed to\b|\bunable to\b|\binvalid argument\b`)

// wrong returns which rule of docs and style a text breaks, or "".
func wrong(x text) string {
	switch first, end := x.words[0], strings.TrimSpace(x.words); {
	case x.words == "left out" || strings.HasSuffix(end, "or nobody)"): // a key of the file of cases, and a user's name
	case oddWords.MatchString(x.words):
		return "write " + strconv.Quote(oddWords.FindString(x.words)) + " in plainer words"
	case x.kind == kindHelp && strings.Contains(x.words, ";") && !strings.Contains(x.words, "'"):
		return "help has sentences, no semicolons"
	case x.kind == kindError && (strings.HasSuffix(end, ".") && !strings.HasSuffix(end, "...") || strings.HasSuffix(end, "!")):
		return "an error ends without a full stop"
	case x.kind == kindError && unicode.IsUpper(rune(first)) && len(x.words) > 1 && unicode.IsLower(rune(x.words[1])) && !slices.Contains(properNames, strings.Fields(x.words)[0]):
		return "an error begins in lower case"
	case x.kind == kindError && machinery.MatchString(x.words):
		return "an error tells the fact and the next step"
	}
	return ""
}

// properNames may begin an error.
var properNames = []string{"Wireshark", "Windows", "Npcap", "NaN"}

// The texts of the program keep the rules of CONTRIBUTING.md. With -v, the test
// prints them all, each with its place and its kind, for whoever reviews them:
//
//	go test -v -run TestTexts ./cmd/bcdissect
func TestTexts(t *testing.T) {
	all := collectTexts(t)
	count := map[string]int{}
	for _, x := range all {
		count[x.kind]++
		if testing.Verbose() {
			fmt.Printf("%s\t%s\t%q\n", x.place, x.kind, x.words)
		}
		if rule := wrong(x); rule != "" {
			t.Errorf("%s: %q: %s", x.place, x.words, rule)
		}
	}
	for kind, least := range map[string]int{kindHelp: 250, kindError: 600, kindNote: 100, kindOther: 2000} {
		if count[kind] < least {
			t.Errorf("only %d texts are of the kind %q", count[kind], kind)
		}
	}
}

// Texts that break a rule are found.
func TestWrongTexts(t *testing.T) {
	for _, x := range []text{
		{kind: kindHelp, words: "write a file; see help"},
		{kind: kindError, words: "the file is empty."},
		{kind: kindError, words: "Empty file"},
		{kind: kindError, words: "%s: failed to open"},
		{kind: kindNote, words: "somebody is here"},
		{kind: kindOther, words: "the host, too"},
	} {
		if wrong(x) == "" {
			t.Errorf("%s %q passes", x.kind, x.words)
		}
	}
	for _, x := range []text{
		{kind: kindHelp, words: "write a file"},
		{kind: kindError, words: "%s: empty; record again"},
		{kind: kindError, words: "ICMP ..."},
		{kind: kindOther, words: "The host ended it."},
	} {
		if rule := wrong(x); rule != "" {
			t.Errorf("%s %q: %s", x.kind, x.words, rule)
		}
	}
}
