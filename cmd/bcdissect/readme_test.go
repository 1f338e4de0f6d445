package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/fixtures"
)

// TestReadme and TestCookbook run the commands of a page and compare their
// output with the text there. UPDATE_GOLDEN=1 writes the output anew.
func TestReadme(t *testing.T) { runPage(t, "README.md", 4) }

func TestCookbook(t *testing.T) { runPage(t, "docs/cookbook.md", 20) }

// runPage runs the commands of a page. It fails the test if there are fewer
// than least. The commands read fixtures and write to a temporary folder.
func runPage(t *testing.T, page string, least int) {
	t.Helper()
	root := filepath.Dir(fixtures.Dir())
	path := filepath.Join(root, filepath.FromSlash(page))
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	t.Setenv("NO_COLOR", "1")
	const fence = "```"
	blocks := strings.Split(string(text), fence)
	ran := 0
	for i := 1; i < len(blocks); i += 2 {
		if prepared(t, root, blocks[i]) {
			continue
		}
		lines := strings.SplitN(blocks[i], "\n", 3)
		command, ok := strings.CutPrefix(lines[1], "$ bcdissect ")
		if lines[0] != "console" || !ok {
			continue
		}
		ran++
		var out bytes.Buffer
		args := words(command)
		for i, arg := range args {
			if strings.HasPrefix(arg, "fixtures/") {
				args[i] = filepath.Join(root, filepath.FromSlash(arg))
			}
		}
		if code := run(args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &out}); code != cli.ExitOK {
			t.Errorf("%s: exit status %d, %s", command, code, out.String())
		}
		got, err := shortened(out.String(), lines[2])
		switch {
		case err != nil:
			t.Errorf("%s: %v", command, err)
		case got != lines[2] && os.Getenv("UPDATE_GOLDEN") == "":
			t.Errorf("%s: got\n%s\n%s says\n%s", command, got, page, lines[2])
		}
		blocks[i] = strings.Join([]string{lines[0], lines[1], got}, "\n")
	}
	if ran < least {
		t.Errorf("only %d commands were found", ran)
	}
	if updated := strings.Join(blocks, fence); os.Getenv("UPDATE_GOLDEN") != "" && updated != string(text) {
		if err := os.WriteFile(path, []byte(updated), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// words splits a command like a shell. Single quotes join words.
func words(command string) (all []string) {
	for i, part := range strings.Split(command, "'") {
		if i%2 == 1 {
			all = append(all, part)
		} else {
			all = append(all, strings.Fields(part)...)
		}
	}
	return all
}

// shortened cuts an output to the form that a page shows. In the page a line of
// … stands for any number of lines. The text before the first such line and
// after the last one has the same length as in the page. Text between two of
// them begins with the same line as in the page.
func shortened(out, page string) (string, error) {
	const gap = "…\n"
	parts := strings.Split(page, gap)
	last := len(parts) - 1
	if last == 0 {
		return out, nil
	}
	lines := slices.Collect(strings.Lines(out))
	for i, part := range parts {
		n := strings.Count(part, "\n")
		from := 0
		switch first, _, _ := strings.Cut(part, "\n"); {
		case i == last:
			from = len(lines) - n
		case i > 0:
			from = slices.Index(lines, first+"\n")
		}
		if from < 0 || n >= len(lines)-from && i < last {
			return out, fmt.Errorf("the output has no such part, or none after it:\n%s", part)
		}
		parts[i] = strings.Join(lines[from:from+n], "")
		lines = lines[from+n:]
	}
	return strings.Join(parts, gap), nil
}

func TestShortened(t *testing.T) {
	const out = "a\nb\nc\nd\ne\n"
	for _, c := range []struct{ page, want string }{
		{"a\nb\nc\nd\ne\n", out},
		{"a\nx\n", out},
		{"a\n…\n", "a\n…\n"},
		{"x\n…\ny\nz\n", "a\n…\nd\ne\n"},
		{"…\nc\nx\n…\n", "…\nc\nd\n…\n"},
	} {
		if got, err := shortened(out, c.page); got != c.want || err != nil {
			t.Errorf("%q: got %q, %v; want %q", c.page, got, err, c.want)
		}
	}
	for _, page := range []string{"…\nx\n…\n", "a\nb\nc\nd\ne\n…\n", "…\n1\n2\n3\n4\n5\n6\n"} {
		if got, err := shortened(out, page); err == nil {
			t.Errorf("%q: got %q", page, got)
		}
	}
}
