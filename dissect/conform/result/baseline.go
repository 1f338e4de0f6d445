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

// A Baseline lists what a host is known to do wrong, so that a check fails only on more.
// It holds neither frames nor addresses, so it fits every recording of the same server.
type Baseline struct {
	Version  int         `json:"baseline"`
	Accepted []*Accepted `json:"accepted"`
}

const baselineVersion = 1

// IgnoredAcks is the kind of the finding that the host ignores acknowledgements.
const IgnoredAcks = "ignored-acks"

// fromNumber ends the name of a finding that is about high numbers only.
const fromNumber = " from number %d"

// An Accepted is one thing that a host is known to do wrong.
type Accepted struct {
	Kind    string `json:"kind"`              // of a difference: missing, extra or differs; finding, deviation or case
	What    string `json:"what"`              // happens; the kind of a finding, the name of a deviation, the id of a case
	Message string `json:"message,omitempty"` // that it happens to
	Count   int    `json:"count,omitempty"`   // differences
	Of      int    `json:"of,omitempty"`      // such messages

	met, tried bool
}

// Same reports whether two are the same thing, however frequent.
func (a *Accepted) Same(b *Accepted) bool {
	return a.Kind == b.Kind && a.What == b.What && a.Message == b.Message
}

// String describes it on one line.
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

// maxBaseline bounds the bytes of a baseline, which come from a file.
const maxBaseline = 16 << 20

// ReadBaseline reads what [Baseline.Write] wrote.
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

// Write writes the baseline as JSON, an entry a line.
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

// Add accepts one thing more.
func (b *Baseline) Add(a Accepted) {
	b.Version = baselineVersion
	if i := slices.IndexFunc(b.Accepted, a.Same); i >= 0 {
		b.Accepted[i].Count += a.Count
		b.Accepted[i].Of += a.Of
		return
	}
	b.Accepted = append(b.Accepted, &a)
}

// Accepts reports whether a thing that the host does is listed, and no more frequent
// than listed. One recording is longer than another, so the part of the messages counts.
func (b *Baseline) Accepts(a Accepted) bool {
	i := slices.IndexFunc(b.Accepted, a.Same)
	if i < 0 {
		return false
	}
	e := b.Accepted[i]
	e.met = true
	return a.Count <= e.Count || float64(a.Count) <= measure.Trials{Of: e.Of, Failed: e.Count}.Most()*float64(a.Of)
}

// Tried notes that a thing would have been found if the host had done it.
func (b *Baseline) Tried(a Accepted) {
	if i := slices.IndexFunc(b.Accepted, a.Same); i >= 0 {
		b.Accepted[i].tried = true
	}
}

// TriedFindings does so for all findings about numbers up to one.
func (b *Baseline) TriedFindings(numbers int64) {
	for _, a := range b.Accepted {
		if a.Kind == "finding" {
			a.triedWith(numbers)
		}
	}
}

// Unneeded returns what the host did not do although it could have.
func (b *Baseline) Unneeded() (list []*Accepted) {
	for _, a := range b.Accepted {
		if a.tried && !a.met {
			list = append(list, a)
		}
	}
	return list
}

// BaselineOf accepts all that some reports hold.
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

// Judge marks what a baseline accepts in the reports of a check. The last report holds
// what the baseline lists and no host needs.
func (b *Baseline) Judge(reports []*Report) {
	all := BaselineOf(reports)
	accepts := func(a Accepted) bool { // of all hosts together
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

// tries notes what a report would hold if the host did it.
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

// triedWith notes that a finding could have been made, if the host's numbers went so far.
func (a *Accepted) triedWith(numbers int64) {
	from := int64(0)
	_, _ = fmt.Sscanf(a.What, IgnoredAcks+fromNumber, &from) // others begin at 0
	a.tried = a.tried || numbers > from
}

// listed returns what a baseline lists of the i-th message of a cause.
func (c *Cause) listed(i int) Accepted {
	return Accepted{Kind: c.Kind, What: strings.TrimPrefix(c.What, never), Message: c.Rows[i].Name, Count: c.each[i].Failed, Of: c.each[i].Of}
}

// listed returns what a baseline lists of a finding. A host that ignores the
// acknowledgements of numbers from 256 on is not one that ignores all.
func (f *Finding) listed() Accepted {
	what := f.Kind
	if f.From > 0 {
		what += fmt.Sprintf(fromNumber, f.From)
	}
	return Accepted{Kind: "finding", What: what}
}

// listed returns what a baseline lists of a deviation.
func (d *Deviation) listed() Accepted { return Accepted{Kind: "deviation", What: d.Rule.Name} }

// AcceptsFinding reports whether a finding is listed.
func (b *Baseline) AcceptsFinding(f *Finding) bool { return b.Accepts(f.listed()) }

// AddFinding accepts a finding.
func (b *Baseline) AddFinding(f *Finding) { b.Add(f.listed()) }
