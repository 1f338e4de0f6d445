package livepage

import (
	"hash/maphash"
	"strconv"
	"sync"
)

// window is the number of items at the end of a list that are checked each
// time. All items are checked in a sweep and when a match ends.
const window = 64

var seed = maphash.MakeSeed()

// scratch is memory for text until it is in the journal. A whole entry has
// megabytes after an hour, and is written for each view.
type scratch struct{ text []byte }

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// newScratch returns an empty scratch. Its user calls free.
func newScratch() *scratch { return scratches.Get().(*scratch) }

func (s *scratch) free() {
	s.text = s.text[:0]
	scratches.Put(s)
}

// A list stores hashes of the items of a list, and collects items that change.
type list struct {
	known []uint64
	was   int
	fresh bool     // viewers do not know the list yet
	news  *scratch // items that have changed, as members of an object, or nil
}

// begin begins to check a list that has n items. It returns the index of the
// first item to check.
func (l *list) begin(n int, all bool) (from int) {
	l.was = len(l.known)
	l.known = l.known[:min(n, l.was)]
	if all {
		return 0
	}
	return max(0, len(l.known)-window)
}

// item checks the next item.
func (l *list) item(i int, text []byte) {
	sum := maphash.Bytes(seed, text)
	switch {
	case i >= len(l.known):
		l.known = append(l.known, sum)
	case l.known[i] == sum:
		return
	default:
		l.known[i] = sum
	}
	if l.news == nil {
		l.news = newScratch()
	}
	l.news.text = append(strconv.AppendInt(append(l.news.text, `,"`...), int64(i), 10), `":`...)
	l.news.text = append(l.news.text, text...)
}

// end appends the changes of the list as a member of the open object in dst.
func (l *list) end(dst []byte, name string) []byte {
	if l.news == nil && l.was == len(l.known) && !l.fresh {
		return dst
	}
	l.fresh = false
	dst = strconv.AppendInt(append(member(dst, name), `{"length":`...), int64(len(l.known)), 10)
	if l.news != nil {
		dst = append(dst, l.news.text...)
		l.news.free()
		l.news = nil // most lists never change again
	}
	return append(dst, '}')
}

// forget makes all items count as changed. The number of items stays.
func (l *list) forget() {
	for i := range l.known {
		l.known[i] = 0
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
