package arq

// A fifo is a queue of messages.
type fifo struct {
	first, last *outgoing
	n           int
}

func (q *fifo) push(o *outgoing) {
	if o.next = nil; q.last == nil {
		q.first = o
	} else {
		q.last.next = o
	}
	q.last = o
	q.n++
}

func (q *fifo) pop() *outgoing {
	o := q.first
	if o == nil {
		return nil
	}
	if q.first = o.next; q.first == nil {
		q.last = nil
	}
	o.next = nil
	q.n--
	return o
}

// A byNumber lists the game messages that wait for an acknowledgement, in the
// order in which the other side delivers them. They are sent almost in this
// order, so a new one belongs at or close to the end.
type byNumber struct{ first, last *outgoing }

func (l *byNumber) insert(o *outgoing) {
	after := l.last
	for after != nil && (int16(after.seq-o.seq) > 0 || after.seq == o.seq && after.index > o.index) {
		after = after.prev
	}
	if o.prev = after; after == nil {
		o.next, l.first = l.first, o
	} else {
		o.next, after.next = after.next, o
	}
	if o.next == nil {
		l.last = o
	} else {
		o.next.prev = o
	}
}

// remove removes a message, if it is in the list.
func (l *byNumber) remove(o *outgoing) {
	switch {
	case o.prev != nil:
		o.prev.next = o.next
	case l.first == o:
		l.first = o.next
	default:
		return
	}
	if o.next != nil {
		o.next.prev = o.prev
	} else {
		l.last = o.prev
	}
	o.prev, o.next = nil, nil
}

// A dueHeap has the messages that wait for an acknowledgement. The first one is
// due first. Among messages due at the same time, the oldest comes first.
type dueHeap []*outgoing

func (h dueHeap) less(i, j int) bool {
	a, b := h[i], h[j]
	return a.due < b.due || a.due == b.due && a.order < b.order
}

func (h dueHeap) swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].at, h[j].at = i, j
}

func (h dueHeap) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !h.less(i, parent) {
			return
		}
		h.swap(i, parent)
		i = parent
	}
}

func (h dueHeap) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(h) {
			return
		}
		if child+1 < len(h) && h.less(child+1, child) {
			child++
		}
		if !h.less(child, i) {
			return
		}
		h.swap(i, child)
		i = child
	}
}

func (h *dueHeap) push(o *outgoing) {
	o.at = len(*h)
	*h = append(*h, o)
	h.up(o.at)
}

// fix moves a message whose due time has changed to its place.
func (h dueHeap) fix(o *outgoing) {
	h.up(o.at)
	h.down(o.at)
}

func (h *dueHeap) remove(o *outgoing) {
	i, last := o.at, len(*h)-1
	if i != last {
		h.swap(i, last)
	}
	(*h)[last] = nil
	*h = (*h)[:last]
	if i != last {
		h.fix((*h)[i])
	}
}
