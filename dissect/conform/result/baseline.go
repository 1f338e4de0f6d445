package result

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/dissect/measure"
)

// A Baseline lists known faults of a host, so that a check fails only on
// others. It has neither frames nor addresses, so it fits every recording of
// the same server.
type Baseline struct {
	Version  int         `json:"baseline"`
	Accepted []*Accepted `json:"accepted"`
}

const baselineVersion = 1

// fromNumber is the end of the name of a finding that is only about high
// numbers.
const fromNumber = " from number %d"

// An Accepted is a known fault of a host.
type Accepted struct {
	Kind    string `json:"kind"`              // kind of a difference (missing, extra or differs), or finding, deviation or case
	What    string `json:"what"`              // what happens: the kind of a finding, the name of a deviation, or the id of a case
	Message string `json:"message,omitempty"` // message that it happens to
	Count   int    `json:"count,omitempty"`   // number of differences
	Of      int    `json:"of,omitempty"`      // number of such messages

	met, tried bool
}

// Same reports whether both are the same fault, regardless of how often they
// happen.
func (a *Accepted) Same(b *Accepted) bool {
	return a.Kind == b.Kind && a.What == b.What && a.Message == b.Message
}

// String describes the fault in one line.
func (a *Accepted) String() string {
	text := strings.TrimSpace(a.Kind + " " + a.Message + ": " + a.What)
	if a.Message == "" {
		text = a.Kind + ": " + a.What
	}
	if a.Of > 0 {
		text += fmt.Sprintf(" (%d of %d)", a.Count, a.Of)
	}
	return text
}

// maxBaseline is the maximum size of a baseline file in bytes.
const maxBaseline = 16 << 20

// ReadBaseline reads the output of [Baseline.Write].
func ReadBaseline(r io.Reader) (*Baseline, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxBaseline+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > maxBaseline:
		return nil, fmt.Errorf("not a baseline: longer than %d bytes", maxBaseline)
	}
	b := new(Baseline)
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(b); err != nil {
		return nil, errors.New("not a baseline; --write-baseline writes one")
	}
	if b.Version != baselineVersion {
		return nil, fmt.Errorf("baseline %d: this program reads baseline %d; write it again with --write-baseline", b.Version, baselineVersion)
	}
	if slices.Contains(b.Accepted, nil) {
		return nil, errors.New("not a baseline: an entry is null")
	}
	return b, nil
}

// Write writes the baseline as JSON, with one entry per line.
func (b *Baseline) Write(w io.Writer) error {
	out := fmt.Appendf(nil, "{\"baseline\": %d, \"accepted\": [", baselineVersion)
	for i, a := range b.Accepted {
		line, err := json.Marshal(a)
		if err != nil {
			return err
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(out, "\n  "...), line...)
	}
	_, err := w.Write(append(out, "\n]}\n"...))
	return err
}

// Add adds an accepted fault.
func (b *Baseline) Add(a Accepted) {
	b.Version = baselineVersion
	if i := slices.IndexFunc(b.Accepted, a.Same); i >= 0 {
		b.Accepted[i].Count += a.Count
		b.Accepted[i].Of += a.Of
		return
	}
	b.Accepted = append(b.Accepted, &a)
}

// Accepts reports whether a fault of the host is listed, and not more frequent
// than listed. It compares shares of the messages, since recordings have
// different lengths.
func (b *Baseline) Accepts(a Accepted) bool {
	i := slices.IndexFunc(b.Accepted, a.Same)
	if i < 0 {
		return false
	}
	e := b.Accepted[i]
	e.met = true
	return a.Count <= e.Count || float64(a.Count) <= measure.Trials{Of: e.Of, Failed: e.Count}.Most()*float64(a.Of)
}

// Tried records that a fault would have been found if the host had it.
func (b *Baseline) Tried(a Accepted) {
	if i := slices.IndexFunc(b.Accepted, a.Same); i >= 0 {
		b.Accepted[i].tried = true
	}
}

// TriedFindings does the same for all findings about numbers up to the given
// one.
func (b *Baseline) TriedFindings(numbers int64) {
	for _, a := range b.Accepted {
		if a.Kind == "finding" {
			a.triedWith(numbers)
		}
	}
}

// Unneeded returns the faults that the host did not show although it could
// have.
func (b *Baseline) Unneeded() (list []*Accepted) {
	for _, a := range b.Accepted {
		if a.tried && !a.met {
			list = append(list, a)
		}
	}
	return list
}

// BaselineOf returns a baseline that accepts everything in some reports.
func BaselineOf(reports []*Report) *Baseline {
	b := &Baseline{Version: baselineVersion}
	for _, r := range reports {
		for _, c := range r.Causes {
			for i := range c.Rows {
				b.Add(c.listed(i))
			}
		}
		for i := range r.Findings {
			b.Add(r.Findings[i].listed())
		}
		if r.Against == decode.Stock {
			for _, d := range r.Deviations {
				b.Add(d.listed())
			}
		}
	}
	return b
}

// Judge marks what a baseline accepts in the reports of a check. It adds to the
// last report the entries of the baseline that no host needs.
func (b *Baseline) Judge(reports []*Report) {
	all := BaselineOf(reports)
	accepts := func(a Accepted) bool { // sums over all hosts
		return b.Accepts(*all.Accepted[slices.IndexFunc(all.Accepted, a.Same)])
	}
	for _, r := range reports {
		for _, c := range r.Causes {
			c.Accepted = 0
			for i := range c.Rows {
				if accepts(c.listed(i)) {
					c.Accepted += c.each[i].Failed
				}
			}
		}
		for i := range r.Findings {
			r.Findings[i].Accepted = accepts(r.Findings[i].listed())
		}
		for _, d := range r.Deviations {
			d.Accepted = r.Against == decode.Stock && accepts(d.listed())
		}
		b.tries(r)
	}
	if len(reports) > 0 {
		reports[len(reports)-1].Unneeded = b.Unneeded()
	}
}

// tries records the faults that a report would contain if the host had them.
func (b *Baseline) tries(r *Report) {
	b.TriedFindings(r.Numbers)
	for _, a := range b.Accepted {
		switch a.Kind {
		case "deviation":
			a.tried = a.tried || r.Against == decode.Stock
		case "finding", "case":
		default:
			for _, row := range slices.Concat(r.Rows, r.Controls) {
				a.tried = a.tried || row.Name == a.Message && row.Expected+row.Emitted > 0
			}
		}
	}
}

// triedWith records that a finding was possible, if the host's numbers went far
// enough.
func (a *Accepted) triedWith(numbers int64) {
	from := int64(0)
	_, _ = fmt.Sscanf(a.What, IgnoredAcks+fromNumber, &from) // other findings begin at 0
	a.tried = a.tried || numbers > from
}

// listed returns the baseline's entry for the i-th message of a cause.
func (c *Cause) listed(i int) Accepted {
	return Accepted{Kind: c.Kind, What: strings.TrimPrefix(c.What, never), Message: c.Rows[i].Name, Count: c.each[i].Failed, Of: c.each[i].Of}
}

// listed returns the baseline's entry for a finding. Ignoring the
// acknowledgements of numbers from 256 on is a different fault from ignoring
// all.
func (f *Finding) listed() Accepted {
	what := f.Kind
	if f.From > 0 {
		what += fmt.Sprintf(fromNumber, f.From)
	}
	return Accepted{Kind: "finding", What: what}
}

// listed returns the baseline's entry for a deviation.
func (d *Deviation) listed() Accepted { return Accepted{Kind: "deviation", What: d.Rule.Name} }

// AcceptsFinding reports whether a finding is listed.
func (b *Baseline) AcceptsFinding(f *Finding) bool { return b.Accepts(f.listed()) }

// AddFinding accepts a finding.
func (b *Baseline) AddFinding(f *Finding) { b.Add(f.listed()) }
