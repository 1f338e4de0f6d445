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
