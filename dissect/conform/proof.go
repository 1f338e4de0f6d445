package conform

import (
	"slices"
	"sort"
	"time"
)

// Limits of the messages about which a proof looks.
const (
	maxSaid    = 2048                         // messages of a client that are remembered
	maxAligned = 160                          // messages on each side
	sureOnes   = 3                            // messages on each side that no other equals
	maxLost    = 160                          // lost numbers in a row
	remembered = reliableWait + 2*longestLost // at least, if there is room
	tidyEvery  = 128                          // messages
)

// said are the latest messages of a client that the host passes on, in the order
// of their numbers.
type said []*source

// add adds a message. It returns how many were forgotten before their time.
func (s *said) add(src *source) (forgotten int) {
	n := len(*s)
	switch {
	case n > 0 && (*s)[n-1] == src:
		return 0
	case n%tidyEvery == tidyEvery-1 && src.time.Sub((*s)[n/2].time) > remembered:
		*s = slices.Delete(*s, 0, n/2)
	case n >= maxSaid:
		forgotten = n/2 - sort.Search(n/2, func(i int) bool { return src.time.Sub((*s)[i].time) <= remembered })
		*s = slices.Delete(*s, 0, n/2)
	}
	i := s.after(src.number)
	if i < len(*s) && (*s)[i].number == src.number {
		(*s)[i] = src
	} else {
		*s = slices.Insert(*s, i, src)
	}
	return forgotten
}

// after returns the index of the first message with a number or a higher one.
func (s said) after(number int64) int {
	return sort.Search(len(s), func(i int) bool { return s[i].number >= number })
}

// copyTo returns the copy of a message to a client, nil if none is known.
func (s *source) copyTo(d *destination) *copyAt {
	for i := range s.copies {
		if s.copies[i].to == d {
			return &s.copies[i]
		}
	}
	return nil
}

// restless reports whether the host may not have got a message when it was sent
// first: some hosts take later ones of the client before it, others do not.
func (s *source) restless() bool {
	return s.notTaken() || s.client.resent.during(s.time, s.time.Add(latest))
}

// waits reports whether the host may have kept the message until one before it
// came, which never did: it has passed on none of those behind that one.
func (s *source) waits() bool {
	said := s.client.said
	at := said.after(s.number)
	if at == len(said) || said[at] != s || slices.ContainsFunc(said[at:], func(o *source) bool { return o.matched > 0 }) {
		return false
	}
	for ; at > 0 && said[at-1].matched == 0; at-- {
		if said[at-1].notTaken() {
			return true
		}
	}
	last := int64(firstNumber)
	if at > 0 {
		last = said[at-1].number
	}
	return s.client.sent[1].between(last, s.number, time.Time{}, s.time)
}

// A line is a list of numbered messages that a host keeps in the same order as
// another one: those of a client and their copies to another, or the copies to
// two clients.
type line interface {
	len() int
	number(i int) int64
	at(i int) time.Time
	// key returns the bytes of a message, ok is false if the other line has none
	// such.
	key(i int) (key uint64, ok bool)
	// twin returns the number of the message in the other line that it was taken
	// for; firm is whether there is no doubt about that.
	twin(i int) (number int64, firm, ok bool)
	// lost returns how many numbers between two the capture lacks.
	lost(lo, hi int64) int64
}

// spoken are the messages of a client with copies to another.
type spoken struct {
	author *Client
	to     *destination
}

func (l spoken) len() int                 { return len(l.author.said) }
func (l spoken) number(i int) int64       { return l.author.said[i].number }
func (l spoken) at(i int) time.Time       { return l.author.said[i].time }
func (l spoken) key(i int) (uint64, bool) { return l.author.said[i].key, true }

func (l spoken) twin(i int) (number int64, firm, ok bool) {
	src := l.author.said[i]
	k := src.copyTo(l.to)
	if k == nil || k.loose || src.restless() {
		return 0, false, false
	}
	return k.number, k.firm(), true
}

func (l spoken) lost(lo, hi int64) (n int64) {
	h := &l.author.sent[1]
	i := sort.Search(len(h.list), func(i int) bool { return h.list[i].hi > lo+1 })
	for ; i < len(h.list) && h.list[i].lo < hi; i++ {
		n += min(h.list[i].hi, hi) - max(h.list[i].lo, lo+1)
	}
	return n
}

// heard are the messages to a client that may be copies of another's, or, if that
// is nil, those that a third may have got, too.
type heard struct {
	to     *destination
	author *Client
	other  *destination
}

func (l heard) len() int           { return len(l.to.order) }
func (l heard) number(i int) int64 { return l.to.order[i].number }
func (l heard) at(i int) time.Time { return l.to.order[i].at }

func (l heard) key(i int) (uint64, bool) {
	p := &l.to.order[i]
	return p.like(), p.src == nil || p.loose || p.copied && (l.author == nil || p.src.client == l.author)
}

// like returns the bytes by which lines are laid beside each other: those of a
// copy that the host may have changed are the ones that were expected.
func (p *place) like() uint64 {
	if p.src != nil && p.copied && p.src.key != 0 {
		return p.src.key
	}
	return p.key
}

func (l heard) twin(i int) (number int64, firm, ok bool) {
	switch p := &l.to.order[i]; {
	case p.src == nil || p.loose || !p.copied || p.src.number < 0:
	case l.author == nil:
		if k := p.src.copyTo(l.other); k != nil && !k.loose {
			return k.number, l.to.firm(p) && k.firm(), true
		}
	case p.src.client == l.author && !p.src.restless():
		return p.src.number, l.to.firm(p), true
	}
	return 0, false, false
}

func (l heard) lost(lo, hi int64) int64 { return hi - lo - 1 }

// An element is a place in one of two lines.
type element struct {
	key  uint64
	lost bool // the capture does not hold it, so it may be any message, or none of the other line
	must bool // the other line must have it, too
}

func (e *element) weight() int {
	if e.must {
		return 1
	}
	return 0
}

// elements returns a part of a line. The message with the index wanted must be in
// the other line, and so must messages with a twin between lo and hi of it.
func elements(l line, from, till, wanted int, lo, hi int64) (list []element, place int) {
	last := l.number(from)
	if from > 0 {
		last = l.number(from - 1)
	}
	place = -1
	for i := from; i <= till; i++ {
		list = appendLost(list, l, last, l.number(i))
		last = l.number(i)
		key, ok := l.key(i)
		if i == wanted {
			place = len(list)
		} else if !ok {
			continue
		}
		n, _, known := l.twin(i)
		list = append(list, element{key: key, must: i == wanted || known && lo <= n && n <= hi})
	}
	if till+1 < l.len() {
		list = appendLost(list, l, last, l.number(till+1))
	}
	return list, place
}

func appendLost(list []element, l line, lo, hi int64) []element {
	for range min(l.lost(lo, hi), maxLost) {
		list = append(list, element{lost: true})
	}
	return list
}

// distance returns how many elements that must be in both lists have no
// counterpart, if the lists are laid beside each other as well as they can be.
func distance(a, b []element) int {
	row := make([]int, 1, len(b)+1)
	for j := range b {
		row = append(row, row[j]+b[j].weight())
	}
	for i := range a {
		corner := row[0] // of the last row
		row[0] += a[i].weight()
		for j := range b {
			best := min(row[j+1]+a[i].weight(), row[j]+b[j].weight())
			if a[i].lost || b[j].lost || a[i].key == b[j].key {
				best = min(best, corner)
			}
			corner, row[j+1] = row[j+1], best
		}
	}
	return row[len(b)]
}

// A proof is the answer to the question whether a hole of the capture can explain
// that a message has no counterpart.
type proof uint8

const (
	unknown proof = iota // nothing near it tells
	holed                // a hole can explain it
	proven               // none can
)

// lonely tells whether the message with an index in a line cannot have a
// counterpart in the other: the lines fit worse with it than without.
func lonely(l line, at int, other line) proof {
	lo, hi := int64(lastNumber), int64(firstNumber)
	reach := func(step, end int) (last int, sure bool) {
		n := 0
		for i := at; i != end && n < sureOnes && max(i-at, at-i) < maxAligned; {
			i += step
			if k, firm, ok := l.twin(i); ok && firm && l.at(i).Sub(l.at(at)).Abs() < longestLost {
				lo, hi, last = min(lo, k), max(hi, k), i
				n++
			}
		}
		return last, n > 0
	}
	from, before := reach(-1, 0)
	till, after := reach(1, l.len()-1)
	if !before || !after {
		return unknown
	}
	first := sort.Search(other.len(), func(i int) bool { return other.number(i) >= lo })
	last := sort.Search(other.len(), func(i int) bool { return other.number(i) > hi }) - 1
	if last-first > 2*maxAligned || last < first {
		return unknown
	}
	b, place := elements(l, from, till, at, lo, hi)
	a, _ := elements(other, first, last, -1, l.number(from), l.number(till))
	if distance(a, b) > distance(a, append(append([]element(nil), b[:place]...), b[place+1:]...)) {
		return proven
	}
	return holed
}

// neverSent tells whether a copy that did not come was never sent: by the other
// messages of its author, and by the copies to others.
func (c *comparer) neverSent(d *destination, x *expect) proof {
	author := x.src.client
	if !x.copied() || !x.reliable || x.src.number < 0 {
		return unknown
	}
	p := unknown
	if at := author.said.after(x.src.number); !x.src.restless() && at < len(author.said) && author.said[at] == x.src {
		p = lonely(spoken{author, d}, at, heard{d, author, nil})
	}
	for i := range x.src.copies {
		if k := &x.src.copies[i]; p != proven && k.to != d {
			if at := k.to.order.after(k.number); at < len(k.to.order) && k.to.order[at].number == k.number {
				p = max(p, lonely(heard{k.to, nil, d}, at, heard{d, nil, k.to}))
			}
		}
	}
	return p
}

// noCopy tells whether a message to d is no copy of one of a client's that the
// capture lacks.
func (c *comparer) noCopy(d *destination, g *got, author *Client) proof {
	at := d.order.after(g.Number)
	if g.Number < 0 || !g.standard() || at == len(d.order) || d.order[at].number != g.Number {
		return unknown
	}
	p := unknown
	if !author.resent.during(g.Time.Add(-longestLost), g.Time) {
		p = lonely(heard{d, author, nil}, at, spoken{author, d})
	}
	if c.elsewhere(d, g) { // then a third that did not get it proves nothing about this one
		return p
	}
	for _, o := range c.order {
		if p == proven {
			break
		}
		if o != d && o.client != author && !o.unmatched(g) && o.gets(author, g.Time) {
			p = max(p, lonely(heard{d, nil, o}, at, heard{o, nil, d}))
		}
	}
	return p
}

// gets reports whether d gets copies of a client's messages at about a time.
func (d *destination) gets(author *Client, at time.Time) bool {
	before, after := false, false
	for i := range d.order {
		p := &d.order[i]
		if p.src != nil && p.copied && p.src.client == author && p.at.Sub(at).Abs() < longestLost {
			before, after = before || p.at.Before(at), after || p.at.After(at)
		}
	}
	return before && after
}
