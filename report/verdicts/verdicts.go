// Not part of the library: package verdicts writes the results of the
// conformance suite as JSON, TAP or JUnit, as a page, or as a matrix of several
// servers.
package verdicts

import (
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/conform/result"
	"github.com/bcdissect/bcdissect/dissect/conform/suite"
	"github.com/bcdissect/bcdissect/dissect/measure"
	"github.com/bcdissect/bcdissect/report/ndjson"
)

// A Report is the JSON of a run.
type Report struct {
	Host     string             `json:"host"`
	Name     wire.Untrusted     `json:"name,omitempty"`
	Profile  string             `json:"profile"`
	Begun    string             `json:"begun"`
	Seconds  float64            `json:"seconds"`
	Passed   bool               `json:"passed"`
	Stopped  string             `json:"stopped,omitempty"`
	NoEntry  string             `json:"no_entry,omitempty"`
	Counts   map[string]int     `json:"counts"`
	Cases    []Case             `json:"cases"`
	Findings []result.Finding   `json:"findings,omitempty"`
	Line     []Line             `json:"line,omitempty"`
	Unneeded []*result.Accepted `json:"unneeded,omitempty"`
}

// A Line is the JSON of the loss in one direction.
type Line struct {
	measure.Loss
	Dir string `json:"dir"`
}

// A Case is the JSON of a case. It has no verdict if there was no run.
type Case struct {
	ID           string   `json:"id"`
	Group        string   `json:"group"`
	Title        string   `json:"title"`
	Rule         string   `json:"rule"`
	Source       string   `json:"source"`
	Grade        string   `json:"grade"`
	Profiles     []string `json:"profiles"`
	Slow         bool     `json:"slow,omitempty"`
	Long         bool     `json:"long,omitempty"`
	Informs      bool     `json:"informs,omitempty"`
	Capture      bool     `json:"capture,omitempty"`
	OpenBC       string   `json:"openbc,omitempty"`
	OpenBCSource string   `json:"openbc_source,omitempty"`
	LeftOut      string   `json:"left_out,omitempty"`

	Verdict  string   `json:"verdict,omitempty"`
	Accepted bool     `json:"accepted,omitempty"`
	Why      string   `json:"why,omitempty"`
	Expected string   `json:"expected,omitempty"`
	Came     []string `json:"came,omitempty"`
	Frames   []int    `json:"frames,omitempty"`
	First    int      `json:"first,omitempty"`
	Last     int      `json:"last,omitempty"`
	Attempts int      `json:"attempts,omitempty"`
	Seconds  float64  `json:"seconds,omitempty"`
	Repeat   string   `json:"repeat,omitempty"`
}

// caseOf returns the facts about a case.
func caseOf(c *suite.Case) Case {
	return Case{
		ID: c.ID, Group: c.Group, Title: c.Title, Rule: c.Rule, Source: c.Source, Grade: string(c.Grade),
		Profiles: strings.Fields(c.Profiles.String()), Slow: c.Slow, Long: c.Long, Informs: c.Informs, Capture: c.Reads(), OpenBC: c.OpenBC, OpenBCSource: c.OpenBCSource, LeftOut: c.LeftOut,
	}
}

// List writes a JSON object for each case, one on each line.
func List(w io.Writer, cases []*suite.Case) error {
	all := make([]Case, len(cases))
	for i, c := range cases {
		all[i] = caseOf(c)
	}
	return ndjson.Write(w, all...)
}

func fraction(part float64) float64 { return math.Round(part*1e4) / 1e4 }

func seconds(d time.Duration) float64 { return math.Round(d.Seconds()*1e3) / 1e3 }

// Of returns the JSON of a run.
func Of(r *suite.Report) *Report {
	j := &Report{
		Host: r.Host, Name: r.Name, Profile: r.Profile.String(), Begun: r.Begun.UTC().Format(time.RFC3339), Seconds: seconds(r.Took),
		Passed: r.Passed(), Stopped: r.Stopped, NoEntry: r.NoEntry, Counts: map[string]int{}, Findings: r.Findings, Unneeded: r.Unneeded,
	}
	for v := suite.Pass; v <= suite.Known; v++ {
		j.Counts[v.String()] = r.Count(v)
	}
	for _, l := range r.Line {
		l.Part, l.Most = fraction(l.Part), fraction(l.Most)
		j.Line = append(j.Line, Line{l, l.Dir.String()})
	}
	for i := range r.Results {
		res := &r.Results[i]
		c := caseOf(res.Case)
		c.Verdict, c.Why, c.Expected, c.Came = res.Verdict.String(), res.Why, res.Expected, slices.Clone(res.Came)
		c.Accepted = res.Accepted
		c.Frames, c.First, c.Last, c.Attempts, c.Seconds = res.Frames, res.First, res.Last, res.Attempts, seconds(res.Took)
		if res.Verdict == suite.Fail {
			c.Repeat = r.Again(res.Case)
		}
		j.Cases = append(j.Cases, c)
	}
	return j
}

// JSON writes a run as one object on one line.
func JSON(w io.Writer, r *suite.Report) error { return ndjson.Write(w, Of(r)) }
