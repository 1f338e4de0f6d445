package conform

// Queued returns how many messages wait for their counterparts with the first host.
func (h *Hosts) Queued() (n int) {
	if len(h.order) == 0 || h.order[0].cmp == nil {
		return 0
	}
	for _, d := range h.order[0].cmp.order {
		n += len(d.expects) + len(d.gots)
	}
	return n
}

// Steps returns the steps of the search for histories with all hosts, how many may
// be, and the messages that were played.
func (h *Hosts) Steps() (done, allowed, messages int) {
	for _, r := range h.order {
		w := &r.cmp.work
		done, allowed, messages = done+w.done, allowed+w.allowed, messages+(w.allowed-stepsFirst)/stepsEach
	}
	return done, allowed, messages
}
