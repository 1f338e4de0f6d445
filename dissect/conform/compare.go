package conform

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"sort"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/event"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/wire"
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
	kind    Kind
	typ     transport.Type
	op      decode.Opcode
	broken  bool
	id      uint8         // that a Disconnect names
	object  wire.ObjectID // that a RequestObject asks for
	matched int           // copies that came
}

// An expect is a message that a model sent to a client, and that the captured
// host should have sent, too.
type expect struct {
	key      uint64
	to       *Client
	by       model
	src      *source
	typ      transport.Type
	op       decode.Opcode
	body     []byte
	reliable bool
	priority bool
	replica  bool    // an object as it was created, that the host describes as it is
	alt      *expect // the other model's message in its place
	index    int
	done     bool
}

// A got is a message that the captured host sent.
type got struct {
	*Event
	key  uint64
	done bool
}

// How long a message may be missing, and how many are waited for.
const (
	reliableWait   = 20 * time.Second
	unreliableWait = 3 * time.Second
	earliest       = time.Second            // that the captured host's copy may come before the model's
	latest         = 3 * time.Second        // between a message and the one that came in its place
	lastMoment     = 500 * time.Millisecond // before the end, in which nothing need come any more
	maxPending     = 1 << 15                // messages of either kind to a client
	mostLooked     = 1 << 10                // at, for one in the place of another
	maxGaps        = 256
)

// A destination holds the messages to one client that wait for their
// counterpart.
type destination struct {
	client   *Client
	expects  []*expect // in order; done ones go from the front
	gots     []*got
	byKey    map[uint64][]*expect
	gotByKey map[uint64][]*got
	last     map[*Client]ordered // by sender
	names    map[uint64]bool     // NameChanges that it should have got, or did
	cuts     []time.Time         // datagrams to the client that the capture cut short
	heard    time.Time           // of the host
	first    int64               // number of the data class
	next     int64               // number after the highest
	numbered time.Time           // of that
	begun    bool
	gaps     []gap
}

// ordered is the last pair that matched.
type ordered struct {
	index  int
	number int64
}

// A gap is a sequence number that the captured host skipped.
type gap struct {
	number     int64
	from, till time.Time
}

// A comparer compares the messages of the models with those of the captured
// host.
type comparer struct {
	judge  model          // that decides
	models model          // that are there
	sender decode.Dialect // of the captured host
	t      *timeline
	rep    *Report
	seed   maphash.Seed
	dests  map[*Client]*destination
	order  []*destination
	index  int
	buf    []byte
	step   []*expect // of the current input
	evict  int
	last   time.Time
	lost   uint16      // slots of ships that the captured host has told to explode
	cuts   []time.Time // datagrams of clients that the capture cut short
}

func newComparer(t *timeline, rep *Report, judge, models model) *comparer {
	return &comparer{judge: judge, models: models, t: t, rep: rep, seed: maphash.MakeSeed(), dests: map[*Client]*destination{}}
}

func (c *comparer) dest(client *Client) *destination {
	d := c.dests[client]
	if d == nil {
		d = &destination{
			client: client, byKey: map[uint64][]*expect{}, gotByKey: map[uint64][]*got{}, last: map[*Client]ordered{}, names: map[uint64]bool{},
		}
		c.dests[client] = d
		c.order = append(c.order, d)
	}
	return d
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
	return maphash.Bytes(c.seed, c.buf)
}

// compared reports whether a message that a model sends has a counterpart that
// can be compared.
func compared(s *sent) bool {
	switch s.typ {
	case transport.Standard:
		return s.op != msg.OpScore && s.op != msg.OpScoreInit && s.op != msg.OpTeamScore
	case transport.NameChange, transport.Connect, transport.Disconnect:
		return true
	case transport.BootPlayer, transport.Acknowledge, transport.DoNothing, transport.Leave:
	}
	return false
}

// expected takes a message that a model sent. Ids that the model gave are
// replaced by those of the captured host.
func (c *comparer) expected(by model, src *source, s *sent) {
	if !compared(s) {
		return
	}
	body := bytes.Clone(s.body)
	switch {
	case s.typ == transport.Standard && s.op == msg.OpPlayerAnnounce:
		body = c.t.bodies.change(body, func(m decode.Message) {
			if a, ok := m.(*msg.PlayerAnnounce); ok {
				s.renumber(&a.Player)
			}
		})
	case s.typ == transport.Disconnect && src != nil && src.kind == Left && len(body) > 0:
		body[0] = src.id
	}
	op := s.op
	if by == dialectModel && c.exploded(s, src) {
		if src.op != msg.OpRequestObject {
			return
		}
		op, body = msg.OpVerifyEnterSet, c.verifyEnterSet(src.object)
	}
	x := &expect{
		to: s.to.client, by: by, src: src, typ: s.typ, op: op, body: body,
		reliable: s.header.Reliable, priority: s.header.Priority,
	}
	x.replica = s.typ == transport.Standard && (op == msg.OpObjectCreate || op == msg.OpObjectCreateTeam) && src != nil && src.client == x.to
	x.key = c.key(x.typ, x.reliable, x.priority, body)
	for _, o := range c.step {
		if o.key == x.key && o.to == x.to && o.by&by == 0 {
			o.by |= by
			return
		}
	}
	c.step = append(c.step, x)
}

// exploded reports whether a model sends a client a ship that the captured
// host's simulation has destroyed.
func (c *comparer) exploded(s *sent, src *source) bool {
	if s.typ != transport.Standard || s.op != msg.OpObjectCreateTeam || src == nil || src.client != s.to.client {
		return false
	}
	created, ok := createdBy(c.t.bodies.game(s.body))
	return ok && slotIn(created.slot) >= 0 && c.lost&(1<<created.slot) != 0
}

// verifyEnterSet returns the message that names an object.
func (c *comparer) verifyEnterSet(id wire.ObjectID) []byte {
	// The error is of values that do not fit; this one does.
	b, _ := decode.Append(nil, c.t.catalog.Lookup(msg.OpVerifyEnterSet), &msg.VerifyEnterSet{Object: id}, decode.Stock)
	return b
}

// destroyed notes ships that the captured host tells to explode, and new ones.
func (c *comparer) destroyed(e *Event) {
	switch {
	case !e.standard():
	case e.Kind == Input && e.Op == msg.OpObjectCreateTeam:
		if created, ok := createdBy(c.t.bodies.game(e.Body)); ok && slotIn(created.slot) >= 0 {
			c.lost &^= 1 << created.slot
		}
	case e.Kind == Output && e.Op == msg.OpHostEvent:
		if m, ok := c.t.bodies.game(e.Body).(*msg.HostEvent); ok && m.Code == event.CodeObjectExploding {
			if slot, ok := m.Dest.Slot(); ok {
				c.lost |= 1 << slot
			}
		}
	}
}

// renumber puts the captured peer id in the place of the model's.
func (s *sent) renumber(id *uint8) {
	for _, n := range s.ends {
		if n.client != nil && n.live.ID == *id {
			*id = n.client.Peer
			return
		}
	}
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
		x.index = c.index
		d := c.dest(x.to)
		if x.typ == transport.NameChange && !d.new(x.key) {
			continue // hosts differ in when they tell a newcomer of the others
		}
		if x.by&c.judge != 0 {
			c.rep.row(x.typ, x.op).Expected++
		}
		if x.src != nil {
			c.rep.Invariants.expected(c, x)
		}
		if g := firstGot(d.gotByKey[x.key], x); g != nil {
			c.pair(d, x, g)
			continue
		}
		d.expects = append(d.expects, x)
		d.byKey[x.key] = append(live(d.byKey[x.key]), x)
		if len(d.expects) > maxPending {
			c.evict++
			c.overdue(d, d.expects[0])
			d.expects[0].done = true
		}
	}
	clear(step)
	c.expire(now)
}

// new reports whether a name was not told before.
func (d *destination) new(key uint64) bool {
	const most = 1024
	if d.names[key] || len(d.names) >= most {
		return false
	}
	d.names[key] = true
	return true
}

// live drops finished entries from the front.
func live(list []*expect) []*expect {
	for len(list) > 0 && list[0].done {
		list = list[1:]
	}
	return list
}

func firstGot(list []*got, x *expect) *got {
	for _, g := range list {
		if !g.done && (x.src == nil || !g.Time.Before(x.src.time.Add(-earliest))) {
			return g
		}
	}
	return nil
}

// output takes a message of the captured host.
func (c *comparer) output(e *Event) {
	d := c.dest(e.Client)
	d.heard = e.Time
	c.destroyed(e)
	c.rep.row(e.Type, e.Op).Emitted++
	if e.standard() && e.Number >= 0 {
		d.number(e)
	}
	g := &got{Event: e, key: c.key(e.Type, e.Reliable, e.Priority, e.Body)}
	if x := d.choose(g); x != nil {
		c.pair(d, x, g)
		return
	}
	d.gots = append(d.gots, g)
	d.gotByKey[g.key] = append(d.gotByKey[g.key], g)
	if len(d.gots) > maxPending {
		c.evict++
		c.surplus(d, d.gots[0])
		d.gots[0].done = true
	}
}

// choose returns the expected message that matches a captured one: the first
// that keeps the order of the client's messages.
func (d *destination) choose(g *got) *expect {
	var first *expect
	list := live(d.byKey[g.key])
	if len(list) == 0 {
		delete(d.byKey, g.key)
		return nil
	}
	d.byKey[g.key] = list
	for _, x := range list {
		if x.done {
			continue
		}
		if first == nil {
			first = x
		}
		if o, ok := d.last[x.sender()]; !ok || g.Number < o.number || x.index > o.index {
			return x
		}
	}
	return first
}

// sender returns the client that sent the original of the expected message.
func (x *expect) sender() *Client {
	if x.src == nil {
		return nil
	}
	return x.src.client
}

// number keeps account of the numbers of the data class that the host uses.
func (d *destination) number(e *Event) {
	if !d.begun {
		d.begun, d.first, d.next, d.numbered = true, e.Number, e.Number+1, e.Time
		return
	}
	if e.Number < d.next {
		for i := range d.gaps {
			if d.gaps[i].number == e.Number {
				d.gaps = append(d.gaps[:i], d.gaps[i+1:]...)
				break
			}
		}
		return
	}
	for n := max(d.next, e.Number-maxGaps); n < e.Number; n++ {
		if len(d.gaps) == maxGaps {
			d.gaps = d.gaps[1:]
		}
		d.gaps = append(d.gaps, gap{n, d.numbered, e.Time})
	}
	d.next, d.numbered = e.Number+1, e.Time
}

// skipped uses up a number that the host skipped about when it should have sent
// the message.
func (d *destination) skipped(x *expect) bool {
	if !x.reliable || x.typ != transport.Standard {
		return false
	}
	for i, g := range d.gaps {
		if !x.src.time.Before(g.from.Add(-lastMoment)) && !x.src.time.After(g.till) {
			d.gaps = append(d.gaps[:i], d.gaps[i+1:]...)
			return true
		}
	}
	return false
}

// pair takes an expected and a captured message for the same.
func (c *comparer) pair(d *destination, x *expect, g *got) {
	x.done, g.done = true, true
	row := c.rep.row(x.typ, x.op)
	if x.src != nil {
		x.src.matched++
		c.rep.Invariants.matched(x)
	}
	switch {
	case x.by&c.judge != 0:
		row.Matched++
	default: // the other model alone sends it
		row.Explained++
	}
	if x.by == dialectModel && c.models&stockModel != 0 {
		if x.alt != nil && !x.alt.done {
			x.alt.done = true
			c.rep.deviate(deviationOf(x, "differs"), x.typ, x.op, g.Frame)
		} else {
			c.rep.deviate(deviationOf(x, "extra"), x.typ, x.op, g.Frame)
		}
	}
	if x.by == stockModel && x.alt != nil {
		x.alt.done = true // it did as the stock host does
		if c.judge == dialectModel {
			row.Expected--
		}
	}
	copied := x.src != nil && x.src.kind == Input && x.src.op == x.op && x.src.typ == x.typ
	if !copied {
		return
	}
	if lag := g.Time.Sub(x.src.time); lag >= 0 {
		c.rep.lag(x.typ, x.op, lag)
	}
	if g.Number < 0 || x.typ != transport.Standard {
		return
	}
	o, ok := d.last[x.src.client]
	switch {
	case ok && x.index < o.index && g.Number > o.number:
		c.rep.Invariants.disorder(g.Frame)
		c.rep.differ(Difference{
			Kind: "differs", Frame: g.Frame, Opcode: x.op, typ: x.typ, To: d.client.Addr,
			Detail: fmt.Sprintf("it comes after a later message of the same sender; the original is in frame %d", x.src.frame),
		}, row)
		row.Matched--
	case !ok || g.Number > o.number:
		d.last[x.src.client] = ordered{x.index, g.Number}
		c.rep.Invariants.inOrder()
	}
}

// expire judges messages that have waited long enough.
func (c *comparer) expire(now time.Time) {
	c.last = now
	for _, d := range c.order {
		for len(d.expects) > 0 {
			x := d.expects[0]
			wait := reliableWait
			if !x.reliable {
				wait = unreliableWait
			}
			if !x.done {
				if now.Sub(x.src.time) <= wait {
					break
				}
				c.overdue(d, x)
				x.done = true
			}
			d.expects = d.expects[1:]
		}
		for len(d.gots) > 0 {
			g := d.gots[0]
			if !g.done {
				if now.Sub(g.Time) <= reliableWait {
					break
				}
				c.surplus(d, g)
				g.done = true
			}
			d.dropGot(g)
			d.gots = d.gots[1:]
		}
	}
}

func (d *destination) dropGot(g *got) {
	list := d.gotByKey[g.key]
	for len(list) > 0 && list[0].done {
		list = list[1:]
	}
	if len(list) == 0 {
		delete(d.gotByKey, g.key)
		return
	}
	d.gotByKey[g.key] = list
}

// finish judges all that is left.
func (c *comparer) finish() {
	for _, d := range c.order {
		for _, x := range d.expects {
			if !x.done {
				c.overdue(d, x)
				x.done = true
			}
		}
		for _, g := range d.gots {
			if !g.done {
				c.surplus(d, g)
				g.done = true
			}
		}
		d.expects, d.gots = nil, nil
	}
}

// overdue judges a message that did not come.
func (c *comparer) overdue(d *destination, x *expect) {
	row := c.rep.row(x.typ, x.op)
	if x.by&c.judge == 0 {
		// Only the other model sends it, and the captured host does not.
		if x.by == stockModel && c.models == stockModel|dialectModel {
			c.deviantMissing(x)
		}
		return
	}
	if x.by == stockModel && c.models == stockModel|dialectModel {
		row.Explained++
		c.deviantMissing(x)
		return
	}
	if g := c.instead(d, x); g != nil {
		c.replaced(d, x, g, row)
		return
	}
	if why := c.excused(d, x); why != "" {
		row.Excused++
		c.rep.excuse(why, x.typ, x.op, x.src.frame)
		c.rep.Invariants.excused(c, x)
		return
	}
	if rule := refusal(c, x); rule != nil {
		row.Explained++
		c.rep.Invariants.missed(c, x, true)
		c.rep.deviate(rule, x.typ, x.op, x.src.frame)
		return
	}
	c.rep.Invariants.missed(c, x, false)
	c.rep.differ(Difference{
		Kind: "missing", Frame: x.src.frame, Opcode: x.op, typ: x.typ, To: d.client.Addr, Detail: c.missingText(d, x),
	}, row)
}

// deviantMissing records a message that a host of the captured one's dialect
// does not send.
func (c *comparer) deviantMissing(x *expect) {
	if x.alt != nil && x.alt.done {
		return
	}
	c.rep.Invariants.missed(c, x, true)
	c.rep.deviate(deviationOf(x, "missing"), x.typ, x.op, x.src.frame)
}

func (c *comparer) missingText(d *destination, x *expect) string {
	text := fmt.Sprintf("expected after the message of %s in this frame", who(x.src.client))
	if x.src.kind == Input && x.src.op == x.op && x.src.typ == x.typ {
		text = fmt.Sprintf("no copy of the message of %s in this frame", who(x.src.client))
	}
	if d.skipped(x) {
		text += "; the host used up a number that the capture does not hold: it may have been lost before the capture"
	}
	return text
}

// who names a client for people; the name is text from the network.
func who(c *Client) string {
	if c.Name != "" {
		return c.Name
	}
	return c.Addr.String()
}

// instead returns the captured message that came in place of one that did not.
func (c *comparer) instead(d *destination, x *expect) *got {
	from, till := x.src.time.Add(-earliest), x.src.time.Add(latest)
	i := sort.Search(len(d.gots), func(i int) bool { return !d.gots[i].Time.Before(from) })
	var best *got
	for _, g := range d.gots[i:min(i+mostLooked, len(d.gots))] {
		switch {
		case g.Time.After(till):
			return best
		case g.done || g.Type != x.typ || g.Op != x.op:
		case x.replica && c.sameObject(x.body, g.Body):
			return g
		case best == nil && alike(x.body, g.Body):
			best = g
		}
	}
	return best
}

// alike reports whether two bodies have half of their bytes in common.
func alike(a, b []byte) bool {
	n := min(len(a), len(b))
	same := 0
	for i := range n {
		if a[i] == b[i] {
			same++
		}
	}
	return 2*same >= max(len(a), len(b))
}

// sameObject reports whether two creations are of the same object: owner, team,
// class and id agree. The rest is up to the host.
func (c *comparer) sameObject(a, b []byte) bool {
	first, ok := createdBy(c.t.bodies.game(a))
	second, too := createdBy(c.t.bodies.game(b))
	return ok && too && first == second
}

// replaced judges a message that came in place of another.
func (c *comparer) replaced(d *destination, x *expect, g *got, row *Row) {
	g.done = true
	if x.replica && c.sameObject(x.body, g.Body) {
		row.Matched++
		return
	}
	if c.corrected(x, g) {
		row.Explained++
		c.rep.Invariants.missed(c, x, true)
		c.rep.deviate(ruleSender, x.typ, x.op, g.Frame)
		return
	}
	detail := ""
	switch {
	case x.reliable != g.Reliable:
		detail = "it is not reliable, and the original is"
		if g.Reliable {
			detail = "it is reliable, and the original is not"
		}
	case x.priority != g.Priority:
		detail = "it lacks the priority of the original"
		if g.Priority {
			detail = "it has priority, and the original has not"
		}
	}
	c.buf = c.normal(c.buf[:0], x.typ, x.body)
	want := bytes.Clone(c.buf)
	c.buf = c.normal(c.buf[:0], g.Type, g.Body)
	if at, w, h, differs := firstDifference(want, c.buf); differs {
		detail = fmt.Sprintf("byte %d is %s, not %s; it answers frame %d", at, h, w, x.src.frame)
	}
	c.rep.Invariants.missed(c, x, false)
	c.rep.differ(Difference{Kind: "differs", Frame: g.Frame, Opcode: x.op, typ: x.typ, To: d.client.Addr, Detail: detail}, row)
}

// corrected reports whether a line of chat that names another sender came with
// the id of the client that wrote it, and is the same otherwise.
func (c *comparer) corrected(x *expect, g *got) bool {
	if x.src == nil || x.src.client == nil || x.src.op != x.op || x.reliable != g.Reliable || x.priority != g.Priority {
		return false
	}
	said, ok := chatIn(c.t.bodies.game(x.body))
	heard, too := chatIn(c.t.bodies.game(g.Body))
	id := int32(x.src.client.Peer)
	return ok && too && id != 0 && said.sender != id && heard == (chatLine{id, said.text})
}

// A chatLine is a line of chat, of either kind.
type chatLine struct {
	sender int32
	text   string
}

func chatIn(m decode.Message) (l chatLine, ok bool) {
	switch m := m.(type) {
	case *msg.Chat:
		return chatLine{m.Sender, string(m.Text)}, true
	case *msg.TeamChat:
		return chatLine{m.Sender, string(m.Text)}, true
	}
	return l, false
}

func firstDifference(want, have []byte) (at int, w, h string, differs bool) {
	for at = range max(len(want), len(have)) {
		w, h = byteAt(want, at), byteAt(have, at)
		if w != h {
			return at, w, h, true
		}
	}
	return 0, "", "", false
}

func byteAt(b []byte, i int) string {
	if i >= len(b) {
		return "missing"
	}
	return fmt.Sprintf("%02X", b[i])
}

// excused returns the reason why a message is not required, empty if it is.
func (c *comparer) excused(d *destination, x *expect) string {
	cl := d.client
	switch {
	case near(d.cuts, x.src.time, latest):
		return "it may have been in the cut part of a datagram"
	case c.t.cut > 0 && d.heard.Before(x.src.time):
		return "the host sent nothing more to the client; the reason may be in the cut part of a datagram"
	case c.last.Sub(x.src.time) < lastMoment:
		return "the capture ends before it could come"
	case cl.gone && cl.left.Sub(x.src.time) < lastMoment:
		return "the client was gone before it could come"
	case c.t.late() && (x.op == msg.OpSettings || x.op == msg.OpMissionInit || x.op == msg.OpPlayerAnnounce):
		return "the capture starts late"
	case x.op == msg.OpVerifyEnterSet && c.t.late():
		return "the capture starts late"
	case x.src.op == msg.OpRequestObject && c.ofStranger(x.src.object):
		return "it asks for an object of a player without captured traffic"
	case x.op == msg.OpClientReady && x.src.client.Adopted:
		return "the capture starts late"
	}
	return ""
}

// ofStranger reports whether an object belongs to a player without captured
// traffic.
func (c *comparer) ofStranger(id wire.ObjectID) bool {
	known, _ := c.t.unseen()
	slot, ok := id.Slot()
	return c.t.partial() && ok && slot < 16 && known&(1<<slot) == 0
}

// surplus judges a message that nothing asked for.
func (c *comparer) surplus(d *destination, g *got) {
	row := c.rep.row(g.Type, g.Op)
	if g.simulated() {
		why, _ := c.hostMade(d, g)
		row.NotComparable++
		c.rep.incomparable(why, g.Type, g.Op, g.Frame)
		return
	}
	if x := c.wanted(d, g); x != nil {
		x.done = true
		c.replaced(d, x, g, row)
		return
	}
	why, known := c.hostMade(d, g)
	if !known && c.t.late() && (g.Time.Sub(c.t.begun) < latest || g.standard() && g.Number >= 0 && g.Number < d.first) {
		why, known = "it may answer a message from before the capture", true
	}
	if !known && near(c.cuts, g.Time.Add(-latest), latest) {
		why, known = "its cause may be in the cut part of a datagram", true
	}
	if known {
		row.NotComparable++
		c.rep.incomparable(why, g.Type, g.Op, g.Frame)
		return
	}
	c.rep.Invariants.extra(g.Event)
	c.rep.differ(Difference{
		Kind: "extra", Frame: g.Frame, Opcode: g.Op, typ: g.Type, To: d.client.Addr, Detail: "no message of a client causes it",
	}, row)
}

// simulated reports whether no host passes a message on.
func (g *got) simulated() bool {
	_, flags, ok := msg.UpdateHead(g.Body)
	return ok && g.standard() && flags&msg.DirtySubsystems != 0
}

// near reports whether one of the times, which are in order, lies in a span.
func near(times []time.Time, from time.Time, span time.Duration) bool {
	for i := len(times) - 1; i >= 0 && !times[i].Before(from); i-- {
		if !times[i].After(from.Add(span)) {
			return true
		}
	}
	return false
}

// cut notes a datagram that the capture cut short.
func (c *comparer) cut(to *Client, at time.Time) {
	list := &c.cuts
	if to != nil {
		list = &c.dest(to).cuts
	}
	for len(*list) > 0 && ((*list)[0].Before(at.Add(-reliableWait-latest)) || len(*list) >= maxPending) {
		*list = (*list)[1:]
	}
	*list = append(*list, at)
}

// wanted returns the expected message that a captured one replaces.
func (c *comparer) wanted(d *destination, g *got) *expect {
	from, till := g.Time.Add(-latest), g.Time.Add(earliest)
	i := sort.Search(len(d.expects), func(i int) bool { return !d.expects[i].src.time.Before(from) })
	for _, x := range d.expects[i:min(i+mostLooked, len(d.expects))] {
		switch {
		case x.src.time.After(till):
			return nil
		case x.done || x.typ != g.Type || x.op != g.Op:
		case x.replica && c.sameObject(x.body, g.Body) || alike(x.body, g.Body):
			return x
		}
	}
	return nil
}

// hostMade tells whether a message that no client's message explains is one
// that a host sends by itself, and why it cannot be compared.
func (c *comparer) hostMade(d *destination, g *got) (why string, ok bool) {
	const simulated = "the host's own simulation decides"
	if !g.standard() {
		switch g.Type {
		case transport.BootPlayer:
			return "the host decides about kicks", true
		case transport.Disconnect:
			if m, ok := c.t.bodies.control(g.Type, g.Body).(*transport.Goodbye); ok && (m.ID == transport.HostPeer || m.ID == d.client.Peer) {
				return "the host ends the game", true
			}
		case transport.NameChange:
			if d.names[g.key] {
				return "the client has been told the name before", true
			}
			name := c.t.bodies.name(g.Body)
			if c.sender == decode.OpenBC && (len(g.Body) == 0 || d.client.Name == "" || name == d.client.Name) {
				if d.client.Name == "" {
					d.client.Name = name
				}
				return "OpenBC sends a player its own name as keepalive", true
			}
		case transport.Acknowledge, transport.DoNothing, transport.Connect, transport.Leave, transport.Standard:
		}
		return c.ofUnseen(g)
	}
	switch g.Op {
	case msg.OpHostEvent, msg.OpExplosion, msg.OpScoreChange, msg.OpEndGame, msg.OpRestartGame:
		return simulated, true
	case msg.OpStateUpdate:
		if c.sender != decode.OpenBC || g.simulated() {
			return "ship updates are the host's simulation", true
		}
	case msg.OpScore, msg.OpScoreInit, msg.OpTeamScore:
		return "scores are the host's", true
	case msg.OpDestroyObject, msg.OpPlayerDeleted:
		return "the messages of a stock host for a leave are not known", true
	case msg.OpPlayerAnnounce:
		if code, _, ok := c.t.announced(g.Event); ok && code == event.CodeDeletePlayer {
			return "the messages of a stock host for a leave are not known", true
		}
		if c.t.late() {
			return "the capture starts late", true
		}
	case msg.OpStopFiring, msg.OpSubsystemStatus:
		if c.sender != decode.OpenBC {
			return simulated, true
		}
	case msg.OpCollisionSetting:
		return "the host changes an option", true
	case msg.OpChecksumFailed, msg.OpVersionDifferent, msg.OpFileTransfer:
		return "the host compares files", true
	case msg.OpObjectCreate, msg.OpObjectCreateTeam:
		if c.t.late() {
			return "the capture starts late", true
		}
	case msg.OpVerifyEnterSet:
		if c.t.late() {
			return "the capture starts late", true
		}
	}
	return c.ofUnseen(g)
}

// ofUnseen reports whether a message can be a copy from a client without
// captured traffic.
func (c *comparer) ofUnseen(g *got) (why string, ok bool) {
	known, some := c.t.unseen()
	const text = "it comes from a player without captured traffic"
	switch {
	case g.Slots&^known != 0 && (some || c.t.late()):
		return text, true
	case g.Slots == 0 && some:
		return text, true
	case g.standard() && (g.Op == msg.OpChat || g.Op == msg.OpTeamChat || g.Op == msg.OpTeam):
		peer, ok := author(c.t.bodies.game(g.Body))
		if ok && some && peer < 256 && c.t.byPeer(uint8(peer)) == nil {
			return text, true
		}
	case !g.standard() && g.Type == transport.NameChange && some:
		return text, true
	}
	return "", false
}
