package main

import (
	"bytes"
	"debug/pe"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The standard library parses the headers. The test follows the export table in
// the same way as a loader.
func TestForwarder(t *testing.T) {
	b := forwarder("a.dll", "Name", "other.Function")
	f, err := pe.NewFile(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	header, ok := f.OptionalHeader.(*pe.OptionalHeader64)
	if !ok || f.Machine != pe.IMAGE_FILE_MACHINE_AMD64 || len(f.Sections) != 1 {
		t.Fatalf("got %+v", f)
	}
	section := f.Sections[0]
	data, err := section.Data()
	if err != nil {
		t.Fatal(err)
	}
	at := func(address uint32) []byte { return data[address-section.VirtualAddress:] }
	number := func(address uint32) uint32 {
		return uint32(at(address)[0]) | uint32(at(address)[1])<<8 | uint32(at(address)[2])<<16 | uint32(at(address)[3])<<24
	}
	text := func(address uint32) string {
		s, _, _ := strings.Cut(string(at(address)), "\x00")
		return s
	}
	table := header.DataDirectory[pe.IMAGE_DIRECTORY_ENTRY_EXPORT]
	const dll, functions, names, functionsAt, namesAt, ordinalsAt = 12, 20, 24, 28, 32, 36 // offsets in the table
	if got := text(number(table.VirtualAddress + dll)); got != "a.dll" {
		t.Errorf("the DLL is %q", got)
	}
	if f, n := number(table.VirtualAddress+functions), number(table.VirtualAddress+names); f != 1 || n != 1 {
		t.Errorf("got %d functions and %d names", f, n)
	}
	if got := text(number(number(table.VirtualAddress + namesAt))); got != "Name" {
		t.Errorf("the name is %q", got)
	}
	if ordinal := at(number(table.VirtualAddress + ordinalsAt)); ordinal[0] != 0 || ordinal[1] != 0 {
		t.Errorf("the name belongs to function % x", ordinal[:2])
	}
	target := number(number(table.VirtualAddress + functionsAt))
	if got := text(target); got != "other.Function" || target < table.VirtualAddress || target >= table.VirtualAddress+table.Size {
		t.Errorf("the function is %q at %#x; the table is %+v", got, target, table)
	}
}

// The texts to be changed are in the files of the Go that runs this test.
func TestOverlay(t *testing.T) {
	dir := t.TempDir()
	name, err := overlay(dir)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var o struct{ Replace map[string]string }
	if err := json.Unmarshal(b, &o); err != nil || len(o.Replace) != len(edits) {
		t.Fatalf("got %s, %v", b, err)
	}
	for original, edited := range o.Replace {
		before, err := os.ReadFile(original)
		if err != nil {
			t.Fatal(err)
		}
		after, err := os.ReadFile(edited)
		if err != nil || bytes.Equal(before, after) || filepath.Dir(edited) != dir {
			t.Errorf("%s: not changed in %s, %v", original, edited, err)
		}
	}
	e := edit{"a.go", "old", "new"}
	for text, want := range map[string]string{"an old one": "an new one", "": "", "old old": ""} {
		got, err := e.apply(text)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: got %q, %v", text, got, err)
		}
	}
}

// A test that is gone, or has another name, is taken off the list.
func TestLeftOut(t *testing.T) {
	root := filepath.Join("..", "..", "..", "..")
	for _, l := range leftOuts {
		files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(l.dir), "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		name, _, _ := strings.Cut(l.name, "/")
		found := false
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			found = found || regexp.MustCompile(`(?m)^func `+name+`\(`).Match(b)
		}
		if !found || l.reason == "" {
			t.Errorf("%s %s: no such test, or no reason: %q", l.dir, l.name, l.reason)
		}
	}
	if got := leftOutOf("/src/decode/msg"); len(got) != 1 || got[0] != "TestNoOpcodesAbove" {
		t.Errorf("got %q", got)
	}
	if got := leftOutOf("/src/decode/msg/other"); got != nil {
		t.Errorf("got %q", got)
	}
	if got := pattern([]string{"TestA", "TestB/a.txt"}); got != `^TestA$|^TestB$/^a\.txt$` {
		t.Errorf("got %s", got)
	}
}

func TestResults(t *testing.T) {
	const events = `{"Action":"start","Package":"p"}
{"Action":"output","Package":"p","Test":"TestGood","Output":"=== RUN   TestGood\n"}
{"Action":"pass","Package":"p","Test":"TestGood"}
{"Action":"output","Package":"p","Test":"TestBad","Output":"    a_test.go:1: got 1\n"}
{"Action":"output","Package":"p","Test":"TestBad","Output":"--- FAIL: TestBad\n"}
{"Action":"fail","Package":"p","Test":"TestBad"}
{"Action":"output","Package":"p","Test":"TestSkipped","Output":"    a_test.go:2: no shell\n"}
{"Action":"output","Package":"p","Test":"TestSkipped","Output":"--- SKIP: TestSkipped\n"}
{"Action":"skip","Package":"p","Test":"TestSkipped"}
{"Action":"output","Package":"p","Test":"TestHangs","Output":"panic: test timed out\n"}
{"Action":"output","Package":"p","Output":"FAIL\tp\t1.0s\n"}
{"Action":"fail","Package":"p"}
`
	var out bytes.Buffer
	r := newResults(&out)
	if err := r.read(strings.NewReader(events)); err != nil {
		t.Fatal(err)
	}
	if want := "    a_test.go:1: got 1\n--- FAIL: TestBad\nFAIL\tp\t1.0s\npanic: test timed out\n"; out.String() != want {
		t.Errorf("got %s", out.String())
	}
	out.Reset()
	r.summary()
	for _, want := range []string{"1 tests and subtests passed", "  p TestSkipped: no shell\n", "  decode/msg TestNoOpcodesAbove: calls go"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("got %s, want %q in it", out.String(), want)
		}
	}
}
