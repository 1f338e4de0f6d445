package conform

// A keyed holds the waiting messages to one client by their keys. It is a hash
// table: keys are digests already, and most are there once, for a moment.
type keyed struct {
	slots []slot // a power of two of them, at least a quarter free
	used  int
}

// A slot holds the messages with one key.
type slot struct {
	key     uint64    // 0 if the slot is free
	expects []*expect // in order; done ones go from the front
	gots    []*got
}

// fewestSlots is the size of a table that is not empty.
const fewestSlots = 16

// index returns the place of a key, or the free one where it belongs.
func (t *keyed) index(key uint64) int {
	mask := uint64(len(t.slots) - 1)
	i := key & mask
	for t.slots[i].key != key && t.slots[i].key != 0 {
		i = (i + 1) & mask
	}
	return int(i)
}

// find returns the slot of a key, nil if there is none. It is valid until the
// next call of at or tidy.
func (t *keyed) find(key uint64) *slot {
	if t.used == 0 {
		return nil
	}
	if s := &t.slots[t.index(key)]; s.key == key {
		return s
	}
	return nil
}

// at returns the slot of a key, which is made if there is none.
func (t *keyed) at(key uint64) *slot {
	if s := t.find(key); s != nil {
		return s
	}
	if t.used++; 4*t.used > 3*len(t.slots) {
		t.resize(max(2*len(t.slots), fewestSlots))
	}
	s := &t.slots[t.index(key)]
	s.key = key
	return s
}

// expects returns the expected messages with a key.
func (t *keyed) expects(key uint64) []*expect {
	if s := t.find(key); s != nil {
		return s.expects
	}
	return nil
}

// tidy frees the slot of a key if it holds no message any more.
func (t *keyed) tidy(key uint64) {
	s := t.find(key)
	if s == nil || len(s.expects)+len(s.gots) > 0 {
		return
	}
	t.used--
	mask := len(t.slots) - 1
	free := t.index(key)
	for i := (free + 1) & mask; t.slots[i].key != 0; i = (i + 1) & mask {
		if home := int(t.slots[i].key) & mask; (i-home)&mask >= (i-free)&mask { // it was put further for want of this slot
			t.slots[free] = t.slots[i]
			free = i
		}
	}
	t.slots[free] = slot{}
	if len(t.slots) > fewestSlots && 8*t.used < len(t.slots) {
		t.resize(len(t.slots) / 2)
	}
}

func (t *keyed) resize(n int) {
	old := t.slots
	t.slots = make([]slot, n)
	for i := range old {
		if s := &old[i]; s.key != 0 {
			t.slots[t.index(s.key)] = *s
		}
	}
}
