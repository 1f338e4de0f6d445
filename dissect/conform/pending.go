package conform

import (
	"slices"
	"sort"
	"time"
)

// A destination holds the messages to one client that wait for their
// counterpart.
type destination struct {
	client  *Client
	reached *reached
	expects []*expect // in order; done ones go from the front
	gots    []*got
	byKey   keyed
	last    map[*Client]ordered // by sender
	names   map[uint64]bool     // NameChanges that it should have got, or did
	cuts    []time.Time         // datagrams to the client that the capture cut short
	heard   time.Time           // of the host
	first   int64               // number of the data class, -1 before there is one

	order          ordering
	sightings      map[uint64][]sighting // by key
	sighted        int
	kept, keptGots int                  // entries after the last compact
	usual          delay                // from a message to its copy
	prompt         delay                // from its turn
	came           map[uint64][]arrived // of those, by key
	cameN          int
	brought        brought
}

// brought are the latest copies to a client in the order in which they were
// expected, with the frames that brought them.
type brought []delivery

type delivery struct{ index, frame int }

// maxBrought bounds them.
const maxBrought = 4096

func (b *brought) add(index, frame int) {
	if len(*b) == maxBrought {
		*b = append((*b)[:0], (*b)[maxBrought/2:]...)
	}
	i := len(*b)
	for i > 0 && (*b)[i-1].index > index {
		i--
	}
	*b = slices.Insert(*b, i, delivery{index, frame})
}

// alone reports whether the copies before and after an expected one came in
// different datagrams, so that one between them may be missing.
func (d *destination) alone(x *expect) bool {
	i := sort.Search(len(d.brought), func(i int) bool { return d.brought[i].index > x.index })
	return i == 0 || i == len(d.brought) || d.brought[i-1].frame != d.brought[i].frame
}

// ordered is the last pair that matched.
type ordered struct {
	index  int
	number int64
	src    *source
}

// follows reports whether an expected message comes after the last pair: in the
// order in which the model got them, or in that of their sender. They differ if
// the capture lacks the first transmission of the earlier one.
func (x *expect) follows(o *ordered) bool {
	return x.index > o.index || x.src.typ == o.src.typ && o.src.number >= 0 && x.src.number > o.src.number
}

// arrived is a message that came.
type arrived struct {
	src    *source
	number int64
	at     time.Time
	used   bool // it explains why another one did not come
}

// maxCame bounds the memory of messages that have come.
const maxCame = 2048

func newDestination(client *Client, r *reached) *destination {
	return &destination{
		client: client, reached: r, last: map[*Client]ordered{}, names: map[uint64]bool{},
		first: -1, came: map[uint64][]arrived{}, sightings: map[uint64][]sighting{},
	}
}

// new reports whether a name was not told before.
func (d *destination) new(key uint64) bool {
	const most = 1024
	if d.names[key] {
		return false
	}
	if len(d.names) >= most {
		d.reached[limitNames]++
		return false
	}
	d.names[key] = true
	return true
}

// live drops finished entries from the front.
func live(list []*expect) []*expect {
	for len(list) > 0 && list[0].done {
		list[0] = nil // the array may be shared
		list = list[1:]
	}
	return list
}

// firstGot returns the first message that can be an expected one: it came after
// that was sent, or a little before.
func (c *comparer) firstGot(list []*got, x *expect) *got {
	var from time.Time
	switch {
	case x.by&c.judge == 0: // one before its cause is rather the copy of another message
		from = x.src.time
	case x.src != nil:
		from = x.src.first().Add(-earliest)
	}
	for _, g := range list {
		if !g.done && !g.Time.Before(from) {
			return g
		}
	}
	return nil
}

// choose returns the expected message that matches a captured one: the first
// that keeps the order of the client's messages. One for which the copy is later
// than usual gives way to one for which it is not.
func (d *destination) choose(g *got) *expect {
	var passed, first, late, spare *expect
	s := d.byKey.find(g.key)
	if s == nil {
		return nil
	}
	s.expects = live(s.expects)
	list := s.expects
	if len(list) == 0 {
		d.byKey.tidy(g.key)
		return nil
	}
	if g.Late && g.Number >= 0 {
		if x := d.skipped(list, g); x != nil {
			return x
		}
		if x := d.overtaken(list, g); x != nil {
			return x
		}
	}
	for _, x := range list {
		if x.done {
			continue
		}
		lag := g.Time.Sub(x.src.turn)
		if first != nil && lag < -earliest {
			break
		}
		switch o, ok := d.last[x.sender()]; {
		case x.why != "": // it need not come
			if spare == nil {
				spare = x
			}
		case !ok || !x.copied() || g.Number < o.number || x.follows(&o):
			if first == nil {
				first = x
			}
			if lag <= d.prompt.most() {
				return x
			}
		case passed == nil && lag <= disorder:
			passed = x
		default:
			late = x
		}
	}
	switch {
	case first != nil:
		return first
	case passed != nil:
		return passed
	case late != nil && d.alike(g.key, late.src.time, reliableWait) == 1: // nothing else can be it
		return late
	}
	return spare
}

// skipped returns the expected message that belongs where the number of a late
// one is: between those of the messages that its sender sent before and after.
func (d *destination) skipped(list []*expect, g *got) *expect {
	for _, x := range list {
		if x.done || !x.copied() || x.src.number < 0 {
			continue
		}
		if lo, hi := d.causes(x.src.client, g.Number, g.Number, false); lo < x.src.number && x.src.number < hi && lo >= 0 && hi < lastNumber {
			return x
		}
	}
	return nil
}

// overtaken returns the expected message that was sent nearest to when a late one
// must have been sent first.
func (d *destination) overtaken(list []*expect, g *got) (nearest *expect) {
	sent, ok := d.order.by(g.Number)
	if !ok {
		return nil
	}
	least := disorder
	for _, x := range list {
		if away := x.src.time.Sub(sent).Abs(); !x.done && away < least {
			nearest, least = x, away
		}
	}
	return nearest
}

// alike returns how many messages with some bytes were expected at about a time.
func (d *destination) alike(key uint64, at time.Time, span time.Duration) (n int) {
	for _, y := range d.came[key] {
		if y.src.time.Sub(at).Abs() < span {
			n++
		}
	}
	for _, y := range d.byKey.expects(key) {
		if y.src.time.Sub(at).Abs() < span {
			n++
		}
	}
	return n
}

// repeated reports whether another message with the same bytes was expected at
// about the time of the first one.
func (d *destination) repeated(x *expect) bool {
	if list := d.came[x.key]; len(list) > 0 {
		return true
	}
	for _, y := range d.byKey.expects(x.key) {
		if y != x {
			return true
		}
	}
	return false
}

// sender returns the client that sent the original of the expected message.
func (x *expect) sender() *Client {
	if x.src == nil {
		return nil
	}
	return x.src.client
}

func (d *destination) dropGot(g *got) {
	s := d.byKey.find(g.key)
	if s == nil {
		return
	}
	for len(s.gots) > 0 && s.gots[0].done {
		s.gots = s.gots[1:]
	}
	if len(s.gots) == 0 {
		s.gots = nil
		d.byKey.tidy(g.key)
	}
}

func (d *destination) dropExpect(x *expect) {
	d.dropKey(x.key)
	if x.changed != 0 {
		d.dropKey(x.changed)
	}
}

func (d *destination) dropKey(key uint64) {
	s := d.byKey.find(key)
	if s == nil {
		return
	}
	if s.expects = live(s.expects); len(s.expects) == 0 {
		s.expects = nil
		d.byKey.tidy(key)
	}
}

// slack is the time in which a host may change the order of different clients'
// messages.
const slack = 100 * time.Millisecond

// pass takes note of an expected message that leaves the queue.
func (d *destination) pass(x *expect) {
	if x.number < 0 || !x.done {
		return
	}
	if d.cameN >= maxCame {
		var dropped int
		d.cameN, dropped = forget(d.came, func(a *arrived) time.Time { return a.src.time }, x.src.time.Add(-remembered), maxCame)
		d.reached[limitMemory] += dropped
	}
	d.cameN++
	list := d.came[x.key]
	for len(list) > 0 && x.src.time.Sub(list[0].src.time) > remembered {
		list = list[1:]
		d.cameN--
	}
	d.came[x.key] = append(list, arrived{x.src, x.number, x.src.time.Add(x.lag), x.used})
}

// mistaken returns the reason why the first expected message need not have come
// itself, if earlier ones with the same bytes took the copies of those after
// them: one of them was lost.
func (d *destination) mistaken(x *expect) (why string, ok bool) {
	next := x.src.time
	list := d.came[x.key]
	for i := len(list) - 1; i >= 0; i-- {
		y := &list[i]
		if !y.used && y.src.notTaken() && y.src.client == x.src.client {
			y.used = true
			return whyNotTaken, true
		}
		if y.at.Before(next) { // it came before the next one was caused
			break
		}
		if d.client.got[1].between(firstNumber, y.number, y.src.time.Add(-slack), y.at) {
			return whyHole, true
		}
		next = y.src.time
	}
	for _, y := range d.byKey.expects(x.key) {
		if y.number >= 0 && !y.used && y.src.notTaken() && y.src.client == x.src.client && y.src.time.Sub(x.src.time) <= disorder {
			y.used = true
			return whyNotTaken, true
		}
	}
	return "", false
}

// A delay is the usual time between a message and its copies: the mean and the
// mean deviation of the latest.
type delay struct{ mean, off time.Duration }

func (l *delay) take(t time.Duration) {
	if t = min(max(t, 0), disorder); l.mean == 0 && l.off == 0 {
		l.mean, l.off = t, t/2
		return
	}
	l.off += ((t - l.mean).Abs() - l.off) / 8
	l.mean += (t - l.mean) / 8
}

// most returns a time that is longer than usual.
func (l *delay) most() time.Duration {
	const least = 50 * time.Millisecond
	return max(l.mean+4*l.off, least)
}

// compact drops messages that have come from behind one that has not. Numbered
// ones stay: their places matter. It returns how many it has dropped.
func (d *destination) compact() (n int) {
	const many = 256
	n = len(d.expects) + len(d.gots)
	if len(d.expects) >= many && len(d.expects) >= 2*d.kept {
		d.expects = slices.DeleteFunc(d.expects, func(x *expect) bool {
			if !x.done || x.number >= 0 {
				return false
			}
			d.dropExpect(x)
			return true
		})
		d.kept = len(d.expects)
	}
	if len(d.gots) >= many && len(d.gots) >= 2*d.keptGots {
		d.gots = slices.DeleteFunc(d.gots, func(g *got) bool {
			if g.done {
				d.dropGot(g)
			}
			return g.done
		})
		d.keptGots = len(d.gots)
	}
	return n - len(d.expects) - len(d.gots)
}

// load counts the messages that wait for their counterpart.
type load struct{ messages, bytes int }

func (l *load) add(size int)  { l.messages++; l.bytes += size }
func (l *load) drop(size int) { l.messages--; l.bytes -= size }

// beyond reports whether there are more messages, or more bytes in them.
func (l *load) beyond(messages, bytes int) bool { return l.messages > messages || l.bytes > bytes }
