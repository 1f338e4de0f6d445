package main

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/fixtures"
)

// sharedFlags is the document of the flags that several commands share.
const sharedFlags = "docs/flags.md"

// commandTable is the document with the tables of commands.
const commandTable = "docs/README.md"

// commandRow is a row of these tables, such as
// | `diff A B` | compare two captures | [diff](diff.md) |.
var commandRow = regexp.MustCompile("(?m)^\\| `([a-z]+)[^`]*` \\|.*\\|$")

// commandPages returns the text of the documents of each command: its rows in
// the table of commands, and the documents that they link to.
func commandPages(t *testing.T) map[string]string {
	t.Helper()
	pages := map[string]string{}
	for _, row := range commandRow.FindAllStringSubmatch(readPage(t, commandTable), -1) {
		text := row[0]
		for _, link := range docLink.FindAllStringSubmatch(row[0], -1) {
			path, _, _ := strings.Cut(link[1], "#")
			text += "\n" + readPage(t, "docs/"+path)
		}
		pages[row[1]] += "\n" + text
	}
	return pages
}

// readPage returns the text of a document.
func readPage(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(filepath.Dir(fixtures.Dir()), filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(b), "\r\n", "\n")
}

// Every command has a row in the table of commands that leads to its document. There,
// or in the document of shared flags, are its subcommands, its flags, and the
// forms of its report.
func TestCommandsDocumented(t *testing.T) {
	pages, shared := commandPages(t), readPage(t, sharedFlags)
	for _, cmd := range newRoot(cli.Streams{}).Commands() {
		switch text := pages[cmd.Name()]; {
		case cmd.Hidden, cmd.Name() == "help":
		case text == "":
			t.Errorf("%s: %s has no row for it under Commands", cmd.Name(), commandTable)
		case !regexp.MustCompile("(?m)bcdissect " + cmd.Name() + "\\b|^#.*\\b" + cmd.Name() + "\\b").MatchString(text):
			t.Errorf("%s: its row in %s leads to no document with the command %q", cmd.Name(), commandTable, cmd.CommandPath())
		default:
			undocumented(t, cmd, text, shared)
		}
	}
}

// undocumented reports parts of a command and its subcommands that documents do
// not name. The argument text is the document of the command, and shared is the
// document of shared flags.
func undocumented(t *testing.T, cmd *cobra.Command, text, shared string) {
	t.Helper()
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		names := "--" + f.Name
		if f.Shorthand != "" {
			names += "|-" + f.Shorthand
		}
		flag := regexp.MustCompile(`(?m)(^|[^\w-])(` + names + `)($|[^\w-])`)
		common := slices.Contains(cli.GroupedFlags(), f.Name) && flag.MatchString(shared)
		if !f.Hidden && !common && !flag.MatchString(text) {
			t.Errorf("%s --%s: neither the documents in its row of %s nor %s name it", cmd.CommandPath(), f.Name, commandTable, sharedFlags)
		}
	})
	for _, form := range formsOf(cmd) {
		if !regexp.MustCompile(`-T ` + form + `\b`).MatchString(text + shared) {
			t.Errorf("%s -T %s: neither the documents in its row of %s nor %s name it", cmd.CommandPath(), form, commandTable, sharedFlags)
		}
	}
	for _, sub := range cmd.Commands() {
		_, path, _ := strings.Cut(sub.CommandPath(), " ")
		if !sub.Hidden && !strings.Contains(text, path) {
			t.Errorf("%s: the documents in its row of %s do not name it", sub.CommandPath(), commandTable)
		}
		undocumented(t, sub, text, shared)
	}
}

// formsOf returns the forms of a command's report.
func formsOf(cmd *cobra.Command) []string {
	f := cmd.Flags().Lookup("format")
	if f == nil {
		return nil
	}
	return strings.Split(f.Value.Type(), "|")
}

// A transcript tries each command and each form of a report.
func TestTried(t *testing.T) {
	var scripts strings.Builder
	names, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		scripts.Write(b)
	}
	tried := map[string]bool{}
	for _, cmd := range newRoot(cli.Streams{}).Commands() {
		if !cmd.Hidden && !regexp.MustCompile(`bcdissect (.* )?`+cmd.Name()+`\b`).MatchString(scripts.String()) {
			t.Errorf("%s: no transcript in cmd/bcdissect/testdata/script tries it", cmd.Name())
		}
		for _, form := range formsOf(cmd) {
			usual := form == cmd.Flags().Lookup("format").DefValue
			if !usual && !tried[form] && !regexp.MustCompile(`(-T ?|--format[ =])`+form+`\b`).MatchString(scripts.String()) {
				t.Errorf("%s -T %s: no transcript in cmd/bcdissect/testdata/script tries it", cmd.Name(), form)
			}
			tried[form] = !usual || tried[form]
		}
	}
	if len(tried) < 8 {
		t.Errorf("only %d forms", len(tried))
	}
}

// The program, or another reporter, uses each reporter.
func TestReportersUsed(t *testing.T) {
	const module = "github.com/bcdissect/bcdissect/"
	root := filepath.Dir(fixtures.Dir())
	imported := map[string]bool{}
	for _, pattern := range []string{"cmd/*/*.go", "cmd/*/*/*.go", "cmd/*/*/*/*.go", "report/*/*.go"} {
		files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range f.Imports {
				imported[strings.Trim(i.Path.Value, `"`)] = true
			}
		}
	}
	dirs, err := filepath.Glob(filepath.Join(root, "report", "*", "*.go"))
	if err != nil || len(dirs) < 20 {
		t.Fatalf("%d files in report, %v", len(dirs), err)
	}
	for _, file := range dirs {
		name := "report/" + filepath.Base(filepath.Dir(file))
		if !imported[module+name] && !slices.Contains([]string{"report/reference", "report/schema"}, name) {
			t.Errorf("%s: the program does not use it; CONTRIBUTING.md says how to add a reporter", name)
			imported[module+name] = true
		}
	}
}
