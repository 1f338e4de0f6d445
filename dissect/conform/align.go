package conform

import (
	"slices"

	"github.com/bcdissect/bcdissect/dissect/conform/internal/align"
)

// A host passes on the messages of each client. One client's messages are
// aligned with their copies to another client in the order of their sequence
// numbers, at the least cost. A number that the recording lacks can stand for
// any message, on both sides. The host is blamed only for messages that then
// have no counterpart.

// An element is an entry of a list that is aligned: a client's message, or a
// message to another client.
type element struct {
	src    *source // the client's message, or the message of which this is taken for a copy
	x      *expect // expected copy of the client's message, if the copy has not come
	g      *got    // captured message to the client, if it has no cause
	at     int     // index in the author's messages, or in the messages to the client
	number int64
	key    uint64
	wild   bool // it may have another number, so the one with this number may be any message
	free   bool // the element needs no counterpart
	pair   int  // index of the counterpart in the other list, or -1
}

// Limits of an alignment.
const (
	maxWild   = 160     // consecutive numbers that are not in the capture
	maxCells  = 1 << 22 // pairs of elements that are compared
	mostTried = 1536    // pairs that are reconsidered in vain
)

// A stray is a captured message to a client for which no cause was found.
type stray struct {
	got    *got
	free   bool
	author *Client            // nil if unknown
	causes func(*Client) bool // reports whether it may come from a client
}

// align aligns the copies to a client with the messages of their authors, where
// messages of an author are left over on either side, or out of order.
func (c *comparer) align(d *destination) {
	wants, strays := map[*source]*expect{}, map[int]*stray{} // strays by their places
	odd, next := map[*Client]bool{}, map[*Client]int64{}
	for _, x := range d.expects {
		if x.copied() && x.src != x.src.Client.entry && x.reliable && x.src.Number >= 0 && x.by&c.judge != 0 {
			wants[x.src], odd[x.src.Client] = x, true
		}
	}
	gots := d.leftOver()[1]
	for i, p := range d.line[1] {
		switch g := gots[p.number]; {
		case p.copied && p.src.Number >= 0:
			a := p.src.Client
			odd[a] = odd[a] || p.src.Number < next[a]
			next[a] = p.src.Number + 1
		case p.src == nil && g != nil && !c.created(d, g):
			s := &stray{g, c.hostMade(d, g) != "", c.t.authorOf(g.Event), c.t.causes(g.Event)}
			strays[i], odd[s.author] = s, odd[s.author] || !s.free
		}
	}
	for _, a := range c.t.order {
		if odd[a] && len(a.said) > 0 {
			c.work.spend(len(d.line[1]) + len(a.said))
			c.alignWith(d, a, c.spoken(d, a, wants), c.copies(d, a, strays))
		}
	}
}

// spoken returns the messages of a client that should have copies.
func (c *comparer) spoken(d *destination, author *Client, wants map[*source]*expect) (list []element) {
	for i, s := range author.said {
		if s == author.entry { // all entries look alike
			continue
		}
		x := wants[s]
		if n, _, ok := s.spotAt(d, 1); ok && x == nil {
			l := d.line[1]
			if p := l[atNumber(l, n)]; p.src == s && p.copied {
				list = append(list, element{src: s, at: i, number: n, key: p.key, pair: -1, free: s.uncertain()})
			}
		} else if x != nil {
			list = append(list, element{src: s, at: i, x: x, number: -1, key: x.key, pair: -1, free: x.why != "" || s.uncertain()})
		}
	}
	return list
}

// copies returns the messages to a client that can be copies of an author's
// messages.
func (c *comparer) copies(d *destination, author *Client, strays map[int]*stray) (list []element) {
	for i, p := range d.line[1] {
		if s := strays[i]; p.copied && p.src.Client == author && p.src.Number >= 0 {
			list = append(list, element{src: p.src, at: i, number: p.number, key: p.key, pair: -1, free: p.src.uncertain()})
		} else if s != nil && p.src == nil && s.causes(author) {
			list = append(list, element{g: s.got, at: i, number: s.got.Number, key: s.got.key, pair: -1, free: s.free || s.author != author})
		}
	}
	return list
}

// pairs returns the pairs of elements with equal keys that keep the order of
// both lists. If key returns false, an element has no pair.
func pairs[K comparable](xs, ys []element, key func(*element) (K, bool)) []align.Pair {
	at := make(map[K]int, len(ys))
	for j := range ys {
		if k, ok := key(&ys[j]); ok {
			at[k] = j
		}
	}
	var all []align.Pair
	for i := range xs {
		k, ok := key(&xs[i])
		if j, there := at[k]; ok && there {
			all = append(all, align.Pair{X: i, Y: j})
		}
	}
	return align.Rising(all)
}

// uniqueIn returns a function that reports whether a key occurs exactly once in
// each list.
func uniqueIn(xs, ys []element) func(key uint64) bool {
	const side = 1 << 16
	seen := make(map[uint64]int, len(xs))
	for i := range xs {
		seen[xs[i].key]++
	}
	for j := range ys {
		seen[ys[j].key] += side
	}
	return func(key uint64) bool { return seen[key] == side+1 }
}

// alignWith aligns the copies to a client with the messages of one author,
// where messages are left over or out of order.
func (c *comparer) alignWith(d *destination, author *Client, xs, ys []element) {
	l, said := d.line[1], author.said
	c.alignAll(&rows{
		xs: xs, ys: ys, unique: uniqueIn(xs, ys),
		kept:   pairs(xs, ys, func(e *element) (int64, bool) { return e.number, e.x == nil }),
		number: [2]func(int) int64{func(i int) int64 { return said[i].Number }, func(i int) int64 { return l[i].number }},
		first:  align.Pair{X: -1, Y: -1},
		size:   align.Pair{X: len(said), Y: len(l)},
		open:   [2]bool{c.rates.lossy || c.t.late(), c.rates.lossy},
		ties:   64,
		differ: func(xs, ys []element) bool { return leftOver(xs) || leftOver(ys) },
		take:   func(a *alignment) { c.take(d, a.xs, a.ys, a.known) },
	})
}

// rows are two lists of messages that are aligned part by part, between pairs
// of equal messages.
type rows struct {
	xs, ys []element
	unique func(key uint64) bool // reports whether a key occurs exactly once in each list
	kept   []align.Pair
	number [2]func(i int) int64 // returns the number at place i, also for places that are not in the lists
	first  align.Pair           // places before the lists
	size   align.Pair           // number of places
	open   [2]bool              // the capture may lack messages before the lists, and after them
	ties   int                  // pairs that are reconsidered on each side of a difference
	differ func(xs, ys []element) bool
	take   func(*alignment)
}

// An alignment pairs the elements of two lists between two of the kept pairs.
type alignment struct {
	xs, ys     []element
	grid       *align.Grid
	cost       int32
	known      bool // false if the lists are too long to be aligned
	from, till int  // indices of the kept pairs at both ends. An index outside the list stands for the end of the lists.
}

// alignAll aligns the lists where they differ. A pair may consist of two
// different messages with the same bytes. Where the lists do not fit, the pairs
// around that part are reconsidered.
func (c *comparer) alignAll(r *rows) {
	var parts []*alignment
	attemptsLeft := mostTried / r.ties
	for k := 0; k <= len(r.kept); k++ {
		begin, end := r.end(k-1), r.end(k)
		if !r.differ(r.xs[begin.X+1:end.X], r.ys[begin.Y+1:end.Y]) {
			continue
		}
		first, last := k-1, k
		for first >= 0 && !r.unique(r.xs[r.kept[first].X].key) && (len(parts) == 0 || first > parts[len(parts)-1].till) {
			first--
		}
		for last < len(r.kept) && !r.unique(r.xs[r.kept[last].X].key) {
			last++
		}
		parts = c.doubted(r, parts, c.alignBetween(r, first, last), &attemptsLeft)
		k = parts[len(parts)-1].till
	}
	for _, a := range parts {
		if a.known {
			settle(a.xs, a.grid.X, a.grid.Y)
			settle(a.ys, a.grid.Y, a.grid.X)
		}
		r.take(a)
	}
}

// doubted appends an alignment to the parts. While the alignment costs too
// much, doubted tries wider ones, which give up the pairs around it and replace
// earlier parts that they overlap.
func (c *comparer) doubted(r *rows, parts []*alignment, best *alignment, attemptsLeft *int) []*alignment {
	first, last := best.from, best.till
	for more := 1; best.cost >= align.CostSingle && more <= r.ties && *attemptsLeft > 0; more *= 4 {
		from, before, cost := max(first-more, -1), len(parts), best.cost
		for before > 0 && parts[before-1].till > from {
			before--
			from, cost = min(from, parts[before].from), cost+parts[before].cost
		}
		if wider := c.alignBetween(r, from, min(last+more, len(r.kept))); wider.known && wider.cost < cost {
			best, parts = wider, parts[:before]
		} else {
			*attemptsLeft--
		}
	}
	return append(parts, best)
}

// end returns the place of a pair in both lists, or the place of an end.
func (r *rows) end(k int) align.Pair {
	switch {
	case k < 0:
		return align.Pair{X: -1, Y: -1}
	case k >= len(r.kept):
		return align.Pair{X: len(r.xs), Y: len(r.ys)}
	}
	return r.kept[k]
}

// alignBetween aligns the parts of two lists that lie between two of their
// pairs.
func (c *comparer) alignBetween(r *rows, from, till int) *alignment {
	begin, end := r.end(from), r.end(till)
	first, last := r.first, align.Pair{X: r.size.X - 1, Y: r.size.Y - 1}
	if from >= 0 {
		first = align.Pair{X: r.xs[begin.X].at, Y: r.ys[begin.Y].at}
	}
	if till < len(r.kept) {
		last = align.Pair{X: r.xs[end.X].at, Y: r.ys[end.Y].at}
	}
	c.work.spend(last.X - first.X + last.Y - first.Y)
	a := &alignment{xs: r.xs[begin.X+1 : end.X], ys: r.ys[begin.Y+1 : end.Y], from: from, till: till}
	a.grid = &align.Grid{
		X: widen(a.xs, first.X, last.X, r.number[0]), Begins: from < 0 && r.open[0],
		Y: widen(a.ys, first.Y, last.Y, r.number[1]), Ends: till == len(r.kept) && r.open[1],
	}
	if cells := len(a.grid.X) * len(a.grid.Y); cells <= maxCells && cells <= c.work.allowed-c.work.done {
		c.work.spend(cells)
		a.cost, a.known = a.grid.Cost(), true
		a.grid.Trace()
	}
	return a
}

// widen returns the elements for an alignment: the messages of a list, and wild
// ones for the numbers between two places that the capture lacks.
func widen(list []element, from, till int, number func(i int) int64) (wide []align.Element) {
	k := 0
	for i := from + 1; i <= till; i++ {
		if i > 0 {
			for range min(number(i)-number(i-1)-1, maxWild) {
				wide = append(wide, align.Element{Wild: true, Pair: -1})
			}
		}
		if k < len(list) && list[k].at == i {
			wide = append(wide, align.Element{Key: list[k].key, Wild: list[k].wild, Free: list[k].free, Pair: -1, Index: k})
			k++
		}
	}
	return wide
}

// settle stores the pairs. A message needs no counterpart if that may be one
// that the capture lacks.
func settle(list []element, all, others []align.Element) {
	for i := range all {
		a := &all[i]
		if a.Wild {
			continue
		}
		e := &list[a.Index]
		switch {
		case a.Pair < 0:
			e.free = a.Free
		case others[a.Pair].Wild:
			e.free = true
		default:
			e.pair = others[a.Pair].Index
		}
	}
}

// leftOver reports whether any message is left over, or out of order.
func leftOver(list []element) bool {
	return slices.ContainsFunc(list, func(e element) bool { return e.src != nil || !e.free })
}

// take applies an alignment.
func (c *comparer) take(d *destination, xs, ys []element, known bool) {
	if !known {
		for j := range ys {
			if g := ys[j].g; g != nil {
				g.open = true
			}
		}
		return
	}
	c.changes++
	for i := range xs {
		if e := &xs[i]; e.x == nil && e.pair >= 0 {
			e.src.leave(d)
		}
	}
	for i := range xs {
		if e := &xs[i]; e.pair >= 0 {
			d.line[1].caused(ys[e.pair].number, e.src, true)
			e.src.spots = append(e.src.spots, spot{to: d, class: 1, number: ys[e.pair].number})
		}
	}
	d.settleGots(ys)
}

// settleGots handles the captured messages that are left over. If one message
// has lost its counterpart, and another with the same bytes has found one, the
// difference is reported at the place of the former.
func (d *destination) settleGots(ys []element) {
	found := map[uint64][]*got{}
	for j := range ys {
		if e := &ys[j]; e.g != nil {
			if e.g.open = e.free || e.pair >= 0; e.pair >= 0 {
				found[e.key] = append(found[e.key], e.g)
			}
		}
	}
	for j := range ys {
		if e := &ys[j]; e.g == nil && e.pair < 0 {
			frame := d.line[1].caused(e.number, nil, false)
			d.doubt(e.key)
			if list := found[e.key]; len(list) > 0 {
				list[0].Number, list[0].Frame, list[0].open = e.number, frame, e.free
				found[e.key] = list[1:]
			}
		}
	}
}

// leave forgets which message to a client is the copy of s.
func (s *source) leave(d *destination) {
	s.spots = slices.DeleteFunc(s.spots, func(p spot) bool {
		if p.to == d && p.class == 1 {
			if i, ok := d.line[1].index(p.number); ok && d.line[1][i].src == s {
				d.line[1].caused(p.number, nil, false)
				d.doubt(d.line[1][i].key)
			}
			return true
		}
		return false
	})
}
