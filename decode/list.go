package decode

import (
	"fmt"
)

// The helpers below are the only loops allowed in a walk. They reject a hostile
// count before allocating, and describe one element.

// A Count describes how many elements a list or an array has: one of the first
// members is set.
type Count struct {
	Field    string // the value of this field, which precedes the list in the same group
	List     string // the number of elements of this list in the same group
	Property string // a property of the subsystem, such as children
	Value    int    // a fixed number
	Rest     bool   // all elements up to the end of the message
	Ship     bool   // the number of subsystems of the ship's class, in their order
	// First is the field with the index of the first element's subsystem, if not
	// every subsystem has an element. After the last subsystem, the list continues
	// with the first. It ends when its elements, counted from this field on, take
	// Bytes or more, but not before it has Least elements.
	First        string
	Bytes, Least int
}

// List8 is a list with a u8 count. Each element takes at least least bytes.
func List8[T any](c *Codec, name string, s *[]T, least int, doc string, body func(e *T)) {
	list(c, name, s, c.listSize(name, KindU8, len(*s)), least, doc, body)
}

// List16 is a list with a u16 count.
func List16[T any](c *Codec, name string, s *[]T, least int, doc string, body func(e *T)) {
	list(c, name, s, c.listSize(name, KindU16, len(*s)), least, doc, body)
}

// listSize reads or writes the count of a list, a number of the kind. While
// writing, n is the count. The result is negative if the list cannot be
// written.
func (c *Codec) listSize(name string, kind Kind, n int) int {
	size := kinds[kind].least
	if c.mode == describing {
		c.count = &Count{Field: name + "_count"}
	}
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

// ListN is a list of n elements. The argument from tells where n comes from.
func ListN[T any](c *Codec, name string, s *[]T, n int, from *Count, least int, doc string, body func(e *T)) {
	c.count = from
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
	c.least = least
	ListWhile(c, name, s, c.count, doc, func() bool { i++; return i <= n }, body)
}

// ListToEnd is a list that takes the rest of the message.
func ListToEnd[T any](c *Codec, name string, s *[]T, doc string, body func(e *T)) {
	ListWhile(c, name, s, toEnd, doc, c.More, body)
}

var toEnd = &Count{Rest: true}

// ListWhile is a list that continues while more returns true. The argument from
// describes that condition. The body must read at least one byte, or more must
// return false after a number of elements. Elements with a Reset method keep
// their memory between messages.
func ListWhile[T any](c *Codec, name string, s *[]T, from *Count, doc string, more func() bool, body func(e *T)) {
	c.count = from
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
