package transport

import "unsafe"

// Clone returns a copy that shares nothing with the tracker.
func (t *Tracker) Clone() Tracker {
	c := *t
	for i := range c.spaces {
		s := &c.spaces[i]
		for j, l := range s.laps {
			if l != nil {
				lap := *l
				s.laps[j] = &lap
			}
		}
		if s.order != nil {
			order := *s.order
			s.order = &order
		}
		if s.pieces != nil {
			pieces := *s.pieces
			s.pieces = &pieces
		}
	}
	return c
}

// Memory returns how many bytes the tables of the tracker take.
func (t *Tracker) Memory() (n int) {
	for i := range t.spaces {
		s := &t.spaces[i]
		for _, l := range s.laps {
			if l != nil {
				n += int(unsafe.Sizeof(*l))
			}
		}
		if s.order != nil {
			n += int(unsafe.Sizeof(*s.order))
		}
		if s.pieces != nil {
			n += int(unsafe.Sizeof(*s.pieces))
		}
	}
	return n
}
