package fragment

import "slices"

// Clone returns an independent copy of the table, or nil for nil.
func (t *Table) Clone() *Table {
	if t == nil {
		return nil
	}
	c := &Table{limits: t.limits, bytes: t.bytes}
	for _, g := range t.groups {
		h := *g
		h.data, h.pieces = slices.Clone(g.data), slices.Clone(g.pieces)
		c.groups = append(c.groups, &h)
	}
	return c
}
