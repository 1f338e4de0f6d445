package conform

// A keyed has the waiting messages to one client, by key.
type keyed struct {
	slots map[uint64]*slot
	free  []*slot // for reuse, since most messages wait only for a moment
}

// A slot holds the messages with one key.
type slot struct {
	expects []*expect // in order. Finished ones are removed from the front.
	gots    []*got
}

// maxFree is the maximum number of slots kept for reuse. Without them, replays
// of big captures take a tenth more memory.
const maxFree = 64

// find returns the slot of a key, or nil if there is none.
func (t *keyed) find(key uint64) *slot { return t.slots[key] }

// at returns the slot of a key. If there is none, it makes one.
func (t *keyed) at(key uint64) *slot {
	s := t.slots[key]
	if s != nil {
		return s
	}
	if t.slots == nil {
		t.slots = map[uint64]*slot{}
	}
	if n := len(t.free); n > 0 {
		s, t.free = t.free[n-1], t.free[:n-1]
	} else {
		s = new(slot)
	}
	t.slots[key] = s
	return s
}

// expects returns the expected messages with a key.
func (t *keyed) expects(key uint64) []*expect {
	if s := t.find(key); s != nil {
		return s.expects
	}
	return nil
}

// tidy frees the slot of a key if it has no more messages.
func (t *keyed) tidy(key uint64) {
	s := t.find(key)
	if s == nil || len(s.expects)+len(s.gots) > 0 {
		return
	}
	delete(t.slots, key)
	if len(t.free) < maxFree {
		t.free = append(t.free, s)
	}
}
