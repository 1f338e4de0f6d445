package verdicts

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/bcdissect/bcdissect/dissect/conform/suite"
	"github.com/bcdissect/bcdissect/report"
)

// A junitSuite is the root of a file in the format of Maven Surefire, which all
// tools for JUnit can read.
type junitSuite struct {
	XMLName    xml.Name        `xml:"testsuite"`
	Name       string          `xml:"name,attr"`
	Time       string          `xml:"time,attr"`
	Tests      int             `xml:"tests,attr"`
	Errors     int             `xml:"errors,attr"`
	Skipped    int             `xml:"skipped,attr"`
	Failures   int             `xml:"failures,attr"`
	Properties []junitProperty `xml:"properties>property"`
	Cases      []junitCase     `xml:"testcase"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Name      string        `xml:"name,attr"`
	Classname string        `xml:"classname,attr"`
	Time      string        `xml:"time,attr"`
	Failure   *junitFailure `xml:"failure"`
	Skipped   *junitSkipped `xml:"skipped"`
	Out       string        `xml:"system-out,omitempty"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

type junitSkipped struct {
	Message string `xml:"message,attr"`
}

// byBaseline is the reason that a failure does not count.
const byBaseline = "accepted by the baseline: "

// JUnit writes a run as XML for CI servers. Cases that are KNOWN or NOT SEEN
// are skipped, and so are failures that a baseline accepts.
func JUnit(w io.Writer, r *suite.Report) error {
	s := junitSuite{
		Name: "conform " + visible(r.Host), Time: fmt.Sprintf("%.3f", r.Took.Seconds()), Tests: len(r.Results) + len(r.Findings), Failures: r.Failed(),
		Skipped: r.Count(suite.Skip) + r.Count(suite.NotSeen) + r.Count(suite.Known) + r.Count(suite.Fail) + len(r.Findings) - r.Failed(),
		Properties: []junitProperty{
			{"host", visible(r.Host)}, {"game", visible(r.Name.Raw())}, {"profile", r.Profile.String()}, {"begun", r.Begun.UTC().Format("2006-01-02T15:04:05Z")},
		},
	}
	for i := range r.Line {
		l := &r.Line[i]
		s.Properties = append(s.Properties, junitProperty{"line " + visible(report.Way(l.Dir, l.Who(), false)), "loss " + l.String()})
	}
	for i := range r.Results {
		res := &r.Results[i]
		c := junitCase{
			Name: res.Case.ID + " " + res.Case.Title, Classname: "conform." + res.Case.Group, Time: fmt.Sprintf("%.3f", res.Took.Seconds()),
		}
		switch res.Verdict {
		case suite.Fail:
			if res.Accepted {
				c.Skipped = &junitSkipped{Message: visible(byBaseline + res.Why)}
				break
			}
			var b strings.Builder
			fmt.Fprintf(&b, "rule      %s (%s, %s)\nexpected  %s\n", res.Case.Rule, res.Case.Source, res.Case.Grade, res.Expected)
			for _, came := range res.Came {
				fmt.Fprintf(&b, "came      %s\n", visible(came))
			}
			fmt.Fprintf(&b, "frames    %d to %d\n", res.First, res.Last)
			if again := r.Again(res.Case); again != "" {
				fmt.Fprintf(&b, "repeat    %s\n", again)
			}
			c.Failure = &junitFailure{Message: visible(res.Why), Type: "FAIL", Text: lines(b.String())}
		case suite.Skip, suite.NotSeen, suite.Known:
			c.Skipped = &junitSkipped{Message: visible(res.Verdict.String() + ": " + res.Why)}
		case suite.Pass:
			c.Out = visible(res.Why)
		}
		s.Cases = append(s.Cases, c)
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		c := junitCase{Name: f.Kind, Classname: "conform.findings", Time: "0.000"}
		if f.Accepted {
			c.Skipped = &junitSkipped{Message: visible(byBaseline + f.Text)}
		} else {
			c.Failure = &junitFailure{Message: visible(f.Text), Type: "FINDING", Text: fmt.Sprintf("times     %d\nframe     %d\n", f.Count, f.Frame)}
		}
		s.Cases = append(s.Cases, c)
	}
	b, err := xml.MarshalIndent(&s, "", "  ")
	if err == nil {
		_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, b)
	}
	return err
}

// visible returns text without control characters, which XML does not allow.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsGraphic(r) {
			return r
		}
		return '?'
	}, s)
}

// lines is like visible for several lines.
func lines(s string) string {
	all := strings.Split(s, "\n")
	for i := range all {
		all[i] = visible(all[i])
	}
	return strings.Join(all, "\n")
}
