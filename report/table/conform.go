// The web page has no such table: without it, the suite and the bots stay out of the page.

//go:build !js

package table

import (
	"fmt"
	"io"
	"strings"

	"github.com/bcdissect/bcdissect/decode/plural"
	"github.com/bcdissect/bcdissect/dissect/conform/suite"
	"github.com/bcdissect/bcdissect/report"
)

// Conform writes the results of the conformance suite: the cases by group, the
// verdict, and for failed cases the expected and received messages.
func Conform(w io.Writer, r *suite.Report, o Options) error {
	t := conformTables{page: newPage(o), r: r, reasons: map[string]string{}}
	const head = 10
	host := report.Escape(r.Host)
	if r.Name != "" {
		host += fmt.Sprintf(" \"%s\"", r.Name)
	}
	t.folded("host      ", head, host)
	t.folded("profile   ", head, r.Profile.String())
	if r.NoEntry != "" {
		n := plural.Form(r.Kept(), "%d {case needs|cases need} a client in the game, and none could join: ")
		t.folded("attention ", head, fmt.Sprintf(n, r.Kept())+report.Escape(r.NoEntry))
	}
	group := ""
	for i := range r.Results {
		res := &r.Results[i]
		if res.NoEntry { // the line above explains it
			continue
		}
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
	t.line(r.Line)
	t.findings(r.Findings, r.Unneeded)
	t.verdict()
	return t.flush(w)
}

type conformTables struct {
	page

	r       *suite.Report
	reasons map[string]string // the reasons already shown, each with the first case that has it
}

var verdictStyles = map[suite.Verdict]style{suite.Pass: green, suite.Fail: red, suite.Known: yellow, suite.Skip: yellow, suite.NotSeen: yellow}

func (t *conformTables) row(res *suite.Result) {
	const column = 18
	text := res.Case.Title
	if why := res.Why; why != "" && res.Verdict != suite.Fail {
		const long = 40 // longer reasons are not repeated for each case
		if first := t.reasons[why]; first != "" && len(why) > long {
			why = "as " + first
		} else {
			t.reasons[why] = res.Case.ID
		}
		text += "  " + report.Escape(why)
	}
	t.folded(fmt.Sprintf(" %-6s %s  ", res.Case.ID, t.paint(fmt.Sprintf("%-8s", res.Verdict), verdictStyles[res.Verdict])), column, text)
}

// failure shows a broken rule.
func (t *conformTables) failure(res *suite.Result) {
	c := res.Case
	accepted := ""
	if res.Accepted {
		accepted = " (accepted by the baseline)"
	}
	t.printf("\n")
	t.folded(t.paint("FAIL", red)+" ", len("FAIL "), c.ID+": "+c.Title+accepted)
	line := func(head, text string) {
		const column = 12
		t.folded(fmt.Sprintf("  %-8s  ", head), column, text)
	}
	line("rule", fmt.Sprintf("%s (%s, %s)", c.Rule, c.Source, c.Grade))
	line("expected", report.Escape(res.Expected))
	for i, came := range res.Came {
		line(map[bool]string{true: "came"}[i == 0], report.Escape(came))
	}
	again, source := t.r.Again(c), "recording"
	if again == "" {
		source = "capture"
	}
	if res.First > 0 && res.Last >= res.First {
		line("frames", fmt.Sprintf("%d to %d of the %s", res.First, res.Last, source))
	}
	if again != "" {
		line("repeat", report.Escape(again))
	}
}

func (t *conformTables) verdict() {
	var parts []string
	for v := suite.Pass; v <= suite.Known; v++ {
		if n := t.r.Count(v); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, v))
		}
	}
	t.printf("\n")
	t.folded("", 0, fmt.Sprintf("%s in %s: %s", plural.Count(len(t.r.Results), "case"), t.r.Span(), strings.Join(parts, ", ")))
	if t.r.Stopped != "" {
		const head = "stopped early: "
		t.folded(head, len(head), report.Escape(t.r.Stopped))
	}
	if t.r.Lost > 0 {
		t.printf(plural.Form(t.r.Lost, "%d {datagram was|datagrams were} not kept: there are too many\n"), t.r.Lost)
	}
}

// Cases lists the cases of the suite.
func Cases(w io.Writer, cases []*suite.Case, o Options) error {
	all := []column{
		{head: "case", text: true},
		{head: "group", text: true, drop: 1},
		{head: "rule", text: true, least: 30},
		{head: "source", text: true, least: len("docs/protocol.md,")},
		{head: "grade", text: true, drop: 2},
		{head: "remarks", text: true, least: 12},
	}
	for _, c := range cases {
		addRow(all, c.ID, c.Group, c.Rule, c.Source, string(c.Grade), strings.Join(remarks(c), "; "))
	}
	return new(widths).fitted(w, o, all)
}

// remarks returns the special properties of a case.
func remarks(c *suite.Case) (list []string) {
	if c.LeftOut != "" {
		list = []string{"not tried: " + c.LeftOut}
		if c.Reads() {
			list = append(list, "from captures alone")
		}
		return list
	}
	if c.Profiles != suite.Stock|suite.OpenBC|suite.Playable {
		list = append(list, c.Profiles.String())
	}
	if c.Slow {
		list = append(list, "slow")
	}
	if c.Long {
		list = append(list, "with --long")
	}
	if c.Informs {
		list = append(list, "for information")
	}
	if c.Reads() {
		list = append(list, "also from captures")
	}
	return list
}
