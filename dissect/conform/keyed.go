package conform

// A keyed has the waiting messages to one client, by key.
type keyed struct {
	slots map[uint64]*slot
	free  []*slot // slots to reuse: most messages wait only for a moment
}

// A slot has the messages with one key.
type slot struct {
	expects []*expect // expected messages, in the order of their causes
	gots    []*got
}

// maxFree is the maximum number of slots kept for reuse. Without them, replays
// of big captures take a tenth more memory.
const maxFree = 64

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

// drop removes finished messages with a key from the front of their lists. It
// frees the slot once the lists are empty.
func (t *keyed) drop(key uint64) {
	s := t.slots[key]
	if s == nil {
		return
	}
	s.expects, s.gots = live(s.expects), live(s.gots)
	if len(s.expects)+len(s.gots) > 0 {
		return
	}
	delete(t.slots, key)
	if len(t.free) < maxFree {
		t.free = append(t.free, s)
	}
}

func (x *expect) finished() bool { return x.done }
func (g *got) finished() bool    { return g.done }

// live drops finished messages from the front of a list.
func live[T interface{ finished() bool }](list []T) []T {
	for len(list) > 0 && list[0].finished() {
		clear(list[:1])
		list = list[1:]
	}
	return list
}
