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

// Limits of an alignment.
const (
	maxWild     = 160     // consecutive numbers that are not in the capture
	maxElements = 1 << 20 // elements of a list, beyond which such numbers do not count
	maxCells    = 1 << 22 // pairs of elements that are compared
	mostTried   = 1536    // pairs that are reconsidered in vain
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
			c.alignWith(d, a, wants, strays)
		}
	}
}

// spoken returns the messages of a client that should have copies.
func (c *comparer) spoken(d *destination, author *Client, wants map[*source]*expect) (list []align.Element) {
	l := d.line[1]
	for i, s := range author.said {
		if i > 0 {
			list = lacking(list, author.said[i-1].Number, s.Number)
		}
		if s == author.entry { // all entries look alike
			continue
		}
		if x := wants[s]; x != nil {
			list = append(list, align.Element{Index: i, Key: x.key, Pair: -1, Free: x.why != "" || s.uncertain()})
		} else if n, _, ok := s.spotAt(d, 1); ok {
			if p := l[atNumber(l, n)]; p.src == s && p.copied {
				list = append(list, align.Element{Index: i, Key: p.key, Pair: -1, Free: s.uncertain()})
			}
		}
	}
	return list
}

// copies returns the messages to a client that can be copies of an author's
// messages.
func (c *comparer) copies(d *destination, author *Client, strays map[int]*stray) (list []align.Element) {
	l := d.line[1]
	for i, p := range l {
		if i > 0 {
			list = lacking(list, l[i-1].number, p.number)
		}
		if s := strays[i]; p.copied && p.src.Client == author && p.src.Number >= 0 {
			list = append(list, align.Element{Index: i, Key: p.key, Pair: -1, Free: p.src.uncertain()})
		} else if s != nil && p.src == nil && s.causes(author) {
			list = append(list, align.Element{Index: i, Key: p.key, Pair: -1, Free: s.free || s.author != author})
		}
	}
	return list
}

// lacking appends elements for the numbers between two messages.
func lacking(list []align.Element, lo, hi int64) []align.Element {
	for range min(hi-lo-1, maxWild, int64(maxElements-len(list))) {
		list = append(list, align.Element{Wild: true, Free: true, Pair: -1})
	}
	return list
}

// pairs returns the pairs of elements with equal keys that keep the order of
// both lists. If key returns false, an element of the list with that index has
// no pair.
func pairs[K comparable](xs, ys []align.Element, key func(list int, e *align.Element) (K, bool)) []align.Pair {
	at := make(map[K]int, len(ys))
	for j := range ys {
		if k, ok := key(1, &ys[j]); ok {
			at[k] = j
		}
	}
	var all []align.Pair
	for i := range xs {
		k, ok := key(0, &xs[i])
		if j, there := at[k]; ok && there {
			all = append(all, align.Pair{X: i, Y: j})
		}
	}
	return align.Rising(all)
}

// uniqueIn returns a function that reports whether a key occurs exactly once in
// each list.
func uniqueIn(xs, ys []align.Element) func(key uint64) bool {
	const side = 1 << 16
	seen := make(map[uint64]int, len(xs))
	for i := range xs {
		seen[xs[i].Key]++
	}
	for j := range ys {
		seen[ys[j].Key] += side
	}
	return func(key uint64) bool { return seen[key] == side+1 }
}

// alignWith aligns the copies to a client with the messages of one author,
// where messages are left over or out of order.
func (c *comparer) alignWith(d *destination, author *Client, wants map[*source]*expect, strays map[int]*stray) {
	xs, ys := c.spoken(d, author, wants), c.copies(d, author, strays)
	said := func(e align.Element) bool { return !e.Wild }
	left := func(e align.Element) bool { return !e.Wild && (!e.Free || strays[e.Index] == nil) }
	c.alignAll(&rows{
		xs: xs, ys: ys, unique: uniqueIn(xs, ys),
		kept: pairs(xs, ys, func(list int, e *align.Element) (int64, bool) {
			switch {
			case e.Wild:
				return 0, false
			case list == 1:
				return d.line[1][e.Index].number, true
			}
			n, _, ok := author.said[e.Index].spotAt(d, 1)
			return n, ok && wants[author.said[e.Index]] == nil
		}),
		open: [2]bool{c.rates.lossy || c.t.late(), c.rates.lossy},
		ties: 64,
		differ: func(xs, ys []align.Element) bool {
			return slices.ContainsFunc(xs, said) || slices.ContainsFunc(ys, left)
		},
		take: func(a *alignment) { c.take(d, author, wants, strays, a) },
	})
}

// rows are two lists of messages that are aligned part by part, between pairs
// of equal messages. Elements of the lists have the places of the messages.
type rows struct {
	xs, ys []align.Element
	unique func(key uint64) bool // reports whether a key occurs exactly once in each list
	kept   []align.Pair
	open   [2]bool // the capture may lack messages before the lists, and after them
	ties   int     // pairs that are reconsidered on each side of a difference
	differ func(xs, ys []align.Element) bool
	take   func(*alignment)
}

// An alignment pairs the elements of two lists between two of the kept pairs.
type alignment struct {
	grid       align.Grid
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
		for first >= 0 && !r.unique(r.xs[r.kept[first].X].Key) && (len(parts) == 0 || first > parts[len(parts)-1].till) {
			first--
		}
		for last < len(r.kept) && !r.unique(r.xs[r.kept[last].X].Key) {
			last++
		}
		parts = c.doubted(r, parts, c.alignBetween(r, first, last), &attemptsLeft)
		k = parts[len(parts)-1].till
	}
	for _, a := range parts {
		release(a.grid.X, a.grid.Y)
		release(a.grid.Y, a.grid.X)
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
	a := &alignment{from: from, till: till, grid: align.Grid{
		X: slices.Clone(r.xs[begin.X+1 : end.X]), Begins: from < 0 && r.open[0],
		Y: slices.Clone(r.ys[begin.Y+1 : end.Y]), Ends: till == len(r.kept) && r.open[1],
	}}
	c.work.spend(len(a.grid.X) + len(a.grid.Y))
	if cells := len(a.grid.X) * len(a.grid.Y); cells <= maxCells && cells <= c.work.allowed-c.work.done {
		c.work.spend(cells)
		a.cost, a.known = a.grid.Cost(), true
		a.grid.Trace()
	}
	return a
}

// release frees the elements whose counterparts may be messages that the capture
// lacks.
func release(list, others []align.Element) {
	for i := range list {
		if e := &list[i]; !e.Wild && e.Pair >= 0 && others[e.Pair].Wild {
			e.Free, e.Pair = true, -1
		}
	}
}

// take applies an alignment. If one message has lost its counterpart, and
// another with the same bytes has found one, the difference is reported at the
// place of the former.
func (c *comparer) take(d *destination, author *Client, wants map[*source]*expect, strays map[int]*stray, a *alignment) {
	l, found := d.line[1], map[uint64][]*got{}
	for _, e := range a.grid.X {
		if s := author.said[e.Index]; a.known && e.Pair >= 0 && !e.Wild && wants[s] == nil {
			s.leave(d)
		}
	}
	for _, e := range a.grid.X {
		if e.Wild || e.Pair < 0 {
			continue
		}
		s, number := author.said[e.Index], l[a.grid.Y[e.Pair].Index].number
		l.caused(number, s, true)
		s.spots = append(s.spots, spot{to: d, class: 1, number: number})
	}
	for _, e := range a.grid.Y {
		if s := strays[e.Index]; s != nil && !e.Wild {
			if s.got.open = !a.known || e.Free || e.Pair >= 0; e.Pair >= 0 {
				found[e.Key] = append(found[e.Key], s.got)
			}
		}
	}
	for _, e := range a.grid.Y {
		if a.known && !e.Wild && e.Pair < 0 && strays[e.Index] == nil {
			p := &l[e.Index]
			p.src, p.copied = nil, false
			d.doubt(e.Key)
			if list := found[e.Key]; len(list) > 0 {
				list[0].Number, list[0].Frame, list[0].open = p.number, int(p.frame), e.Free
				found[e.Key] = list[1:]
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
