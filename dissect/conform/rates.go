package conform

import (
	"bytes"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/measure"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// Unreliable messages have no numbers, so the capture does not show which of
// them were lost on the way. The host is not blamed for a single one that is
// missing, doubled or late. It is blamed for many with the same opcode, if the
// line loses fewer. The missing ones are counted for each client and receiver,
// since one message that is lost on its way to the host has many copies.

// Limits for the messages that wait for a verdict.
const (
	maxGroups       = 4096
	maxDoubted      = 4096
	maxDoubtedBytes = 8 << 20
)

// doubted are messages that are judged together.
type doubted struct {
	n      int         // number of messages, of which some wait for their verdict
	settle [][2]func() // for each that waits: what excuses it, and what blames the host
}

// A group is the messages with an opcode from one client to another, or from
// any to any if both are nil.
type group struct {
	from, to *Client
	op       decode.Opcode
}

// A tally counts the messages of a group.
type tally struct {
	group
	came   int     // unreliable messages that came
	lost   doubted // unreliable messages that did not come
	apart  int     // of these, how many cannot have been lost in the same interruption of the line
	signs  [2]int  // those of the latest of them
	extra  doubted // unreliable messages without a cause
	unseen doubted // numbered copies that did not come, but may have a number that the capture lacks

	// Of all messages of a client with the opcode:
	last    *source        // the latest
	body    []byte         // its bytes
	near    measure.Trials // how many differ in one byte from the one before
	changed doubted        // those of which a form with one changed byte came, perhaps another message that the capture lacks
	failed  measure.Trials // these, of those that did not come
}

// rates has the tallies of a host.
type rates struct {
	by     map[group]*tally
	order  []*tally
	of     [256]int // expected unreliable messages by opcode
	kept   load     // the messages that wait for a verdict
	more   int      // number of messages beyond the limits
	merged int      // number of messages counted in groups of other clients
	lossy  bool
	line   []measure.Loss // losses on the line to each client
}

// tally returns the tally of a group. Those beyond the limit have it in common.
func (r *rates) tally(g group) *tally {
	t := r.by[g]
	if t == nil && len(r.order) >= maxGroups {
		r.merged++
		g.from, g.to = nil, nil
		t = r.by[g]
	}
	if t == nil {
		t = &tally{group: g}
		r.by[g], r.order = t, append(r.order, t)
	}
	return t
}

// expected counts an expected message, unless it is reliable.
func (r *rates) expected(x *expect) {
	if x.reliable {
		return
	}
	x.tally = r.tally(group{x.src.Client, x.to, x.op})
	r.of[x.op]++
	if heard := &x.src.Client.heard; !x.src.counted {
		x.src.counted, heard.Of, heard.Failed = true, heard.Of+1, heard.Failed+1
		t := r.tally(group{from: x.src.Client, op: x.op})
		if t.last != nil {
			t.last.until = x.src.Frame
			t.near.Of++
			if nearly(t.body, x.body) && !bytes.Equal(t.body, x.body) {
				t.near.Failed++
			}
		}
		t.last, t.body = x.src, x.body
	}
}

// lost adds an unreliable message that did not come to those that are judged. If g
// is not nil, it came instead, perhaps as another message. If it is excused as such,
// all sums have been taken, so that it does no harm that x counts again.
func (c *comparer) lost(d *destination, x *expect, g *got) {
	all := c.rates.tally(group{from: x.src.Client, op: x.op})
	if all.failed.Of++; g != nil {
		all.failed.Failed, g.done = all.failed.Failed+1, true
		c.rates.doubt(&all.changed, len(x.body)+len(g.Body), func() { c.lost(d, x, nil); c.surplus(d, g) }, func() { c.differs(x, g) })
		return
	}
	// An interruption of the line takes all messages until something comes through again, on both ways.
	t := x.tally
	if t.apart == 0 || x.signs[0] > t.signs[0] && x.signs[1] > t.signs[1] {
		t.apart++
	}
	t.signs = x.signs
	c.rates.doubt(&t.lost, len(x.body), func() { c.excuse(x, whyUnreliable) }, func() { c.missing(x) })
}

const whyUnreliable = "it is unreliable, and the line loses about as many"

// doubt adds a message to those that are judged together. Of the functions, one is
// called when it is known whether the network explains all of them.
func (r *rates) doubt(all *doubted, size int, excuse, blame func()) {
	all.n++
	if r.kept.messages >= maxDoubted || r.kept.bytes+size > maxDoubtedBytes {
		r.more++
		return
	}
	r.kept.add(size)
	all.settle = append(all.settle, [...]func(){excuse, blame})
}

// loses returns an upper bound of the share of messages that the line loses on
// the way to the host or back.
func (r *rates) loses() (part float64) {
	const parts = 2 // parts of the line: before the recording and after it
	for _, dir := range [...]dissect.Dir{dissect.ToHost, dissect.FromHost} {
		var all measure.Trials
		for _, l := range r.line {
			if l.Dir == dir {
				all.Of, all.Failed = all.Of+int(l.Numbers+l.Sent+l.Open), all.Failed+int(l.Missing+l.Unanswered+l.Open)
			}
		}
		part = max(part, parts*all.Most())
	}
	return min(1, part)
}

// against returns the negative logarithm of the probability that a line that
// loses this share of messages explains the lost ones. Each that came may be
// followed by an interruption.
func (t *tally) against(part float64) float64 {
	return measure.Trials{Of: max(t.came, t.apart), Failed: t.apart}.Against(part)
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
	r, part := &c.rates, c.rates.loses()
	var changed, none [256]float64 // how sure it is that messages were changed, and that none came
	for _, t := range r.order {
		if t.failed.Failed > 0 && t.from != nil { // otherwise messages of several clients follow each other
			changed[t.op] += t.failed.Against(t.near.Most()) - 1
		}
	}
	for _, t := range r.order {
		t.changed.judge(t.from == nil || changed[t.op] < sure)
	}
	best := map[group]float64{} // by author, since all receivers share the line to the host
	for _, t := range r.order {
		if g, by := (group{from: t.from, op: t.op}), t.against(part); t.came == 0 && by > max(best[g], adding) {
			none[t.op] += by - best[g]
			best[g] = by
		}
	}
	for _, t := range r.order {
		row := c.rep.Row(transport.Standard, t.op)
		t.unseen.judge(row.Matched+row.Explained > 0 || likely(t.unseen.n, t.unseen.n, part))
		by := t.against(part)
		t.lost.judge(by < sure && (t.came > 0 || by < adding || none[t.op] < sure))
		lacking := r.lossy || c.t.repeated > 0 || r.of[t.op] > 0 // otherwise the capture lacks no message with the opcode
		t.extra.judge(lacking && likely(t.extra.n, r.of[t.op]+t.extra.n, part))
	}
}

// judge judges messages. The network may explain all of them or none.
func (d *doubted) judge(explained bool) {
	for _, settle := range d.settle {
		if explained {
			settle[0]()
		} else {
			settle[1]()
		}
	}
}
