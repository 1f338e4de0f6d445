package conform

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect/conform/internal/align"
	"github.com/bcdissect/bcdissect/dissect/conform/result"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// A host passes a message on to all players, and acts on one message after
// another. Two players therefore get the same copies in the same order, except
// for copies of their own messages, whatever the network did to the originals.
// If one of them lacks a copy although the capture has all numbers there, no
// history explains it.

// What another client has as counterpart of a message: the place of its copy,
// or one of these values.
const (
	noCounterpart      int32 = iota - 2 // the client certainly has no copy
	unknownCounterpart                  // the capture does not show it
)

// maxNear is the maximum distance in places between a leftover message and
// another one with the same bytes that may be meant instead.
const maxNear = 16

// view returns what another client has as counterparts of the messages to a
// client, by place.
func (c *comparer) view(d, o *destination) []int32 {
	if d.views[o] == nil {
		c.lookAcross(d, o)
	}
	return d.views[o]
}

// lookAcross determines what two clients received of the messages to each
// other.
func (c *comparer) lookAcross(d, o *destination) {
	var both views
	for k, to := range [...]*destination{d, o} {
		both[k] = slices.Repeat([]int32{unknownCounterpart}, len(to.line[1]))
	}
	d.views[o], o.views[d] = both[0], both[1]
	if c.work.over() {
		return
	}
	from, begins := c.together(d, o)
	xs, ys := c.passedOn(c.passed[0][:0], d, o, from.X), c.passedOn(c.passed[1][:0], o, d, from.Y)
	c.passed = [2][]align.Element{xs, ys}
	c.work.spend(len(xs) + len(ys))
	unique := uniqueIn(xs, ys)
	kept := pairs(xs, ys, func(_ int, e *align.Element) (uint64, bool) { return e.Key, !e.Free && unique(e.Key) })
	for _, a := range kept {
		both.pair(&xs[a.X], &ys[a.Y])
	}
	c.alignAll(&rows{
		xs: xs, ys: ys, unique: unique, kept: kept,
		open:   [2]bool{!begins, true},
		ties:   16, // with unique keys, which are farther apart
		differ: func(xs, ys []align.Element) bool { return !both.same(xs, ys) },
		take:   both.take,
	})
}

// together returns the last places of the messages to two clients before both
// were in the game. It also reports whether these are certain.
func (c *comparer) together(d, o *destination) (at align.Pair, certain bool) {
	e, f := d.client.entry, o.client.entry
	if e != nil && f != nil && e.Kind == Input && f.Kind == Input && (!c.actsOnArrival() || !e.twice() && !f.twice()) { // otherwise the host may have acted on one twice
		if f.index > e.index {
			e = f
		}
		i, inD := d.lastOf(e)
		j, inO := o.lastOf(e)
		if inD && inO && !d.later(i, int(o.line[1][j].frame)) && !o.later(j, int(d.line[1][i].frame)) {
			return align.Pair{X: i, Y: j}, true
		}
	}
	frame := max(d.client.First, o.client.First)
	return align.Pair{X: d.lastBefore(frame), Y: o.lastBefore(frame)}, false
}

// lastOf returns the place of the last announcement because of an input, also
// to others, if the announcements follow each other and the capture has what
// came before. Otherwise the host may have made them earlier, too.
func (d *destination) lastOf(s *source) (i int, ok bool) {
	l := d.line[1]
	lo, hi, n := maxPlaces, -1, 0
	for i := range s.spots {
		if p := &s.spots[i]; p.to == d && p.class == 1 {
			if k, ok := l.index(p.number); ok && l[k].op == msg.OpPlayerAnnounce {
				lo, hi, n = min(lo, k), max(hi, k), n+1
			}
		}
	}
	if n == 0 || hi-lo >= n || int(l[lo].frame) < s.Client.First {
		return 0, false
	}
	before := lo - 1
	for before >= 0 && l[before].src == s && l[before].number == l[before+1].number-1 {
		before--
	}
	return hi, before >= 0 && l[before].number == l[before+1].number-1
}

// later reports whether the host made a message after a frame, since an earlier
// one has a later cause.
func (d *destination) later(i, frame int) bool {
	l := d.line[1]
	return d.work.seek(i-1, -1, len(l), func(k int) bool { return l[k].src != nil && l[k].src.Frame > frame }) >= 0
}

// lastBefore returns the last place of a message to a client that was recorded
// before a frame, or -1.
func (d *destination) lastBefore(frame int) int {
	for i, p := range slices.Backward(d.line[1]) {
		if int(p.frame) < frame {
			return i
		}
	}
	return -1
}

// passedOn appends the numbered messages to a client. Messages that the other
// client may lack are free.
func (c *comparer) passedOn(list []align.Element, d, o *destination, from int) []align.Element {
	l, left := d.line[1], d.leftOver()[1]
	for i := from + 1; i < len(l); i++ {
		p := &l[i]
		if i > 0 {
			list = lacking(list, l[i-1].number, p.number)
		}
		relay, g := c.t.relayOf(transport.Standard, p.op), left[p.number]
		e := align.Element{Index: i, Key: p.key, Pair: -1}
		switch {
		case p.torn || c.actsOnArrival() && c.doubtful(l, i): // it may have another number
			e.Wild, e.Free = true, true
		case relay != decode.RelayForward && relay != decode.RelayEcho:
			e.Free = true
		case slices.Contains(c.saidBy(p.key), o.client.Addr): // the player may have said it as another Client, before it came back
			e.Free = true
		case p.copyOf == nil:
			e.Free = g == nil || c.mayCome(g, o.client)
		}
		list = append(list, e)
	}
	return list
}

// mayCome reports whether a message without a cause may come from a client, so
// that this client gets no copy.
func (c *comparer) mayCome(g *got, from *Client) bool {
	if own := c.own(g); own != nil && !own.shared {
		return own.Client == from
	}
	return c.t.causes(g.Event)(from)
}

// saidBy returns the addresses of the clients whose messages have a key, judging
// by the copies that came.
func (c *comparer) saidBy(key uint64) []netip.AddrPort {
	if c.sayers == nil {
		c.sayers = map[uint64][]netip.AddrPort{}
		for _, d := range c.order {
			for i := range d.line[1] {
				p := &d.line[1][i]
				if p.copyOf != nil && !slices.Contains(c.sayers[p.key], p.copyOf.Client.Addr) {
					c.sayers[p.key] = append(c.sayers[p.key], p.copyOf.Client.Addr)
				}
			}
		}
	}
	return c.sayers[key]
}

// doubtful reports whether a message may have another number with the same low
// eight bits, since acknowledgements show only these bits. The capture must not
// have another message with that number. In addition, the message has no cause
// although others received it, or it was not recorded between its neighbours.
func (c *comparer) doubtful(l line, i int) bool {
	end := len(l) - 1
	if (l[i].src != nil || len(c.saidBy(l[i].key)) == 0) && i > 0 && i < end && l.inPlace(i) {
		return false
	}
	for by := int64(eightBits); by <= 8*eightBits; by += eightBits {
		for _, n := range [...]int64{l[i].number - by, l[i].number + by} {
			if k, ok := l.index(n); n >= l[0].number && n <= l[end].number && (!ok || l[k].key == l[i].key) {
				return true
			}
		}
	}
	return false
}

// leftOver returns the numbered messages to a client without a cause, by class.
func (d *destination) leftOver() [2]map[int64]*got {
	left := [2]map[int64]*got{{}, {}}
	for _, g := range d.gots {
		if g.Number >= 0 {
			left[classOf(g.Type)][g.Number] = g
		}
	}
	return left
}

// views are two clients' views of each other.
type views [2][]int32

func (v *views) pair(x, y *align.Element) {
	v[0][x.Index], v[1][y.Index] = int32(y.Index), int32(x.Index) //nolint:gosec // places in a line, which is bounded
}

// same pairs the messages of two lists, and reports whether all that need a
// counterpart have one.
func (v *views) same(xs, ys []align.Element) bool {
	i, j := 0, 0
	for i < len(xs) || j < len(ys) {
		switch {
		case i < len(xs) && j < len(ys) && xs[i].Key == ys[j].Key && xs[i].Key > 0:
			v.pair(&xs[i], &ys[j])
			i, j = i+1, j+1
		case i < len(xs) && xs[i].Free:
			i++
		case j < len(ys) && ys[j].Free:
			j++
		default:
			return false
		}
	}
	return true
}

// take stores what a part of the lines has in common.
func (v *views) take(a *alignment) {
	if !a.known || mostly(&a.grid) {
		return
	}
	for k, list := range [...][]align.Element{a.grid.X, a.grid.Y} {
		other := [...][]align.Element{a.grid.Y, a.grid.X}[k]
		for _, e := range list {
			switch {
			case e.Key == 0: // not a message
			case e.Pair >= 0 && !e.Wild:
				v[k][e.Index] = int32(other[e.Pair].Index) //nolint:gosec // a place in a line
			case e.Free:
				v[k][e.Index] = unknownCounterpart
			default:
				v[k][e.Index] = noCounterpart
			}
		}
	}
}

// mostly reports whether the capture lacks so much of two lists (a fifth) that
// the rest can be paired in many ways.
func mostly(g *align.Grid) bool {
	wild := slices.DeleteFunc(slices.Concat(g.X, g.Y), func(e align.Element) bool { return !e.Wild })
	return 5*len(wild) > len(g.X)+len(g.Y)
}

// others are the other clients' counterparts of a message.
type others struct {
	lack    []*destination // clients that certainly lack it, or a message near it with the same bytes
	at      []int          // places of these messages
	here    bool           // a client certainly lacks it
	there   bool           // another client has it
	crossed bool           // a counterpart, or a message near it with the same bytes, is a copy of a message that may have crossed the client's join or leave
	have    int            // number of clients that have it, and lack none near it
	cause   *source        // the client's message of which one of the counterparts is a copy, nil if none is known
}

// few reports whether at least as many clients certainly lack a message as have
// it, although a client's message would have reached them all. The messages
// then count as judged.
func (all *others) few(d *destination) bool {
	if len(all.lack) < all.have {
		return false
	}
	for _, k := range all.at {
		d.line[1][k].judged = true
	}
	return true
}

// across returns what the other clients have as counterparts of a message.
func (c *comparer) across(d *destination, class int, number int64) (all others) {
	all.have = 1
	l := d.line[1]
	i, ok := l.index(number)
	if !ok || class == 0 || !c.ended {
		return all
	}
	for _, o := range c.order {
		if o == d {
			continue
		}
		v := c.view(d, o)
		if all.here = all.here || v[i] == noCounterpart; v[i] >= 0 {
			near := o.line[1][max(0, int(v[i])-maxNear):min(int(v[i])+maxNear+1, len(o.line[1]))]
			all.there, all.crossed = true, all.crossed || slices.ContainsFunc(near, func(p place) bool {
				return p.key == l[i].key && p.copied && p.src.Client != d.client && c.crosses(d, p.src, class)
			})
			if o.line[1][v[i]].copied {
				all.cause = cmp.Or(all.cause, o.line[1][v[i]].src)
			}
		}
		lacks := func(k int) bool { return v[k] == noCounterpart && l[k].key == l[i].key && !l[k].judged }
		switch k := d.work.seek(max(0, i-maxNear), 1, min(i+maxNear+1, len(l)), lacks); {
		case k >= 0:
			all.lack, all.at = append(all.lack, o), append(all.at, k)
		case v[i] >= 0:
			all.have++
		}
	}
	return all
}

// uneven judges the copies that some players received and others certainly did
// not, at the same place. The host is blamed for what it sent the smaller
// group.
func (c *comparer) uneven() {
	for _, d := range c.order {
		for i := range d.line[1] {
			p := &d.line[1][i]
			lacks := func(o *destination) bool { return o != d && c.view(d, o)[i] == noCounterpart }
			if p.copyOf == nil || p.judged || !slices.ContainsFunc(c.order, lacks) {
				continue
			}
			all := c.across(d, 1, p.number)
			told := func(o *destination) bool { return c.blamed[blame{o.client.Addr, p.copyOf.Frame, p.op}] }
			all.few(d)
			all.lack = slices.DeleteFunc(all.lack, told)
			differ := func(kind string, frame int, to *destination, detail, what string) {
				c.differ(result.Difference{Kind: kind, Frame: frame, Opcode: p.op, Type: transport.Standard, To: to.client.Addr, Detail: detail, What: what}, nil, nil)
			}
			switch {
			case len(all.lack) < all.have:
				for _, o := range all.lack {
					differ("missing", p.copyOf.Frame, o, "no copy of the message of "+p.copyOf.Client.String()+" in this frame where others received theirs", "passed on")
				}
			case !told(d) && !c.blamed[blame{d.client.Addr, int(p.frame), p.op}]:
				differ("extra", int(p.frame), d, "other players received no copy at that place", "sent otherwise than to others")
			}
		}
	}
}

// lacking reports whether a client certainly lacks its copy of a message,
// although another client received one.
func (c *comparer) lacking(d *destination, x *expect) bool {
	return x.copied() && classOf(x.typ) == 1 && c.ended && slices.ContainsFunc(x.src.spots, func(p spot) bool {
		i, ok := p.to.line[1].index(p.number)
		return ok && p.class == 1 && p.to != d && c.view(p.to, d)[i] == noCounterpart
	})
}

// inPlace reports whether a message was recorded between its neighbours.
func (l line) inPlace(i int) bool {
	return (i == 0 || l[i-1].frame <= l[i].frame) && (i == len(l)-1 || l[i].frame <= l[i+1].frame)
}
