package verdicts

import (
	"io"
	"strings"

	"github.com/bcdissect/bcdissect/dissect/conform/suite"
	"github.com/bcdissect/bcdissect/report"
)

// TAP writes a run in the Test Anything Protocol, version 13, which all its readers know. A case that could
// not be tried is skipped, a documented failure is to do.
func TAP(w io.Writer, r *suite.Report) error { return write(w, "tap", r) }

// tapText returns text without the signs that TAP understands.
func tapText(s string) string {
	return strings.NewReplacer(`\`, `\\`, "#", `\#`).Replace(report.Escape(s))
}
