//go:build unix

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/fixtures"
)

// duration is how long a run of conform took, which differs from run to run.
var duration = regexp.MustCompile(`(?m)(cases? in )[0-9.]+m?s`)

// TestFirstCases walks docs/first-cases.md with its server in Python, on a free port
// in place of the game's.
func TestFirstCases(t *testing.T) {
	fixtures.System(t)
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not installed")
	}
	root := filepath.Dir(fixtures.Dir())
	page := filepath.Join(root, "docs", "first-cases.md")
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(root)
	t.Setenv("NO_COLOR", "1")
	port := fmt.Sprint(freePort(t).Port())
	const fence = "```"
	blocks := strings.Split(string(text), fence)
	ran := 0
	for i := 1; i < len(blocks); i += 2 {
		kind, block, _ := strings.Cut(blocks[i], "\n")
		first, want, _ := strings.Cut(block, "\n")
		command, ok := strings.CutPrefix(first, "$ bcdissect ")
		if kind != "console" || !ok {
			continue
		}
		ran++
		var out bytes.Buffer
		code := run(words(strings.ReplaceAll(command, "22101", port)), cli.Streams{In: strings.NewReader(""), Out: &out, Err: &out})
		expected := cli.ExitOK
		if strings.Contains(want, "FAIL") {
			expected = cli.ExitDiffers
		}
		got := duration.ReplaceAllString(strings.ReplaceAll(out.String(), port, "22101"), "${1}5s")
		if os.Getenv("UPDATE_GOLDEN") == "" && (code != expected || got != want) {
			t.Errorf("%s: status %d, got\n%s\nthe page says\n%s", command, code, got, want)
		}
		blocks[i] = strings.Join([]string{kind, first, got}, "\n")
	}
	if ran < 4 {
		t.Errorf("only %d commands were found", ran)
	}
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(page, []byte(strings.Join(blocks, fence)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
