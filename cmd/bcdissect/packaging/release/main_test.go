package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// released makes a release of three programs, without packages for Linux, and
// returns the folder with its files.
func released(t *testing.T) string {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"dist/bcdissect_darwin_amd64":           "for Macs",
		"dist/bcdissect_darwin_arm64":           "for newer Macs",
		"dist/bcdissect_windows_amd64.exe":      "for Windows",
		"dist/bcdissect_windows_amd64.cdx.json": "a bill of materials",
		"dist/man/bcdissect.1":                  "a page",
		"dist/completions/bcdissect.bash":       "a completion",
		"dist/completions/bcdissect.ps1":        "another",
		"README.md":                             "[a](docs/a.md#b), [b](https://example.org/x) and [c](#d)",
		"CHANGELOG.md":                          "changes",
		"LICENSE":                               "licence",
		"dist/licences.txt":                     "licences",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := release{
		tag: "v1.2.3-rc1", version: "1.2.3~rc1", time: time.Unix(1_700_000_000, 0).UTC(),
		nfpm: "unused", dist: "dist", out: filepath.Join("dist", "packages"),
	}
	if err := r.run(); err != nil {
		t.Fatal(err)
	}
	return r.out
}

func read(t *testing.T, name ...string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(name...))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func sumOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func TestArchives(t *testing.T) {
	out := released(t)
	z, err := gzip.NewReader(bytes.NewReader(read(t, out, "bcdissect_1.2.3-rc1_darwin_arm64.tar.gz")))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for files := tar.NewReader(z); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(files)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%o %d %s: %s", h.Mode, h.ModTime.Unix(), h.Name, b))
	}
	want := []string{
		"644 1700000000 CHANGELOG.md: changes",
		"644 1700000000 LICENSE: licence",
		"644 1700000000 README.md: [a](https://github.com/bcdissect/bcdissect/blob/v1.2.3-rc1/docs/a.md#b), [b](https://example.org/x) and [c](#d)",
		"755 1700000000 bcdissect: for newer Macs",
		"644 1700000000 completions/bcdissect.bash: a completion",
		"644 1700000000 completions/bcdissect.ps1: another",
		"644 1700000000 licences.txt: licences",
		"644 1700000000 man/bcdissect.1: a page",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}

	b := read(t, out, "bcdissect_windows_amd64.zip")
	files, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	got = nil
	for _, f := range files.File {
		got = append(got, fmt.Sprintf("%o %d %s", f.Mode(), f.Modified.Unix(), f.Name))
	}
	want = []string{
		"644 1700000000 bcdissect/CHANGELOG.txt", "644 1700000000 bcdissect/LICENSE.txt", "644 1700000000 bcdissect/README.txt",
		"755 1700000000 bcdissect/bcdissect.exe", "644 1700000000 bcdissect/completions/bcdissect.ps1", "644 1700000000 bcdissect/licences.txt",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// The same programs make the same files.
func TestSameAgain(t *testing.T) {
	first := read(t, released(t), checksumFile)
	if again := read(t, released(t), checksumFile); !bytes.Equal(first, again) {
		t.Errorf("got\n%s\nand then\n%s", first, again)
	}
}

func TestChecksums(t *testing.T) {
	out := released(t)
	lines := strings.Split(strings.TrimSpace(string(read(t, out, checksumFile))), "\n")
	want := []string{
		"bcdissect.json", "bcdissect.rb", "bcdissect_1.2.3-rc1_darwin_amd64.tar.gz",
		"bcdissect_1.2.3-rc1_darwin_arm64.tar.gz", "bcdissect_windows_amd64.zip",
	}
	if len(lines) != len(want) {
		t.Fatalf("got %q", lines)
	}
	for n, name := range want {
		if line := sumOf(read(t, out, name)) + "  " + name; lines[n] != line {
			t.Errorf("got %q, want %q", lines[n], line)
		}
	}
}

// The manifests for package managers name the archives and their checksums.
func TestManifests(t *testing.T) {
	out := released(t)
	const from = "https://github.com/bcdissect/bcdissect/releases/download/v1.2.3-rc1/"
	formula := string(read(t, out, "bcdissect.rb"))
	at := 0
	for _, want := range []string{
		`version "1.2.3-rc1"`,
		"on_macos do", "on_arm do",
		`url "` + from + `bcdissect_1.2.3-rc1_darwin_arm64.tar.gz"`,
		`sha256 "` + sumOf(read(t, out, "bcdissect_1.2.3-rc1_darwin_arm64.tar.gz")) + `"`,
		"on_intel do",
		`url "` + from + `bcdissect_1.2.3-rc1_darwin_amd64.tar.gz"`,
		`sha256 "` + sumOf(read(t, out, "bcdissect_1.2.3-rc1_darwin_amd64.tar.gz")) + `"`,
		"def install",
	} {
		next := strings.Index(formula[at:], want)
		if next < 0 {
			t.Fatalf("no %s where it belongs:\n%s", want, formula)
		}
		at += next
	}
	if strings.Contains(formula, "on_linux") {
		t.Errorf("a system that was not built is in\n%s", formula)
	}

	var scoop struct {
		Version, Bin string
		Architecture map[string]struct{ URL, Hash string }
	}
	if err := json.Unmarshal(read(t, out, "bcdissect.json"), &scoop); err != nil {
		t.Fatal(err)
	}
	const zipped = "bcdissect_windows_amd64.zip"
	got := scoop.Architecture["64bit"]
	if scoop.Version != "1.2.3-rc1" || scoop.Bin != "bcdissect.exe" || len(scoop.Architecture) != 1 ||
		got.URL != from+zipped || got.Hash != sumOf(read(t, out, zipped)) {
		t.Errorf("got %+v", scoop)
	}
}
