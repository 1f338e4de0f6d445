package main

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/fixtures"
)

// TestLicences holds docs/licences.md against the modules that are linked into
// the program: none is missing, none is there in another version, and none is
// there in vain.
func TestLicences(t *testing.T) {
	root := filepath.Dir(fixtures.Dir())
	page, err := os.ReadFile(filepath.Join(root, "docs", "licences.md"))
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]string{} // module or package to version
	row := regexp.MustCompile(`(?m)^\| \[([^]]+)\]\(https://pkg\.go\.dev/[^)]+\) \| (v[^ ]+) \| ([A-Za-z0-9.-]+) \|$`)
	for _, m := range row.FindAllStringSubmatch(string(page), -1) {
		if m[3] == "Unknown" {
			t.Errorf("%s has no licence", m[1])
		}
		listed[m[1]] = m[2]
	}

	linked := linkedModules(t, root)
	if len(linked) < 10 {
		t.Fatalf("only %d modules are linked: %v", len(linked), linked)
	}
	const remedy = `"make licences" writes docs/licences.md anew`
	found := map[string]bool{}
	for name, version := range listed {
		module := moduleOf(name, linked)
		found[module] = true
		if module == "" {
			t.Errorf("%s is listed and not linked; %s", name, remedy)
		} else if linked[module] != version {
			t.Errorf("%s is listed as %s and linked as %s; %s", name, version, linked[module], remedy)
		}
	}
	for _, module := range slices.Sorted(maps.Keys(linked)) {
		if !found[module] {
			t.Errorf("%s is linked and not listed; %s", module, remedy)
		}
	}
}

// linkedModules returns the versions of the modules that are linked into the
// program on any of the systems it is released for.
func linkedModules(t *testing.T, root string) map[string]string {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("there is no go command to list the modules with")
	}
	linked := map[string]string{}
	for _, system := range []string{"linux", "windows", "darwin"} {
		cmd := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}{{end}}{{end}}", "./cmd/bcdissect")
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0")
		var errs strings.Builder
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go list for %s: %v: %s", system, err, errs.String())
		}
		for line := range strings.Lines(string(out)) {
			if name, version, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
				linked[name] = version
			}
		}
	}
	return linked
}

// moduleOf returns the module that a package belongs to, or "" if it is none of
// these.
func moduleOf(name string, modules map[string]string) string {
	best := ""
	for m := range modules {
		if (name == m || strings.HasPrefix(name, m+"/")) && len(m) > len(best) {
			best = m
		}
	}
	return best
}
