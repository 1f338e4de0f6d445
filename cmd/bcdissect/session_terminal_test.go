package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/fixtures"
)

// TestSessionOnTerminal has the report as wide as the terminal, so that no line
// is broken by the terminal itself.
func TestSessionOnTerminal(t *testing.T) {
	fixtures.System(t)
	t.Parallel()
	exe := program(t)
	for _, width := range []int{80, 120} {
		for _, name := range []string{"battle_mix.pcap.gz", "stock_client.pcap"} {
			x := newTerminal(t, width, 100)
			x.keys(fmt.Sprintf("clear; '%s' session '%s'; echo status=$?", exe, filepath.Join(fixtures.Dir(), "captures", name)), "Enter")
			screen := x.await("status=0")
			short, _, _ := strings.Cut(name, ".")
			want := string(fixtures.Read(t, fmt.Sprintf("golden/session/%s-%d.txt", short, width)))
			if got, _, _ := strings.Cut(screen, "status=0"); got != want {
				t.Errorf("%d columns show\n%s\nnot\n%s", width, got, want)
			}
		}
	}
}
