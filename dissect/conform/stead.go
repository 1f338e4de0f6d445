package conform

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"sort"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// who names a client for people; the name is text from the network.
func who(c *Client) string {
	if c.Name != "" {
		return c.Name.Raw()
	}
	return c.Addr.String()
}

// instead returns the captured message that came in place of one that did not.
func (c *comparer) instead(d *destination, x *expect) *got {
	from, till := x.src.time.Add(-earliest), x.src.time.Add(latest)
	i := sort.Search(len(d.gots), func(i int) bool { return !d.gots[i].Time.Before(from) })
	for k, g := range d.gots[i:] {
		if k == mostLooked {
			d.reached[limitSearch]++
			break
		}
		switch {
		case g.Time.After(till):
			return nil
		case !g.done && x.key != g.key && d.inPlace(x, g) && c.related(x, g):
			return g
		}
	}
	return nil
}

// wanted returns the expected message that a captured one replaces.
func (c *comparer) wanted(d *destination, g *got) *expect {
	from, till := g.Time.Add(-latest), g.Time.Add(earliest)
	i := sort.Search(len(d.expects), func(i int) bool { return !d.expects[i].src.time.Before(from) })
	for k, x := range d.expects[i:] {
		if k == mostLooked {
			d.reached[limitSearch]++
			break
		}
		switch {
		case x.src.time.After(till):
			return nil
		case !x.done && x.key != g.key && x.by&c.judge != 0 && d.inPlace(x, g) && c.related(x, g):
			return x
		}
	}
	return nil
}

// inPlace reports whether a captured message came where the expected one should
// have come.
func (d *destination) inPlace(x *expect, g *got) bool {
	if g.Number >= 0 && x.src != nil {
		if lo, hi, ok := d.beside(x.src); ok {
			return lo < g.Number && g.Number < hi
		}
		if lo, hi, ok := d.amid(x); ok && (g.Number <= lo || hi <= g.Number) {
			return false
		}
	}
	return x.replica || g.Late || g.Time.Sub(x.src.turn) <= d.usual.most()+slack
}

// related reports whether a captured message can be the expected one, changed:
// they are about the same objects and players, and have most bytes in common.
func (c *comparer) related(x *expect, g *got) bool {
	switch {
	case g.Type != x.typ || g.Op != x.op, x.src.kind == Left && x.typ == transport.Standard:
		return false
	case x.copied() && x.src.matched > 0 && c.elsewhere(x.to.to, g): // others got both
		return false
	case x.replica && c.sameObject(x.body, g.Body):
		return true
	case x.typ != transport.Standard:
		return alike(x.body, g.Body)
	}
	return c.subject(&x.subject, x.body) == c.subject(&g.subject, g.Body) && (!x.copied() || alike(x.body, g.Body) || c.sameLine(x.body, g.Body))
}

// subject returns a digest of the objects, players and kinds in a message, and
// keeps it.
func (c *comparer) subject(kept *uint64, body []byte) uint64 {
	if *kept == 0 {
		c.buf = c.t.bodies.subject(c.buf[:0], body)
		*kept = maphash.Bytes(c.seed, c.buf) | 1
	}
	return *kept
}

// alike reports whether two bodies have most of their bytes in common.
func alike(a, b []byte) bool {
	n := min(len(a), len(b))
	same := 0
	for i := range n {
		if a[i] == b[i] {
			same++
		}
	}
	return 3*same >= 2*max(len(a), len(b))
}

// sameLine reports whether two messages are chat with the same text.
func (c *comparer) sameLine(a, b []byte) bool {
	said, ok := chatIn(c.t.bodies.game(a))
	heard, too := chatIn(c.t.bodies.game(b))
	return ok && too && said.text == heard.text
}

// disordered judges a copy that came after that of a later message of the same
// sender. If the capture lacks messages about there, others with the same bytes
// may have been taken for each other.
func (c *comparer) disordered(l late) {
	x, g := l.x, l.g
	c.rep.Invariants.inOrder()
	d, before := x.to.to, l.before.copyTo(x.to.to)
	switch {
	case d == nil || !d.firm(&place{number: g.Number, key: g.key, at: g.Time, src: x.src, copied: true}):
		return
	case before == nil || !before.firm():
		return // another message may have come before
	}
	from, till := x.src.time.Add(-disorder), g.Time.Add(slack)
	if x.to.got[1].during(from, till) {
		return
	}
	if x.src.client.sent[1].during(from, till) {
		return
	}
	known := c.hasty() && x.src.receipt != nil && l.before.receipt != nil && x.src.receipt.after(l.before.receipt)
	c.rep.Invariants.disorder(g.Frame, known)
	row := c.rep.row(x.typ, x.op)
	if x.key == g.key && x.by&c.judge != 0 { // see pair
		row.Matched--
	} else {
		row.Explained--
	}
	if known {
		row.Explained++
		c.rep.deviate(ruleArrival, x.typ, x.op, g.Frame)
		return
	}
	c.differ(Difference{
		Kind: "differs", Frame: g.Frame, Opcode: x.op, typ: x.typ, To: x.to.Addr,
		Detail: fmt.Sprintf("it comes after a later message of the same sender; the original is in frame %d", x.src.frame),
	}, g.Body, g.Body)
}

// swapped judges an expected and a captured message that may be one changed. It
// reports whether they are.
func (c *comparer) swapped(d *destination, x *expect, g *got) bool {
	switch {
	case x.replica && c.sameObject(x.body, g.Body):
	case !x.reliable && !g.Reliable:
		c.doubts.pair(x, g)
		c.close(x, g)
		return true
	case c.excused(d, x) != "" || d.trailing(x):
		if _, lost := c.lostCause(d, g); lost || c.t.ends(g) && c.elsewhere(d, g) {
			return false // they may be two messages; the capture may lack their counterparts
		}
	}
	c.replaced(x, g)
	return true
}

// sameObject reports whether two creations are of the same object: owner, team,
// class and id agree. The rest is up to the host.
func (c *comparer) sameObject(a, b []byte) bool {
	first, ok := createdBy(c.t.bodies.game(a))
	second, too := createdBy(c.t.bodies.game(b))
	return ok && too && first == second
}

// replaced judges a message that came in place of another.
func (c *comparer) replaced(x *expect, g *got) {
	row := c.rep.row(x.typ, x.op)
	c.close(x, g)
	if x.replica && c.sameObject(x.body, g.Body) {
		row.Matched++
		return
	}
	detail := ""
	switch {
	case x.reliable != g.Reliable:
		detail = "it is not reliable, and the original is"
		if g.Reliable {
			detail = "it is reliable, and the original is not"
		}
	case x.priority != g.Priority:
		detail = "it lacks the priority of the original"
		if g.Priority {
			detail = "it has priority, and the original has not"
		}
	}
	c.buf = c.normal(c.buf[:0], x.typ, x.body)
	want := bytes.Clone(c.buf)
	c.buf = c.normal(c.buf[:0], g.Type, g.Body)
	if at, w, h, differs := firstDifference(want, c.buf); differs {
		detail = fmt.Sprintf("byte %d is %s, not %s; it answers frame %d", at, h, w, x.src.frame)
	}
	c.rep.Invariants.missed(c, x, false)
	c.differ(Difference{Kind: "differs", Frame: g.Frame, Opcode: x.op, typ: x.typ, To: x.to.Addr, Detail: detail}, x.body, g.Body)
}

// A chatLine is a line of chat, of either kind.
type chatLine struct {
	sender int32
	text   string
}

func chatIn(m decode.Message) (l chatLine, ok bool) {
	switch m := m.(type) {
	case *msg.Chat:
		return chatLine{m.Sender, string(m.Text)}, true
	case *msg.TeamChat:
		return chatLine{m.Sender, string(m.Text)}, true
	}
	return l, false
}

func firstDifference(want, have []byte) (at int, w, h string, differs bool) {
	for at = range max(len(want), len(have)) {
		w, h = byteAt(want, at), byteAt(have, at)
		if w != h {
			return at, w, h, true
		}
	}
	return 0, "", "", false
}

func byteAt(b []byte, i int) string {
	if i >= len(b) {
		return "missing"
	}
	return fmt.Sprintf("%02X", b[i])
}
