package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/windows"

	"github.com/bcdissect/bcdissect/fixtures"
)

// A program behind a pipe, such as more, reads text in the code page of the console: letters in that
// page, arrows in ASCII. PowerShell 5 does so for its > as well. Files get UTF-8.
func TestPipeInCodePage(t *testing.T) {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} { // they say what a terminal shows if it isn't a console
		t.Setenv(name, "")
	}
	kernel := windows.NewLazySystemDLL("kernel32.dll")
	if page, err := windows.GetConsoleOutputCP(); err != nil || page == 0 {
		_, _, _ = kernel.NewProc("FreeConsole").Call() // wine has one without a code page
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
	read := func() *exec.Cmd {
		return exec.Command("bcdissect", "read", "--frames", "162", fixtures.Path("captures/forged_small.pcap"))
	}
	for _, tt := range []struct {
		page        uintptr
		name, arrow string
	}{
		{437, "J\x94rg", "->"},
		{850, "J\x94rg", "->"},
		{1252, "J\xF6rg", "->"},
		{932, "J?rg", "->"},
		{65001, "Jörg", "→"},
	} {
		if ok, _, err := set.Call(tt.page); ok == 0 {
			t.Fatal(err)
		}
		out, err := read().Output()
		if text := string(out); err != nil || !strings.Contains(text, `"`+tt.name+`"`) || !strings.Contains(text, "Kirk "+tt.arrow+" host") {
			t.Errorf("code page %d, a pipe: %q, %v", tt.page, text, err)
		}
		file, err := os.Create(filepath.Join(t.TempDir(), "x"))
		if err != nil {
			t.Fatal(err)
		}
		cmd := read()
		cmd.Stdout = file
		err = cmd.Run()
		_ = file.Close() // the program has its own handle
		if text, _ := os.ReadFile(file.Name()); err != nil || !strings.Contains(string(text), `"Jörg"`) || !strings.Contains(string(text), "Kirk → host") {
			t.Errorf("code page %d, a file: %q, %v", tt.page, text, err)
		}
	}
}
