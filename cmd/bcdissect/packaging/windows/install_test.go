package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestDefined searches the installer's script for constants that are used
// before they are defined. In that case makensis uses their names as text,
// without a warning.
func TestDefined(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("installer.nsi")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{"VERSION": true, "FROM": true, "OUT": true, "ICON": true, "LIST": true, "EXTENSION": true} // constants of installer.sh and of macros
	uses := 0
	for line := range strings.Lines(string(b)) {
		for _, use := range regexp.MustCompile(`\$\{(\w+)\}`).FindAllStringSubmatch(line, -1) {
			if uses++; !known[use[1]] {
				t.Errorf("%s is not defined yet in: %s", use[1], line)
			}
		}
		if name, ok := strings.CutPrefix(line, "!define "); ok {
			known[strings.Fields(name)[0]] = true
		}
	}
	if uses < 20 {
		t.Errorf("only %d uses were found", uses)
	}
}
