package conform

import (
	"sort"
	"time"
)

// maxOrder bounds the numbered copies to a client that are remembered in their
// order.
const maxOrder = 512

// tolerance is by how many numbers the orders of two clients may differ.
const tolerance = 8

// A copyAt is a copy of a client's message: its receiver, and its number.
type copyAt struct {
	to     *destination
	number int64
}

// to returns the number of the copy to a client.
func (s *source) to(d *destination) (number int64, ok bool) {
	for _, c := range s.copies {
		if c.to == d {
			return c.number, true
		}
	}
	return 0, false
}

// An ordering holds the causes of a client's numbered messages in the order of
// their numbers. A host passes messages on to all in one order.
type ordering []place

type place struct {
	number int64
	src    *source
}

// add adds a message.
func (o *ordering) add(number int64, src *source) {
	if len(*o) >= maxOrder {
		*o = append((*o)[:0], (*o)[maxOrder/2:]...)
	}
	i := len(*o)
	for i > 0 && (*o)[i-1].number > number {
		i--
	}
	*o = append(*o, place{})
	copy((*o)[i+1:], (*o)[i:])
	(*o)[i] = place{number, src}
}

// around returns the numbers of the messages to other that come before and
// after a number in o: the nearest that both clients got.
func (o ordering) around(number int64, other *destination) (lo, hi int64, ok bool) {
	const most = 64
	i := sort.Search(len(o), func(i int) bool { return o[i].number >= number })
	below, above := false, false
	for k := i - 1; k >= 0 && k >= i-most && !below; k-- {
		lo, below = o[k].src.to(other)
	}
	for k := i; k < len(o) && k < i+most && !above; k++ {
		if o[k].number > number {
			hi, above = o[k].src.to(other)
		}
	}
	return lo, hi, below && above && lo < hi
}

// beside returns the numbers that the copy of a message to a client must lie
// between, by the order in which others got it.
func (d *destination) beside(src *source) (lo, hi int64, ok bool) {
	for _, c := range src.copies {
		if l, h, found := c.to.order.around(c.number, d); found && (!ok || h-l < hi-lo) {
			lo, hi, ok = l, h, true
		}
	}
	return lo, hi, ok
}

// refuted reports whether a message to one client cannot be a copy of one that
// the capture lacks: no other client got it, though at least one should have, and
// the capture lacks none of its messages there.
func (c *comparer) refuted(d *destination, g *got, author *Client) bool {
	if n, ok := c.twins[g.key]; g.Number < 0 || ok && n.to != d && n.at.Sub(g.Time).Abs() < disorder {
		return false
	}
	refuted := false
	for _, o := range c.order {
		if o == d || o.client == author {
			continue
		}
		if o.unmatched(g) {
			return false
		}
		if lo, hi, ok := d.order.around(g.Number, o); ok && !refuted {
			refuted = !o.client.got[1].between(lo-tolerance, hi+tolerance, time.Time{}, g.Time.Add(latest))
		}
	}
	return refuted
}

// unmatched reports whether another client got the message, too, and nothing
// asked for it.
func (d *destination) unmatched(g *got) bool {
	for _, o := range d.gotByKey[g.key] {
		if !o.done && o.Time.Sub(g.Time).Abs() < disorder {
			return true
		}
	}
	return false
}

// A twin is the last message with some bytes that nothing asked for.
type twin struct {
	to *destination
	at time.Time
}

// maxTwins bounds them.
const maxTwins = 1024

func (c *comparer) twin(d *destination, g *got) {
	if c.twins == nil || len(c.twins) >= maxTwins {
		c.twins = map[uint64]twin{}
	}
	c.twins[g.key] = twin{d, g.Time}
}
