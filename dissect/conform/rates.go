package conform

import (
	"slices"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/measure"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// Unreliable messages have no numbers, so the capture does not show which of
// them were lost on the way. The host is not blamed for a single one that is
// missing, doubled or late. It is blamed for many, if the line loses fewer.

// Limits for the shares of messages.
const (
	maxGroups       = 4096
	maxDoubted      = 4096 // maximum number kept for the report
	maxDoubtedBytes = 8 << 20
)

// A group is the unreliable messages with one opcode from one client to
// another, or to no client if no copy came at all.
type group struct {
	from, to *Client
	op       uint8
	extra    bool
}

// A tally counts the messages of a group.
type tally struct {
	group
	all     int // expected messages, or inputs if the group has no receiver
	missing int
	list    []*expect
	extras  []*got
}

// receivers returns the mean number of receivers of the missing messages.
func (t *tally) receivers() int {
	sources := map[*source]bool{}
	for _, x := range t.list {
		sources[x.src] = true
	}
	return max(len(t.list)/max(len(sources), 1), 1)
}

// rates has the tallies of a host.
type rates struct {
	by     map[group]*tally
	order  []*tally
	kept   int
	bytes  int
	more   int            // number of messages beyond the limits
	merged int            // number of messages counted in groups of other clients
	open   [256][]*expect // numbered messages that did not come, by opcode
	lossy  bool
	line   []measure.Loss // losses on the line to each client
}

func (r *rates) tally(g group) *tally {
	if r.by[g] == nil && len(r.order) >= maxGroups {
		r.merged++
		g.from, g.to = nil, nil
	}
	t := r.by[g]
	if t == nil {
		t = &tally{group: g}
		r.by[g] = t
		r.order = append(r.order, t)
	}
	return t
}

// expected counts an expected unreliable message.
func (r *rates) expected(x *expect) {
	r.tally(group{x.src.client, x.to, uint8(x.op), false}).all++
}

// missed counts an unreliable message that did not come.
func (r *rates) missed(x *expect) {
	g := group{x.src.client, x.to, uint8(x.op), false}
	if x.copied() && x.src.matched == 0 { // it may not have reached the host
		r.tally(g).all--
		g.to = nil
	}
	t := r.tally(g)
	t.missing++
	if r.keep(len(x.body)) {
		t.list = append(t.list, x)
	}
}

// unseen records a numbered copy that did not come, but may have a number that
// the capture lacks.
func (r *rates) unseen(c *comparer, x *expect, why string) {
	if !r.keep(len(x.body)) {
		c.excuse(x, why)
		return
	}
	x.why = why
	r.open[x.op] = append(r.open[x.op], x)
}

// settleUnseen judges the numbered copies that unseen recorded. It blames the
// host only for an opcode of which the capture has no copy at all.
func (c *comparer) settleUnseen(out float64) {
	for op, list := range c.rates.open {
		row := c.rep.Row(transport.Standard, decode.Opcode(op)) //nolint:gosec // an index below 256
		never := row.Matched+row.Explained == 0 && !likely(len(list), len(list), out)
		for _, x := range list {
			c.blameOr(never, x, x.why)
		}
	}
}

// blameOr counts a message that did not come as missing, or excuses it.
func (c *comparer) blameOr(missing bool, x *expect, why string) {
	if missing {
		c.missing(x)
	} else {
		c.excuse(x, why)
	}
}

// extra counts an unreliable message without a cause.
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

// loses returns an upper bound of the share of messages that the line loses in
// one direction.
func (r *rates) loses(d dissect.Dir) float64 {
	const parts = 2 // parts of the line: before the recording and after it
	var all measure.Trials
	for _, l := range r.line {
		if l.Dir == d {
			all.Of, all.Failed = all.Of+int(l.Numbers+l.Sent+l.Open), all.Failed+int(l.Missing+l.Unanswered+l.Open)
		}
	}
	return min(1, parts*all.Most())
}

// likely reports whether a line that loses this share of messages explains why
// lost messages of n are missing.
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
	c.settleChanged(in * out)
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
			each := t.receivers() // a message that was lost before the host is missing for all of them
			lost := likely(t.missing/each, (inputs[group{from: t.from, op: t.op}]+t.missing)/each, in)
			for _, x := range t.list {
				c.blameOr(!lost, x, whyNobody)
			}
		default:
			lost := likely(t.missing, t.all, max(out, measure.Trials{Of: all - t.all, Failed: missing - t.missing}.Most()))
			for _, x := range t.list {
				c.blameOr(!lost, x, whyUnreliable)
			}
		}
	}
}

// A change is an unreliable message that came with one other byte.
type change struct {
	x    *expect
	g    *got
	lack *tally // has x
	more *tally // has g
}

// settleChanged judges the unreliable messages that came with one other byte.
// In place of each, the network may have lost the copy of one message, and the
// original of a similar one before the recording. The argument part is the
// share of messages to which it does both.
func (c *comparer) settleChanged(part float64) {
	var list []change
	missed, all, taken := map[*Client][]change{}, 0, map[*expect]bool{}
	for _, t := range c.rates.order {
		all += t.all
		for _, x := range t.list {
			missed[x.to] = append(missed[x.to], change{x: x, lack: t})
		}
	}
	for _, t := range c.rates.order {
		for _, g := range t.extras {
			i := slices.IndexFunc(missed[t.to], func(m change) bool {
				c.work.spend(1)
				return !c.work.over() && !taken[m.x] && m.x.op == g.Op && m.x.src.frame <= g.Frame && nearly(m.x.body, g.Body)
			})
			if i >= 0 {
				m := missed[t.to][i]
				m.g, m.more, taken[m.x] = g, t, true
				list = append(list, m)
			}
		}
	}
	if likely(len(list), all, part) {
		return
	}
	for _, m := range list {
		m.lack.missing, m.more.missing = m.lack.missing-1, m.more.missing-1
		m.lack.list = slices.DeleteFunc(m.lack.list, func(x *expect) bool { return x == m.x })
		m.more.extras = slices.DeleteFunc(m.more.extras, func(g *got) bool { return g == m.g })
		c.differs(m.x, m.g, true)
	}
}
