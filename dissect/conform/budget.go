package conform

// A budget divides the limits of a capture between the hosts in it.
type budget struct{ hosts int }

// of returns each host's part of a limit.
func (b *budget) of(limit int) int { return limit / max(b.hosts, 1) }

// Limits and costs of the search for histories, in steps.
const (
	stepsEach  = 1 << 10 // allowed for each message that was played
	stepsFirst = 1 << 23 // allowed in addition, for captures with few messages
	stepsFar   = 4       // cost of looking at a waiting message, which is rarely in the processor's cache
)

// A work counts the steps of the search for histories. They are limited in
// proportion to the messages, so that no capture takes long.
type work struct{ allowed, done int }

// spend counts steps.
func (w *work) spend(n int) { w.done += n }

// over reports whether the limit is reached, so that open questions stay open.
func (w *work) over() bool { return w.done > w.allowed }
