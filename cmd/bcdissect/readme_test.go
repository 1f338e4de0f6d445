package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/fixtures"
)

// TestReadme runs the commands in README.md and compares their output with the
// text there. UPDATE_GOLDEN=1 writes the output anew.
func TestReadme(t *testing.T) {
	root := filepath.Dir(fixtures.Dir())
	path := filepath.Join(root, "README.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(root)
	t.Setenv("NO_COLOR", "1")
	const fence = "```"
	blocks := strings.Split(string(text), fence)
	ran := 0
	for i := 1; i < len(blocks); i += 2 {
		lines := strings.SplitN(blocks[i], "\n", 3)
		command, ok := strings.CutPrefix(lines[1], "$ bcdissect ")
		if lines[0] != "console" || !ok {
			continue
		}
		ran++
		var out, errs bytes.Buffer
		if code := run(strings.Fields(command), cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}); code != cli.ExitOK {
			t.Errorf("%s: exit status %d, %s", command, code, errs.String())
		}
		if out.String() != lines[2] && os.Getenv("UPDATE_GOLDEN") == "" {
			t.Errorf("%s: got\n%s\nREADME.md says\n%s", command, out.String(), lines[2])
		}
		blocks[i] = strings.Join([]string{lines[0], lines[1], out.String()}, "\n")
	}
	if ran < 4 {
		t.Errorf("only %d commands were found", ran)
	}
	if updated := strings.Join(blocks, fence); os.Getenv("UPDATE_GOLDEN") != "" && updated != string(text) {
		if err := os.WriteFile(path, []byte(updated), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
