package relay

import "time"

// A client that joined blindly, in the name of another, acknowledges what it
// guesses. The host sends a client updates of ships only as long as it
// acknowledges what it gets, in time; without, they end after creditMost.
const (
	creditMost  = 64 << 10               // bytes
	creditAsks  = creditMost / 2         // what is left when the host asks for an acknowledgement
	creditAge   = 3 * time.Second        // at most, of messages that are not acknowledged
	creditEvery = 100 * time.Millisecond // between two looks
)

// A credit is what a client may be sent before it acknowledges again.
type credit struct {
	left  int // bytes
	acked int // acknowledgements that have counted
	asked time.Time
	next  time.Time
}

// lend renews a client's credit if it has acknowledged what it was sent. It
// returns when it will do so again; zero for when the client has been sent more.
func (h *Host) lend(p *peer) (next time.Time) {
	c := &p.credit
	if !h.cfg.Public || !p.trusted || p.phase != Playing || c.left > creditAsks {
		return next
	}
	if h.now.Before(c.next) {
		return c.next
	}
	c.next = h.now.Add(creditEvery)
	n := p.link.Stats().Acknowledged
	switch age := p.link.Oldest(h.now); {
	case n > c.acked && age <= creditAge:
		c.left, c.acked = creditMost, n
		return next
	case age == 0 && h.now.Sub(c.asked) >= time.Second:
		c.asked = h.now
		c.acked = n
		p.link.Ask(h.now)
		p.awake = true
	}
	return c.next
}
