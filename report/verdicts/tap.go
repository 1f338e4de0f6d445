package verdicts

import (
	"io"
	"strings"

	"github.com/bcdissect/bcdissect/dissect/conform/suite"
	"github.com/bcdissect/bcdissect/report"
)

// TAP writes a run in the Test Anything Protocol, version 13, which all its
// parsers understand. A case that could not be tried is marked SKIP, and a
// documented failure is marked TODO.
func TAP(w io.Writer, r *suite.Report) error { return write(w, "tap", r) }

// tapText returns text without characters that have a meaning in TAP.
func tapText(s string) string {
	return strings.NewReplacer(`\`, `\\`, "#", `\#`).Replace(report.Escape(s))
}
