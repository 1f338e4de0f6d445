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
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// Limits of the state of habits. What is beyond them is counted.
const (
	maxHabitStreams = 1024    // ships to one receiver
	maxHabitSent    = 1 << 16 // reliable messages that may be sent again
	maxHabitFrames  = 1 << 16 // messages that may be passed on
	maxHabitJoins   = 4096    // clients
	maxHabitHosts   = 256
	maxHabitPlayers = 256 // of a host
)

// A Figure is one measured number beside the known one of the stock game. Text
// may be from the network: escape it before a terminal sees it.
type Figure struct {
	Group string // datagrams, resends, updates, joins, copies or blocks
	Name  string
	Unit  string // of Median, Min and Max: ms, messages, bytes or copies
	N     int64  // how many were measured

	Median, Min, Max float64
	Values           string // a distribution or a set
	Known            string // of the stock game
	Frames           []int  // behind the figure: both frames of an interval, the first of a set, the one with the most
}

// Habits measures how a host and its clients do what the stock game's do in a
// known way. Its zero value is ready to use. It is not safe for concurrent use.
type Habits struct {
	datagrams [2]perDatagram
	sent      map[sentKey]*sending
	resends   map[resendKey]*interval
	streams   map[shipKey]*updates
	joins     map[netip.AddrPort]*join
	steps     [len(joinSteps)]interval
	hosts     map[netip.AddrPort]map[netip.AddrPort]bool // clients in the game
	originals map[int]bool                               // frames of clients' messages
	copies    map[decode.Opcode]*copies
	blocks    map[blockKey]map[uint8]*firstOf

	GivenUp int64 // streams, messages and clients beyond the limits
}

// perDatagram counts the messages in the datagrams of a direction.
type perDatagram struct {
	n        int64
	counts   [256]int64
	messages int // of the present datagram
	frame    int
	most     int // and its frame
	mostAt   int
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
	times int
}

type resendKey struct {
	fixed bool // connects and disconnects
	times int  // how many times it had been sent
}

// An interval is a distribution of times with the frames of the longest.
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

// updates are those of a ship to one receiver.
type updates struct {
	name     string
	to       string
	dir      dissect.Dir
	before   moment
	frame    int
	idle     bool
	cloaked  bool
	all      interval
	resting  interval
	cloaking interval
}

// joinSteps are the steps of a join, with the known time from the one before.
var joinSteps = [...]struct{ name, known string }{
	{"accept after connect", "about 2 ms, with the first request"},
	{"first checksum request after accept", "the same datagram"},
	{"settings after the first request", "66 ms and 1,300 ms were seen"},
	{"client ready after settings", "27 to 75 ms"},
	{"mission after client ready", "about 2 ms"},
	{"own ship after mission", "-"},
}

type join struct {
	step  int
	at    moment
	frame int
}

// copies are those of an opcode's messages.
type copies struct {
	originals, copies, expected int64
	first                       []int
	relay                       decode.Relay
	name                        string
}

type blockKey struct {
	class string
	dir   dissect.Dir
}

type firstOf struct {
	n     int64
	frame int
}

// ownCycles are the start indices of the blocks that a stock client sends of its
// own ship.
var ownCycles = map[string]string{
	"Akira": "2, 6, 8", "Ambassador": "2, 6, 8", "Nebula": "2, 6, 8", "Sovereign": "2, 6, 8, 10", "Galaxy": "3, 5, 6, 9",
	"Bird of Prey": "0, 2, 5", "Vor'cha": "2, 5, 8", "Marauder": "2, 5, 9", "Galor": "2, 4, 8", "Shuttle": "0, 2, 4, 5, 6",
}

// Close does nothing: it is there for a sink.
func (h *Habits) Close() error { return nil }

// Record takes a record. It is borrowed until the call returns.
func (h *Habits) Record(r *dissect.Record) error {
	if h.sent == nil {
		h.sent, h.resends = map[sentKey]*sending{}, map[resendKey]*interval{}
		h.streams, h.joins = map[shipKey]*updates{}, map[netip.AddrPort]*join{}
		h.hosts, h.originals = map[netip.AddrPort]map[netip.AddrPort]bool{}, map[int]bool{}
		h.copies, h.blocks = map[decode.Opcode]*copies{}, map[blockKey]map[uint8]*firstOf{}
	}
	if r.Kind != dissect.KindMessage || r.Datagram == nil || r.Dir == dissect.DirUnknown {
		return nil
	}
	at := moment{r.Time.UnixNano(), !r.Time.IsZero()}
	if r.Datagram.Form.Whole() {
		h.datagram(r)
	}
	h.resend(r, at)
	if r.Repeat || r.Status == dissect.StatusDuplicate {
		return nil
	}
	h.joining(r, at)
	if r.Transport.Type == transport.Standard && len(r.Payload) > 0 {
		h.passedOn(r)
		if m, ok := r.Message.(*msg.StateUpdate); ok {
			h.update(r, m, at)
		}
	}
	return nil
}

// datagram counts a message of a datagram.
func (h *Habits) datagram(r *dissect.Record) {
	d := &h.datagrams[side(r.Dir)]
	if d.frame != r.Datagram.Number {
		d.finish()
		d.frame, d.messages = r.Datagram.Number, 0
		if size := max(r.Full, len(r.Datagram.Payload)); size > d.largest {
			d.largest, d.largeAt = size, d.frame
		}
	}
	d.messages++
}

// finish counts the present datagram.
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

// resend measures the time between a reliable message and its repetition.
func (h *Habits) resend(r *dissect.Record, at moment) {
	head := &r.Transport
	if !head.HasSeq || !head.Reliable || head.Type == transport.Acknowledge {
		return
	}
	k := sentKey{r.Src, r.Dst, uint64(keyOf(head))}
	if head.Control() {
		k.key |= 1 << 63
	}
	s := h.sent[k]
	if s == nil || !r.Repeat {
		if s == nil && len(h.sent) >= maxHabitSent {
			clear(h.sent)
			h.GivenUp++
		}
		h.sent[k] = &sending{at, r.Datagram.Number, 1}
		return
	}
	if ns, ok := at.since(s.at); ok {
		fixed := head.Type == transport.Connect || head.Type == transport.Disconnect
		v := h.resends[resendKey{fixed, min(s.times, 10)}]
		if v == nil {
			v = new(interval)
			h.resends[resendKey{fixed, min(s.times, 10)}] = v
		}
		v.take(ns, s.frame, r.Datagram.Number)
	}
	s.at, s.frame, s.times = at, r.Datagram.Number, s.times+1
}

// joining measures the steps of a join.
func (h *Habits) joining(r *dissect.Record, at moment) {
	host, client := r.Dst, r.Src
	if r.Dir == dissect.FromHost {
		host, client = client, host
	}
	op, game := r.Opcode()
	game = game && r.Transport.Type == transport.Standard
	switch {
	case r.Dir == dissect.ToHost && r.Transport.Type == transport.Connect:
		if len(h.joins) >= maxHabitJoins {
			clear(h.joins)
			h.GivenUp++
		}
		h.joins[client] = &join{0, at, r.Datagram.Number}
		delete(h.hosts[host], client)
		return
	case r.Dir == dissect.ToHost && (r.Transport.Type == transport.Disconnect || r.Transport.Type == transport.Leave):
		delete(h.hosts[host], client)
	case r.Dir == dissect.ToHost && game && (op == msg.OpClientReady || op == msg.OpStateUpdate):
		h.enter(host, client)
	}
	j := h.joins[client]
	if j == nil || j.step >= len(joinSteps) {
		return
	}
	reached := false
	fromHost := r.Dir == dissect.FromHost
	switch j.step {
	case 0:
		reached = fromHost && r.Transport.Type == transport.Connect
	case 1:
		reached = fromHost && game && op == msg.OpChecksumRequest
	case 2:
		reached = fromHost && game && op == msg.OpSettings
	case 3:
		reached = !fromHost && game && op == msg.OpClientReady
	case 4:
		reached = fromHost && game && op == msg.OpMissionInit
	case 5:
		reached = !fromHost && game && op == msg.OpObjectCreateTeam
	}
	if !reached {
		return
	}
	if ns, ok := at.since(j.at); ok {
		h.steps[j.step].take(ns, j.frame, r.Datagram.Number)
	}
	j.step, j.at, j.frame = j.step+1, at, r.Datagram.Number
}

// enter counts a client among those in the game.
func (h *Habits) enter(host, client netip.AddrPort) {
	in := h.hosts[host]
	switch {
	case in[client]:
	case in == nil && len(h.hosts) >= maxHabitHosts, len(in) >= maxHabitPlayers:
		h.GivenUp++
	case in == nil:
		h.hosts[host] = map[netip.AddrPort]bool{client: true}
	default:
		in[client] = true
	}
}

// passedOn counts the messages of clients and the host's copies of them.
func (h *Habits) passedOn(r *dissect.Record) {
	op, _ := r.Opcode()
	if r.Spec == nil {
		return
	}
	c := h.copies[op]
	if c == nil {
		c = &copies{relay: r.Spec.Relay, name: r.Spec.Name}
		h.copies[op] = c
	}
	if r.Dir == dissect.ToHost {
		if len(h.originals) >= maxHabitFrames {
			clear(h.originals)
			h.GivenUp++
		}
		h.originals[r.Datagram.Number] = true
		c.originals++
		players := len(h.hosts[r.Dst])
		if h.hosts[r.Dst][r.Src] {
			players--
		}
		c.expected += int64(players)
		if len(c.first) == 0 {
			c.first = []int{r.Datagram.Number}
		}
		return
	}
	if r.CopyOf == 0 || !h.originals[r.CopyOf] {
		return
	}
	c.copies++
	if len(c.first) > 0 && len(c.first) < 4 && r.CopyOf == c.first[0] {
		c.first = append(c.first, r.Datagram.Number)
	}
}

// update measures a ship update.
func (h *Habits) update(r *dissect.Record, m *msg.StateUpdate, at moment) {
	if m.Flags&msg.DirtySubsystems != 0 && m.Class != nil {
		k := blockKey{m.Class.Name, r.Dir}
		if h.blocks[k] == nil {
			h.blocks[k] = map[uint8]*firstOf{}
		}
		if f := h.blocks[k][m.Start]; f != nil {
			f.n++
		} else {
			h.blocks[k][m.Start] = &firstOf{1, r.Datagram.Number}
		}
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
	if m.Flags&msg.DirtyCloak != 0 {
		u.cloaked = m.Cloak != (r.Layout == decode.OpenBC) // which sends the opposite
	}
	if ns, ok := at.since(u.before); ok {
		u.all.take(ns, u.frame, r.Datagram.Number)
		if idle && u.idle {
			u.resting.take(ns, u.frame, r.Datagram.Number)
		}
		if u.cloaked {
			u.cloaking.take(ns, u.frame, r.Datagram.Number)
		}
	}
	u.before, u.frame, u.idle = at, r.Datagram.Number, idle
}

// Figures returns what has been measured, by group.
func (h *Habits) Figures() (all []Figure) {
	for i, way := range []string{"of clients", "of the host"} {
		all = append(all, h.datagrams[i].figures(way)...)
	}
	all = append(all, h.resendFigures()...)
	all = append(all, h.updateFigures()...)
	for i := range h.steps {
		if v := &h.steps[i]; v.n > 0 {
			all = append(all, v.figure("joins", joinSteps[i].name, joinSteps[i].known))
		}
	}
	all = append(all, h.copyFigures()...)
	return append(all, h.blockFigures()...)
}

func (d *perDatagram) figures(way string) []Figure {
	d.finish()
	if d.n == 0 {
		return nil
	}
	share := func(n int64) string { return fmt.Sprintf("%.0f %%", float64(n)*100/float64(d.n)) }
	more := d.n - d.counts[1] - d.counts[2] - d.counts[3]
	f := Figure{
		Group: "datagrams", Name: "messages in a datagram " + way, Unit: "messages", N: d.n, Max: float64(d.most), Frames: []int{d.mostAt},
		Values: fmt.Sprintf("1: %s, 2: %s, 3: %s, more: %s", share(d.counts[1]), share(d.counts[2]), share(d.counts[3]), share(more)),
		Known:  "1: 42 %, 2: 23 %, 3: 26 %, more: 9 %; 110 at most in a battle",
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
	return []Figure{f, {
		Group: "datagrams", Name: "largest datagram " + way, Unit: "bytes", N: d.n, Max: float64(d.largest), Frames: []int{d.largeAt},
		Known: "512 at most; 508 in a battle",
	}}
}

// figure returns the figure of an interval with the frames of the longest.
func (v *interval) figure(group, name, known string) Figure {
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	return Figure{
		Group: group, Name: name, Unit: "ms", N: v.n, Known: known, Median: ms(v.quantile(0.5)), Min: ms(time.Duration(v.min)),
		Max: ms(time.Duration(v.max)), Frames: v.longest[:],
	}
}

func (h *Habits) resendFigures() (all []Figure) {
	keys := slices.SortedFunc(maps.Keys(h.resends), func(a, b resendKey) int {
		if a.fixed != b.fixed {
			return map[bool]int{true: -1, false: 1}[a.fixed]
		}
		return a.times - b.times
	})
	for _, k := range keys {
		name, known := "connect or disconnect", 1
		if !k.fixed {
			name, known = "message", (k.times-1)%5+1
		}
		f := h.resends[k].figure("resends", fmt.Sprintf("repetition %d of a %s", k.times, name), fmt.Sprintf("%d,000 ms", known))
		if k.times == 10 {
			f.Name = fmt.Sprintf("repetitions from 10 on of a %s", name)
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
			name = fmt.Sprintf("0x%08X", uint32(k.ship))
		}
		known := "100 ms: 96 ms in the middle; farther ships 200 to 1,000 ms"
		if u.dir == dissect.ToHost {
			name += " to the host"
			known = "about 100 ms"
		} else if to := u.to; to != "" {
			name += " to " + to
		} else {
			name += " to " + k.dst.String()
		}
		for _, v := range []struct {
			of    *interval
			what  string
			known string
		}{{&u.all, "", known}, {&u.resting, ", at rest", "as often as in motion"}, {&u.cloaking, ", cloaked", "-"}} {
			if v.of.n > 0 {
				all = append(all, v.of.figure("updates", name+v.what, v.known))
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
		each := float64(c.copies) / float64(c.originals)
		f := Figure{
			Group: "copies", Name: fmt.Sprintf("%v %s", op, c.name), Unit: "copies", N: c.originals, Median: each, Min: each, Max: each,
			Values: fmt.Sprintf("%d copies, %d other players", c.copies, c.expected), Frames: c.first, Known: "none",
		}
		switch c.relay {
		case decode.RelayForward, decode.RelaySlots:
			f.Known = "one to each other player (N - 1)"
		case decode.RelayEcho:
			f.Known = "one to each player (N)"
		case decode.RelayTeam:
			f.Known = "one to each player of the team"
		case decode.RelayAnswer, decode.RelayConsume, decode.RelayNone:
		}
		all = append(all, f)
	}
	return all
}

func (h *Habits) blockFigures() (all []Figure) {
	keys := slices.SortedFunc(maps.Keys(h.blocks), func(a, b blockKey) int {
		return cmp.Or(strings.Compare(a.class, b.class), cmp.Compare(a.dir, b.dir))
	})
	for _, k := range keys {
		f := Figure{Group: "blocks", Name: k.class + " of the host", Known: "-"}
		if k.dir == dissect.ToHost {
			f.Name = k.class + ", own ship"
			if f.Known = ownCycles[k.class]; f.Known == "" {
				f.Known = "-"
			}
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
