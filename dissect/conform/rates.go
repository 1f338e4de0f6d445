package conform

import (
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/measure"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// Unreliable messages have no numbers, so that the capture does not show which of
// them was lost on the way. A single one that is missing, doubled or late is never
// the host's fault; many are, if the line loses fewer.

// Limits of the messages of which a part decides.
const (
	maxGroups       = 4096
	maxDoubted      = 4096 // that are kept for the report
	maxDoubtedBytes = 8 << 20
)

// A group is the unreliable messages of one client and opcode to one client, or
// to nobody where no copy came at all.
type group struct {
	from, to *Client
	op       uint8
	extra    bool
}

// A tally counts the messages of a group.
type tally struct {
	group
	all     int // expected messages; for nobody, inputs
	missing int
	list    []*expect
	extras  []*got
}

// rates holds the tallies of a host.
type rates struct {
	by     map[group]*tally
	order  []*tally
	kept   int
	bytes  int
	more   int            // beyond the limits
	merged int            // counted in groups of other clients
	open   [256][]*expect // by opcode: with numbers
	lossy  bool
	line   []measure.Loss // what the line to each client loses
}

func (r *rates) tally(g group) *tally {
	t := r.by[g]
	if t == nil {
		if len(r.order) >= maxGroups {
			r.merged++
			g.from, g.to = nil, nil
			if t = r.by[g]; t != nil {
				return t
			}
		}
		t = &tally{group: g}
		r.by[g] = t
		r.order = append(r.order, t)
	}
	return t
}

// expected counts an unreliable message that should come.
func (r *rates) expected(x *expect) {
	r.tally(group{x.src.client, x.to, uint8(x.op), false}).all++
}

// missed takes an unreliable message that did not come.
func (r *rates) missed(x *expect) {
	g := group{x.src.client, x.to, uint8(x.op), false}
	if x.copied() && x.src.matched == 0 { // it may not have reached the host
		r.tally(g).all--
		g.to = nil
	}
	t := r.tally(g)
	t.missing++
	if !r.keep(len(x.body)) {
		return
	}
	kept := *x
	t.list = append(t.list, &kept)
}

// unseen takes a copy with a number that did not come, but can have one that the
// capture lacks.
func (r *rates) unseen(c *comparer, x *expect, why string) {
	if !r.keep(len(x.body)) {
		c.excuse(x, why)
		return
	}
	kept := *x
	kept.why = why
	r.open[x.op] = append(r.open[x.op], &kept)
}

// settleUnseen judges the messages of an opcode of which no copy came at all.
func (c *comparer) settleUnseen(out float64) {
	for op, list := range c.rates.open {
		row := c.rep.Row(transport.Standard, decode.Opcode(op)) //nolint:gosec // an index below 256
		never := row.Matched+row.Explained == 0 && !likely(len(list), len(list), out)
		for _, x := range list {
			if never {
				c.missing(x)
			} else {
				c.excuse(x, x.why)
			}
		}
	}
}

// extra takes an unreliable message that nothing asked for.
func (r *rates) extra(c *comparer, d *destination, g *got) {
	t := r.tally(group{c.t.authorOf(g.Event), d.client, uint8(g.Op), true})
	if c.returned(d, g) {
		c.extra(d.client, g)
		return
	}
	t.missing++
	if r.keep(len(g.Body)) {
		t.extras = append(t.extras, g)
	}
}

func (r *rates) keep(size int) bool {
	if r.kept >= maxDoubted || r.bytes+size > maxDoubtedBytes {
		r.more++
		return false
	}
	r.kept++
	r.bytes += size
	return true
}

// A loss counts the messages that a capture lacks, or that were lost.
type loss struct {
	lost  int
	jumps int // holes too long to be counted
}

// add adds the messages of one sender and class.
func (l *loss) add(h *holes) {
	l.lost += h.missing() + h.late
	l.jumps += h.jumps
}

// loses returns the part of the messages that the line loses in one direction, as high
// as it can well be.
func (r *rates) loses(d dissect.Dir) float64 {
	const parts = 2 // of the line: before the recording and behind it
	var all measure.Trials
	for _, l := range r.line {
		if l.Dir == d {
			all.Of, all.Failed = all.Of+int(l.Numbers+l.Sent), all.Failed+int(l.Missing+l.Unanswered)
		}
	}
	return min(1, parts*all.Most())
}

// likely reports whether so many of n can be lost, if the line loses a part.
func likely(lost, n int, part float64) bool {
	return measure.Trials{Of: n, Failed: lost}.Against(part) < sure
}

const (
	whyUnreliable = "it is unreliable, and the line loses about as many"
	whyNobody     = "it is not reliable, and no client got a copy: it may have been lost before the host"
)

// settleRates judges the unreliable messages.
func (c *comparer) settleRates() {
	out, in := c.rates.loses(dissect.FromHost), c.rates.loses(dissect.ToHost)
	c.settleUnseen(out)
	inputs, all, missing := map[group]int{}, 0, 0
	for _, t := range c.rates.order {
		if !t.extra && t.to != nil {
			inputs[group{from: t.from, op: t.op}] += t.all
			if t.from != nil {
				inputs[group{op: t.op}] += t.all
			}
			all, missing = all+t.all, missing+t.missing
		}
	}
	for _, t := range c.rates.order {
		switch {
		case t.extra:
			n := inputs[group{from: t.from, op: t.op}]
			if n == 0 {
				n = inputs[group{op: t.op}]
			}
			sure := n == 0 && !c.rates.lossy && c.t.repeated == 0 || !likely(t.missing, n, max(in, out))
			for _, g := range t.extras {
				if sure {
					c.extra(t.to, g)
				} else {
					c.incomparable(g, whyInput)
				}
			}
		case t.to == nil:
			c.settleMissing(t, whyNobody, likely(t.missing, inputs[group{from: t.from, op: t.op}]+t.missing, in))
		default:
			c.settleMissing(t, whyUnreliable, likely(t.missing, t.all, max(out, measure.Trials{Of: all - t.all, Failed: missing - t.missing}.Most())))
		}
	}
}

func (c *comparer) settleMissing(t *tally, why string, lost bool) {
	for _, x := range t.list {
		if lost {
			c.excuse(x, why)
		} else {
			c.missing(x)
		}
	}
}
