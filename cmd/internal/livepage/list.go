package livepage

import (
	"hash/maphash"
	"strconv"
)

// window is the number of items at the end of a list that are checked each
// time. All items are checked in a sweep and when a match ends.
const window = 64

var seed = maphash.MakeSeed()

// A list has hashes of the items of a list that viewers know.
type list struct {
	known []uint64
	fresh bool // viewers do not know the list yet
}

// forget makes all items count as changed. The number of items stays.
func (l *list) forget() {
	for i := range l.known {
		l.known[i] = 0
	}
}

// A checking is a check of a list. It appends items that have changed to a draft.
type checking struct {
	*list
	draft *draft
	name  string
	n     int  // number of items
	was   int  // number of items that viewers know
	begun bool // the member of the list is begun
}

// check begins to check a list that has n items. It returns the index of the
// first item to check.
func (d *draft) check(l *list, name string, n int, all bool) (c *checking, from int) {
	c = &checking{list: l, draft: d, name: name, n: n, was: len(l.known)}
	l.known = l.known[:min(n, c.was)]
	if all {
		return c, 0
	}
	return c, max(0, len(l.known)-window)
}

// begin begins the member of the list, unless it is begun.
func (c *checking) begin() {
	if !c.begun {
		c.begun = true
		c.draft.text = strconv.AppendInt(append(member(c.draft.text, c.name), `{"length":`...), int64(c.n), 10)
	}
}

// item checks the next item.
func (c *checking) item(i int, text []byte) {
	sum := maphash.Bytes(seed, text)
	switch {
	case i >= len(c.known):
		c.known = append(c.known, sum)
	case c.known[i] == sum:
		return
	default:
		c.known[i] = sum
	}
	c.begin()
	c.draft.text = append(strconv.AppendInt(append(c.draft.text, `,"`...), int64(i), 10), `":`...)
	c.draft.text = append(c.draft.text, text...)
	c.draft.spill()
}

// end ends the member of the list. If nothing has changed, there is none.
func (c *checking) end() {
	if c.was != len(c.known) || c.fresh {
		c.begin()
	}
	if c.fresh = false; c.begun {
		c.draft.text = append(c.draft.text, '}')
	}
}

// member begins a member of the open object in dst.
func member(dst []byte, name string) []byte {
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	return append(append(append(dst, '"'), name...), `":`...)
}

// rows collects rows that are sent once and not kept.
type rows struct {
	n    int // number of rows sent or waiting
	text []byte
}

func (r *rows) add(of func(dst []byte) []byte) {
	r.text = append(strconv.AppendInt(append(r.text, `,"`...), int64(r.n), 10), `":`...)
	r.text = of(r.text)
	r.n++
}

// end appends the waiting rows as a member of the open object in dst.
func (r *rows) end(dst []byte, name string) []byte {
	if len(r.text) == 0 {
		return dst
	}
	dst = append(strconv.AppendInt(append(member(dst, name), `{"length":`...), int64(r.n), 10), r.text...)
	r.text = nil
	return append(dst, '}')
}
