package conform

import (
	"math"

	"github.com/bcdissect/bcdissect/dissect/relay"
)

// Limits of the messages about which the whole capture decides.
const (
	maxGroups  = 4096
	maxDoubted = 4096 // differences that are kept for the report, in each list

	maxDoubtedBytes = 8 << 20 // in their messages
)

// A group is the unreliable messages of one client and opcode to one client, or
// to nobody where no copy came at all.
type group struct {
	from, to *Client
	op       uint8
	kind     doubtKind
}

type doubtKind uint8

const (
	doubtCopy   doubtKind = iota // one receiver lacks it
	doubtNobody                  // all receivers lack it
	doubtExtra
)

// A tally counts the messages of a group.
type tally struct {
	group
	all     int // expected messages; for doubtNobody, inputs
	missing int
	excess  int // those beyond the budget of the client
	spared  int // those of them that came
	flood   int // missing ones within the budget, while others are beyond it
	alone   int // missing ones with a datagram that may be missing
	list    []*expect
	extras  []*got
}

// doubts holds the missing and extra messages about which the whole capture
// decides: unreliable messages have no numbers, so that a loss does not show,
// and the last numbers of a sender do not show, either.
type doubts struct {
	by     map[group]*tally
	recent [64]*tally // by hash
	order  []*tally
	kept   int
	tail   []*expect
	pairs  []pair
	ends   []extra
	late   []late
	bytes  int // in the messages that are kept
	more   int // beyond the limits
	merged int // counted in groups of other clients, since there are too many

	unsent int // copies to everybody of a message that the capture lacks
}

// A pair is an unreliable message, and one that may be it, changed.
type pair struct {
	x *expect
	g *got
}

// A late pair came after the copy of a message that was sent after it.
type late struct {
	pair
	before *source
}

// An extra is a message that nothing asked for.
type extra struct {
	to *Client
	g  *got
}

// room reports whether one more message can be kept besides n of the same list.
func (d *doubts) room(n, size int) bool {
	if n >= maxDoubted || d.bytes+size > maxDoubtedBytes {
		d.more++
		return false
	}
	d.bytes += size
	return true
}

// pair takes an unreliable message, and one that may be it, changed.
func (d *doubts) pair(x *expect, g *got) {
	if d.room(len(d.pairs), len(x.body)+len(g.Body)) {
		x.kept = true
		d.pairs = append(d.pairs, pair{x, g})
	}
}

// disorder takes a copy that came after that of a later message.
func (d *doubts) disorder(x *expect, g *got, before *source) {
	if d.room(len(d.late), len(x.body)+len(g.Body)) {
		x.kept = true
		d.late = append(d.late, late{pair{x, g.keep()}, before})
	}
}

// extraLast takes a message that nothing asked for, if its cause may be the last
// of a client.
func (d *doubts) extraLast(to *Client, g *got) {
	if d.room(len(d.ends), len(g.Body)) {
		d.ends = append(d.ends, extra{to, g})
	}
}

func (d *doubts) tally(g group) *tally {
	recent := &d.recent[g.hash()%uint(len(d.recent))]
	if *recent == nil || (*recent).group != g {
		*recent = d.find(g)
	}
	return *recent
}

// hash returns a number in which groups of a battle differ.
func (g *group) hash() uint {
	n := uint(g.op)<<1 + uint(g.kind)
	for _, c := range [...]*Client{g.from, g.to} {
		if n *= 31; c != nil {
			n += uint(c.index) + 1
		}
	}
	return n
}

// find returns the tally of a group, which is made if there is none.
func (d *doubts) find(g group) *tally {
	t := d.by[g]
	if t == nil {
		if len(d.order) >= maxGroups {
			g = group{kind: g.kind}
			d.merged++
			if t = d.by[g]; t != nil {
				return t
			}
		}
		if d.by == nil {
			d.by = map[group]*tally{}
		}
		t = &tally{group: g}
		d.by[g] = t
		d.order = append(d.order, t)
	}
	return t
}

// expected counts an unreliable message.
func (d *doubts) expected(x *expect) {
	d.tally(group{x.src.client, x.to, uint8(x.op), doubtCopy}).all++
	if !x.src.counted {
		x.src.counted = true
		t := d.tally(group{x.src.client, nil, uint8(x.op), doubtNobody})
		if t.all++; x.src.excess {
			t.excess++
		}
	}
}

// came takes the first copy of a message beyond the budget of its sender.
func (d *doubts) came(x *expect) {
	d.tally(group{x.src.client, nil, uint8(x.op), doubtNobody}).spared++
}

// missed takes an unreliable message that did not come. It is alone if others do
// not show the datagram in which it should have been.
func (d *doubts) missed(x *expect, alone bool) {
	x.alone = alone
	g := group{x.src.client, x.to, uint8(x.op), doubtCopy}
	if x.src.matched == 0 {
		g.to, g.kind = nil, doubtNobody
	}
	t := d.tally(g)
	if g.kind == doubtCopy || !x.src.nobody {
		t.missing++
		if x.src.flood && g.kind == doubtNobody {
			t.flood++
		}
		if alone {
			t.alone++
		}
	}
	x.src.nobody = x.src.nobody || g.kind == doubtNobody
	if d.room(d.kept, len(x.body)) {
		d.kept++
		t.list = append(t.list, x)
	}
}

// extra takes an unreliable message that nothing asked for.
func (d *doubts) extra(to *Client, e *got, author *Client) {
	t := d.tally(group{author, to, uint8(e.Op), doubtExtra})
	t.missing++
	if d.room(d.kept, len(e.Body)) {
		d.kept++
		t.extras = append(t.extras, e)
	}
}

// last takes a reliable message that did not come, after which the host used no
// number any more.
func (d *doubts) last(x *expect) {
	if d.room(len(d.tail), len(x.body)) {
		d.tail = append(d.tail, x)
	}
}

// A loss is the part of messages that a capture lacks.
type loss struct {
	of, lost int
	jumps    int  // holes too long to be counted
	in       int  // datagrams that they came in
	again    bool // clients sent messages again, so datagrams were lost
}

// add adds the messages of one sender and class.
func (l *loss) add(h *holes) {
	l.of += h.seen
	l.lost += h.missing() + h.late
	l.jumps += h.jumps
	l.in += h.datagrams
}

func (l loss) part() float64 {
	if l.lost+l.jumps == 0 {
		return 0
	}
	return float64(l.lost+l.jumps) / float64(l.of+l.lost+l.jumps)
}

// worse returns that of two which lacks the greater part.
func (l loss) worse(o loss) loss {
	if o.part() > l.part() {
		return o
	}
	return l
}

// most returns how many of n messages can be lost if the part is the same. The
// numbered messages of a battle come in bunches, so the part is a guess.
func (l loss) most(n int) int {
	k := float64(l.lost + l.jumps) // a long hole has an edge like a short one
	of := l.of + l.lost + l.jumps
	if l.lost+l.jumps == 0 {
		if !l.again {
			return 0
		}
		of = l.in // many may have come in few datagrams
	}
	part := min(1, 2*(k+3*math.Sqrt(k)+3)/float64(max(of, 1)))
	expected := float64(n) * part
	return int(math.Ceil(expected + 3*math.Sqrt(expected) + 1))
}

const (
	whyUnreliable = "it is unreliable, and the capture lacks about as many reliable messages, or the datagram that should hold it"
	whyNobody     = "it is not reliable, and nobody got a copy: it may have been lost before the host"
	whyTail       = "it may have been lost, or not captured: the host used no number after it"
)

// lack returns the part of the unreliable messages of clients that the capture
// lacks, by their copies.
func (d *doubts) lack() (l loss) {
	for _, t := range d.order {
		if t.kind == doubtCopy {
			l.of += t.all
		}
	}
	l.lost = d.unsent
	return l
}

// resolve judges the messages about which the whole capture decides; lossy is
// whether it lacks any of another host's game.
func (c *comparer) resolve(lossy bool) {
	out, in := c.t.losses()
	d := &c.doubts
	both := loss{of: out.of + in.of, lost: out.lost + in.lost, jumps: out.jumps + in.jumps, in: out.in + in.in, again: c.t.again}
	// Numbered messages come in bunches: few of them may be lost where many others are.
	lost := both.worse(d.lack())
	copies, sent := lost.worse(out), lost.worse(in)
	lossy = lossy || lost.lost+lost.jumps > 0
	alone := 0
	for _, t := range d.order {
		if t.kind == doubtCopy {
			alone += t.alone
		}
	}
	for _, p := range d.pairs {
		if lossy {
			c.excuse(p.x, whyUnreliable)
			c.incomparable(p.g, whyInput)
		} else {
			c.replaced(p.x, p.g)
		}
	}
	for _, p := range d.late {
		c.disordered(p)
	}
	for _, e := range d.ends {
		if lossy {
			c.incomparable(e.g, whyInput)
		} else {
			c.extra(e.to, e.g)
		}
	}
	for _, x := range d.tail {
		if lossy {
			c.excuse(x, whyTail)
		} else {
			c.missing(x)
		}
	}
	for _, t := range d.order {
		switch t.kind {
		case doubtNobody:
			c.resolveFlood(t)
			const always, part = 3, 10
			c.resolveMissing(t, whyNobody, t.missing <= always+t.all/part+copies.most(t.all))
		case doubtCopy:
			c.resolveCopies(t, t.missing <= copies.most(t.all), lossy || alone > fewAlone)
		case doubtExtra:
			all := 0
			for _, o := range d.order {
				if o.kind == doubtCopy && o.to == t.to && o.op == t.op && (o.from == t.from || t.from == nil) {
					all += o.all
				}
			}
			sure := t.missing > sent.most(all)
			for _, g := range t.extras {
				if sure {
					c.extra(t.to, g)
				} else {
					c.incomparable(g, whyInput)
				}
			}
		}
	}
}

// resolveFlood explains the messages to nobody that a client sent while it sent
// more than its budget, if about as many came that were beyond it.
func (c *comparer) resolveFlood(t *tally) {
	const always, part = 3, 10
	if t.excess == 0 || t.flood > always+t.excess/part+t.spared {
		return
	}
	rest := t.list[:0]
	for _, x := range t.list {
		if x.src.flood {
			c.deviates(x, guards[relay.GuardFlood])
		} else {
			rest = append(rest, x)
		}
	}
	t.list, t.missing = rest, t.missing-t.flood
}

// fewAlone are the messages that can be missing with their datagrams although the
// capture lacks none.
const fewAlone = 3

// resolveCopies judges the copies that a client lacks. If not as many can be lost
// singly, whole datagrams can in a lossy capture, up to a part.
func (c *comparer) resolveCopies(t *tally, lost, lossy bool) {
	const part = 4
	whole := lossy && t.alone <= fewAlone+t.all/part
	for _, x := range t.list {
		if lost || x.alone && whole {
			c.excuse(x, whyUnreliable)
		} else {
			c.missing(x)
		}
	}
}

func (c *comparer) resolveMissing(t *tally, why string, lost bool) {
	for _, x := range t.list {
		if lost {
			c.excuse(x, why)
		} else {
			c.missing(x)
		}
	}
}
