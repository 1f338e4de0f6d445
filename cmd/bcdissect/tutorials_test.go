package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWhoLagged runs the commands of the tutorial as printed.
func TestWhoLagged(t *testing.T) { runPage(t, "docs/who-lagged.md", 4) }

func TestFirstSeason(t *testing.T) {
	if filepath.Separator != '/' {
		t.Skip("the page shows paths with slashes")
	}
	cache := t.TempDir()
	for _, name := range []string{"XDG_CACHE_HOME", "HOME", "LocalAppData"} {
		t.Setenv(name, cache)
	}
	runPage(t, "docs/first-season.md", 2)
}

// prepared does what a block of a page asks the reader to do without bcdissect: a
// block of only mkdir and cp commands, or a TOML file that begins with its name in a
// comment. It returns false for any other block.
func prepared(t *testing.T, root, block string) bool {
	t.Helper()
	kind, text, _ := strings.Cut(block, "\n")
	if first, _, _ := strings.Cut(text, "\n"); kind == "toml" && strings.HasPrefix(first, "# ") {
		if err := os.WriteFile(filepath.FromSlash(first[2:]), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return true
	}
	if kind != "console" || !strings.HasPrefix(text, "$ mkdir ") && !strings.HasPrefix(text, "$ cp ") {
		return false
	}
	for line := range strings.Lines(strings.TrimSpace(text)) {
		args := words(strings.TrimPrefix(line, "$ "))
		var err error
		switch to := args[len(args)-1]; args[0] {
		case "mkdir":
			err = os.Mkdir(to, 0o700)
		case "cp":
			err = copyInto(root, args[1:len(args)-1], to)
		default:
			t.Fatalf("%s: only mkdir and cp may be in a block with them", line)
		}
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
	return true
}

// copyInto copies the files that match patterns below root into a folder.
func copyInto(root string, patterns []string, folder string) error {
	for _, pattern := range patterns {
		names, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		if err == nil && len(names) == 0 {
			err = os.ErrNotExist
		}
		if err != nil {
			return err
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(folder, filepath.Base(name)), data, 0o600); err != nil {
				return err
			}
		}
	}
	return nil
}
