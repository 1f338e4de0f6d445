package packet

import "time"

// A Clock tells times that never go back, and that do not follow a capture's
// clock where it jumps: where it was set, where two machines captured, each with
// a clock of its own, or where one capture follows another in a file. The order
// of datagrams is a fact; their times are not. The zero value is ready for the
// first datagram.
type Clock struct {
	// Leap, if above 0, is the most that one step forwards counts.
	Leap time.Duration
	// Jump, if above 0, is the longest step forwards that time can have made: the
	// clock was set in a longer one, which does not count.
	Jump time.Duration

	raw    time.Time // of the last datagram, in the capture
	latest time.Time // the same, here

	all     [maxClocks]reading // the latest by each clock in the capture: the present clock, the one before, and so on
	behind  bool               // all[0] is not that of latest
	clocks  int
	jumped  int // datagrams since the last jump
	settled int // datagrams since one of the clocks was new
	jumps   int
	stood   time.Duration // for how long time has stood still
	most    time.Duration
	skipped time.Duration
}

// A reading is a time by a clock in the capture, and here.
type reading struct{ raw, here time.Time }

// at returns the time here of another time by the clock.
func (r *reading) at(raw time.Time) time.Time { return r.here.Add(raw.Sub(r.raw)) }

const (
	maxClocks = 4
	// disorder is by how much datagrams in disorder are late at most. A time
	// further back is a jump.
	disorder = time.Second
	// unsteady is for how many datagrams after a jump others are expected. A clock
	// then goes on if it is less than steady behind, or disorder ahead, and a new one
	// counts only after some datagrams.
	unsteady = 1024
	steady   = 100 * time.Millisecond
	settles  = 16
)

// Jumps returns how many times the capture's clock went back, and how far at
// most. Datagrams in disorder do not count.
func (c *Clock) Jumps() (n int, most time.Duration) { return c.jumps, c.most }

// Skipped returns how much of the steps forwards has not counted.
func (c *Clock) Skipped() time.Duration { return c.skipped }

// Read returns the time of the next datagram.
func (c *Clock) Read(raw time.Time) time.Time {
	switch step, most := Since(raw, c.all[0].raw), max(c.Leap, c.Jump); {
	case c.clocks == 0:
		c.clocks, c.jumped, c.latest, c.all[0] = 1, unsteady+1, raw, reading{raw, raw}
	case raw.Equal(c.raw): // mostly the same datagram
	case !c.behind && c.jumped > unsteady && step > 0 && (step <= most || most == 0): // mostly
		c.latest = c.latest.Add(step)
		c.all[0] = reading{raw, c.latest}
	default:
		if back := c.raw.Sub(raw); back > disorder {
			c.jumps++
			c.most = max(c.most, back)
		}
		if step := c.step(raw); step > 0 {
			c.latest = c.latest.Add(step)
			c.all[0] = reading{raw, c.latest}
		}
		c.behind = !c.all[0].here.Equal(c.latest)
	}
	c.raw = raw
	return c.latest
}

// step returns how much time has passed since the latest; it is not above 0 for
// a datagram that is late.
func (c *Clock) step(raw time.Time) time.Duration {
	c.jumped++
	step := c.all[0].at(raw).Sub(c.latest)
	if c.jumped <= unsteady || step < -disorder {
		return c.find(raw, step)
	}
	counts := step
	if c.Jump > 0 && step > c.Jump {
		counts, c.all[0] = 0, reading{raw, c.latest}
	} else if c.Leap > 0 {
		counts = min(step, c.Leap)
	}
	c.skipped = Sum(c.skipped, step-counts)
	return counts
}

// find finds the clock of a datagram: the one by which the least time has passed,
// or else a new one. step is that of the present clock.
func (c *Clock) find(raw time.Time, step time.Duration) time.Duration {
	at := 0
	for i := 1; i < c.clocks; i++ {
		if s := c.all[i].at(raw).Sub(c.latest); s.Abs() < step.Abs() {
			at, step = i, s
		}
	}
	if c.settled++; step > disorder || step < -steady {
		c.clocks = min(c.clocks+1, maxClocks)
		at, step = c.clocks-1, 0
		c.all[at] = reading{raw, c.latest}
		c.settled, c.stood = 0, 0
	}
	if at > 0 {
		present := c.all[at]
		copy(c.all[1:at+1], c.all[:at])
		c.all[0], c.jumped = present, 0
	}
	stands := time.Duration(0)
	if c.settled < settles && step > 0 { // time stands still, by all clocks
		stands = step
	} else if c.settled == settles { // no other clock came: it has passed all the same
		stands = -c.stood
	}
	c.stood += stands
	for i := range c.all {
		c.all[i].here = c.all[i].here.Add(-stands)
	}
	return step - stands
}
