package conform

import (
	"maps"
	"math"
	"slices"
	"time"
)

// A budget divides the limits of a capture between the hosts in it.
type budget struct{ hosts int }

// of returns the part of a limit that each host has.
func (b *budget) of(limit int) int { return limit / max(b.hosts, 1) }

// maxRemembered bounds the bytes, as far as they are counted, of all that is
// remembered of messages that came: for all clients of a capture together.
const maxRemembered = 16 << 20

// About how many bytes one of each takes, with its part of a map.
const (
	placeBytes    = 64
	sightingBytes = 128
	arrivedBytes  = 128
	saidBytes     = 512
	holeBytes     = 64
	timeBytes     = 24
)

// remembers returns about how many bytes the memories of a client take: of its
// messages, and of those to it.
func (c *Client) remembers() int {
	n := saidBytes*len(c.said) + timeBytes*len(c.resent)
	for k := range c.sent {
		n += holeBytes * (len(c.sent[k].list) + len(c.got[k].list))
	}
	if d := c.to; d != nil {
		n += placeBytes*len(d.order) + sightingBytes*d.sighted + arrivedBytes*d.cameN + timeBytes*len(d.cuts)
	}
	return n
}

// forget forgets all that is remembered of a client that makes room for another.
func (c *Client) forget() {
	c.said, c.resent = nil, nil
	for k := range c.sent {
		c.sent[k].list, c.got[k].list = nil, nil
	}
}

// economize keeps to the budget of remembered messages: while they exceed it, the
// client with the most loses the older half.
func (c *comparer) economize() {
	sum := 0
	for _, cl := range c.t.order {
		sum += cl.remembers()
	}
	for most := c.t.budget.of(maxRemembered); sum > most; {
		largest := slices.MaxFunc(c.t.order, func(a, b *Client) int { return a.remembers() - b.remembers() })
		before := largest.remembers()
		c.t.reached[limitMemory] += largest.halve()
		sum -= before - largest.remembers()
	}
}

// halve forgets about half of a client's messages, the older ones. It returns
// their number, without those that holes and cuts count.
func (c *Client) halve() (forgotten int) {
	n := (len(c.said) + 1) / 2
	c.said = slices.Delete(c.said, 0, n)
	c.resent = slices.Delete(c.resent, 0, (len(c.resent)+1)/2)
	for k := range c.sent {
		c.sent[k].halve()
		c.got[k].halve()
	}
	if c.to != nil {
		n += c.to.halve()
	}
	return n
}

// halve forgets the older half of the holes.
func (h *holes) halve() {
	n := (len(h.list) + 1) / 2
	h.list = slices.Delete(h.list, 0, n)
	h.forgotten += n
}

// anew returns a map with the same elements.
func anew[K comparable, V any](old map[K]V) map[K]V {
	m := make(map[K]V, len(old))
	maps.Copy(m, old)
	return m
}

// halve forgets about half of the messages to a client, the older ones.
func (d *destination) halve() (forgotten int) {
	n := (len(d.order) + 1) / 2
	var middle time.Time
	if n > 0 {
		middle = d.order[n-1].at
	}
	d.order = slices.Delete(d.order, 0, n)
	sighted, came := d.sighted, d.cameN
	const all = math.MaxInt / 8 // may be left
	if d.sighted, _ = forget(d.sightings, func(s *sighting) time.Time { return s.at }, middle, all); d.sighted == sighted {
		clear(d.sightings)
		d.sighted = 0
	}
	if d.cameN, _ = forget(d.came, func(a *arrived) time.Time { return a.src.time }, middle, all); d.cameN == came {
		clear(d.came)
		d.cameN = 0
	}
	// A map keeps its size, so that only another one is smaller.
	d.sightings, d.came = anew(d.sightings), anew(d.came)
	cuts := (len(d.cuts) + 1) / 2
	d.cuts = slices.Delete(d.cuts, 0, cuts)
	d.reached[limitCuts] += cuts
	return n + sighted - d.sighted + came - d.cameN
}
