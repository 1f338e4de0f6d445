package cli

import (
	"os"
	"testing"

	"golang.org/x/sys/windows"
)

// A program of a console writes into a pipe in the console's code page, and into files
// in UTF-8.
func TestPipeOfConsole(t *testing.T) {
	kernel := windows.NewLazySystemDLL("kernel32.dll")
	if page, err := windows.GetConsoleOutputCP(); err != nil || page == 0 {
		if ok, _, err := kernel.NewProc("AllocConsole").Call(); ok == 0 {
			t.Skip("there is no console: ", err)
		}
		defer func() { _, _, _ = kernel.NewProc("FreeConsole").Call() }()
	}
	before, err := windows.GetConsoleOutputCP()
	if err != nil {
		t.Fatal(err)
	}
	set := kernel.NewProc("SetConsoleOutputCP")
	defer func() { _, _, _ = set.Call(uintptr(before)) }()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	file, err := os.Create(t.TempDir() + `\x`)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, tt := range []struct {
		page, want uint32
		out        *os.File
	}{{850, 850, w}, {65001, 0, w}, {850, 0, file}} {
		if ok, _, err := set.Call(uintptr(tt.page)); ok == 0 {
			t.Fatal(err)
		}
		d, restore := openConsole(tt.out, tt.out)
		restore()
		if d.CodePage != tt.want {
			t.Errorf("code page %d, %s: got %d, want %d", tt.page, tt.out.Name(), d.CodePage, tt.want)
		}
	}
}

// What a code page lacks becomes a question mark, not something similar.
func TestInCodePage(t *testing.T) {
	for page, want := range map[uint32]string{850: "J\x94rg ? \xABx\xBB \r\n", 1252: "J\xF6rg ? \xBDx\xA7 \r\n"} {
		in := map[uint32]string{850: "Jörg → ½x╗ \r\n", 1252: "Jörg → ½x§ \r\n"}[page]
		if got := string(inCodePage(page, []byte(in))); got != want {
			t.Errorf("code page %d: got %q, want %q", page, got, want)
		}
	}
	if got := string(inCodePage(12345, []byte("Jörg"))); got != "J?rg" {
		t.Errorf("an unknown code page: got %q", got)
	}
}
