package result

import (
	"cmp"
	"maps"
	"math"
	"net/netip"
	"slices"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/dissect/measure"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// A Cause is what differences with the same reason have in common.
type Cause struct {
	Kind     string  `json:"kind"`  // kind of the differences
	What     string  `json:"what"`  // what happens to the messages
	Count    int     `json:"count"` // number of differences
	Of       int     `json:"of"`    // number of such messages that were compared
	First    int     `json:"frame"`
	Players  int     `json:"players"`            // number of affected players
	Certain  bool    `json:"certain"`            // proven for each difference. Otherwise, a line is unlikely to lose or double so many.
	Accepted int     `json:"accepted,omitempty"` // differences that a baseline accepts
	Chance   float64 `json:"chance_log10"`       // logarithm of the probability that losses of the line, as estimated, are the reason. 0 if Certain.
	Rows     []*Row  // rows of the messages

	each []measure.Trials // for each row: messages and differences
	to   map[netip.AddrPort]bool
}

// A causeKey is what the differences of a row have in common.
type causeKey struct {
	kind, what string
	typ        transport.Type
	op         decode.Opcode
}

// OutOfOrder is what happens to a copy that comes after a later message of its
// author.
const OutOfOrder = "passed on out of order"

const never = "never " // begins What if all messages are affected

// maxCauses is the maximum number of causes in a report.
const maxCauses = 1024

// because counts a difference towards its cause.
func (r *Report) because(d *Difference) {
	k := causeKey{d.Kind, d.What, d.Type, d.Opcode}
	c := r.causes[k]
	if c == nil {
		if len(r.causes) >= maxCauses {
			k.what = "of other kinds"
		}
		if c = r.causes[k]; c == nil {
			c = &Cause{First: d.Frame, Certain: true, to: map[netip.AddrPort]bool{}}
			r.causes[k] = c
		}
	}
	c.Count++
	c.First = min(c.First, d.Frame)
	c.Certain = c.Certain && !d.ByRate
	c.to[d.To] = true
}

// Lose computes from the losses of the line to each client how likely they are
// the reason for differences that are not certain. A message can be lost on two
// ways.
func (r *Report) Lose(all []measure.Loss) {
	kept := 1.0 // least share of the messages that are not lost
	for _, l := range all {
		if l.Host == r.Host {
			r.Line = append(r.Line, l)
			kept = min(kept, (1-l.Most)*(1-l.Most))
		}
	}
	for _, c := range r.Causes {
		if !c.Certain {
			c.Chance = -measure.Trials{Of: c.Of, Failed: c.Count}.Against(1-kept) * math.Log10E
		}
	}
}

// findCauses joins differences of several rows if the same happens to them.
// Those with most differences come first.
func (r *Report) findCauses() {
	keys := slices.SortedFunc(maps.Keys(r.causes), func(a, b causeKey) int { return cmp.Or(cmp.Compare(a.op, b.op), cmp.Compare(a.typ, b.typ)) })
	for _, k := range keys {
		c := r.causes[k]
		row, what := r.Row(k.typ, k.op), k.what
		of := row.Matched + row.Missing + row.Differing
		switch {
		case k.kind == "extra":
			of = row.Emitted
		case k.kind == "missing" && of == c.Count:
			what = never + what
		}
		i := slices.IndexFunc(r.Causes, func(o *Cause) bool { return o.Kind == k.kind && o.What == what })
		if i < 0 {
			i = len(r.Causes)
			r.Causes = append(r.Causes, &Cause{Kind: k.kind, What: what, First: c.First, Certain: true, to: map[netip.AddrPort]bool{}})
		}
		o := r.Causes[i]
		o.Count, o.Of, o.First, o.Certain = o.Count+c.Count, o.Of+of, min(o.First, c.First), o.Certain && c.Certain
		o.Rows, o.each = append(o.Rows, row), append(o.each, measure.Trials{Of: of, Failed: c.Count})
		for to := range c.to {
			o.to[to] = true
		}
		o.Players = len(o.to)
	}
	slices.SortFunc(r.Causes, func(a, b *Cause) int { return cmp.Or(b.Count-a.Count, a.First-b.First, cmp.Compare(a.What, b.What)) })
}
