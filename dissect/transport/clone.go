package transport

import "unsafe"

// Clone returns an independent copy of the tracker.
func (t *Tracker) Clone() Tracker {
	c := *t
	for i := range c.spaces {
		s := &c.spaces[i]
		for j, l := range s.laps {
			s.laps[j] = copyOf(l)
		}
		for j, p := range s.pieces {
			s.pieces[j] = copyOf(p)
		}
	}
	return c
}

// copyOf returns a copy of a table, or nil for nil.
func copyOf[T any](table *T) *T {
	if table == nil {
		return nil
	}
	c := *table
	return &c
}

// Memory returns the size of the tracker's tables in bytes.
func (t *Tracker) Memory() (n int) {
	for i := range t.spaces {
		s := &t.spaces[i]
		for _, l := range s.laps {
			if l != nil {
				n += int(unsafe.Sizeof(*l))
			}
		}
		for _, p := range s.pieces {
			if p != nil {
				n += int(unsafe.Sizeof(*p))
			}
		}
	}
	return n
}
