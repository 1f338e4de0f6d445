package table

import (
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/conform/diff"
	"github.com/bcdissect/bcdissect/fixtures/recorded"
)

// On a narrow terminal, in colour, all counts are there and no line is too long.
func TestDiff(t *testing.T) {
	a, b := diff.New()
	for i, c := range []*diff.Capture{a, b} {
		recorded.Records(t, []string{"stock_client.pcap", "two_teams.pcap"}[i], dissect.Config{}, func(r *dissect.Record) { _ = c.Record(r) })
	}
	r := diff.Compare(a, b, diff.Options{})
	var out strings.Builder
	if err := Diff(&out, r, [2]string{"a.pcap", "b.pcap"}, nil, Options{Color: true, Width: 80}); err != nil {
		t.Fatal(err)
	}
	var w widths
	row := ""
	for line := range strings.Lines(out.String()) {
		line = strings.TrimRight(line, "\n")
		for {
			from := strings.Index(line, "\x1b[")
			if from < 0 {
				break
			}
			to := strings.IndexByte(line[from:], 'm')
			line = line[:from] + line[from+to+1:]
		}
		if n := w.of([]byte(line)); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
		if strings.HasPrefix(line, " Cady2") {
			row = strings.Join(strings.Fields(line), " ")
		}
	}
	// Cady2 of the first capture sent 31 messages (as the log has it, too).
	p := r.Pairs[1].Ways[0]
	if p.Equal+p.Differ+p.OnlyA != 31 {
		t.Errorf("%+v", p)
	}
	if fields := strings.Fields(row); len(fields) < 8 {
		t.Errorf("counts are missing: %q", row)
	}
}
