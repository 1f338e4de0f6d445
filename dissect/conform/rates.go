package conform

import (
	"cmp"
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
// another.
type group struct {
	from, to *Client
	op       decode.Opcode
}

// A tally counts the messages of a group.
type tally struct {
	group
	all    int     // expected messages
	lost   doubted // messages that did not come, although another client got a copy
	nobody doubted // messages of which no client got a copy: they may have been lost before the host
	extra  doubted // messages without a cause
}

// doubted are messages that are judged together.
type doubted struct {
	n       int // number of messages, of which some are in the lists
	expects []*expect
	gots    []*got
}

// rates has the tallies of a host.
type rates struct {
	by     map[group]*tally
	order  []*tally
	kept   int
	bytes  int
	more   int          // number of messages beyond the limits
	merged int          // number of messages counted in groups of other clients
	unseen [256]doubted // numbered copies that did not come, but may have a number that the capture lacks, by opcode
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
func (r *rates) expected(x *expect) { r.tally(group{x.src.Client, x.to, x.op}).all++ }

const (
	whyUnreliable = "it is unreliable, and the line loses about as many"
	whyNobody     = "it is not reliable, and no client got a copy: it may have been lost before the host"
)

// missed counts an unreliable message that did not come.
func (r *rates) missed(x *expect) {
	t := r.tally(group{x.src.Client, x.to, x.op})
	if x.copied() && x.src.matched == 0 {
		r.doubt(&t.nobody, x, whyNobody)
	} else {
		r.doubt(&t.lost, x, whyUnreliable)
	}
}

// doubt adds a message that did not come to those that are judged together.
func (r *rates) doubt(all *doubted, x *expect, why string) {
	x.why = why
	if all.n++; r.keep(len(x.body)) {
		all.expects = append(all.expects, x)
	}
}

// extra counts an unreliable message without a cause.
func (r *rates) extra(c *comparer, d *destination, g *got) {
	if c.returned(d, g) {
		c.extra(d.client, g)
		return
	}
	t := r.tally(group{c.t.authorOf(g.Event), d.client, g.Op})
	if t.extra.n++; r.keep(len(g.Body)) {
		t.extra.gots = append(t.extra.gots, g)
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

// settleRates judges the unreliable messages, and the numbered ones for which
// the capture may lack the number. The host is blamed for the latter only if
// the capture has no copy with that opcode at all.
func (c *comparer) settleRates() {
	out, in := c.rates.loses(dissect.FromHost), c.rates.loses(dissect.ToHost)
	for op := range c.rates.unseen {
		unseen, row := &c.rates.unseen[op], c.rep.Row(transport.Standard, decode.Opcode(op)) //nolint:gosec // an index below 256
		c.settleShare(unseen, row.Matched+row.Explained > 0 || likely(unseen.n, unseen.n, out))
	}
	c.settleChanged(in * out)
	var expected [256]int // by opcode
	all, lost := 0, 0
	for _, t := range c.rates.order {
		expected[t.op] += t.all
		all, lost = all+t.all-t.nobody.n, lost+t.lost.n
	}
	for _, t := range c.rates.order {
		came := t.all - t.nobody.n
		others := measure.Trials{Of: all - came, Failed: lost - t.lost.n}
		c.settleShare(&t.lost, likely(t.lost.n, came, max(out, others.Most())))
		c.settleShare(&t.nobody, likely(t.nobody.n, t.all, in))
		lacking := c.rates.lossy || c.t.repeated > 0 || expected[t.op] > 0 // otherwise the capture lacks no message with the opcode
		of := cmp.Or(t.all, expected[t.op])                                // the model may not know that the author is in the game
		c.settleShare(&t.extra, lacking && likely(t.extra.n, of+t.extra.n, max(in, out)))
	}
}

// settleShare judges messages. The network may explain all of them or none.
func (c *comparer) settleShare(all *doubted, explained bool) {
	for _, x := range all.expects {
		if explained {
			c.excuse(x, x.why)
		} else {
			c.missing(x)
		}
	}
	for _, g := range all.gots {
		if explained {
			c.incomparable(g, whyInput)
		} else {
			c.extra(g.Client, g)
		}
	}
}

// A change is an unreliable message that came with one other byte.
type change struct {
	x    *expect
	g    *got
	lack *doubted // has x
	more *doubted // has g
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
		for _, lack := range [...]*doubted{&t.lost, &t.nobody} {
			for _, x := range lack.expects {
				missed[x.to] = append(missed[x.to], change{x: x, lack: lack})
			}
		}
	}
	for _, t := range c.rates.order {
		for _, g := range t.extra.gots {
			i := slices.IndexFunc(missed[g.Client], func(m change) bool {
				c.work.spend(1)
				return !c.work.over() && !taken[m.x] && m.x.op == g.Op && m.x.src.Frame <= g.Frame && nearly(m.x.body, g.Body)
			})
			if i >= 0 {
				m := missed[g.Client][i]
				m.g, m.more, taken[m.x] = g, &t.extra, true
				list = append(list, m)
			}
		}
	}
	if likely(len(list), all, part) {
		return
	}
	for _, m := range list {
		m.lack.n, m.more.n = m.lack.n-1, m.more.n-1
		m.lack.expects = slices.DeleteFunc(m.lack.expects, func(x *expect) bool { return x == m.x })
		m.more.gots = slices.DeleteFunc(m.more.gots, func(g *got) bool { return g == m.g })
		c.differs(m.x, m.g, true)
	}
}
