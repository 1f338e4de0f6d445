package table_test

import (
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/dissect/conform/result"
	"github.com/bcdissect/bcdissect/report/table"
)

// The last line of a replay counts the differences.
func TestReplayVerdict(t *testing.T) {
	for _, c := range []struct {
		found int
		want  string
	}{{0, "\nconforms\n"}, {1, "\n1 difference\n"}, {2, "\n2 differences\n"}} {
		r := &result.Report{Found: c.found, Rows: []*result.Row{{Name: "Chat", Matched: 1, Missing: c.found}}}
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
	r := &result.Report{
		Found: 1, Notes: []string{long},
		Differences: []result.Difference{{Kind: "extra", Name: "Chat", Detail: long, Fields: []result.Field{{Path: "text", Actual: long}}}},
	}
	var b strings.Builder
	if err := table.Replay(&b, r, table.Options{Verbose: true}); err != nil {
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

// Causes and findings come before the counts. The differences are only in the
// long form.
func TestReplayCauses(t *testing.T) {
	chat := &result.Row{Name: "Chat", Missing: 3}
	r := &result.Report{
		Found: 3, Rows: []*result.Row{chat},
		Causes:      []*result.Cause{{Kind: "missing", What: "never passed on", Count: 3, Of: 3, First: 17, Players: 2, Rows: []*result.Row{chat}}},
		Findings:    []result.Finding{{Kind: "ignored-acks", Frame: 40, Count: 9, Text: "It ignores \x1b[31m."}},
		Differences: []result.Difference{{Kind: "missing", Name: "Chat", Detail: "no copy"}},
	}
	var b strings.Builder
	if err := table.Replay(&b, r, table.Options{}); err != nil {
		t.Fatal(err)
	}
	got := b.String()
	cause, finding, counts := strings.Index(got, "never passed on     by rate      3   3        2          17"), strings.Index(got, `It ignores \x1b[31m. (9 times, from frame 40)`), strings.Index(got, "opcode")
	if cause < 0 || finding < cause || counts < finding || strings.Contains(got, "no copy") || !strings.HasSuffix(got, "\n3 differences and 1 finding\n") {
		t.Errorf("cause at %d, finding at %d, counts at %d: %s", cause, finding, counts, got)
	}
}
