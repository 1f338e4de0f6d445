package conform

import (
	"maps"
	"slices"
	"sort"

	"github.com/bcdissect/bcdissect/decode"
)

// Numbers that do not occur.
const (
	firstNumber = -1 << 62
	lastNumber  = 1 << 62
)

// A place is a message of the host with its number.
type place struct {
	number    int64
	key       uint64
	src       *source // its cause, nil if unknown
	copyOf    *source // the client's message of which this was last taken for a copy
	frame     int32
	op        decode.Opcode
	copied    bool // it is a copy of its cause
	torn      bool // another message also has the number
	judged    bool // another client certainly lacks it, and the host is blamed for that already
	ambiguous bool // it may be another message with the same bytes, since one is missing or left over
}

// A line has the messages to a client with numbers of one class, in the order
// of their numbers. The host made them in this order, which no network changes.
type line []place

// A numbered is an element of a list in the order of numbers.
type numbered interface{ num() int64 }

func (p place) num() int64   { return p.number }
func (s *source) num() int64 { return s.Number }

// atNumber returns the index of the first element with at least that number.
func atNumber[T numbered](list []T, number int64) int {
	if n := len(list); n == 0 || list[n-1].num() < number {
		return n
	}
	return sort.Search(len(list), func(i int) bool { return list[i].num() >= number })
}

// insert adds an element at its place, unless too many with higher numbers came
// before. It reports whether it was added.
func insert[S ~[]T, T numbered](list *S, i int, e T) bool {
	if len(*list)-i > maxLooked {
		return false
	}
	*list = slices.Insert(*list, i, e)
	return true
}

// index returns the index of the message with a number.
func (l line) index(number int64) (i int, ok bool) {
	i = atNumber(l, number)
	return i, i < len(l) && l[i].number == number
}

// caused stores the cause of a message. It returns the frame of the message, or
// 0 if its place is not remembered.
func (l line) caused(number int64, src *source, copied bool) (frame int) {
	i, ok := l.index(number)
	if !ok {
		return 0
	}
	if l[i].src, l[i].copied = src, copied; copied {
		l[i].copyOf = src
	}
	return int(l[i].frame)
}

// maxLooked is the maximum number of places examined for one answer.
const maxLooked = 1 << 10

// seek returns the first index from i on, upwards or downwards, for which f is
// true. It returns -1 if f is false for all indices below n, or for the nearest
// maxLooked.
func (w *work) seek(i, by, n int, f func(k int) bool) int {
	for left := maxLooked; left > 0 && 0 <= i && i < n && !w.over(); left-- {
		if w.spend(1); f(i) {
			return i
		}
		i += by
	}
	return -1
}

// numbersOf returns the numbers of the messages of an author whose copies come
// before and after a number. If once is true, it leaves out messages that the
// host may have received more than once.
func (d *destination) numbersOf(class int, author *Client, number int64, once bool) (lo, hi int64) {
	lo, hi = firstNumber, lastNumber
	l := d.line[class]
	i := atNumber(l, number)
	numbered := func(k int) bool {
		s := l[k].src
		return s != nil && s.Client == author && s.Number >= 0 && l[k].number != number && (!once || !s.twice())
	}
	if k := d.work.seek(i-1, -1, len(l), numbered); k >= 0 {
		lo = l[k].src.Number
	}
	if k := d.work.seek(i, 1, len(l), numbered); k >= 0 {
		hi = l[k].src.Number
	}
	return lo, hi
}

// unseen reports whether the capture lacks a number between lo and hi.
func (d *destination) unseen(class int, lo, hi int64) bool {
	return d.work.over() || lacks(d.line[class], lo, hi)
}

// spotAt returns the lowest and the highest number of the messages to a client
// that an input caused.
func (s *source) spotAt(d *destination, class int) (lo, hi int64, ok bool) {
	lo, hi = lastNumber, firstNumber
	for _, p := range s.spots {
		if p.to == d && int(p.class) == class {
			lo, hi = min(lo, p.number), max(hi, p.number)
		}
	}
	return lo, hi, lo <= hi
}

// certainSpot returns the lowest and the highest number of the messages to the
// client that an input caused, if these are certain.
func (d *destination) certainSpot(s *source, class int) (lo, hi int64, ok bool) {
	d.work.spend(len(s.spots))
	l := d.line[class]
	lo, hi, ok = s.spotAt(d, class)
	return lo, hi, ok && !slices.ContainsFunc(s.spots, func(p spot) bool {
		i := atNumber(l, p.number)
		return p.to == d && int(p.class) == class && (i == len(l) || l[i].src != s || l[i].ambiguous)
	})
}

// A stretch is a part of the messages to one client, and the part of the
// messages to another client that the host made in the same time. It has the
// numbers before and after the two parts.
type stretch struct{ lo, hi, from, till int64 }

// whole reports whether both ends are known.
func (s *stretch) whole() bool { return s.from > firstNumber && s.till < lastNumber && s.from < s.till }

// around returns the shortest stretch around a number between messages whose
// causes another client was also sent. from and till are the numbers to that
// client.
func (d *destination) around(class int, number int64, o *destination, own *source) stretch {
	out := stretch{firstNumber, lastNumber, firstNumber, lastNumber}
	l := d.line[class]
	i := atNumber(l, number)
	var lo, hi int64
	both := func(k int) (ok bool) {
		s := l[k].src
		if s == nil || s == own || l[k].number == number || l[k].ambiguous || d.onArrival && s.twice() { // the host may have acted on it twice
			return false
		}
		lo, hi, ok = o.certainSpot(s, class)
		return ok
	}
	if k := d.work.seek(i-1, -1, len(l), both); k >= 0 {
		out.lo, out.from = l[k].number, hi
	}
	if k := d.work.seek(i, 1, len(l), both); k >= 0 {
		out.hi, out.till = l[k].number, lo
	}
	return out
}

// count returns how many messages with a key have a number between lo and hi.
// If an author is given, messages that other authors caused do not count.
func (d *destination) count(class int, key uint64, lo, hi int64, author *Client) (n int) {
	l := d.line[class]
	i := atNumber(l, lo+1)
	for ; i < len(l) && l[i].number < hi && !d.work.over(); i++ {
		d.work.spend(1)
		if l[i].key == key && (l[i].src == nil || author == nil || l[i].src.Client == author) {
			n++
		}
	}
	return n
}

// lacks reports whether a list lacks a number between lo and hi, or these are
// too far apart.
func lacks[T numbered](list []T, lo, hi int64) bool {
	return hi > lo+maxLooked || int64(atNumber(list, hi)-atNumber(list, lo+1)) < hi-lo-1
}

// markAmbiguous marks the messages that may be others with the same bytes,
// because a message with these bytes is left over.
func (d *destination) markAmbiguous() {
	left := maps.Clone(d.doubtful)
	for _, x := range d.expects {
		left[x.key] = true
	}
	for _, g := range d.gots {
		left[g.key] = true
	}
	for class := range d.line {
		for i := range d.line[class] {
			p := &d.line[class][i]
			p.ambiguous = left[p.key]
		}
	}
}

// doubt marks the messages with a key as possibly others with the same bytes.
func (d *destination) doubt(key uint64) { d.doubtful[key] = true }

// doubtCrossed marks the messages that may be copies of what another client sent
// before the client entered, since that may have reached the host afterwards.
func (d *destination) doubtCrossed(said []*source) {
	for _, s := range said {
		if e := d.client.entry; e != nil && !d.onArrival && s.Frame < e.Frame && (s.uncertain() || s.receipt.acked > e.Frame) {
			d.doubt(s.key)
		}
	}
}

// agrees reports whether the place of a message to the client is the one that
// another client's messages suggest.
func (d *destination) agrees(s *source, number int64, class int) bool {
	known := false
	for _, p := range s.spots {
		if p.to == d || int(p.class) != class {
			continue
		}
		if at := d.around(class, number, p.to, s); at.whole() {
			if p.number <= at.from || p.number >= at.till {
				return false
			}
			known = true
		}
	}
	return known
}
