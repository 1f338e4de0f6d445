package table

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/bcdissect/bcdissect/dissect/conform/suite"
	"github.com/bcdissect/bcdissect/report"
)

// Conform writes the results of the conformance suite: the cases by group, the
// failed ones with what was expected and what came, and the verdict.
func Conform(w io.Writer, r *suite.Report, o Options) error {
	t := conformTables{w: w, theme: newTheme(o.Color), r: r}
	t.printf("host      %s", r.Host)
	if r.Name != "" {
		t.printf(" \"%s\"", report.Escape(r.Name))
	}
	t.printf("\nprofile   %s\n", r.Profile)
	group := ""
	for i := range r.Results {
		res := &r.Results[i]
		if res.Case.Group != group {
			group = res.Case.Group
			t.printf("\n%s\n", group)
		}
		t.row(res)
	}
	for i := range r.Results {
		if res := &r.Results[i]; res.Verdict == suite.Fail {
			t.failure(res)
		}
	}
	t.verdict()
	return t.err
}

type conformTables struct {
	w     io.Writer
	theme *theme
	r     *suite.Report
	err   error
}

func (t *conformTables) printf(format string, args ...any) {
	if t.err == nil {
		_, t.err = fmt.Fprintf(t.w, format, args...)
	}
}

func (t *conformTables) paint(v suite.Verdict, text string) string {
	look := map[suite.Verdict]style{suite.Pass: green, suite.Fail: red, suite.Known: yellow, suite.Skip: yellow, suite.NotSeen: yellow}[v]
	return string(t.theme.append(nil, []byte(text), look))
}

func (t *conformTables) row(res *suite.Result) {
	why := ""
	if res.Why != "" && res.Verdict != suite.Fail {
		why = "  " + report.Escape(res.Why)
	}
	t.printf(" %-6s %s  %s%s\n", res.Case.ID, t.paint(res.Verdict, fmt.Sprintf("%-8s", res.Verdict)), res.Case.Title, why)
}

// failure shows a broken rule.
func (t *conformTables) failure(res *suite.Result) {
	c := res.Case
	t.printf("\n%s %s: %s\n", t.paint(suite.Fail, "FAIL"), c.ID, c.Title)
	t.printf("  rule      %s (%s, %s)\n", c.Rule, c.Source, c.Grade)
	t.printf("  expected  %s\n", report.Escape(res.Expected))
	for i, came := range res.Came {
		head := "came"
		if i > 0 {
			head = ""
		}
		t.printf("  %-8s  %s\n", head, report.Escape(came))
	}
	if res.First > 0 && res.Last >= res.First {
		t.printf("  frames    %d to %d of the recording\n", res.First, res.Last)
	}
	if again := t.r.Again(c); again != "" {
		t.printf("  repeat    %s\n", report.Escape(again))
	}
}

func (t *conformTables) verdict() {
	var parts []string
	for v := suite.Pass; v <= suite.Known; v++ {
		if n := t.r.Count(v); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, v))
		}
	}
	t.printf("\n%d cases in %v: %s\n", len(t.r.Results), t.r.Took.Round(100*time.Millisecond), strings.Join(parts, ", "))
	if t.r.Stopped != "" {
		t.printf("stopped early: %s\n", report.Escape(t.r.Stopped))
	}
	if t.r.Lost > 0 {
		t.printf("%d datagrams were too many to be kept\n", t.r.Lost)
	}
}

// Cases lists the cases of the suite.
func Cases(w io.Writer, cases []*suite.Case) error {
	group := ""
	for _, c := range cases {
		if c.Group != group {
			if _, err := fmt.Fprintf(w, "%s%s\n", map[bool]string{true: "\n"}[group != ""], c.Group); err != nil {
				return err
			}
			group = c.Group
		}
		var marks []string
		if c.LeftOut != "" {
			marks = append(marks, "not tried: "+c.LeftOut)
		} else {
			if c.Profiles != suite.Stock|suite.OpenBC|suite.Playable {
				marks = append(marks, c.Profiles.String())
			}
			if c.Slow {
				marks = append(marks, "slow")
			}
			if c.Informs {
				marks = append(marks, "for information")
			}
			if c.Reads() {
				marks = append(marks, "from captures, too")
			}
		}
		text := ""
		if len(marks) > 0 {
			text = " [" + strings.Join(marks, "; ") + "]"
		}
		if _, err := fmt.Fprintf(w, " %-6s %s (%s, %s)%s\n", c.ID, c.Rule, c.Source, c.Grade, text); err != nil {
			return err
		}
	}
	return nil
}
