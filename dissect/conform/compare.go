package conform

import (
	"cmp"
	"hash/maphash"
	"net/netip"
	"slices"
	"strconv"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/conform/internal/align"
	"github.com/bcdissect/bcdissect/dissect/conform/result"
	"github.com/bcdissect/bcdissect/dissect/relay"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// A model is a bit for each host with which the captured host is compared.
type model uint8

const (
	stockModel model = 1 << iota
	dialectModel
)

// A source is the input of the timeline that caused a model's message.
type source struct {
	Event                 // without its body, and without the number of a control message
	spots   []spot        // places of the messages that it caused
	index   int32         // index of the input, counted from the start of the capture
	matched int32         // number of copies that came
	key     uint64        // key of its copies, 0 if there are none
	object  wire.ObjectID // object that it creates
	shared  bool          // another client has sent the same
	counted bool          // it counts in what is heard of its client
	until   int           // frame of its client's next message with the opcode, 0 if there is none
}

// A spot is the place of one of the host's numbered messages.
type spot struct {
	to     *destination
	number int64
	class  uint8
}

// An expect is a message that a model sent to a client, and that the captured
// host should also have sent.
type expect struct {
	key     uint64
	to      *Client
	src     *source
	body    []byte
	alt     *expect      // the other model's message that replaces it
	tally   *tally       // the unreliable messages that are judged together with it, nil if it has a number
	rule    *decode.Rule // rule by which a host that protects its players changes or drops the message
	changed uint64       // key of the changed message, 0 if it does not come
	subject uint64
	signs   [2]int // signs of the author, and when the receiver was served, up to the cause
	why     string // reason why it is not required

	by       model
	typ      transport.Type
	op       decode.Opcode
	reliable bool
	priority bool
	replica  bool // the host creates an object because of the receiver's own message, in the state that the host knows
	done     bool
}

func (x *expect) finished() bool { return x.done }
func (g *got) finished() bool    { return g.done }

// copied reports whether the expected message is a copy of its cause.
func (x *expect) copied() bool { return x.src.Kind == Input && x.src.Op == x.op && x.src.Type == x.typ }

// refused returns the rule by which a host that protects its players does not
// send a message, or nil if there is none. It does not explain why one player
// got a copy and another did not.
func (x *expect) refused() *decode.Rule {
	if x.changed != 0 || x.copied() && x.src.matched > 0 {
		return nil
	}
	return x.rule
}

// classOf returns the sequence space of a message's number.
func classOf(typ transport.Type) int {
	if typ == transport.Standard {
		return 1
	}
	return 0
}

// A got is a message that the captured host sent.
type got struct {
	*Event
	own     *source // the latest client message with the same bytes when it came
	again   bool    // it is a retransmission: another message has the same number
	key     uint64
	subject uint64
	done    bool
	open    bool // the capture may lack the client's message that caused it
}

// Limits for all clients together: messages that wait for their counterpart,
// and messages whose places are remembered.
const (
	maxPending      = 1 << 15
	maxPendingBytes = 16 << 20
	maxPlaces       = 3 << 17
	maxInputs       = 1 << 13
	maxDestinations = 2 * maxClients
	maxEnds         = 1 << 13
	sourcePlaces    = 4 // a client's message takes as much memory as this number of places
)

// A comparer compares the models' messages with the captured host's. It pairs
// messages with the same bytes at once. It judges the others at the end, when
// the numbers of all messages are known.
type comparer struct {
	judge     model // model that decides
	both      bool  // the other model exists, too
	t         *timeline
	rep       *result.Report
	seed      maphash.Seed
	order     []*destination
	src       *source // the current input, nil before the first
	buf       []byte
	got       got       // message being handled
	step      []*expect // expected messages because of the current input
	load      load      // all messages that wait
	room      int       // when more messages wait, finished ones are dropped
	places    int       // number of numbered messages that are remembered
	inputs    inputs
	returns   [256]bool // opcodes of messages that are sent back to their authors
	rates     rates
	sums      sums
	simulates bool // the host sends its own updates that move ships
	work      work
	blamed    map[blame]bool              // messages that a reported difference is about
	ended     bool                        // all messages have come
	sayers    map[uint64][]netip.AddrPort // by key: the clients whose messages were passed on
	passed    [2][]align.Element          // buffers that lookAcross reuses
	ends      map[wire.ObjectID]int       // frames that first show that a ship is gone: that it explodes, or its player's message
}

func newComparer(t *timeline, rep *result.Report, judge model, both bool) *comparer {
	return &comparer{
		judge: judge, both: both, t: t, rep: rep, seed: maphash.MakeSeed(), work: work{allowed: stepsFirst},
		rates: rates{by: map[group]*tally{}}, sums: sums{shares: map[share][]*scored{}, sure: map[share]bool{}},
		blamed: map[blame]bool{}, inputs: inputs{map[uint64]*source{}}, ends: map[wire.ObjectID]int{},
	}
}

// A destination has the messages to one client.
type destination struct {
	client    *Client
	expects   []*expect            // expected messages that have not come, in the order of their causes
	gots      []*got               // captured messages without a cause so far
	awaited   map[uint64][]*expect // expects by key
	causeless map[uint64][]*got    // gots by key
	newest    int32                // index of the latest input with a message that came
	names     map[uint64]bool      // NameChanges that it should have received, or has received
	doubtful  map[uint64]bool      // keys of messages that may be confused with others of the same bytes
	scores    map[counter]count    // the scores that it was told
	scoredAt  int64                // number of the latest message about scores
	scoresGap int64                // number of the first such message after the latest gap
	line      [2]line              // its numbered messages, by class
	left      [2]map[int64]*got    // numbered messages without a cause, while they are judged
	work      *work
	onArrival bool // the host acts on messages as they arrive
	views     map[*destination][]int32
}

func (c *comparer) dest(client *Client) *destination {
	if client.to == nil {
		c.forget()
		client.to = newDestination(client, &c.work)
		c.order = append(c.order, client.to)
	}
	return client.to
}

func newDestination(client *Client, w *work) *destination {
	return &destination{client: client, awaited: map[uint64][]*expect{}, causeless: map[uint64][]*got{}, names: map[uint64]bool{}, doubtful: map[uint64]bool{}, scores: map[counter]count{}, views: map[*destination][]int32{}, work: w}
}

// forget makes room for another destination. It judges the leftover messages to
// the first client that is gone, and drops them.
func (c *comparer) forget() {
	i := slices.IndexFunc(c.order, func(d *destination) bool { return d.client.gone })
	if i < 0 || len(c.order) < c.t.budget.of(maxDestinations) {
		return
	}
	d := c.order[i]
	c.order = slices.Delete(c.order, i, i+1)
	c.t.noted[result.LimitEarly] += c.resolve(d, len(d.expects), len(d.gots))
	c.places -= len(d.line[0]) + len(d.line[1]) + sourcePlaces*len(d.client.said)
	*d = *newDestination(d.client, d.work)
	d.client.said = nil
}

// newName reports whether a name was not sent before.
func (d *destination) newName(key uint64, r *result.Noted) bool {
	const most = 1024
	if d.names[key] {
		return false
	}
	if len(d.names) >= most {
		r[result.LimitNames]++
		return false
	}
	d.names[key] = true
	return true
}

// inputs are the clients' latest messages, by the keys of their copies. New
// messages go into the first map. When that is full, it becomes the second one.
type inputs [2]map[uint64]*source

func (in *inputs) add(key uint64, s *source, most int) {
	if len(in[0]) >= most {
		in[1], in[0] = in[0], map[uint64]*source{}
	}
	if old := in.find(key); old != nil && old.Client != s.Client {
		s.shared = true // several clients send it
	}
	in[0][key], s.key = s, key
}

func (in *inputs) find(key uint64) *source { return cmp.Or(in[0][key], in[1][key]) }

// own returns the latest client message with the bytes of a captured one, or the
// leave of which a Disconnect tells.
func (c *comparer) own(g *got) *source {
	if m, ok := c.t.bodies.control(g.Type, g.Body).(*transport.Goodbye); ok {
		for _, o := range slices.Backward(c.t.order) {
			if o.exit != nil && o.Peer == m.ID && o != g.Client {
				return o.exit
			}
		}
	}
	return cmp.Or(g.own, c.inputs.find(g.key))
}

// normal appends the body in the form for comparison: without values that
// depend on the host's clock or ids.
func (c *comparer) normal(dst []byte, typ transport.Type, body []byte) []byte {
	switch {
	case typ == transport.Connect:
		return dst // the id does not count
	case typ != transport.Standard || len(body) == 0:
		return append(dst, body...)
	}
	return c.t.bodies.comparable(dst, body, !c.t.partial())
}

func (c *comparer) key(typ transport.Type, reliable, priority bool, body []byte) uint64 {
	if c.buf = append(c.buf[:0], byte(typ)); typ == transport.Standard {
		c.buf = strconv.AppendBool(strconv.AppendBool(c.buf, reliable), priority)
	}
	c.buf = c.normal(c.buf, typ, body)
	return max(maphash.Bytes(c.seed, c.buf), 1) // 0 means no key
}

// compared reports whether a message that a model sends has a counterpart that
// can be compared.
func (c *comparer) compared(s *sent) bool {
	if s.Type == transport.Standard {
		return c.t.bodies.spec(s.Type, s.op).Made != decode.MadeByScores
	}
	return s.Type == transport.NameChange || s.Type == transport.Connect || s.Type == transport.Disconnect
}

// expected handles a message that a model sent.
func (c *comparer) expected(by model, s *sent) {
	if !c.compared(s) {
		return
	}
	x := expect{
		to: s.to, by: by, src: c.src, typ: s.Type, op: s.op, body: s.Body,
		reliable: s.Reliable, priority: s.Priority, signs: [2]int{c.src.Client.signs, s.to.served},
	}
	x.replica = creates(c.specOf(&x)) && x.src.Client == x.to
	x.key = c.key(x.typ, x.reliable, x.priority, x.body)
	if d := s.departs; d != nil {
		if x.rule = relay.Rules[d.Guard]; d.Spare {
			x.why = "a creation in another player's range took its place, unless the host refuses those"
		}
		if d.Instead != nil {
			x.changed = c.key(x.typ, x.reliable, x.priority, d.Instead)
		}
	}
	for _, o := range c.step {
		if o.key == x.key && o.to == x.to && o.by&by == 0 {
			o.by |= by
			return
		}
	}
	kept := x
	c.step = append(c.step, &kept)
}

// settle adds the models' messages for one input to the expected messages.
func (c *comparer) settle() {
	step := c.step
	c.step = c.step[:0]
	c.work.allowed += stepsEach
	c.say(c.src)
	if c.both {
		alternate(step)
	}
	for _, x := range step {
		d := c.dest(x.to)
		if x.typ == transport.NameChange && !d.newName(x.key, &c.t.noted) {
			continue // hosts differ in when they tell a new client about the others
		}
		if x.typ == transport.NameChange && x.changed != 0 {
			d.newName(x.changed, &c.t.noted)
		}
		if x.by&c.judge != 0 {
			c.rates.expected(x)
			c.rep.Row(x.typ, x.op).Expected++
		}
		if x.copied() {
			c.inputs.add(x.key, x.src, c.t.budget.of(maxInputs))
		}
		switch {
		case x.why != "":
		case x.src.MadeUp:
			x.why = "the capture lacks the client's message"
		case x.src.Client != x.to && !x.to.proved():
			x.why = "the client had not used its id, and the host had acknowledged none of its messages"
		}
		if !x.done { // the other model's message has not come instead of it
			c.await(d, x)
		}
	}
	clear(step)
	c.relieve()
}

// alternate finds the messages of the two models that replace each other.
func alternate(step []*expect) {
	for _, x := range step {
		if x.by != stockModel {
			continue
		}
		i := slices.IndexFunc(step, func(o *expect) bool {
			return o.by == dialectModel && o.alt == nil && o.to == x.to && o.typ == x.typ && o.op == x.op
		})
		if i >= 0 {
			x.alt, step[i].alt = step[i], x
		}
	}
}

// await pairs an expected message with a captured one that came earlier. If
// there is none, the message waits.
func (c *comparer) await(d *destination, x *expect) {
	for _, key := range [...]uint64{x.key, x.changed} {
		if g := find(d.work, d.causeless, key, func(g *got) bool { return d.fits(x, g) }); g != nil {
			c.pair(d, x, g)
			return
		}
	}
	d.expects = append(d.expects, x)
	d.wait(x)
	c.load.add(len(x.body))
}

// say records a client's message in the order of its number.
func (c *comparer) say(src *source) {
	if src.Number < 0 {
		return
	}
	if c.places >= c.t.budget.of(maxPlaces) || !insert(&src.Client.said, atNumber(src.Client.said, src.Number+1), src) {
		c.t.noted[result.LimitMemory]++
		return
	}
	c.places += sourcePlaces
}

// place records a message of the host in the order of its number.
func (c *comparer) place(d *destination, g *got) {
	if g.Number < 0 {
		return
	}
	l := d.line[classOf(g.Type)]
	i, there := l.index(g.Number)
	switch {
	case there && l[i].key == g.key:
	case there && l.aliased(g.Number, l[i].key): // that one is a retransmission with another number
		for _, o := range d.gots {
			o.again = o.again || o.Number == g.Number && o.Type == g.Type && o.key != g.key
		}
		l[i] = g.place()
	case there: // this one may be
		g.again, l[i].torn = true, true
	case c.places >= c.t.budget.of(maxPlaces) || !insert(&d.line[classOf(g.Type)], i, g.place()):
		c.t.noted[result.LimitMemory]++
	default:
		c.places++
	}
}

// place returns the place of a numbered message.
func (g *got) place() place {
	return place{number: g.Number, key: g.key, op: g.Op, frame: int32(g.Frame)} //nolint:gosec // a frame number
}

// output handles a message of the captured host.
func (c *comparer) output(e *Event) {
	d := c.dest(e.Client)
	c.rep.Row(e.Type, e.Op).Emitted++
	c.got = got{Event: e, key: c.key(e.Type, e.Reliable, e.Priority, e.Body)}
	g := &c.got
	c.sums.told(c, d, g)
	c.work.allowed += stepsEach
	c.place(d, g)
	if x := c.choose(d, g); x != nil {
		c.pair(d, x, g)
		return
	}
	if g.updates(msg.DirtySubsystems) || c.full(2) && e.standard() && e.Op == msg.OpStateUpdate && c.hostMade(d, g) != "" {
		c.surplus(d, g) // it has no cause: no host passes on updates of subsystems
		return
	}
	g = &got{Event: e.keep(), key: g.key, own: c.inputs.find(g.key), again: g.again}
	d.gots = append(d.gots, g)
	d.causeless[g.key] = append(d.causeless[g.key], g)
	c.load.add(len(g.Body))
	c.relieve()
}

// find returns the first message with a key that waits and fits. It returns nil
// if there is none.
func find[T interface{ finished() bool }](w *work, all map[uint64][]T, key uint64, fits func(T) bool) (none T) {
	list, done := all[key], 0
	for i, m := range list {
		if w.spend(stepsFar); i > 0 && w.over() {
			break
		}
		if m.finished() {
			done++
		} else if fits(m) {
			return m
		}
	}
	if 2*done > len(list) {
		all[key] = slices.DeleteFunc(list, T.finished)
	}
	return none
}

// choose returns the first expected message that matches a captured one and
// keeps its author's order of numbers. It prefers messages that the host has to
// send.
func (c *comparer) choose(d *destination, g *got) *expect {
	var spare *expect
	fitting := find(d.work, d.awaited, g.key, func(x *expect) bool {
		switch {
		case x.by == stockModel && c.judge == dialectModel && d.newest > x.src.index: // only the stock host sends it, and would do so at once
			return false
		case x.why != "":
			spare = cmp.Or(spare, x)
			return false
		}
		return d.fits(x, g)
	})
	return cmp.Or(fitting, spare)
}

// fits reports whether a captured message can be a copy of an expected one,
// given its author's order of messages.
func (d *destination) fits(x *expect, g *got) bool {
	switch {
	case g.Frame < x.src.Client.First: // the client had not connected
		return false
	case g.Number < 0 || x.src.Number < 0 || !x.copied(): // answers come at any time
		return true
	}
	lo, hi := d.numbersOf(classOf(g.Type), x.src.Client, g.Number, false)
	return lo < x.src.Number && x.src.Number < hi
}

// rematch pairs leftover messages with the same bytes that do not keep their
// author's order, since a host may act on messages as they arrive.
func (c *comparer) rematch(d *destination) {
	for _, g := range d.gots {
		x := find(d.work, d.awaited, g.key, func(x *expect) bool {
			if g.Number < 0 || x.typ == transport.NameChange { // hosts differ in when they send a name
				return true
			}
			lo, hi := c.bounds(d, x.src, classOf(x.typ))
			return lo < g.Number && g.Number < hi && g.Frame >= x.src.Client.First
		})
		if x != nil && !g.done {
			c.pair(d, x, g)
		}
	}
	d.tidy(&load{})
}

// pair pairs an expected and a captured message. The captured message is
// borrowed until the call returns.
func (c *comparer) pair(d *destination, x *expect, g *got) {
	x.done, g.done = true, true
	x.body = nil
	if g.Number >= 0 && (!x.copied() || x.src != x.src.Client.entry) { // copies of entries look alike
		class := classOf(g.Type)
		if d.line[class].caused(g.Number, x.src, x.copied()) > 0 && (x.copied() || !creates(c.specOf(x))) { // ships are told again and again
			x.src.spots = append(x.src.spots, spot{to: d, class: uint8(class), number: g.Number})
		}
	}
	if x.by&c.judge != 0 {
		d.newest = max(d.newest, x.src.index)
	}
	row := c.rep.Row(x.typ, x.op)
	if x.tally != nil {
		x.tally.came++
	}
	if x.copied() {
		if x.src.matched++; x.src.matched == 1 && x.src.counted {
			x.src.Client.heard.Failed--
			x.src.Client.signs++
		}
		if x.src.matched == 1 && x.by == dialectModel {
			c.rep.Break(result.Passed, x.typ, x.op, x.src.Frame, true)
		}
		c.returns[x.op] = c.returns[x.op] || x.src.Client == x.to
		if lag := g.Time.Sub(x.src.Time); lag >= 0 {
			row.Lag(lag)
		}
	}
	switch changed := x.key != g.key; {
	case changed:
		row.Explained++
		c.rep.Deviate(x.rule, x.typ, x.op, g.Frame)
	case x.by&c.judge != 0:
		row.Matched++
	default: // only the other model sends it
		row.Explained++
	}
	if c.both && x.by != stockModel|dialectModel {
		c.choice(x, g)
	}
}

// choice records which of two models a message agrees with, if the models
// disagree.
func (c *comparer) choice(x *expect, g *got) {
	how := "missing"
	if x.by == dialectModel {
		how = "extra"
	}
	if x.alt != nil && !x.alt.done {
		x.alt.done, how = true, "differs"
	}
	rule := c.deviationOf(x, how)
	if x.by == dialectModel {
		c.rep.Deviate(rule, x.typ, x.op, g.Frame)
		return
	}
	if how == "differs" && c.judge == dialectModel {
		c.rep.Row(x.typ, x.op).Expected--
	}
	c.rep.Fixes(rule, g.Frame) // the host did as the stock host does
}

// relieve enforces the limits of the waiting messages. It drops finished
// messages, and then judges those that have waited longest.
func (c *comparer) relieve() {
	if c.load.messages <= c.room && !c.full(1) {
		return
	}
	c.tidy()
	if c.room = 2 * (c.load.messages + 1024); !c.full(1) { // seldom if few wait
		return
	}
	for _, d := range c.order {
		c.t.noted[result.LimitEarly] += c.resolve(d, len(d.expects)/2, len(d.gots)/2)
	}
	c.tidy()
}

// full reports whether a part of the limits of the waiting messages is reached.
func (c *comparer) full(part int) bool {
	return c.load.messages > c.t.budget.of(maxPending)/part || c.load.bytes > c.t.budget.of(maxPendingBytes)/part
}

// tidy drops finished messages, and counts the others.
func (c *comparer) tidy() {
	c.load = load{}
	for _, d := range c.order {
		d.tidy(&c.load)
	}
}

// tidy drops finished messages, and adds the others to a load.
func (d *destination) tidy(l *load) {
	d.expects = slices.DeleteFunc(d.expects, (*expect).finished)
	d.gots = slices.DeleteFunc(d.gots, (*got).finished)
	clear(d.awaited)
	clear(d.causeless)
	for _, x := range d.expects {
		l.add(len(x.body))
		d.wait(x)
	}
	for _, g := range d.gots {
		l.add(len(g.Body))
		d.causeless[g.key] = append(d.causeless[g.key], g)
	}
}

// wait adds an expected message to those that are found by their keys.
func (d *destination) wait(x *expect) {
	for _, key := range [...]uint64{x.key, x.changed} {
		if key > 0 {
			d.awaited[key] = append(d.awaited[key], x)
		}
	}
}

// load counts the messages that wait for their counterpart.
type load struct{ messages, bytes int }

func (l *load) add(size int) { l.messages++; l.bytes += size }

// finish judges all messages that still wait.
func (c *comparer) finish(lossy bool) {
	c.rates.lossy = lossy || c.t.lossy()
	for _, d := range c.order {
		d.onArrival = c.actsOnArrival()
		for _, o := range c.t.order {
			d.doubtCrossed(o.said)
		}
	}
	markAmbiguous := func() {
		c.tidy()
		for _, d := range c.order {
			d.markAmbiguous()
		}
	}
	markAmbiguous()
	for _, d := range c.order {
		c.rematch(d)
		c.align(d)
	}
	c.ended = true
	markAmbiguous()
	for _, d := range c.order {
		c.resolve(d, len(d.expects), len(d.gots))
	}
	c.uneven()
	c.settleRates()
	c.sums.judge(c)
}
