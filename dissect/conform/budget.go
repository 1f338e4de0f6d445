package conform

// A budget divides the limits of a capture between the hosts in it.
type budget struct{ hosts int }

// of returns the part of a limit that each host has.
func (b *budget) of(limit int) int { return limit / max(b.hosts, 1) }

// The steps of the search for histories: for each message that was played, and for
// a capture with few.
const (
	stepsEach  = 1 << 10
	stepsFirst = 1 << 23
	stepsFar   = 4 // to look at one of many messages in memory
)

// A work counts the steps of the search for histories. They are bounded in
// proportion to the messages, so that no capture takes long.
type work struct{ allowed, done int }

// spend counts steps.
func (w *work) spend(n int) { w.done += n }

// over reports whether there are too many steps, so that what is still open stays
// so.
func (w *work) over() bool { return w.done > w.allowed }
