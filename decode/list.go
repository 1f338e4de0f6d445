package decode

import (
	"fmt"
	"math"
)

// The helpers here are the only loops that a walk may have: they refuse a
// hostile count before anything is allocated, and describe one element.

// List8 is a list that a byte counts. Each element takes least bytes or more.
func List8[T any](c *Codec, name string, s *[]T, least int, doc string, body func(e *T)) {
	n := len(*s)
	if c.mode == writing && n > math.MaxUint8 {
		c.Reject(name, c.place(), fmt.Sprintf("%d elements do not fit an 8-bit count", n))
		return
	}
	u := uint8(n)
	if c.fast && c.v == nil && c.off < len(c.buf) { // the name of the count is not needed
		u = c.buf[c.off]
		c.off++
	} else {
		size := c.sizeOf(name)
		c.U8(size.name, &u, size.doc)
	}
	list(c, name, s, int(u), least, doc, body)
}

// List16 is a list that a u16 counts.
func List16[T any](c *Codec, name string, s *[]T, least int, doc string, body func(e *T)) {
	n := len(*s)
	if c.mode == writing && n > math.MaxUint16 {
		c.Reject(name, c.place(), fmt.Sprintf("%d elements do not fit a 16-bit count", n))
		return
	}
	u := uint16(n)
	if c.fast && c.v == nil && len(c.buf)-c.off >= 2 { // the name of the count is not needed
		c.raw16(name, &u)
	} else {
		size := c.sizeOf(name)
		c.U16(size.name, &u, size.doc)
	}
	list(c, name, s, int(u), least, doc, body)
}

// ListN is a list of n elements; n comes from a field before or from the
// session.
func ListN[T any](c *Codec, name string, s *[]T, n, least int, doc string, body func(e *T)) {
	list(c, name, s, n, least, doc, body)
}

func list[T any](c *Codec, name string, s *[]T, n, least int, doc string, body func(e *T)) {
	if c.mode == reading && c.err == nil && n*least > c.Left() {
		c.fail(name, c.off, ErrShort, "")
		c.fault.Need, c.fault.Have = n*least, c.Left()
		return
	}
	i := 0
	ListWhile(c, name, s, doc, func() bool { i++; return i <= n }, body)
}

// ListToEnd is a list that takes all that remains of the message.
func ListToEnd[T any](c *Codec, name string, s *[]T, doc string, body func(e *T)) {
	ListWhile(c, name, s, doc, c.More, body)
}

// ListWhile is a list that goes on as long as more says so. The body must
// read at least one byte, or more must count. Elements with a Reset method keep
// their memory from one message to the next.
func ListWhile[T any](c *Codec, name string, s *[]T, doc string, more func() bool, body func(e *T)) {
	c.begin(name, doc, GroupList, -1)
	switch c.mode {
	case reading:
		if c.err == &stopped { // the list is as it was read
			break
		}
		*s = (*s)[:0]
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
			if c.err == &stopped { // at the end of the element: the others are still to be read
				c.err, c.fast = nil, true
			}
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
