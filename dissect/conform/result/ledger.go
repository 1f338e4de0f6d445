package result

import (
	"slices"

	"github.com/bcdissect/bcdissect/decode"
)

// An Entry of the ledger says what the host does about one documented deviation of
// its dialect.
type Entry struct {
	Rule   *decode.Rule
	Status string `json:"status"`                    // kept, fixed or not seen
	Kept   int    `json:"kept"`                      // messages with which the host follows the rule
	Fixed  int    `json:"fixed"`                     // those with which it does as the original does
	First  int    `json:"frame,omitempty" if:"Seen"` // of these messages
	Seen   bool
}

// Fixes counts a message with which the host does as the stock host does, and not
// as the rule says.
func (r *Report) Fixes(rule *decode.Rule, frame int) {
	e := r.entry(rule)
	if e.Fixed++; e.First == 0 || frame < e.First {
		e.First = frame
	}
}

// entry returns the entry of a rule.
func (r *Report) entry(rule *decode.Rule) *Entry {
	i := slices.IndexFunc(r.Ledger, func(e *Entry) bool { return e.Rule.Name == rule.Name })
	if i < 0 {
		i = len(r.Ledger)
		r.Ledger = append(r.Ledger, &Entry{Rule: rule})
	}
	return r.Ledger[i]
}

// Keeps reports whether the host follows a rule with any message of a row.
func (r *Report) Keeps(rule *decode.Rule, row *Row) bool {
	return slices.ContainsFunc(r.Deviations, func(d *Deviation) bool { return d.Rule.Name == rule.Name && d.Of(row) > 0 })
}

// settleLedger completes the ledger, in the order of the opcodes.
func (r *Report) settleLedger(catalog *decode.Catalog) {
	met := r.Ledger
	if r.Ledger = nil; r.Dialect != decode.OpenBC {
		return
	}
	for _, spec := range catalog.All() {
		if d := spec.Deviation(r.Dialect); d != nil {
			r.entry(&d.Rule)
		}
		if h := spec.Habit(r.Dialect); h != nil {
			r.entry(&h.Rule)
		}
	}
	for _, rule := range r.others {
		r.entry(rule)
	}
	for _, e := range r.Ledger {
		if i := slices.IndexFunc(met, func(o *Entry) bool { return o.Rule.Name == e.Rule.Name }); i >= 0 {
			e.Fixed, e.First = met[i].Fixed, met[i].First
		}
		if i := slices.IndexFunc(r.Deviations, func(d *Deviation) bool { return d.Rule.Name == e.Rule.Name }); i >= 0 {
			e.Kept, e.First = r.Deviations[i].Count, r.Deviations[i].First
		}
		e.Seen = e.Kept+e.Fixed > 0
		switch {
		case e.Kept > 0:
			e.Status = "kept"
		case e.Fixed > 0:
			e.Status = "fixed"
		default:
			e.Status = "not seen"
		}
	}
}
