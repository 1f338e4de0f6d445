package relay

import "time"

// An attacker that joined with a forged source address does not get the host's
// messages, so it guesses what to acknowledge. The host therefore sends a
// client ship updates only while the client acknowledges messages in time. A
// client that does not gets at most creditMost bytes of them.
const (
	creditMost  = 64 << 10               // in bytes
	creditAsks  = creditMost / 2         // bytes left when the host asks for an acknowledgement
	creditAge   = 3 * time.Second        // maximum age of messages that are not acknowledged
	creditEvery = 100 * time.Millisecond // time between two checks
)

// A credit is how much a client may be sent before its next acknowledgement.
type credit struct {
	left  int // in bytes
	acked int // number of acknowledgements counted so far
	asked time.Time
	next  time.Time
}

// lend renews a client's credit if it has acknowledged what it was sent. It
// returns when it will do so again, or the zero time if not before the client
// is sent more.
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
