package conform

import (
	"maps"
	"slices"
	"sort"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// Numbers that no message has.
const (
	firstNumber = -1 << 62
	lastNumber  = 1 << 62
)

// A place is a message of the host with its number.
type place struct {
	number int64
	key    uint64
	src    *source // its cause, nil if it is not known
	author *Client // of whose message it is a copy, nil if it is none
	frame  int32
	op     decode.Opcode
	copied bool // it is a copy of its cause
	loose  bool // another message with the same bytes did not come, or came too often, so that it may be that one
}

// A line holds the messages to a client with numbers of one class in the order of
// their numbers, which is that in which the host made them: no network changes it.
type line []place

// add adds a message, unless it comes after too many with higher numbers. It
// reports whether it is there.
func (l *line) add(p place) bool {
	i := l.at(p.number)
	switch {
	case i < len(*l) && (*l)[i].number == p.number:
		return true
	case len(*l)-i > maxLooked:
		return false
	}
	*l = slices.Insert(*l, i, p)
	return true
}

// at returns the index of the first message with a number or a higher one.
func (l line) at(number int64) int {
	if n := len(l); n == 0 || l[n-1].number < number {
		return n
	}
	return sort.Search(len(l), func(i int) bool { return l[i].number >= number })
}

// index returns the index of the message with a number.
func (l line) index(number int64) (i int, ok bool) {
	i = l.at(number)
	return i, i < len(l) && l[i].number == number
}

// caused notes the cause of a message. It returns the frame of the message, 0 if its
// place is not remembered.
func (l line) caused(number int64, src *source, copied bool) (frame int) {
	i := l.at(number)
	if i == len(l) || l[i].number != number {
		return 0
	}
	if l[i].src, l[i].copied = src, copied; copied {
		l[i].author = src.client
	}
	return int(l[i].frame)
}

// maxLooked bounds the places that are looked at for one answer.
const maxLooked = 1 << 10

// numbersOf returns the numbers of the messages of an author whose copies come
// before and after a number.
func (d *destination) numbersOf(class int, author *Client, number int64) (lo, hi int64) {
	lo, hi = firstNumber, lastNumber
	if d.work.over() {
		return lo, hi
	}
	l := d.line[class]
	numbered := func(s *source) bool {
		return s != nil && s.client == author && s.number >= 0 && s.typ == transport.Standard
	}
	i := l.at(number)
	k := i - 1
	for ; k >= max(0, i-maxLooked); k-- {
		if numbered(l[k].src) {
			lo = l[k].src.number
			break
		}
	}
	d.work.spend(i - k)
	for k = i; k < min(len(l), i+maxLooked); k++ {
		if l[k].number > number && numbered(l[k].src) {
			hi = l[k].src.number
			break
		}
	}
	d.work.spend(k - i)
	return lo, hi
}

// firmNumber reports whether there is a message with a number whose cause fits
// into the order of its author's.
func (d *destination) firmNumber(class int, number int64) bool {
	i := d.line[class].at(number)
	return i < len(d.line[class]) && d.firmAt(class, i)
}

// firmAt reports whether the cause of a message fits into the order of its
// author's.
func (d *destination) firmAt(class, i int) bool {
	p := &d.line[class][i]
	s := p.src
	if s == nil || p.loose {
		return false
	}
	if s.number < 0 {
		return true
	}
	lo, hi := d.numbersOf(class, s.client, p.number)
	return lo <= s.number && s.number <= hi
}

// unseen calls f with the numbers between two that the capture does not hold,
// until f reports true. It reports whether f did, or there are too many.
func (d *destination) unseen(class int, lo, hi int64, f func(number int64) bool) bool {
	if hi > lo+maxLooked || d.work.over() {
		return true
	}
	l := d.line[class]
	d.work.spend(int(hi - lo))
	i := l.at(lo + 1)
	for n := lo + 1; n < hi; n++ {
		if i < len(l) && l[i].number == n {
			i++
		} else if f(n) {
			return true
		}
	}
	return false
}

// spotAt returns the lowest and the highest number to a client of the messages
// that an input caused.
func (s *source) spotAt(d *destination, class int) (lo, hi int64, ok bool) {
	for _, p := range s.spots {
		if p.to == d && int(p.class) == class {
			if !ok {
				lo, hi, ok = p.number, p.number, true
			}
			lo, hi = min(lo, p.number), max(hi, p.number)
		}
	}
	return lo, hi, ok
}

// A stretch is a part of the messages to one client, and the part of those to
// another that the host made in the same time: the numbers before and behind them.
type stretch struct{ lo, hi, from, till int64 }

// whole reports whether both ends are known.
func (s *stretch) whole() bool { return s.from > firstNumber && s.till < lastNumber && s.from < s.till }

// around returns the shortest stretch around a number, between messages with causes
// of which another client was told, too; from and till are the numbers to that.
func (d *destination) around(class int, number int64, o *destination, own *source) stretch {
	out := stretch{firstNumber, lastNumber, firstNumber, lastNumber}
	if d.work.over() {
		return out
	}
	l := d.line[class]
	both := func(k int) (lo, hi int64, ok bool) {
		s := l[k].src
		if s == nil || s == own {
			return 0, 0, false
		}
		d.work.spend(len(s.spots))
		lo, hi, ok = s.spotAt(o, class)
		return lo, hi, ok && d.firmAt(class, k) && o.firm(s, class)
	}
	i := l.at(number)
	k := i - 1
	for ; k >= max(0, i-maxLooked); k-- {
		if _, hi, ok := both(k); ok {
			out.lo, out.from = l[k].number, hi
			break
		}
	}
	d.work.spend(i - k)
	for k = i; k < min(len(l), i+maxLooked); k++ {
		if l[k].number == number {
			continue
		}
		if lo, _, ok := both(k); ok {
			out.hi, out.till = l[k].number, lo
			break
		}
	}
	d.work.spend(k - i)
	return out
}

// count returns how many messages with a key have a number between two, without
// those that others than an author caused.
func (d *destination) count(class int, key uint64, lo, hi int64, author *Client) (n int) {
	l := d.line[class]
	i := l.at(lo + 1)
	for ; i < len(l) && l[i].number < hi && !d.work.over(); i++ {
		d.work.spend(1)
		if l[i].key == key && (l[i].src == nil || author == nil || l[i].src.client == author) {
			n++
		}
	}
	return n
}

// firm reports whether there is no doubt about the places of the messages to the
// client that an input caused.
func (d *destination) firm(s *source, class int) bool {
	d.work.spend(len(s.spots))
	l := d.line[class]
	for _, p := range s.spots {
		if p.to == d && int(p.class) == class {
			if i := l.at(p.number); i == len(l) || l[i].src != s || !d.firmAt(class, i) {
				return false
			}
		}
	}
	return true
}

// said are the messages of a client with numbers, in their order.
type said []*source

// add adds a message, unless it comes after too many with higher numbers. It
// reports whether it did.
func (s *said) add(src *source) bool {
	i := s.at(src.number + 1)
	if len(*s)-i > maxLooked {
		return false
	}
	*s = slices.Insert(*s, i, src)
	return true
}

func (s said) at(number int64) int {
	if n := len(s); n == 0 || s[n-1].number < number {
		return n
	}
	return sort.Search(len(s), func(i int) bool { return s[i].number >= number })
}

// lacks calls f with the numbers between two of messages of a client that the
// capture does not hold, the highest first, until f reports true, and reports whether
// f did, or there are too many.
func (c *comparer) lacks(author *Client, lo, hi int64, f func(number int64) bool) bool {
	s := author.said
	i := s.at(hi)
	if hi == lastNumber && i > 0 {
		hi = s[i-1].number
	}
	for calls := 0; hi > lo; i-- {
		below := lo // the next lower number that the capture holds
		if i > 0 {
			below = max(lo, s[i-1].number)
		}
		for n := hi - 1; n > below; n-- {
			if calls++; calls > maxLooked || f(n) {
				return true
			}
		}
		hi = below
		if c.work.spend(1); c.work.over() {
			return true
		}
	}
	return false
}

// loosen marks the messages that came which may be others with the same bytes,
// since one of these is left over.
func (d *destination) loosen() {
	left := maps.Clone(d.doubtful)
	if left == nil {
		left = map[uint64]bool{}
	}
	for _, x := range d.expects {
		left[x.key] = true
	}
	for _, g := range d.gots {
		left[g.key] = true
	}
	for class := range d.line {
		for i := range d.line[class] {
			p := &d.line[class][i]
			p.loose = left[p.key]
		}
	}
}

// doubt marks the messages with a key as ones that may be others with the same
// bytes.
func (d *destination) doubt(key uint64) {
	if d.doubtful == nil {
		d.doubtful = map[uint64]bool{}
	}
	d.doubtful[key] = true
}

// agrees reports whether the place of a message to the client is that which
// another client's messages show.
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

// onTime returns the number of the next message of an author whose copy comes after
// a number and that was sent once.
func (l line) onTime(author *Client, number int64) int64 {
	for k := l.at(number + 1); k < min(len(l), l.at(number)+maxLooked); k++ {
		if s := l[k].src; s != nil && s.client == author && s.number >= 0 && s.typ == transport.Standard && !s.twice() {
			return s.number
		}
	}
	return lastNumber
}
