package conform

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"net/netip"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect/conform/result"
)

// excuse counts a message that is not required.
func (c *comparer) excuse(x *expect, why string) { c.rep.Excuse(why, x.typ, x.op, x.src.Frame) }

// missing counts a message that the host should have sent.
func (c *comparer) missing(x *expect) {
	if c.reformed(x) {
		return
	}
	text, what := fmt.Sprintf("expected after the message of %v in this frame", x.src.Client), "sent"
	if x.copied() {
		what = "passed on"
		text = fmt.Sprintf("no copy of the message of %v in this frame", x.src.Client)
	}
	c.differ(result.Difference{Kind: "missing", Frame: x.src.Frame, Opcode: x.op, Type: x.typ, To: x.to.Addr, Detail: text, What: what, ByRate: !x.reliable}, x.body, nil)
}

// deviates counts a message that did not come because of a rule.
func (c *comparer) deviates(x *expect, rule *decode.Rule) {
	if x.by&c.judge != 0 {
		c.rep.Row(x.typ, x.op).Explained++
	}
	if x.copied() {
		c.rep.Drop(x.typ, x.op, x.src.Frame)
	}
	c.rep.Deviate(rule, x.typ, x.op, x.src.Frame)
}

// incomparable counts a message of the host that cannot be compared.
func (c *comparer) incomparable(g *got, why string) {
	c.simulates = c.simulates || g.updates(msg.DirtyPosition) // it does not come from a player
	c.rep.Incomparable(why, g.Type, g.Op, g.Frame)
}

// extra counts a message that the host should not have sent.
func (c *comparer) extra(to *Client, g *got) {
	d := result.Difference{
		Kind: "extra", Frame: g.Frame, Opcode: g.Op, Type: g.Type, To: to.Addr, Detail: "no message of a client causes it",
		What: "sent without a cause", ByRate: g.Number < 0,
	}
	if own := c.own(g); own != nil && own.Frame <= g.Frame {
		_, _, before := own.spotAt(to.to, 1)
		switch {
		case own.Client == to && !c.returns[g.Op]:
			d.What, d.ByRate = "sent back to their author", false
		case c.blamed[blame{to.Addr, own.Frame, own.Op}]: // it is missing at its place
			d.What = result.OutOfOrder
		case before:
			d.What = "sent twice"
		}
	}
	c.differ(d, nil, g.Body)
}

// A blame identifies a message that a reported difference is about.
type blame struct {
	to    netip.AddrPort
	frame int
	op    decode.Opcode
}

// differ adds a difference, with the fields of both messages.
func (c *comparer) differ(d result.Difference, want, have []byte) {
	if len(c.rep.Differences) < result.MaxDifferences {
		var left int
		d.Fields, left = result.Beside(c.t.bodies.shows(d.Type, want), c.t.bodies.shows(d.Type, have))
		c.t.noted[result.LimitFields] += left
	}
	c.blamed[blame{d.To, d.Frame, d.Opcode}] = true
	c.rep.Differ(d)
}

// differs counts a message that came in place of another one.
func (c *comparer) differs(x *expect, g *got) {
	detail, what := "", "sent otherwise"
	if x.reliable != g.Reliable || x.priority != g.Priority {
		detail = fmt.Sprintf("reliable is %t and priority %t, not %t and %t", g.Reliable, g.Priority, x.reliable, x.priority)
		what = "sent with other flags"
	}
	c.buf = c.normal(c.buf[:0], x.typ, x.body)
	want := bytes.Clone(c.buf)
	c.buf = c.normal(c.buf[:0], g.Type, g.Body)
	at := 0
	for at < min(len(want), len(c.buf)) && want[at] == c.buf[at] {
		at++
	}
	if at < max(len(want), len(c.buf)) {
		detail = fmt.Sprintf("byte %d is %s, not %s; it answers frame %d", at, byteAt(c.buf, at), byteAt(want, at), x.src.Frame)
		what = fmt.Sprintf("changed, first in byte %d", at)
	}
	c.blamed[blame{x.to.Addr, x.src.Frame, x.op}] = true
	c.differ(result.Difference{Kind: "differs", Frame: g.Frame, Opcode: x.op, Type: x.typ, To: x.to.Addr, Detail: detail, What: what}, x.body, g.Body)
}

func byteAt(b []byte, i int) string {
	if i >= len(b) {
		return "missing"
	}
	return fmt.Sprintf("%02X", b[i])
}

// subject returns a digest of the objects, players and kinds in a message, and
// stores it.
func (c *comparer) subject(kept *uint64, body []byte) uint64 {
	if *kept == 0 {
		c.buf = c.t.bodies.subject(c.buf[:0], body)
		*kept = maphash.Bytes(c.seed, c.buf) | 1
	}
	return *kept
}

// alike reports whether two bodies have most of their bytes in common.
func alike(a, b []byte) bool { return 3*common(a, b) >= 2*max(len(a), len(b)) }

// nearly reports whether two bodies differ in one byte.
func nearly(a, b []byte) bool { return len(a) == len(b) && common(a, b) >= len(a)-1 }

// common returns how many bytes two bodies have in common.
func common(a, b []byte) (n int) {
	for i := range min(len(a), len(b)) {
		if a[i] == b[i] {
			n++
		}
	}
	return n
}
