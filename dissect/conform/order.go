package conform

import (
	"maps"
	"slices"
	"sort"
	"time"
)

// maxOrder bounds the numbered copies to a client that are remembered in their
// order.
const maxOrder = 2048

// tolerance is by how many numbers the orders of two clients may differ.
const tolerance = 8

// A copyAt is a copy of a client's message: its receiver, and its place there.
type copyAt struct {
	to *destination
	place
}

// firm reports whether there is no doubt that it is a copy of the message.
func (c *copyAt) firm() bool { return c.to.firm(&c.place) }

// An ordering holds a client's numbered messages in the order of their numbers,
// with their causes. A host passes messages on to all in one order.
type ordering []place

type place struct {
	number int64
	key    uint64
	at     time.Time
	src    *source // nil if it is not known
	loose  bool    // it came late, so it may be another one
	copied bool    // it is a copy of its cause
}

// add adds a message. It returns how many were forgotten before their time.
func (o *ordering) add(p place) (forgotten int) {
	switch n := len(*o); {
	case n%tidyEvery == tidyEvery-1 && p.at.Sub((*o)[n/2].at) > remembered:
		*o = slices.Delete(*o, 0, n/2)
	case n >= maxOrder:
		forgotten = n/2 - sort.Search(n/2, func(i int) bool { return p.at.Sub((*o)[i].at) <= remembered })
		*o = slices.Delete(*o, 0, n/2)
	}
	i := len(*o)
	for i > 0 && (*o)[i-1].number > p.number {
		i--
	}
	*o = slices.Insert(*o, i, p)
	return forgotten
}

// caused notes the cause of a message.
func (o ordering) caused(p *place) {
	if i := o.after(p.number); i < len(o) && o[i].number == p.number {
		o[i] = *p
	}
}

// after returns the index of the first message with a number or a higher one.
func (o ordering) after(number int64) int {
	return sort.Search(len(o), func(i int) bool { return o[i].number >= number })
}

// by returns when a message with a number must have been sent at the latest: when
// one with a higher number came.
func (o ordering) by(number int64) (at time.Time, ok bool) {
	for i := o.after(number + 1); i < len(o); i++ {
		if !o[i].loose {
			return o[i].at, true
		}
	}
	return at, false
}

// before returns the last message with a known cause before a number.
func (o ordering) before(number int64) *place {
	for k := o.after(number) - 1; k >= 0; k-- {
		if o[k].src != nil {
			return &o[k]
		}
	}
	return nil
}

// Sightings of messages with the same bytes.
const (
	maxSightings = 256  // of a key
	maxSighted   = 8192 // of all keys to a client
)

// A sighting is a numbered message to a client that was expected, or that came.
type sighting struct {
	at     time.Time
	number int64   // of the message that came, or of its cause
	author *Client // of an expected copy
	came   bool
}

// sights remembers a message, to tell it from others with the same bytes.
func (d *destination) sights(key uint64, s sighting) {
	if d.sighted >= maxSighted {
		var dropped int
		d.sighted, dropped = forget(d.sightings, func(s *sighting) time.Time { return s.at }, s.at.Add(-remembered), maxSighted)
		d.reached[limitMemory] += dropped
	}
	d.sighted++
	list := d.sightings[key]
	if len(list) >= maxSightings {
		d.sighted -= maxSightings / 2
		if s.at.Sub(list[maxSightings/2].at) < latest { // those before hardly matter
			d.reached[limitMemory] += maxSightings / 2
		}
		list = append(list[:0], list[maxSightings/2:]...)
	}
	d.sightings[key] = append(list, s)
}

// beside reports whether a sighting of a message that came is near one with a
// number. A copy that was lost comes again much later.
func (s *sighting) beside(number int64, at time.Time) bool {
	const few = 32
	away := s.at.Sub(at).Abs()
	return away <= disorder || away <= longestLost && max(s.number-number, number-s.number) <= few
}

// cameBefore reports whether a message with the same bytes and the same eight bits
// of its number came before, so that this may be that one, sent again.
func (d *destination) cameBefore(g *got) bool {
	return g.Number >= 0 && slices.ContainsFunc(d.sightings[g.key], func(s sighting) bool {
		return s.came && s.number != g.Number && (s.number-g.Number)%eightBits == 0 && s.at.Before(g.Time)
	})
}

// ahead reports whether a copy of the message that belongs to no other came before
// it.
func (d *destination) ahead(x *expect) bool {
	return x.copied() && slices.ContainsFunc(d.sightings[x.key], func(s sighting) bool {
		if away := x.src.time.Sub(s.at); !s.came || away < 0 || away > latest {
			return false
		}
		i := d.order.after(s.number)
		return i < len(d.order) && d.order[i].number == s.number && d.order[i].src == nil
	})
}

// shifted reports whether the capture may lack both the copy of a client's message
// and the original of the one that was taken for it.
func (p *place) shifted(to *Client) bool {
	return p.copied && p.src.number >= 0 && to.got[1].between(firstNumber, p.number, p.src.time, p.at) &&
		p.src.client.sent[1].between(p.src.number, lastNumber, p.src.time, p.at)
}

// firm reports whether no other message with the same bytes was expected, or
// came, at about a time, so that the two that were paired belong together.
func (d *destination) firm(p *place) bool {
	if p.loose || p.shifted(d.client) {
		return false
	}
	expected, came := 0, 0
	for i := range d.sightings[p.key] {
		switch s := &d.sightings[p.key][i]; {
		case s.came && s.beside(p.number, p.at):
			came++
		case !s.came && s.at.Sub(p.at).Abs() <= disorder:
			expected++
		}
	}
	return expected <= 1 && came == 1
}

// copyOf returns the number of the copy of a message to the client.
func (d *destination) copyOf(src *source) (number int64, ok bool) {
	if c := src.copyTo(d); c != nil {
		return c.number, c.firm()
	}
	return 0, false
}

// Numbers that no message has.
const (
	firstNumber = -1 << 62
	lastNumber  = 1 << 62
)

// around returns the numbers of the messages to other that come before and
// after a number in d's order: the nearest that both clients got.
func (d *destination) around(number int64, other *destination) (lo, hi int64, ok bool) {
	const most = 64
	o := d.order
	i := o.after(number)
	below, above := false, false
	for k := i - 1; k >= 0 && k >= i-most && !below; k-- {
		if o[k].src != nil && d.firm(&o[k]) {
			lo, below = other.copyOf(o[k].src)
		}
	}
	for k := i; k < len(o) && k < i+most && !above; k++ {
		if o[k].number > number && o[k].src != nil && d.firm(&o[k]) {
			hi, above = other.copyOf(o[k].src)
		}
	}
	return lo, hi, below && above && lo < hi
}

// beside returns the numbers that the copy of a message to a client must lie
// between, by the order in which others got it.
func (d *destination) beside(src *source) (lo, hi int64, ok bool) {
	lo, hi = firstNumber, lastNumber
	for i := range src.copies {
		c := &src.copies[i]
		if !c.firm() {
			continue
		}
		if l, h, found := c.to.around(c.number, d); found {
			lo, hi, ok = max(lo, l), min(hi, h), true
		}
	}
	return lo, hi, ok
}

// amid returns the numbers of the copies of the messages that the author of an
// expected one sent before and after it.
func (d *destination) amid(x *expect) (lo, hi int64, ok bool) {
	said := x.src.client.said
	at := said.after(x.src.number)
	if !x.copied() || at == len(said) || said[at] != x.src {
		return 0, 0, false
	}
	lo, hi = firstNumber, lastNumber
	for i := at - 1; i >= 0 && lo == firstNumber; i-- {
		if k := said[i].copyTo(d); k != nil && !k.loose {
			lo = k.number
		}
	}
	for i := at + 1; i < len(said) && hi == lastNumber; i++ {
		if k := said[i].copyTo(d); k != nil && !k.loose {
			hi = k.number
		}
	}
	return lo, hi, lo < hi
}

// place returns the numbers that an expected message must lie between: those of
// the last one before it and of the first one after it. The copies of one
// client's messages come in its order, and those of different clients nearly so.
func (d *destination) place(x *expect) (lo, hi int64) {
	lo, hi = firstNumber, lastNumber
	first, last := x.src.number, x.src.number // of messages with the same bytes
	from, till := x.src.time, x.src.time
	for _, s := range d.sightings[x.key] {
		if !s.came && s.at.Sub(x.src.time).Abs() <= disorder {
			if s.author == x.src.client && x.copied() && s.number >= 0 {
				first, last = min(first, s.number), max(last, s.number)
			}
			if s.at.Before(from) {
				from = s.at
			}
			if s.at.After(till) {
				till = s.at
			}
		}
	}
	from, till = from.Add(-slack), till.Add(slack)
	numbered := x.copied() && x.src.number >= 0
	mine := func(p *place) bool { return numbered && p.src.client == x.src.client && p.src.number >= 0 }
	after := func(p *place) bool { return p.src.time.After(till) || mine(p) && p.src.number > last }
	before := func(p *place) bool { return p.src.time.Before(from) || mine(p) && p.src.number < first }
	i := len(d.order) - 1
	for ; i >= 0; i-- {
		if p := &d.order[i]; p.src != nil && before(p) && !after(p) && d.firm(p) {
			lo = p.number
			break
		}
	}
	for i++; i < len(d.order); i++ {
		if p := &d.order[i]; p.src != nil && after(p) && d.firm(p) {
			hi = p.number
			break
		}
	}
	return lo, hi
}

// cluster returns the first and the last number of the messages with the same
// bytes that came at about the time of one of them.
func (d *destination) cluster(g *got) (first, last int64) {
	first, last = g.Number, g.Number
	for i := range d.sightings[g.key] {
		if s := &d.sightings[g.key][i]; s.came && s.beside(g.Number, g.Time) {
			first, last = min(first, s.number), max(last, s.number)
		}
	}
	return first, last
}

// causes returns the numbers of a client that the causes of the messages from
// first to last must lie between, if they are copies from that client.
func (d *destination) causes(author *Client, first, last int64, firm bool) (lo, hi int64) {
	lo, hi = firstNumber, lastNumber
	for k := d.order.after(first) - 1; k >= 0; k-- {
		if p := &d.order[k]; p.src != nil && p.src.client == author && p.src.number >= 0 && (!firm || d.firm(p)) {
			lo = p.src.number
			break
		}
	}
	for k := d.order.after(last + 1); k < len(d.order); k++ {
		if p := &d.order[k]; p.src != nil && p.src.client == author && p.src.number >= 0 && (!firm || d.firm(p)) {
			hi = p.src.number
			break
		}
	}
	return lo, hi
}

// refuted reports whether a message to one client cannot be a copy of one that
// the capture lacks: no other client got it, though at least one should have, and
// the capture lacks none of its messages there.
func (c *comparer) refuted(d *destination, g *got, author *Client) bool {
	if g.Number < 0 || c.elsewhere(d, g) {
		return false
	}
	refuted := false
	for _, o := range c.order {
		if o == d || o.client == author {
			continue
		}
		if lo, hi, ok := d.around(g.Number, o); ok && !refuted {
			refuted = !o.client.got[1].between(lo-tolerance, hi+tolerance, time.Time{}, g.Time.Add(latest)) && !o.saw(g.key, lo, hi)
		}
	}
	return refuted
}

// saw reports whether a message with some bytes came between two numbers. It may
// have been taken for another one.
func (d *destination) saw(key uint64, lo, hi int64) bool {
	for _, s := range d.sightings[key] {
		if s.came && lo-tolerance < s.number && s.number < hi+tolerance {
			return true
		}
	}
	return false
}

// unmatched reports whether another client got the message, too, and nothing
// asked for it.
func (d *destination) unmatched(g *got) bool {
	for _, o := range d.byKey.gots(g.key) {
		if !o.done && o.Time.Sub(g.Time).Abs() < disorder {
			return true
		}
	}
	return false
}

// elsewhere reports whether another client got a message, too, and nothing asked
// for it.
func (c *comparer) elsewhere(d *destination, g *got) bool {
	if n, ok := c.twins[g.key]; ok && n.to != d && n.at.Sub(g.Time).Abs() < disorder {
		return true
	}
	return slices.ContainsFunc(c.order, func(o *destination) bool { return o != d && o.unmatched(g) })
}

// A twin is the last message with some bytes that nothing asked for.
type twin struct {
	to  *destination
	at  time.Time
	all bool // everybody got it, but for one player at most
}

// maxTwins bounds them.
const maxTwins = 1024

// twin remembers a message that nothing asked for. It reports whether every
// player got it, but for one at most: then the capture lacks the original.
func (c *comparer) twin(d *destination, g *got) (all bool) {
	if c.twins == nil {
		c.twins = map[uint64]twin{}
	}
	if len(c.twins) >= maxTwins {
		maps.DeleteFunc(c.twins, func(_ uint64, t twin) bool { return g.Time.Sub(t.at) > disorder })
		if len(c.twins) > maxTwins/2 {
			c.t.reached[limitMemory] += len(c.twins)
			clear(c.twins)
		}
	}
	t, ok := c.twins[g.key]
	if !ok || t.at.Sub(g.Time).Abs() > disorder {
		t = twin{all: c.everybody(d, g)}
	}
	t.to, t.at = d, g.Time
	c.twins[g.key] = t
	return t.all
}

// everybody reports whether two players or more got a message that nobody sent,
// and one at most did not.
func (c *comparer) everybody(d *destination, g *got) bool {
	others, without := 0, 0
	for _, o := range c.order {
		switch {
		case o == d || !o.client.playing || o.client.Adopted || o.client.gone && o.client.left.Before(g.Time):
		case o.unmatched(g):
			others++
		default:
			without++
		}
	}
	return others > 0 && without <= 1 && d.alike(g.key, g.Time, disorder) == 0
}
