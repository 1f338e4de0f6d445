package conform

// Queued returns how many messages are in the queues for the clients of the first
// host.
func (h *Hosts) Queued() int {
	if len(h.order) == 0 || h.order[0].cmp == nil {
		return 0
	}
	n := 0
	for _, d := range h.order[0].cmp.order {
		n += len(d.expects) + len(d.gots)
	}
	if n != h.order[0].cmp.queued {
		panic("messages are counted wrongly")
	}
	return n
}
