package conform

import "time"

// A clock tells times that run on where those of a capture go back: where the
// capturing machine set its clock, or one capture follows another in a file.
// Limits by time would else never be reached.
type clock struct {
	raw, at time.Time // of the last datagram, in the capture and here
	latest  time.Time // here
}

// read returns the time of a datagram. Datagrams may be somewhat out of
// order; a time long before the latest is taken to be the latest.
func (c *clock) read(raw time.Time) time.Time {
	if raw.Equal(c.raw) { // mostly the same datagram
		return c.at
	}
	at := raw
	if !c.raw.IsZero() {
		at = c.at.Add(raw.Sub(c.raw))
	}
	if c.latest.Sub(at) > disorder {
		at = c.latest
	}
	c.raw, c.at = raw, at
	if at.After(c.latest) {
		c.latest = at
	}
	return at
}
