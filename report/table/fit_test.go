package table

import (
	"bytes"
	"strings"
	"testing"
)

// TestFittedInColour draws a table with coloured cells at every width. Without
// the colour it equals the plain table, and no line is wider than the terminal.
func TestFittedInColour(t *testing.T) {
	t.Parallel()
	painted := newTheme(true)
	table := func(width int, paint func(string) string) []byte {
		var out bytes.Buffer
		all := []column{
			{head: "rule", text: true, least: 12, cells: []string{"a rule that is long enough to be folded", "short"}},
			{head: "verdict", text: true, cells: []string{paint("FAIL"), paint("PASS")}},
			{head: "failed", cells: []string{paint("12"), "0"}},
			{head: "median ms", drop: 1, cells: []string{"1.25", "-"}},
		}
		if err := new(widths).fitted(&out, Options{Width: width}, all); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	same := func(s string) string { return s }
	red := func(s string) string { return string(painted.append(nil, []byte(s), red)) }
	for width := 10; width < 90; width++ {
		want, got := table(width, same), table(width, red)
		if plain := unpainted(got); !bytes.Equal(plain, want) {
			t.Errorf("%d columns: got\n%s\nwant\n%s", width, plain, want)
		}
		if wide := new(widths).widest(want); wide > width {
			t.Errorf("%d columns: a line of %d", width, wide)
		}
		if width >= 40 && !strings.Contains(string(got), "\x1b[") {
			t.Errorf("%d columns: no colour", width)
		}
	}
}
