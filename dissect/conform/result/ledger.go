package result

import (
	"slices"

	"github.com/bcdissect/bcdissect/decode"
)

// An Entry of the ledger tells whether the host has a documented deviation of
// its dialect.
type Entry struct {
	Rule   *decode.Rule
	Status string `json:"status"`                    // kept, fixed or not seen
	Kept   int    `json:"kept"`                      // messages in which the host follows the rule
	Fixed  int    `json:"fixed"`                     // messages in which it acts as the original does
	First  int    `json:"frame,omitempty" if:"Seen"` // frame of the first of these messages
	Seen   bool
}

// Fixes counts a message in which the host acts as the stock host does and does
// not follow the rule.
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

// Keeps reports whether the host follows a rule in any message of a row.
func (r *Report) Keeps(rule *decode.Rule, row *Row) bool {
	return slices.ContainsFunc(r.Deviations, func(d *Deviation) bool { return d.Rule.Name == rule.Name && d.Of(row) > 0 })
}

// settleLedger completes the ledger, in the order of the opcodes.
func (r *Report) settleLedger() {
	met := r.Ledger
	if r.Ledger = nil; r.Dialect != decode.OpenBC {
		return
	}
	for _, spec := range r.catalog.All() {
		if d := spec.Deviation(r.Dialect); d != nil {
			r.entry(&d.Rule)
		}
		if h := spec.Habit(r.Dialect); h != nil {
			r.entry(&h.Rule)
		}
	}
	for _, rule := range others {
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

// Rules of OpenBC that are in no spec.
var (
	RuleUnknown   = &decode.Rule{Name: "answers-unknown-object", Text: "answers a request for an object that it does not know with VerifyEnterSet; the stock host is silent"}
	RuleLoading   = &decode.Rule{Name: "copies-while-loading", Text: "passes messages on to players that are still loading; the stock host waits until they are ready"}
	RuleObjects   = &decode.Rule{Name: "objects-while-loading", Text: "sends a newcomer the ships with the Settings; the stock host sends them when the newcomer is ready"}
	RulePriority  = &decode.Rule{Name: "class-of-copies", Text: "sends copies without priority, StateUpdate always unreliable and all others reliable; the stock host copies both from the original"}
	RuleNames     = &decode.Rule{Name: "names-not-passed-on", Text: "tells no client the names of others; the stock host passes NameChange on to all"}
	RuleLeave     = &decode.Rule{Name: "leave-not-passed-on", Text: "announces a leave with other game messages; the stock host passes Disconnect on, names the player, and lets the ship explode"}
	RuleFragments = &decode.Rule{Name: "fragments-in-order-only", Text: "loses messages if their fragments come doubled or out of order; the stock host reassembles them"}
	RuleScores    = &decode.Rule{Name: "scores-while-loading", Text: "sends scores with the Settings, the newcomer's own included; the stock host sends those of others when the newcomer is ready"}
	RuleRequest   = &decode.Rule{Name: "answers-by-slot", Text: "answers a request for an object with the newest ship of the object's owner; the stock host sends that object or nothing"}
	RuleUnread    = &decode.Rule{Name: "drops-unread-events", Text: "drops StartCloaking and StartWarp that it cannot read; the stock host passes them on unchanged"}
	RuleArrival   = &decode.Rule{Name: "acts-on-arrival", Text: "acts on messages in the order in which they arrive, and again on those that arrive again; the stock host follows their numbers"}
	RuleStrange   = &decode.Rule{Name: "other", Text: "sends the same as the model of its dialect; no rule describes this difference"}
)

// others are the rules of the ledger that are in no spec.
var others = []*decode.Rule{
	RuleUnknown, RuleLoading, RuleObjects, RulePriority, RuleNames, RuleLeave, RuleFragments, RuleScores, RuleRequest, RuleUnread, RuleArrival,
}
