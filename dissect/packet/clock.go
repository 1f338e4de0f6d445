package packet

import "time"

// A Clock gives datagrams times that never go back. It ignores jumps of a
// capture's clock. The clock jumps where it was set, where two machines
// captured with different clocks, and where a file continues with another
// capture. The order of datagrams is reliable, but their times are not. The
// zero value is ready for the first datagram.
type Clock struct {
	// Leap, if above 0, limits how much a single step forwards advances the time.
	Leap time.Duration
	// Jump, if above 0, is the longest possible step forwards. A longer step means
	// that the clock was set, and does not advance the time.
	Jump time.Duration

	raw    time.Time // time of the last datagram in the capture
	latest time.Time // time that Read returned for it

	all     [maxClocks]reading // latest reading of each clock in the capture: the present clock, the one before it, and so on
	behind  bool               // all[0] is not the reading with the time latest
	clocks  int
	jumped  int // number of datagrams since the last jump
	settled int // number of datagrams since a clock was new
	jumps   int
	stood   time.Duration // for how long time has not advanced
	most    time.Duration
	skipped time.Duration
}

// A reading is a time of a clock in the capture, and the time that Read
// returned for it.
type reading struct{ raw, here time.Time }

// at converts another time of the reading's clock.
func (r *reading) at(raw time.Time) time.Time { return r.here.Add(raw.Sub(r.raw)) }

const (
	maxClocks = 4
	// disorder is by how much datagrams in the wrong order are late at most. A
	// datagram that is later means that the clock jumped.
	disorder = time.Second
	// unsteady is the number of datagrams after a jump within which other jumps
	// are expected. During these, a datagram belongs to a known clock only if it
	// is at most steady behind it or disorder ahead of it, and a new clock is
	// accepted only after several datagrams.
	unsteady = 1024
	steady   = 100 * time.Millisecond
	settles  = 16
)

// Jumps returns how many times the capture's clock went back, and the longest
// such jump. Datagrams in the wrong order do not count.
func (c *Clock) Jumps() (n int, most time.Duration) { return c.jumps, c.most }

// Skipped returns the sum of the steps forwards that did not advance the time.
func (c *Clock) Skipped() time.Duration { return c.skipped }

// Read returns the time of the next datagram.
func (c *Clock) Read(raw time.Time) time.Time {
	switch step, most := Since(raw, c.all[0].raw), max(c.Leap, c.Jump); {
	case c.clocks == 0:
		c.clocks, c.jumped, c.latest, c.all[0] = 1, unsteady+1, raw, reading{raw, raw}
	case raw.Equal(c.raw): // usually the same datagram
	case !c.behind && c.jumped > unsteady && step > 0 && (step <= most || most == 0): // the usual case
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

// step returns how much time has passed since the latest datagram. It is 0 or
// less for a datagram that is late.
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

// find finds the clock of a datagram and returns the time that has passed by
// it. That is the clock by which the least time has passed, or a new one. The
// argument step is the time that has passed by the present clock.
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
	if c.settled < settles && step > 0 { // time stands still for now, by all clocks
		stands = step
	} else if c.settled == settles { // no other clock came, so the time has passed after all
		stands = -c.stood
	}
	c.stood += stands
	for i := range c.all {
		c.all[i].here = c.all[i].here.Add(-stands)
	}
	return step - stands
}
