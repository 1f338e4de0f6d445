package measure

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/ship"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/packet"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// Limits of the state of habits. Items beyond them are only counted.
const (
	maxHabitStreams = 1024    // streams of updates: a ship to one receiver
	maxHabitSent    = 1 << 16 // reliable messages that may be retransmitted, and as many that came before
	maxHabitFrames  = 1 << 16 // messages that may be passed on, and as many that came before
	maxHabitJoins   = 4096    // clients that join
	maxHabitHosts   = 256
	maxHabitPlayers = 256 // players of a host
)

// A Figure is a measured number and the known number of the stock game.
type Figure struct {
	Group string         `json:"group"` // datagrams, retransmissions, updates, joins, copies or blocks
	Name  wire.Untrusted `json:"name"`
	Unit  string         `json:"unit,omitempty"` // unit of Median, Min and Max: ms, messages, bytes or copies
	N     int64          `json:"n"`              // number of measurements

	Median, Min, Max float64
	Values           string `json:"values,omitempty"` // a distribution or a set
	Known            string `json:"known,omitempty"`  // value of the stock game
	Source           string `json:"source,omitempty"` // source of Known: the game's code, its scripts, or recordings of the stock game
	Frames           []int  `json:"frames"`           // evidence: both frames of an interval, the first frame of a set, or the frame with the maximum
}

// Habits measures a host and its clients and compares them with known numbers
// of the stock game. Its zero value is ready to use. It is not safe for
// concurrent use.
type Habits struct {
	datagrams [2]perDatagram
	sent      recent[sentKey, *sending]
	resends   map[resendKey]*interval
	streams   map[shipKey]*updates
	joins     map[netip.AddrPort]*join
	steps     [len(joinSteps)]interval
	hosts     map[netip.AddrPort]*crowd
	originals recent[int, moment] // clients' messages, by their frames
	copies    map[decode.Opcode]*copies
	blocks    map[blockKey]map[uint8]*firstOf
	cycles    map[string]string // known start indices, by class

	GivenUp int64 // number of streams, messages and clients beyond the limits
	Missing int64 // sequence numbers that are not in the capture
	Hole    int   // frame after the first gap of such numbers
}

// A crowd is the clients in a host's game.
type crowd struct {
	members map[netip.AddrPort]*member
	reached int // clients to which the capture has messages since they entered
}

// member returns a client in the game, or nil.
func (c *crowd) member(client netip.AddrPort) *member {
	if c == nil {
		return nil
	}
	return c.members[client]
}

// leave removes a client from the game. Copies for it may still be on their
// way.
func (c *crowd) leave(client netip.AddrPort) {
	m := c.member(client)
	if m == nil || m.left {
		return
	}
	if m.left = true; m.reached {
		c.reached--
	}
}

// A member is a client in the game.
type member struct {
	frame   int  // frame in which it entered
	reached bool // the capture has messages to it since then
	left    bool
}

// recent keeps at least the latest values that were added.
type recent[K comparable, V any] struct{ now, before map[K]V }

func (r *recent[K, V]) get(k K) (v V, ok bool) {
	if v, ok = r.now[k]; !ok {
		v, ok = r.before[k]
	}
	return v, ok
}

// put adds a value. It keeps at most twice the limit.
func (r *recent[K, V]) put(k K, v V, limit int) {
	if r.now == nil || len(r.now) >= limit {
		r.now, r.before = map[K]V{}, r.now
	}
	r.now[k] = v
}

// perDatagram counts the messages in the datagrams of a direction.
type perDatagram struct {
	n        int64
	counts   [256]int64
	messages int // number of messages in the current datagram
	frame    int
	most     int // largest number of messages in a datagram, and its frame
	mostAt   int
	seen     int64 // number of datagrams, including those truncated by the capture
	largest  int
	largeAt  int
}

type sentKey struct {
	src, dst netip.AddrPort
	key      uint64
}

type sending struct {
	at    moment
	frame int
	times int // how many times, 0 if unknown
}

type resendKey struct {
	dir   dissect.Dir // hosts and clients have different timers
	fixed bool        // connects and disconnects, whose interval is fixed
	times int         // how many times it had been sent before
}

// made returns the value of a key. If there is none, it adds a new one.
func made[K comparable, V any](values map[K]*V, key K) *V {
	v := values[key]
	if v == nil {
		v = new(V)
		values[key] = v
	}
	return v
}

// An interval is a distribution of times, with the frames of the longest one.
type interval struct {
	spread
	first, longest [2]int
}

func (v *interval) take(ns int64, from, to int) {
	if v.n == 0 {
		v.first = [2]int{from, to}
	}
	if v.n == 0 || ns > v.max {
		v.longest = [2]int{from, to}
	}
	v.add(ns)
}

type shipKey struct {
	src, dst netip.AddrPort
	ship     wire.ObjectID
}

// updates are the updates of a ship to one receiver.
type updates struct {
	name     wire.Untrusted
	to       wire.Untrusted
	dir      dissect.Dir
	before   moment
	frame    int
	join     *join // the client's join at the time of the last update
	owner    bool  // the receiver is the ship's owner
	idle     bool
	cloaked  bool
	all      interval
	resting  interval
	cloaking interval
}

// joinSteps are the steps of a join, with the known time since the previous
// step.
var joinSteps = [...]struct {
	name, known string
	from        dissect.Dir
	op          decode.Opcode // opcode of the message. The first step is a connect and has none.
}{
	{name: "accept after connect", known: "about 2 ms, with the first request", from: dissect.FromHost},
	{"first checksum request after accept", "the same datagram", dissect.FromHost, msg.OpChecksumRequest},
	{"settings after the first request", "66 ms and 1,300 ms were seen", dissect.FromHost, msg.OpSettings},
	{"client ready after settings", "27 to 75 ms", dissect.ToHost, msg.OpClientReady},
	{"mission after client ready", "about 2 ms", dissect.FromHost, msg.OpMissionInit},
	{"own ship after mission", "-", dissect.ToHost, msg.OpObjectCreateTeam},
}

type join struct {
	step  int
	at    moment
	frame int
}

// copies are the copies of messages with the same opcode.
type copies struct {
	originals, others  int64 // number of originals, and sum of the other players at the times of the originals
	copies, own, later int64 // copies to these players, to the author, and to players who came later
	first              []int
	relay              decode.Relay
	name               string
}

type blockKey struct {
	class string
	to    receiver
}

// A receiver is the kind of client or host that gets a subsystem block.
type receiver uint8

const (
	ofOwner  receiver = iota // the ship's owner, which gets it from the host
	ofOthers                 // other clients
	ofHost                   // the host, which gets no blocks in the stock game
)

type firstOf struct {
	n     int64
	frame int
}

// cycleOf returns the start indices of the blocks that the stock host sends to
// the owner of a ship, in a cycle.
func cycleOf(c *ship.Class) string {
	at := max(0, slices.Index(c.OwnCycle, c.OwnRepeat))
	var text strings.Builder
	for i, start := range c.OwnCycle[at:] {
		if i > 0 {
			text.WriteString(", ")
		}
		fmt.Fprint(&text, start)
	}
	if at > 0 {
		fmt.Fprintf(&text, "; at first %d", c.OwnCycle[0])
		for _, start := range c.OwnCycle[1:at] {
			fmt.Fprintf(&text, ", %d", start)
		}
	}
	return cmp.Or(text.String(), "-")
}

// Close does nothing. It exists so that Habits is a sink.
func (h *Habits) Close() error { return nil }

// Record measures a record. It is borrowed until the call returns.
func (h *Habits) Record(r *dissect.Record) error {
	if h.resends == nil {
		h.resends = map[resendKey]*interval{}
		h.streams, h.joins = map[shipKey]*updates{}, map[netip.AddrPort]*join{}
		h.hosts = map[netip.AddrPort]*crowd{}
		h.copies, h.blocks = map[decode.Opcode]*copies{}, map[blockKey]map[uint8]*firstOf{}
		h.cycles = map[string]string{}
	}
	switch {
	case r.Datagram == nil || r.Dir == dissect.DirUnknown || r.DoubleOf > 0:
		return nil
	case r.Cut: // only its size is known
		h.datagram(r)
		return nil
	case r.Kind != dissect.KindMessage && r.Kind != dissect.KindPayload:
		return nil
	}
	at := moment{packet.Nanos(r.Time), !r.Time.IsZero()}
	if r.Datagram.Form.Whole() { // other forms of logs mix clients or lack transport messages
		h.datagram(r)
		h.resend(r, at)
		if r.Repeat || r.Status == dissect.StatusDuplicate {
			return nil
		}
		h.joining(r, at)
	}
	if r.Kind == dissect.KindPayload || r.Transport.Type == transport.Standard && len(r.Payload) > 0 {
		if r.Datagram.Form.Whole() {
			h.passedOn(r, at)
		}
		if m, ok := r.Message.(*msg.StateUpdate); ok {
			h.update(r, m, at)
		}
	}
	return nil
}

// datagram counts a message in a datagram.
func (h *Habits) datagram(r *dissect.Record) {
	d := &h.datagrams[side(r.Dir)]
	if d.frame != r.Datagram.Number {
		d.finish()
		d.frame, d.messages = r.Datagram.Number, 0
		d.seen++
		size := len(r.Datagram.Payload)
		if r.Full != packet.FullUnknown {
			size = max(size, r.Full)
		}
		if size > d.largest {
			d.largest, d.largeAt = size, d.frame
		}
	}
	if !r.Datagram.Truncated() { // the number of messages in a truncated datagram is unknown
		d.messages++
	}
}

// finish counts the current datagram.
func (d *perDatagram) finish() {
	if d.messages == 0 {
		return
	}
	d.n++
	d.counts[min(d.messages, len(d.counts)-1)]++
	if d.messages > d.most {
		d.most, d.mostAt = d.messages, d.frame
	}
	d.messages = 0
}

// resend measures the time between a reliable message and its retransmission.
func (h *Habits) resend(r *dissect.Record, at moment) {
	head := &r.Transport
	if !head.HasSeq || !head.Reliable || head.Type == transport.Acknowledge || r.Keepalive() {
		return
	}
	k := sentKey{r.Src, r.Dst, uint64(keyOf(head))}
	if head.Control() {
		k.key |= 1 << 63
	}
	h.miss(r)
	s, known := h.sent.get(k)
	if !known || !r.Repeat {
		times := 1
		if r.Late || r.Repeat { // it may itself be a retransmission
			times = 0
		}
		if r.Repeat {
			h.GivenUp++
		}
		h.sent.put(k, &sending{at, r.Datagram.Number, times}, maxHabitSent)
		return
	}
	if s.times == 0 {
		return
	}
	if ns, ok := at.since(s.at); ok {
		fixed := head.Type == transport.Connect || head.Type == transport.Disconnect
		made(h.resends, resendKey{r.Dir, fixed, min(s.times, 10)}).take(ns, s.frame, r.Datagram.Number)
	}
	s.at, s.frame, s.times = at, r.Datagram.Number, s.times+1
}

// miss counts sequence numbers that are not in the capture.
func (h *Habits) miss(r *dissect.Record) {
	if r.Gap > 0 && h.Hole == 0 {
		h.Hole = r.Datagram.Number
	}
	if h.Missing += int64(r.Gap); r.Late && !r.Repeat {
		h.Missing--
	}
}

// joining measures the steps of a join.
func (h *Habits) joining(r *dissect.Record, at moment) {
	host, client := r.Ends()
	op, game := r.Opcode()
	game = game && r.Transport.Type == transport.Standard
	switch {
	case r.Dir == dissect.ToHost && r.Transport.Type == transport.Connect:
		if len(h.joins) >= maxHabitJoins {
			clear(h.joins)
			h.GivenUp++
		}
		h.joins[client] = &join{0, at, r.Datagram.Number}
		h.hosts[host].leave(client)
		return
	case r.Dir == dissect.ToHost && (r.Transport.Type == transport.Disconnect || r.Transport.Type == transport.Leave):
		h.hosts[host].leave(client)
	case r.Dir == dissect.ToHost && game && (op == msg.OpClientReady || op == msg.OpStateUpdate):
		h.enter(host, client, r.Datagram.Number)
	case r.Dir == dissect.FromHost && game:
		if m := h.hosts[host].member(client); m != nil && !m.reached && !m.left {
			m.reached = true
			h.hosts[host].reached++
		}
	}
	j := h.joins[client]
	if j == nil || j.step >= len(joinSteps) {
		return
	}
	s := &joinSteps[j.step]
	request, requested := r.Message.(*msg.ChecksumRequest)
	switch {
	case r.Dir != s.from, j.step > 0 && (!game || op != s.op), j.step == 0 && r.Transport.Type != transport.Connect,
		s.op == msg.OpChecksumRequest && (!requested || request.Round != 0):
		return
	}
	if r.Late { // it may be a retransmission whose original is missing
		at.known = false
	}
	if ns, ok := at.since(j.at); ok {
		h.steps[j.step].take(ns, j.frame, r.Datagram.Number)
	}
	j.step, j.at, j.frame = j.step+1, at, r.Datagram.Number
}

// enter adds a client to the game.
func (h *Habits) enter(host, client netip.AddrPort, frame int) {
	in := h.hosts[host]
	if m := in.member(client); m != nil && !m.left {
		return
	}
	if in != nil && len(in.members) >= maxHabitPlayers {
		maps.DeleteFunc(in.members, func(_ netip.AddrPort, m *member) bool { return m.left })
	}
	switch {
	case in == nil && len(h.hosts) >= maxHabitHosts, in != nil && len(in.members) >= maxHabitPlayers:
		h.GivenUp++
	case in == nil:
		h.hosts[host] = &crowd{members: map[netip.AddrPort]*member{client: {frame: frame}}}
	default:
		in.members[client] = &member{frame: frame}
	}
}

// passedOn counts the messages of clients and the host's copies of them.
func (h *Habits) passedOn(r *dissect.Record, at moment) {
	op, _ := r.Opcode()
	if r.Spec == nil {
		return
	}
	c := made(h.copies, op)
	if c.name == "" {
		c.relay, c.name = r.Spec.Relay, r.Spec.Name
	}
	if r.Dir == dissect.ToHost {
		if !r.Late { // if it is late, its copies may have come before it
			h.original(r, c, at)
		}
		return
	}
	original, ok := h.originals.get(r.CopyOf)
	if r.CopyOf == 0 || !ok {
		return
	}
	m := h.hosts[r.Src].member(r.Dst)
	age, known := at.since(original)
	switch {
	case m == nil || m.frame > r.CopyOf || known && age > int64(atOnce):
		c.later++
		return
	case r.Author != nil && r.Player != nil && r.Author.Index == r.Player.Index:
		c.own++
	default:
		c.copies++
	}
	if len(c.first) > 0 && len(c.first) < 4 && r.CopyOf == c.first[0] {
		c.first = append(c.first, r.Datagram.Number)
	}
}

// atOnce is how long after its original a copy comes at most. Later ones answer
// a request, or go to a player who has joined.
const atOnce = time.Second

// original counts a client's message if the capture can show who gets a copy:
// it needs messages to another player.
func (h *Habits) original(r *dissect.Record, c *copies, at moment) {
	in := h.hosts[r.Dst]
	if in == nil {
		return
	}
	others := int64(in.reached)
	if author := in.member(r.Src); author != nil && author.reached && !author.left {
		others--
	}
	if others == 0 {
		return
	}
	h.originals.put(r.Datagram.Number, at, maxHabitFrames)
	c.originals++
	c.others += others
	if len(c.first) == 0 {
		c.first = []int{r.Datagram.Number}
	}
}

// block counts the subsystems of a ship update by their start index.
func (h *Habits) block(r *dissect.Record, m *msg.StateUpdate, owner bool) {
	k := blockKey{m.Class.Name, ofOthers}
	switch {
	case r.Dir == dissect.ToHost:
		k.to = ofHost
	case owner:
		if k.to = ofOwner; h.cycles[k.class] == "" {
			h.cycles[k.class] = cycleOf(m.Class)
		}
	}
	if h.blocks[k] == nil {
		h.blocks[k] = map[uint8]*firstOf{}
	}
	f := made(h.blocks[k], m.Start)
	if f.n++; f.n == 1 {
		f.frame = r.Datagram.Number
	}
}

// update measures a ship update.
func (h *Habits) update(r *dissect.Record, m *msg.StateUpdate, at moment) {
	owner := r.Dir == dissect.FromHost && owns(r, m)
	if m.Flags&msg.DirtySubsystems != 0 && m.Class != nil {
		h.block(r, m, owner)
	}
	k := shipKey{r.Src, r.Dst, m.Object}
	u := h.streams[k]
	if u == nil {
		if len(h.streams) >= maxHabitStreams {
			h.GivenUp++
			return
		}
		u = &updates{dir: r.Dir}
		h.streams[k] = u
	}
	if r.Session != nil && u.name == "" {
		u.name = r.Session.Object(m.Object)
	}
	if r.Client != "" {
		u.to = r.Client
	}
	const moves = msg.DirtyPosition | msg.DirtyDelta | msg.DirtyForward | msg.DirtyUp | msg.DirtySpeed
	idle := m.Flags&moves == 0
	_, client := r.Ends()
	if j := h.joins[client]; j != u.join { // times between connections are no intervals
		u.join, u.before = j, moment{}
	}
	u.owner = u.owner || owner
	if m.Flags&msg.DirtyCloak != 0 {
		u.cloaked = m.Cloak != (r.Layout == decode.OpenBC) // OpenBC sends the inverted bit
	}
	if ns, ok := at.since(u.before); ok {
		u.all.take(ns, u.frame, r.Datagram.Number)
		if idle && u.idle && !u.owner { // other players, who are sent only subsystems
			u.resting.take(ns, u.frame, r.Datagram.Number)
		}
		if u.cloaked {
			u.cloaking.take(ns, u.frame, r.Datagram.Number)
		}
	}
	u.before, u.frame, u.idle = at, r.Datagram.Number, idle
}

// owns reports whether the receiver of an update owns the ship. A block without
// power settings is also for the owner.
func owns(r *dissect.Record, m *msg.StateUpdate) bool {
	if slot, ok := m.Object.Slot(); ok && r.Player != nil && r.Player.Slot >= 0 {
		return r.Player.Slot == slot
	}
	if m.Flags&msg.DirtySubsystems == 0 || m.Class == nil {
		return false
	}
	powered := false
	for i := range m.Entries {
		e := &m.Entries[i]
		if int(e.Index) < len(m.Class.Subsystems) && m.Class.Subsystems[e.Index].Kind == ship.Powered {
			if e.HasPower {
				return false
			}
			powered = true
		}
	}
	return powered
}

// Figures returns the figures so far, by group.
func (h *Habits) Figures() (all []Figure) {
	for i, way := range []string{"of clients", "of the host"} {
		all = append(all, h.datagrams[i].figures(way)...)
	}
	all = append(all, h.resendFigures()...)
	all = append(all, h.updateFigures()...)
	for i := range h.steps {
		if v := &h.steps[i]; v.n > 0 {
			all = append(all, v.figure("joins", wire.Untrusted(joinSteps[i].name), joinSteps[i].known, "recorded"))
		}
	}
	all = append(all, h.copyFigures()...)
	all = append(all, h.blockFigures()...)
	for i := range all {
		if all[i].Known == "-" {
			all[i].Source = ""
		}
	}
	return all
}

func (d *perDatagram) figures(way string) (all []Figure) {
	d.finish()
	if d.n > 0 {
		all = append(all, d.shares(way))
	}
	if d.seen > 0 {
		all = append(all, Figure{
			Group: "datagrams", Name: wire.Untrusted("largest datagram " + way), Unit: "bytes", N: d.seen, Max: float64(d.largest), Frames: []int{d.largeAt},
			Known: "512 at most; 508 in a battle", Source: "code, recorded",
		})
	}
	return all
}

// shares returns the figure of the number of messages in a datagram.
func (d *perDatagram) shares(way string) Figure {
	share := func(n int64) string { return fmt.Sprintf("%.0f %%", float64(n)*100/float64(d.n)) }
	more := d.n - d.counts[1] - d.counts[2] - d.counts[3]
	f := Figure{
		Group: "datagrams", Name: wire.Untrusted("messages in a datagram " + way), Unit: "messages", N: d.n, Max: float64(d.most), Frames: []int{d.mostAt},
		Values: fmt.Sprintf("1: %s, 2: %s, 3: %s, more: %s", share(d.counts[1]), share(d.counts[2]), share(d.counts[3]), share(more)),
		Known:  "1: 42 %, 2: 23 %, 3: 26 %, more: 9 %; 110 at most", Source: "recorded",
	}
	left := (d.n + 1) / 2
	for i, n := range d.counts {
		if n > 0 && f.Min == 0 {
			f.Min = float64(i)
		}
		if left -= n; left <= 0 && f.Median == 0 {
			f.Median = float64(i)
		}
	}
	return f
}

// figure returns the figure of an interval with the frames of the longest.
func (v *interval) figure(group string, name wire.Untrusted, known, source string) Figure {
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	return Figure{
		Group: group, Name: name, Unit: "ms", N: v.n, Known: known, Source: source, Median: ms(v.quantile(0.5)), Min: ms(time.Duration(v.min)),
		Max: ms(time.Duration(v.max)), Frames: v.longest[:],
	}
}

func (h *Habits) resendFigures() (all []Figure) {
	keys := slices.SortedFunc(maps.Keys(h.resends), func(a, b resendKey) int {
		if a.dir == b.dir && a.fixed != b.fixed {
			return map[bool]int{true: -1, false: 1}[a.fixed]
		}
		return cmp.Or(cmp.Compare(b.dir, a.dir), cmp.Compare(a.times, b.times))
	})
	for _, k := range keys {
		name, known, by := "connect or disconnect", 1, " by clients"
		if !k.fixed {
			name, known = "message", (k.times-1)%5+1
		}
		if k.dir == dissect.FromHost {
			by = " by the host"
		}
		name += by
		f := h.resends[k].figure("retransmissions", wire.Untrusted(fmt.Sprintf("retransmission %d of a %s", k.times, name)), fmt.Sprintf("%d,000 ms", known), "code")
		if k.times == 10 {
			f.Name = wire.Untrusted("retransmissions from 10 on of a " + name)
			f.Known = "1,000 to 5,000 ms"
		}
		f.Frames = h.resends[k].first[:]
		all = append(all, f)
	}
	return all
}

func (h *Habits) updateFigures() (all []Figure) {
	keys := slices.SortedFunc(maps.Keys(h.streams), func(a, b shipKey) int {
		return cmp.Or(cmp.Compare(h.streams[a].dir, h.streams[b].dir), cmp.Compare(a.ship, b.ship), a.src.Compare(b.src), a.dst.Compare(b.dst))
	})
	for _, k := range keys {
		u := h.streams[k]
		name := u.name
		if name == "" {
			name = wire.Untrusted(fmt.Sprintf("0x%08X", uint32(k.ship)))
		}
		known := "96 ms; 200 to 1,000 ms if far away"
		if u.dir == dissect.ToHost {
			name += " to the host"
			known = "about 100 ms"
		} else if to := u.to; to != "" {
			name += " to " + to
		} else if k.dst.Addr().IsUnspecified() { // logs lack addresses and identify clients by number
			name += wire.Untrusted(fmt.Sprintf(" to client %d, address unknown", k.dst.Port()))
		} else {
			name += wire.Untrusted(" to " + k.dst.String())
		}
		for _, v := range []struct {
			of            *interval
			what          wire.Untrusted
			known, source string
		}{{&u.all, "", known, "recorded"}, {&u.resting, ", at rest", "as often as in motion", "recorded"}, {&u.cloaking, ", cloaked", "-", ""}} {
			if v.of.n > 0 {
				all = append(all, v.of.figure("updates", name+v.what, v.known, v.source))
			}
		}
	}
	return all
}

func (h *Habits) copyFigures() (all []Figure) {
	for _, op := range slices.Sorted(maps.Keys(h.copies)) {
		c := h.copies[op]
		if c.originals == 0 {
			continue
		}
		each := float64(c.copies+c.own) / float64(c.originals)
		values := fmt.Sprintf("%d of %d to other players", c.copies, c.others)
		if c.own > 0 || c.relay == decode.RelayEcho || c.relay == decode.RelayTeam {
			values += fmt.Sprintf(", %d to the author", c.own)
		}
		if c.later > 0 {
			values += fmt.Sprintf("; %d later", c.later)
		}
		f := Figure{
			Group: "copies", Name: wire.Untrusted(fmt.Sprintf("%v %s", op, c.name)), Unit: "copies", N: c.originals, Median: each, Min: each, Max: each,
			Values: values, Frames: c.first, Known: "none", Source: "code, recorded",
		}
		if op == msg.OpStateUpdate {
			f.Known = "none: the host sends its own"
		}
		switch c.relay {
		case decode.RelayForward, decode.RelaySlots:
			f.Known = "one to each other player (N - 1)"
		case decode.RelayEcho:
			f.Source = "scripts, recorded"
			f.Known = "one to each player (N)"
		case decode.RelayTeam:
			f.Source = "scripts"
			f.Known = "one to each player of the team"
		case decode.RelayAnswer, decode.RelayConsume, decode.RelayNone:
		}
		all = append(all, f)
	}
	return all
}

func (h *Habits) blockFigures() (all []Figure) {
	keys := slices.SortedFunc(maps.Keys(h.blocks), func(a, b blockKey) int {
		return cmp.Or(strings.Compare(a.class, b.class), cmp.Compare(a.to, b.to))
	})
	for _, k := range keys {
		f := Figure{Group: "blocks", Name: wire.Untrusted(k.class + " to others"), Known: "-"}
		switch k.to {
		case ofOwner:
			f.Name, f.Known, f.Source = wire.Untrusted(k.class+" to its owner"), h.cycles[k.class], "code"
		case ofHost:
			f.Name, f.Known, f.Source = wire.Untrusted(k.class+" to the host"), "none", "code, recorded"
		case ofOthers:
		}
		var starts []string
		for _, s := range slices.Sorted(maps.Keys(h.blocks[k])) {
			v := h.blocks[k][s]
			f.N += v.n
			starts = append(starts, fmt.Sprintf("%d (%d)", s, v.n))
			f.Frames = append(f.Frames, v.frame)
		}
		f.Values = strings.Join(starts, ", ")
		all = append(all, f)
	}
	return all
}
