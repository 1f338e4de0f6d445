package conform

import "github.com/bcdissect/bcdissect/dissect/transport"

// pieces checks whether the fragments of a message come exactly once and in
// order.
type pieces struct {
	seq    uint16
	next   int
	broken bool
}

// take records a fragment. When the message is complete, it reports whether the
// fragments were out of order.
func (p *pieces) take(h *transport.Header, complete bool) (broken bool) {
	if p.seq != h.Seq {
		*p = pieces{seq: h.Seq}
	}
	p.broken = p.broken || int(h.Index) != p.next
	p.next = int(h.Index) + 1
	return complete && p.broken
}
