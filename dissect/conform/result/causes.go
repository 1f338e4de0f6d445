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

// A Cause is what differences have in common that a host makes for one reason.
type Cause struct {
	Kind     string  `json:"kind"`  // of the differences
	What     string  `json:"what"`  // happens to the messages
	Count    int     `json:"count"` // differences
	Of       int     `json:"of"`    // such messages that were compared
	First    int     `json:"frame"`
	Players  int     `json:"players"`            // that it happens to
	Certain  bool    `json:"certain"`            // it is proven for each; otherwise a line does not lose or double so many
	Accepted int     `json:"accepted,omitempty"` // differences that a baseline accepts
	Chance   float64 `json:"chance_log10"`       // logarithm of the chance that a line which loses as much as is estimated is the reason; 0 if it is certain
	Rows     []*Row  // of the messages

	each []measure.Trials // of Rows: messages, and differences
	to   map[netip.AddrPort]bool
}

// A causeKey is what the differences of a row have in common.
type causeKey struct {
	kind, what string
	typ        transport.Type
	op         decode.Opcode
}

const never = "never " // begins what happens to all messages

// maxCauses bounds the causes of a report.
const maxCauses = 1024

// because counts a difference for its cause.
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

// Lose takes the losses of the line to each client, and tells how likely they are the
// reason of what is not certain: a message is lost on one of two ways.
func (r *Report) Lose(all []measure.Loss) {
	kept := 1.0 // at least, of the messages
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

// findCauses puts differences of several rows together if the same happens to them,
// those with most differences first.
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
