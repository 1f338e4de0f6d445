package conform

import (
	"slices"
	"time"
)

// maxCrossing bounds the messages of clients that are remembered while another
// one comes or leaves.
const maxCrossing = 1024

// A crossing is such a message.
type crossing struct {
	key uint64
	at  time.Time
}

// enters reports whether the client had said at a time that it is ready, and the
// host had not answered yet. In a capture that was not made at the host nobody
// knows which of two clients' messages it gets first.
func (c *Client) enters(at time.Time) bool {
	till := c.welcomed
	if till.Before(c.entered) {
		till = c.entered.Add(latest)
	}
	return c.ready && !at.Before(c.entered) && at.Before(till)
}

// moving reports whether somebody is on the way into the game, or has just left.
func (t *timeline) moving() bool {
	return slices.ContainsFunc(t.order, func(c *Client) bool {
		if c.gone {
			return t.now.time.Sub(c.left) < longestLost
		}
		return c.admitted && !c.ready && !c.Adopted
	})
}

// cross remembers a message of a client if a host may get it before another one
// that changes who is in the game, or after that.
func (c *comparer) cross(e *Event) {
	if e.Kind != Input || !e.standard() || !c.t.moving() {
		return
	}
	if len(c.crossing) == maxCrossing {
		old := 0
		for old < maxCrossing && e.Time.Sub(c.crossing[old].at) > longestLost {
			old++
		}
		c.t.reached[limitMemory] += max(maxCrossing/2-old, 0)
		c.crossing = slices.Delete(c.crossing, 0, max(maxCrossing/2, old))
	}
	c.crossing = append(c.crossing, crossing{at: e.Time, key: c.key(e.Type, e.Reliable, e.Priority, e.Body)})
}

// crossed reports whether a message can be a copy of one that was sent before its
// receiver came, or after it left, if the host got the two the other way round.
func (c *comparer) crossed(d *destination, g *got) bool {
	cl := d.client
	return g.standard() && slices.ContainsFunc(c.crossing, func(s crossing) bool {
		switch {
		case s.key != g.key || s.at.After(g.Time):
			return false
		case cl.gone && !s.at.Before(cl.left):
			return true
		}
		return cl.ready && !g.Time.Before(cl.entered) && !s.at.After(cl.entered) && cl.entered.Sub(s.at) < longestLost
	})
}
