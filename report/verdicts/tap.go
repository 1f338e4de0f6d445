package verdicts

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/bcdissect/bcdissect/dissect/conform/suite"
	"github.com/bcdissect/bcdissect/report"
)

// TAP writes a run in the Test Anything Protocol, version 13, which all its readers know. A case that could
// not be tried is skipped, a documented failure is to do.
func TAP(w io.Writer, r *suite.Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "TAP version 13\n1..%d\n", len(r.Results))
	for i := range r.Results {
		res := &r.Results[i]
		ok, directive := "ok", ""
		switch res.Verdict {
		case suite.Fail:
			ok = "not ok"
		case suite.Known:
			ok, directive = "not ok", " # TODO "+tapText(res.Why)
		case suite.Skip:
			directive = " # SKIP " + tapText(res.Why)
		case suite.NotSeen:
			directive = " # SKIP not seen: " + tapText(res.Why)
		case suite.Pass:
		}
		fmt.Fprintf(&b, "%s %d - %s %s%s\n", ok, i+1, res.Case.ID, tapText(res.Case.Title), directive)
		if res.Verdict != suite.Fail {
			continue
		}
		b.WriteString("  ---\n")
		yaml := func(key, value string) { fmt.Fprintf(&b, "  %s: %s\n", key, quoted(value)) }
		yaml("rule", res.Case.Rule)
		yaml("source", res.Case.Source)
		yaml("expected", res.Expected)
		b.WriteString("  came:\n")
		for _, came := range res.Came {
			fmt.Fprintf(&b, "    - %s\n", quoted(came))
		}
		fmt.Fprintf(&b, "  frames: \"%d to %d\"\n", res.First, res.Last)
		if again := r.Again(res.Case); again != "" {
			yaml("repeat", again)
		}
		b.WriteString("  ...\n")
	}
	switch {
	case r.Interrupted():
		fmt.Fprintf(&b, "Bail out! %s\n", tapText(r.Stopped))
	case r.Stopped != "" && !r.Passed():
		fmt.Fprintf(&b, "# stopped early: %s\n", tapText(r.Stopped))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// tapText returns text without the signs that TAP understands.
func tapText(s string) string {
	return strings.NewReplacer(`\`, `\\`, "#", `\#`).Replace(report.Escape(s))
}

// quoted returns a string of YAML.
func quoted(s string) string { return strconv.QuoteToGraphic(s) }
