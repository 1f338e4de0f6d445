package table_test

import (
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/dissect/conform"
	"github.com/bcdissect/bcdissect/report/table"
)

// The last line of a replay counts the differences.
func TestReplayVerdict(t *testing.T) {
	for _, c := range []struct {
		found int
		want  string
	}{{0, "\nconforms\n"}, {1, "\n1 difference\n"}, {2, "\n2 differences\n"}} {
		r := &conform.Report{Found: c.found, Rows: []*conform.Row{{Name: "Chat", Matched: 1, Missing: c.found}}}
		var b strings.Builder
		if err := table.Replay(&b, r, table.Options{}); err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(b.String(), c.want) {
			t.Errorf("%d differences: %q", c.found, b.String())
		}
	}
}

// Long text from the network is cut, and hostile text escaped.
func TestReplayCutsTexts(t *testing.T) {
	long := strings.Repeat("\x1b[31mlong ", 500)
	r := &conform.Report{
		Found: 1, Notes: []string{long},
		Differences: []conform.Difference{{Kind: "extra", Name: "Chat", Detail: long, Fields: []conform.Field{{Path: "text", Actual: long}}}},
	}
	var b strings.Builder
	if err := table.Replay(&b, r, table.Options{}); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); strings.Contains(got, "\x1b") || strings.Count(got, "…") != 3 {
		t.Errorf("%d signs of a cut: %q", strings.Count(got, "…"), got)
	}
	for line := range strings.Lines(b.String()) {
		if n := len([]rune(line)); n > 450 {
			t.Errorf("%d characters: %s", n, line)
		}
	}
}
