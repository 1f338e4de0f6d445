package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestDependencies keeps packages out of the program for browsers that would make
// it too large.
func TestDependencies(t *testing.T) {
	cmd := exec.Command("go", "list", "-deps", "github.com/bcdissect/bcdissect/cmd/web")
	cmd.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(out), "github.com/bcdissect/bcdissect/cmd/internal/viewer\n") {
		t.Fatalf("the packages are\n%s", out)
	}
	for name := range strings.Lines(string(out)) {
		for _, heavy := range []string{"html/template", "text/template", "net/http", "github.com/google/gopacket/pcap", "github.com/spf13/cobra", "charm.land/"} {
			if strings.HasPrefix(name, heavy) {
				t.Errorf("%s is linked", strings.TrimSpace(name))
			}
		}
	}
}
