package conform

import (
	"hash/maphash"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/packet"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// A model is a bit for each host that the captured one is compared with.
type model uint8

const (
	stockModel model = 1 << iota
	dialectModel
)

// A source is the input of the timeline that made the model send.
type source struct {
	client  *Client
	frame   int
	time    time.Time
	turn    time.Time     // when those before it had come, so that a host acts on it
	skipped time.Duration // of the time before that does not count
	since   time.Time     // when it may have been sent first, if the capture lacks that, otherwise zero
	kind    Kind
	typ     transport.Type
	op      decode.Opcode
	broken  bool
	foreign bool
	madeUp  bool
	receipt *receipt
	id      uint8         // that a Disconnect names
	object  wire.ObjectID // that a RequestObject asks for
	matched int           // copies that came
	number  int64         // of an input, -1 if it has none
	body    []byte        // of an input
	departs []departure   // of the model, because of the input
	flood   bool          // the client sends more than its budget
	excess  bool          // this message is beyond the budget
	copies  []copyAt      // that are certainly its copies
	key     uint64        // of its copies
	nobody  bool          // counted as passed on to nobody
	counted bool          // counted as unreliable
	caused  bool          // a model sent something because of it
}

// first returns the earliest time at which the message may have been sent.
func (s *source) first() time.Time {
	switch {
	case s.madeUp:
		return s.time.Add(-longestLost) // nobody knows when the client sent it
	case !s.since.IsZero():
		return s.since
	}
	return s.time
}

// notTaken reports whether the host has not acknowledged the message.
func (s *source) notTaken() bool { return s.receipt != nil && !s.receipt.acknowledged() }

// An expect is a message that a model sent to a client, and that the captured
// host should have sent, too.
type expect struct {
	key     uint64
	to      *Client
	src     *source
	body    []byte
	alt     *expect      // the other model's message in its place
	rule    *decode.Rule // of a host that protects its players, by which it comes changed, or not at all
	changed uint64       // key of the changed message, 0 if it does not come
	index   int
	subject uint64
	number  int64         // of the message that came, -1 if it has none
	lag     time.Duration // until it came
	why     string        // that it is not required

	by       model
	typ      transport.Type
	op       decode.Opcode
	reliable bool
	priority bool
	replica  bool // an object as it was created, that the host describes as it is
	judged   bool // why is known
	queued   bool
	used     bool // it came, and explains why another one did not
	done     bool
	kept     bool // for the end of the capture
	alone    bool // no datagram is there in which it is missing
}

// A got is a message that the captured host sent.
type got struct {
	*Event
	key     uint64
	subject uint64
	done    bool
	queued  bool
}

// keep returns a copy of the message that is the caller's.
func (g *got) keep() *got {
	kept := *g
	kept.Event = g.Event.keep()
	return &kept
}

// How long a message may be missing, and how many are waited for.
const (
	reliableWait   = 20 * time.Second
	unreliableWait = 3 * time.Second
	earliest       = slack                  // that the captured host's copy may come before the model's
	disorder       = time.Second            // after which a copy is not looked for among the later ones
	latest         = 3 * time.Second        // between a message and the one that came in its place
	lastMoment     = 500 * time.Millisecond // before the end, in which nothing need come any more
	mostLooked     = 1 << 10                // at, for one in the place of another
	expireEvery    = 100 * time.Millisecond
	expireAfter    = 1 << 12 // messages, if the clock stands still
)

// Limits of the messages of all clients together that wait for their
// counterpart.
const (
	maxPending      = 1 << 15
	maxPendingBytes = 16 << 20
	maxQueued       = 2 * maxPending // those included that came, but after one that has not
)

// A comparer compares the messages of the models with those of the captured
// host.
type comparer struct {
	judge    model          // that decides
	models   model          // that are there
	sender   decode.Dialect // of the captured host
	t        *timeline
	rep      *Report
	seed     maphash.Seed
	order    []*destination
	index    int
	buf      []byte
	got      got       // that is just looked at
	lists    []*expect // the rest of an array for short lists
	spare    []*expect // that are used again
	step     []*expect // of the current input
	evict    int
	load     load // of all destinations
	queued   int  // in all queues
	last     time.Time
	looked   time.Time // for messages that have waited long enough
	unlooked int       // messages since
	doubts   doubts
	again    again
	twins    map[uint64]twin
	crossing []crossing  // messages of clients while another one comes or leaves
	lost     uint16      // slots of ships that the captured host has told to explode
	cuts     []time.Time // datagrams of clients that the capture cut short
}

func newComparer(t *timeline, rep *Report, judge, models model) *comparer {
	return &comparer{judge: judge, models: models, t: t, rep: rep, seed: maphash.MakeSeed()}
}

func (c *comparer) dest(client *Client) *destination {
	if client.to == nil {
		client.to = newDestination(client, &c.t.reached)
		c.order = append(c.order, client.to)
	}
	return client.to
}

// normal appends the body as it is compared: without values that depend on the
// host's clock or ids.
func (c *comparer) normal(dst []byte, typ transport.Type, body []byte) []byte {
	switch {
	case typ == transport.Connect:
		return dst // the id
	case typ != transport.Standard || len(body) == 0:
		return append(dst, body...)
	}
	return c.t.bodies.comparable(dst, body, !c.t.partial())
}

func (c *comparer) key(typ transport.Type, reliable, priority bool, body []byte) uint64 {
	flags := byte(0)
	if typ == transport.Standard {
		if reliable {
			flags |= 1
		}
		if priority {
			flags |= 2
		}
	}
	c.buf = c.normal(append(c.buf[:0], byte(typ), flags), typ, body)
	return max(maphash.Bytes(c.seed, c.buf), 1) // 0 is no key
}

// keyOf returns the key of an expected message. Those to several clients share a
// body, which does not change.
func (c *comparer) keyOf(x *expect) uint64 {
	if n := len(c.step); n > 0 {
		if o := c.step[n-1]; o.typ == x.typ && o.reliable == x.reliable && o.priority == x.priority && same(o.body, x.body) {
			return o.key
		}
	}
	return c.key(x.typ, x.reliable, x.priority, x.body)
}

// same reports whether two bodies are one.
func same(a, b []byte) bool { return len(a) == len(b) && len(a) > 0 && &a[0] == &b[0] }

// compared reports whether a message that a model sends has a counterpart that
// can be compared.
func (c *comparer) compared(s *sent) bool {
	switch s.typ {
	case transport.Standard:
		return c.t.bodies.spec(s.typ, s.op).Made != decode.MadeByScores
	case transport.NameChange, transport.Connect, transport.Disconnect:
		return true
	case transport.BootPlayer, transport.Acknowledge, transport.DoNothing, transport.Leave:
	}
	return false
}

// expected takes a message that a model sent. Ids that the model gave are
// replaced by those of the captured host.
func (c *comparer) expected(by model, src *source, s *sent) {
	if !c.compared(s) {
		return
	}
	body, why := s.body, ""
	switch {
	case s.typ == transport.Standard && s.op == msg.OpPlayerAnnounce:
		body = c.t.bodies.change(body, func(m decode.Message) {
			if a, ok := m.(*msg.PlayerAnnounce); ok {
				if known := s.renumber(&a.Player); !known {
					why = whyGuessed
				}
			}
		})
	case s.typ == transport.Disconnect && src != nil && src.kind == Left && len(body) > 0:
		body = append([]byte{src.id}, body[1:]...)
	}
	op := s.op
	if by == dialectModel && c.exploded(s, src) {
		if src.op != msg.OpRequestObject {
			return
		}
		op, body = msg.OpVerifyEnterSet, c.verifyEnterSet(src.object)
	}
	if src != nil {
		src.caused = true
	}
	x := c.blank()
	*x = expect{
		to: s.to.client, by: by, src: src, typ: s.typ, op: op, body: body,
		reliable: s.header.Reliable, priority: s.header.Priority, why: why, judged: why != "",
	}
	x.replica = creates(c.specOf(x)) && src != nil && src.client == x.to
	x.key = c.keyOf(x)
	if d := src.departure(s); d != nil {
		if x.rule = d.rule; d.spare {
			x.why, x.judged = whySpare, true
		}
		if d.instead != nil {
			x.changed = c.key(x.typ, x.reliable, x.priority, d.instead)
		}
	}
	for _, o := range c.step {
		if o.key == x.key && o.to == x.to && o.by&by == 0 {
			o.by |= by
			c.recycle(x)
			return
		}
	}
	c.step = append(c.step, x)
}

// renumber puts the captured peer id in the place of the model's, and reports
// whether the capture holds it.
func (s *sent) renumber(id *uint8) (known bool) {
	for _, n := range s.ends {
		if n.client != nil && n.live.ID == *id {
			*id = n.client.Peer
			return !n.client.guessed()
		}
	}
	return true
}

// settle adds the models' messages for one input to the expected ones.
func (c *comparer) settle(now time.Time) {
	step := c.step
	c.step = c.step[:0]
	for _, x := range step {
		if x.by == stockModel && c.models != stockModel {
			for _, o := range step {
				if o.by == dialectModel && o.alt == nil && o.to == x.to && o.typ == x.typ && o.op == x.op {
					x.alt, o.alt = o, x
					break
				}
			}
		}
	}
	for _, x := range step {
		c.index++
		x.index, x.number = c.index, -1
		d := c.dest(x.to)
		if x.typ == transport.NameChange {
			if !d.new(x.key) {
				continue // hosts differ in when they tell a newcomer of the others
			}
			if x.changed != 0 {
				d.new(x.changed)
			}
		}
		if x.by&c.judge != 0 {
			c.rep.row(x.typ, x.op).Expected++
		}
		if x.src != nil {
			switch {
			case x.judged:
			case x.src.madeUp:
				x.why, x.judged = whyMadeUp, true
			case x.src.time.Before(x.to.entered):
				x.why, x.judged = whyEntered, true
			case !x.to.proved() && x.src.client != x.to:
				x.why, x.judged = whyUnproved, true
			}
			c.rep.Invariants.expected(c, x)
			if !x.reliable && x.by&c.judge != 0 {
				c.doubts.expected(x)
			}
		}
		if x.reliable && x.typ == transport.Standard {
			d.sights(x.key, sighting{at: x.src.time, number: x.src.number, author: x.src.client})
			if x.copied() && x.src.number >= 0 && x.by&c.judge != 0 {
				x.src.key = x.key
				c.t.reached[limitMemory] += x.src.client.said.add(x.src)
			}
		}
		if x.done { // the other model's came in its place
			continue
		}
		g := c.firstGot(d.byKey.gots(x.key), x)
		if g == nil && x.changed != 0 {
			g = c.firstGot(d.byKey.gots(x.changed), x)
		}
		if g != nil {
			c.pair(d, x, g)
			d.pass(x)
			c.recycle(x)
			continue
		}
		x.queued = true
		d.expects = append(d.expects, x)
		c.queued++
		c.await(d.byKey.at(x.key), x)
		if x.changed != 0 && x.changed != x.key {
			c.await(d.byKey.at(x.changed), x)
		}
		c.load.add(len(x.body))
	}
	clear(step)
	c.expire(now)
	for c.full() && c.relieve() {
	}
}

// await adds an expected message to those with one of its keys.
func (c *comparer) await(s *slot, x *expect) {
	if s.expects = live(s.expects); len(s.expects) > 0 {
		s.expects = append(s.expects, x)
	} else {
		s.expects = c.alone(x)
	}
}

// blank returns an expected message without contents.
func (c *comparer) blank() *expect {
	n := len(c.spare)
	if n == 0 {
		return new(expect)
	}
	x := c.spare[n-1]
	c.spare = c.spare[:n-1]
	return x
}

// recycle takes back an expected message that came and is in no list any more.
func (c *comparer) recycle(x *expect) {
	const most = 1024
	if x.kept || x.alt != nil || len(c.spare) >= most {
		return
	}
	*x = expect{}
	c.spare = append(c.spare, x)
}

// alone returns a list of one message. Most lists are, so many of them share an
// array.
func (c *comparer) alone(x *expect) []*expect {
	const together = 64
	if len(c.lists) == 0 {
		c.lists = make([]*expect, together)
	}
	list := c.lists[:1:1]
	c.lists = c.lists[1:]
	list[0] = x
	return list
}

// output takes a message of the captured host.
func (c *comparer) output(e *Event) {
	d := c.dest(e.Client)
	d.heard = e.Time
	c.destroyed(e)
	c.rep.row(e.Type, e.Op).Emitted++
	if d.first < 0 && e.standard() && e.Number >= 0 {
		d.first = e.Number
	}
	c.got = got{Event: e, key: c.key(e.Type, e.Reliable, e.Priority, e.Body)}
	if e.standard() && e.Number >= 0 {
		d.sights(c.got.key, sighting{at: e.Time, number: e.Number, came: true})
		d.reached[limitMemory] += d.order.add(place{number: e.Number, key: c.got.key, at: e.Time, loose: e.Late})
	}
	x := d.choose(&c.got)
	if (x == nil || e.Time.Sub(x.src.turn) > d.prompt.most()) && c.t.copied(e) {
		x = d.choose(&c.got)
	}
	if x != nil {
		c.pair(d, x, &c.got)
		return
	}
	g := c.got.keep()
	g.queued = true
	d.gots = append(d.gots, g)
	c.queued++
	s := d.byKey.at(g.key)
	s.gots = append(s.gots, g)
	c.load.add(len(g.Body))
	c.expire(e.Time)
	for c.full() && c.relieve() {
	}
}

// pair takes an expected and a captured message for the same. The latter is
// borrowed until the call returns.
func (c *comparer) pair(d *destination, x *expect, g *got) {
	c.close(x, g)
	x.body = nil
	if g.standard() {
		x.number, x.lag = g.Number, g.Time.Sub(x.src.time)
		if g.Number >= 0 && !g.Late && x.lag >= 0 {
			at := place{number: g.Number, key: g.key, at: g.Time, src: x.src, loose: x.lag > d.usual.most(), copied: x.copied()}
			d.order.caused(&at)
			if at.copied {
				x.src.copies = append(x.src.copies, copyAt{d, at})
			}
		}
	}
	row := c.rep.row(x.typ, x.op)
	if x.src != nil {
		if x.src.matched++; x.src.matched == 1 && x.src.excess && !x.reliable {
			c.doubts.came(x)
		}
		c.rep.Invariants.matched(c, x)
	}
	switch changed := x.key != g.key; {
	case changed:
		row.Explained++
		c.rep.deviate(x.rule, x.typ, x.op, g.Frame)
	case x.by&c.judge != 0:
		row.Matched++
	default: // the other model alone sends it
		row.Explained++
	}
	if x.by == dialectModel && c.models&stockModel != 0 {
		if x.alt != nil && !x.alt.done {
			c.close(x.alt, nil)
			c.rep.deviate(c.deviationOf(x, "differs"), x.typ, x.op, g.Frame)
		} else {
			c.rep.deviate(c.deviationOf(x, "extra"), x.typ, x.op, g.Frame)
		}
	}
	if x.by == stockModel && x.alt != nil {
		c.close(x.alt, nil) // it did as the stock host does
		if c.judge == dialectModel {
			row.Expected--
		}
	}
	if !x.copied() {
		return
	}
	if lag := g.Time.Sub(x.src.time); lag >= 0 {
		if !g.Late {
			d.usual.take(lag)
			d.brought.add(x.index, g.Frame)
			if !g.queued {
				d.prompt.take(g.Time.Sub(x.src.turn))
			}
		}
		c.rep.lag(x.typ, x.op, packet.Sum(lag, g.Skipped-x.src.skipped))
	}
	if g.Number < 0 || x.typ != transport.Standard {
		return
	}
	switch o, ok := d.last[x.src.client]; {
	case !ok || g.Number > o.number && x.follows(&o):
		d.last[x.src.client] = ordered{max(x.index, o.index), g.Number, x.src}
		c.rep.Invariants.inOrder()
	case g.Number > o.number:
		c.doubts.disorder(x, g, o.src)
	}
}

// expire judges messages that have waited long enough.
func (c *comparer) expire(now time.Time) {
	c.last = now
	if c.unlooked++; now.Sub(c.looked) < expireEvery && c.unlooked < c.t.budget.of(expireAfter) {
		return
	}
	c.looked, c.unlooked = now, 0
	c.economize()
	kept := c.order[:0]
	for _, d := range c.order {
		for len(d.expects) > 0 {
			x := d.expects[0]
			wait := reliableWait
			if !x.reliable || x.by&c.judge == 0 {
				wait = unreliableWait
			}
			if !x.done && now.Sub(x.src.time) <= wait {
				break
			}
			c.nextExpect(d)
		}
		for len(d.gots) > 0 {
			if g := d.gots[0]; !g.done && now.Sub(g.Time) <= reliableWait {
				break
			}
			c.nextGot(d)
		}
		c.queued -= d.compact()
		if cl := d.client; cl.gone && len(d.expects)+len(d.gots) == 0 && now.Sub(cl.left) > reliableWait {
			cl.to = nil
			for _, o := range c.order {
				delete(o.last, cl)
			}
			*d = destination{client: cl, reached: d.reached} // others may refer to it for a time
			continue
		}
		kept = append(kept, d)
	}
	clear(c.order[len(kept):])
	c.order = kept
}

// close ends the wait of an expected message, and of one of the host; either may
// be nil.
func (c *comparer) close(x *expect, g *got) {
	if x != nil && !x.done {
		if x.done = true; x.queued {
			c.load.drop(len(x.body))
		}
	}
	if g != nil && !g.done {
		if g.done = true; g.queued {
			c.load.drop(len(g.Body))
		}
	}
}

// full reports whether no more messages may wait.
func (c *comparer) full() bool {
	b := c.t.budget
	return c.load.beyond(b.of(maxPending), b.of(maxPendingBytes)) || c.queued > b.of(maxQueued)
}

// relieve judges the message that waits longest before its time. It reports
// whether there was one.
func (c *comparer) relieve() bool {
	var longest *destination
	var since time.Time
	for _, d := range c.order {
		if len(d.expects) > 0 && (longest == nil || d.expects[0].src.time.Before(since)) {
			longest, since = d, d.expects[0].src.time
		}
		if len(d.gots) > 0 && (longest == nil || d.gots[0].Time.Before(since)) {
			longest, since = d, d.gots[0].Time
		}
	}
	if longest == nil {
		return false
	}
	d := longest
	const why = "too many messages waited for their counterpart"
	if len(d.expects) > 0 && d.expects[0].src.time.Equal(since) {
		if x := d.expects[0]; !x.done {
			c.close(x, nil)
			c.evict++
			if x.by&c.judge != 0 {
				c.excuse(x, why)
			}
		}
		c.nextExpect(d)
		return true
	}
	if g := d.gots[0]; !g.done {
		c.close(nil, g)
		c.evict++
		c.incomparable(g, why)
	}
	c.nextGot(d)
	return true
}

// nextExpect takes the first expected message from its queue, and judges it if
// it has not come.
func (c *comparer) nextExpect(d *destination) {
	x := d.expects[0]
	came := x.done
	if !came {
		c.overdue(d, x)
		c.close(x, nil)
	}
	d.pass(x)
	d.expects[0] = nil
	d.expects = d.expects[1:]
	c.queued--
	d.dropExpect(x)
	if came {
		c.recycle(x)
	}
}

// nextGot takes the first message of the host from its queue, and judges it if
// nothing asked for it.
func (c *comparer) nextGot(d *destination) {
	g := d.gots[0]
	if !g.done {
		c.surplus(d, g)
		c.close(nil, g)
	}
	d.gots[0] = nil
	d.gots = d.gots[1:]
	c.queued--
	d.dropGot(g)
}

// finish judges all that is left; lossy is whether the capture lacks messages of
// another host's game.
func (c *comparer) finish(lossy bool) {
	for _, d := range c.order {
		for len(d.expects) > 0 {
			c.nextExpect(d)
		}
		for len(d.gots) > 0 {
			c.nextGot(d)
		}
	}
	c.resolve(lossy)
}
