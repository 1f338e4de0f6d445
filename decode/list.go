package decode

import (
	"fmt"
)

// The helpers below are the only loops allowed in a walk: they reject a hostile
// count before allocating, and describe one element.

// List8 is a list with a u8 count. Each element takes least bytes or more.
func List8[T any](c *Codec, name string, s *[]T, least int, doc string, body func(e *T)) {
	list(c, name, s, c.listSize(name, KindU8, len(*s)), least, doc, body)
}

// List16 is a list with a u16 count.
func List16[T any](c *Codec, name string, s *[]T, least int, doc string, body func(e *T)) {
	list(c, name, s, c.listSize(name, KindU16, len(*s)), least, doc, body)
}

// listSize moves the count of a list, a number of the kind. n is the count while
// writing. A negative result is a list that cannot be written.
func (c *Codec) listSize(name string, kind Kind, n int) int {
	size := kinds[kind].least
	if c.mode == writing && n >= 1<<(8*size) {
		c.Reject(name, c.Offset(), fmt.Sprintf("%d elements do not fit %s-bit count", n, [...]string{1: "an 8", 2: "a 16"}[size]))
		return -1
	}
	if c.fill != nil {
		return c.fillCount(name, size)
	}
	count := c.sizeOf(name)
	return int(c.Numeric(count.name, kind, nil, count.doc, uint64(n)))
}

// ListN is a list of n elements; n comes from an earlier field or from the
// session.
func ListN[T any](c *Codec, name string, s *[]T, n, least int, doc string, body func(e *T)) {
	list(c, name, s, n, least, doc, body)
}

func list[T any](c *Codec, name string, s *[]T, n, least int, doc string, body func(e *T)) {
	if n < 0 {
		return
	}
	if c.mode == reading && c.err == nil && c.fill == nil && n*least > c.Left() {
		c.fail(name, c.off, ErrShort, "")
		c.fault.Need, c.fault.Have = n*least, c.Left()
		return
	}
	i := 0
	ListWhile(c, name, s, doc, func() bool { i++; return i <= n }, body)
}

// ListToEnd is a list that takes the rest of the message.
func ListToEnd[T any](c *Codec, name string, s *[]T, doc string, body func(e *T)) {
	ListWhile(c, name, s, doc, c.More, body)
}

// ListWhile is a list that continues while more returns true. The body must
// read at least one byte, or more must count. Elements with a Reset method keep
// their memory between messages.
func ListWhile[T any](c *Codec, name string, s *[]T, doc string, more func() bool, body func(e *T)) {
	c.begin(name, doc, GroupList, -1)
	switch c.mode {
	case reading:
		*s = (*s)[:0]
		if c.fill != nil {
			c.fillList(more, func(i int) {
				var zero T
				*s = append(*s, zero)
				element(c, i, &(*s)[i], body)
			})
			break
		}
		_, keep := any((*T)(nil)).(resetter)
		for i := 0; c.err == nil && more(); i++ {
			if keep && i < cap(*s) {
				*s = (*s)[:i+1]
				any(&(*s)[i]).(resetter).Reset()
			} else {
				var zero T
				*s = append(*s, zero)
			}
			element(c, i, &(*s)[i], body)
		}
	case writing:
		for i := range *s {
			element(c, i, &(*s)[i], body)
		}
	case describing:
		var zero T
		element(c, 0, &zero, body)
	}
	c.end(name, GroupList, -1)
}

type resetter interface{ Reset() }

func element[T any](c *Codec, i int, e *T, body func(e *T)) {
	c.begin("", "", GroupElement, i)
	body(e)
	c.end("", GroupElement, i)
}
