package conform_test

import (
	"bytes"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/dissect/conform/result"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// A place is a transport message of a tape.
type place struct{ frame, part int }

// A told is a game message of a host, as it stands in a tape.
type told struct {
	place
	to      netip.AddrPort
	author  netip.AddrPort // author of a copy
	source  int            // frame of the original of a copy
	input   int64          // its number, -1 without
	op      decode.Opcode
	header  transport.Header
	number  int64 // -1 without
	payload []byte
	at      time.Time
	unique  bool // no other message of a client has these bytes
	again   bool
	scored  []byte // a ScoreChange that gives 100 points more
	about   uint8  // player of a PlayerAnnounce
}

// A fault is one thing that a host does wrong.
type fault struct {
	kind   string
	op     decode.Opcode
	to     netip.AddrPort // the wronged player
	frames []int          // by which a difference is recognised: of the original and of the faulty message; any if there are none
	proof  []int          // frames without which it need not be found: the original, the faulty message, the acknowledgement
	cases  [][]int        // proof of each time, if the fault is committed often
	enough int            // number of cases of which the proof must be there
	at     time.Time
}

// evident reports whether the proof of the fault is among the frames held.
func (f *fault) evident(held map[int]bool) bool {
	lacks := func(list []int) bool { return slices.ContainsFunc(list, func(was int) bool { return !held[was] }) }
	n := 0
	for _, c := range f.cases {
		if !lacks(c) {
			n++
		}
	}
	return !lacks(f.proof) && n >= f.enough
}

// faults are the kinds of faults.
var faultKinds = []string{
	"missing", "doubled", "returned", "misdirected", "altered", "disordered", "never passed on", "newcomer not told", "wrong scores",
	"missing, unreliable", "altered, unreliable", "returned, unreliable",
	sentOnceMore, sentAgain, putOut, putOutUntold, joinStops,
}

// The kinds of faults that are findings.
const (
	sentOnceMore = "acknowledged, sent once more"
	sentAgain    = "acknowledged, sent 8 times"
	putOut       = "player put out"
	putOutUntold = "player put out, others not told"
	joinStops    = "join stops"
)

// findingOf are the findings that the faults are, other than differences.
var findingOf = map[string]string{sentOnceMore: "ignored-acks", sentAgain: "ignored-acks", putOut: "given-up", putOutUntold: "given-up", joinStops: "never-repeated"}

// A meddler makes a faulty host of a sound one: it changes the host's messages, and
// numbers and acknowledgements so that they fit.
type meddler struct {
	tape   tape
	host   netip.AddrPort
	told   []told
	parts  map[place]*told
	acks   map[netip.AddrPort][]acked // acknowledgements of each client
	taken  map[numbered]int           // frame in which the host acknowledged a client's message first
	spoke  map[netip.AddrPort][]said  // numbered messages of clients
	lines  map[string][]said          // all messages of clients, by their bytes
	peers  map[netip.AddrPort]uint8   // ids with which clients sign
	layout decode.Dialect
	drop   map[*told]bool
	alter  map[*told][]byte
	insert map[netip.AddrPort][]inserted
	cuts   map[netip.AddrPort]*cut
	done   []fault
}

// A said message is one of a client, whose number is -1 without.
type said struct {
	frame int
	numbered
}

// A numbered message is one of a client.
type numbered struct {
	client netip.AddrPort
	number int64
}

// An acked is an acknowledgement that a client sent.
type acked struct {
	place
	number int64
}

// A copyOf is a client's message: its frame and its bytes.
type copyOf struct {
	frame int
	said  string
}

// An inserted message is one that the host sends in a datagram of this frame or later.
type inserted struct {
	frame  int
	header transport.Header
	body   []byte
	of     int   // fault
	again  *told // the message that it repeats, if any
	proof  []int // proof of a case of the fault, to which its own frame is added, or nil
}

// newMeddler reads a tape of one host.
func newMeddler(tb testing.TB, t tape) *meddler {
	tb.Helper()
	m := &meddler{
		tape: t, host: t.hosts()[0], parts: map[place]*told{}, acks: map[netip.AddrPort][]acked{}, taken: map[numbered]int{},
		spoke: map[netip.AddrPort][]said{}, lines: map[string][]said{}, peers: map[netip.AddrPort]uint8{}, cuts: map[netip.AddrPort]*cut{},
		drop: map[*told]bool{}, alter: map[*told][]byte{}, insert: map[netip.AddrPort][]inserted{},
	}
	p := dissect.New(dissect.Config{})
	from, last, heard := map[copyOf]numbered{}, map[netip.AddrPort]int64{}, map[netip.AddrPort]int64{}
	emit := func(r *dissect.Record) error {
		at := place{r.Datagram.Number, r.Part}
		h := &r.Transport
		if r.Dir == dissect.ToHost && r.Peer != transport.UnassignedPeer {
			m.peers[r.Datagram.Src] = r.Peer
		}
		switch {
		case r.Dir == dissect.ToHost && r.Kind == dissect.KindMessage && h.Type == transport.Acknowledge && !h.Control() && !h.Fragment:
			n := last[r.Datagram.Src]
			n += int64(int8(h.Seq - uint16(n)))
			m.acks[r.Datagram.Src] = append(m.acks[r.Datagram.Src], acked{at, n})
		case r.Dir == dissect.ToHost && r.Game() && !r.Repeat:
			by := numbered{r.Datagram.Src, -1}
			if h.HasSeq {
				by.number = r.Number
				heard[by.client] = max(heard[by.client], r.Number)
				m.spoke[by.client] = append(m.spoke[by.client], said{at.frame, by})
			}
			from[copyOf{r.Datagram.Number, original(r.Payload)}] = by
			m.lines[original(r.Payload)] = append(m.lines[original(r.Payload)], said{at.frame, by})
		case r.Dir == dissect.FromHost && h.Type == transport.Acknowledge && !h.Control() && !h.Fragment:
			n := heard[r.Datagram.Dst]
			n += int64(int8(h.Seq - uint16(n)))
			if by := (numbered{r.Datagram.Dst, n}); m.taken[by] == 0 {
				m.taken[by] = r.Datagram.Number
			}
		case r.Dir == dissect.FromHost && h.Type == transport.Standard && r.Datagram.Src == m.host:
			m.layout = r.Layout
			o := told{place: at, to: r.Datagram.Dst, header: *h, number: -1, at: r.Datagram.Time, again: r.Repeat || r.Late}
			if h.HasSeq {
				o.number, last[o.to] = r.Number, max(r.Number, last[o.to])
			}
			if len(r.Payload) > 0 {
				o.payload, o.op = bytes.Clone(r.Payload), decode.Opcode(r.Payload[0])
			}
			if a, ok := r.Message.(*msg.PlayerAnnounce); ok {
				o.about = a.Player
			}
			if change, ok := r.Message.(*msg.ScoreChange); ok && change.Killer != 0 {
				more := *change
				more.Score += 100
				var err error
				if o.scored, err = decode.Append(nil, r.Spec, &more, r.Layout); err != nil {
					tb.Fatal(err)
				}
			}
			if o.source = r.CopyOf; r.CopyOf > 0 {
				if by, ok := from[copyOf{r.CopyOf, original(r.Payload)}]; ok {
					o.author, o.input = by.client, by.number
				}
			}
			m.told = append(m.told, o)
		}
		return nil
	}
	for i := range t {
		if err := p.Push(&t[i].Datagram, emit); err != nil {
			tb.Fatal(err)
		}
	}
	for i := range m.told {
		o := &m.told[i]
		m.parts[o.place] = o
		o.unique = len(o.payload) > 0 && len(m.lines[original(o.payload)]) == 1
	}
	return m
}

// original returns the part of a message that OpenBC does not change.
func original(payload []byte) string {
	if op := decode.Opcode(payload[0]); (op == msg.OpChat || op == msg.OpTeamChat) && len(payload) > 5 {
		return string(payload[5:])
	}
	return string(payload)
}

// commit lets the host commit faults of a kind, one in so many of the messages with
// which it can.
func (m *meddler) commit(tb testing.TB, kind string, every int, r *rand.Rand) {
	tb.Helper()
	reliable := true
	if k, ok := bytes.CutSuffix([]byte(kind), []byte(", unreliable")); ok {
		reliable, kind = false, string(k)
	}
	var able []*told
	for i := range m.told {
		if o := &m.told[i]; o.author.IsValid() && o.author != o.to && !o.again && o.unique && !o.header.Fragment && len(o.payload) > 5 && (o.number >= 0) == reliable && o.op != msg.OpExplosion {
			able = append(able, o)
		}
	}
	switch kind {
	case "never passed on":
		m.never(able)
		return
	case "newcomer not told":
		m.untold()
		return
	case "wrong scores":
		m.scores()
		return
	case sentOnceMore:
		m.repeats(kind, 1, r)
		return
	case sentAgain:
		m.repeats(kind, len(dueAgain), r)
		return
	case putOut, putOutUntold:
		m.putsOut(tb, kind, r)
		return
	case joinStops:
		m.stops(r)
		return
	}
	every = max(every, len(able)*4/3/result.MaxDifferences) // the report lists so many
	for i := r.IntN(every); i < len(able); i += every/2 + 1 + r.IntN(every) {
		m.fault(kind, able[i], able[i+1:], r)
	}
}

// fault commits one fault with a copy; later are the copies after it.
func (m *meddler) fault(kind string, o *told, later []*told, r *rand.Rand) {
	one := fault{kind: kind, op: o.op, to: o.to, frames: []int{o.source, o.frame}, proof: []int{o.source, o.frame}, at: o.at}
	if ack := m.taken[numbered{o.author, o.input}]; ack > 0 {
		one.proof = append(one.proof, ack)
	}
	put := func(to netip.AddrPort, frame int) {
		m.insert[to] = append(m.insert[to], inserted{frame: frame, header: o.header, body: o.payload, of: len(m.done)})
	}
	switch kind {
	case "missing":
		m.drop[o] = true
	case "doubled":
		put(o.to, o.frame)
	case "returned":
		put(o.author, o.frame)
		one.to = o.author
	case "misdirected":
		i := slices.IndexFunc(later, func(l *told) bool { return l.to != o.to && l.to != o.author && l.at.Sub(o.at) < time.Second })
		if i < 0 {
			return
		}
		m.drop[o] = true
		put(later[i].to, o.frame)
	case "altered":
		body := bytes.Clone(o.payload)
		body[1+r.IntN(len(body)-1)] ^= 1 << r.IntN(8)
		m.alter[o] = body
	case "disordered":
		i := slices.IndexFunc(later, func(l *told) bool { return l.to == o.to && l.author == o.author && l.at.Sub(o.at) < 2*time.Second })
		if i < 0 {
			return
		}
		m.drop[o] = true
		put(o.to, later[i].frame)
		one.frames = append(one.frames, later[i].source, later[i].frame)
		one.proof = append(one.proof, later[i].source, later[i].frame)
	}
	m.done = append(m.done, one)
}

// never removes all copies of the opcode that is copied most.
func (m *meddler) never(able []*told) {
	count := map[decode.Opcode]int{}
	op := decode.Opcode(0)
	for _, o := range able {
		if count[o.op]++; count[o.op] > count[op] {
			op = o.op
		}
	}
	one := fault{kind: "never passed on", op: op}
	for i := range m.told {
		if o := &m.told[i]; o.op == op && o.author.IsValid() {
			m.drop[o] = true
			one.frames = append(one.frames, o.source)
		}
	}
	if len(one.frames) > 0 {
		m.done = append(m.done, one)
	}
}

// untold removes the ships that the last player to join is told of.
func (m *meddler) untold() {
	var to netip.AddrPort
	for i := range m.told {
		if o := &m.told[i]; o.op == msg.OpSettings {
			to = o.to
		}
	}
	one, n := fault{kind: "newcomer not told", op: msg.OpObjectCreateTeam, to: to}, len(m.drop)
	for i := range m.told {
		if o := &m.told[i]; o.op == one.op && o.to == to && !o.header.Fragment {
			m.drop[o] = true
		}
	}
	if len(m.drop) > n {
		m.done = append(m.done, one)
	}
}

// scores adds 100 to what every change of scores gives.
func (m *meddler) scores() {
	one := fault{kind: "wrong scores", op: msg.OpScoreChange}
	for i := range m.told {
		o := &m.told[i]
		if o.scored == nil || o.header.Fragment {
			continue
		}
		m.alter[o] = o.scored
		one.frames = append(one.frames, o.frame)
	}
	if len(one.frames) > 0 {
		m.done = append(m.done, one)
	}
}

// faulty returns the tape of the faulty host.
func (m *meddler) faulty(tb testing.TB) (out tape) {
	tb.Helper()
	shifts := map[netip.AddrPort]*shifted{}
	of := func(a netip.AddrPort) *shifted {
		if shifts[a] == nil {
			shifts[a] = m.shifted(a)
		}
		return shifts[a]
	}
	for i := range m.tape {
		d, ok := m.tape[i], true
		switch {
		case d.Src == m.host && m.touches(d.Dst):
			ok = m.fromHost(tb, &d, of(d.Dst))
		case d.Dst == m.host && m.touches(d.Src):
			ok = m.fromClient(tb, &d, of(d.Src))
		}
		for a, c := range m.cuts {
			if ok && d.Number > c.frame && (d.Src == a || d.Dst == a) {
				ok = c.keeps(tb, &d, d.Src == m.host)
			}
		}
		if ok {
			out = append(out, d)
		}
	}
	return out
}

// touches reports whether messages to a client are changed.
func (m *meddler) touches(a netip.AddrPort) bool {
	if len(m.insert[a]) > 0 {
		return true
	}
	for o := range m.drop {
		if o.to == a {
			return true
		}
	}
	for o := range m.alter {
		if o.to == a {
			return true
		}
	}
	return false
}

// shifted are the numbers of the host's messages to a client, after the change.
type shifted struct {
	last    int64 // last number in the original tape
	shifts  []shift
	insert  []inserted
	gone    map[int64]bool   // removed numbers of the original tape
	changed map[int64][]byte // their new bytes
	owed    []transport.Header
	prompt  bool // these are due with the client's next datagram
}

// shifted returns the numbers without those of removed messages. Retransmissions
// may come before the capture's first transmission of a lower number.
func (m *meddler) shifted(to netip.AddrPort) *shifted {
	s := &shifted{last: -1, insert: m.insert[to], gone: map[int64]bool{}, changed: map[int64][]byte{}}
	for i := range m.told {
		if o := &m.told[i]; o.to == to && m.drop[o] && o.number >= 0 && !s.gone[o.number] {
			s.gone[o.number] = true
			s.shifts = append(s.shifts, shift{o.number, -1})
		}
	}
	return s
}

// A shift is a number from which on the host uses others.
type shift struct{ from, by int64 }

func (s *shifted) number(n int64) int64 {
	by := int64(0)
	for _, h := range s.shifts {
		if n > h.from {
			by += h.by
		}
	}
	return n + by
}

// put writes a number as the sender of the original did.
func renumber(h *transport.Header, n int64, wide bool) {
	if h.Seq = uint16(n); !wide {
		h.Seq &= 0xFF
	}
}

// fromHost changes a datagram of the host. It reports whether anything is left of it.
func (m *meddler) fromHost(tb testing.TB, d *frame, s *shifted) bool {
	tb.Helper()
	b := newDatagram(tb, d)
	for part := 0; b.next(); part++ {
		o := m.parts[place{d.Number, part}]
		if o == nil {
			b.keep(nil, nil)
			continue
		}
		h, body := o.header, m.alter[o]
		if o.number >= 0 {
			if o.number > s.last {
				s.last = o.number
			}
			if m.alter[o] != nil {
				s.changed[o.number] = m.alter[o]
			}
			if s.gone[o.number] {
				continue
			}
			body = s.changed[o.number]
			renumber(&h, s.number(o.number), m.wide())
		} else if m.drop[o] {
			continue
		}
		b.keep(&h, body)
	}
	for len(s.insert) > 0 && s.insert[0].frame <= d.Number && b.room(len(s.insert[0].body)) {
		i := s.insert[0]
		s.insert = s.insert[1:]
		one := &m.done[i.of]
		if i.again != nil {
			renumber(&i.header, s.number(i.again.number), m.wide())
			s.owed, s.prompt = append(s.owed, transport.AckOf(&i.header)), true
		} else if i.header.HasSeq {
			at := s.last
			for s.gone[at] {
				at--
			}
			n := s.number(s.last) + 1
			if s.gone[s.last] {
				n = s.number(at) + 1
			}
			s.shifts = append(s.shifts, shift{s.last, 1})
			renumber(&i.header, n, m.wide())
			s.owed = append(s.owed, transport.AckOf(&i.header))
		}
		b.add(&i.header, i.body)
		if findingOf[one.kind] == "" {
			one.frames, one.proof = append(one.frames, d.was), append(one.proof, d.was)
		} else if i.proof != nil {
			one.cases = append(one.cases, append(i.proof, d.was))
		}
	}
	return b.done()
}

// wide reports whether the host's numbers have 16 bits.
func (m *meddler) wide() bool {
	return slices.ContainsFunc(m.told, func(o told) bool { return o.header.Seq > 0xFF })
}

// fromClient changes the acknowledgements in a datagram of a client. It reports
// whether anything is left of it.
func (m *meddler) fromClient(tb testing.TB, d *frame, s *shifted) bool {
	tb.Helper()
	b := newDatagram(tb, d)
	list, acks := m.acks[d.Src], 0
	for part := 0; b.next(); part++ {
		i := slices.IndexFunc(list, func(a acked) bool { return a.place == place{d.Number, part} })
		if i < 0 {
			b.keep(nil, nil)
			continue
		}
		acks++
		if s.gone[list[i].number] {
			continue
		}
		h := b.header
		renumber(&h, s.number(list[i].number), b.header.Seq > 0xFF)
		b.keep(&h, nil)
	}
	if acks > 0 || s.prompt && b.room(transport.PlainHeader*len(s.owed)) {
		for i := range s.owed {
			b.add(&s.owed[i], nil)
		}
		s.owed, s.prompt = nil, false
	}
	return b.done()
}

// A rebuilt datagram is one whose messages are taken apart and put together again.
type rebuilt struct {
	tb     testing.TB
	d      *frame
	split  transport.Splitter
	header transport.Header
	body   []byte
	plain  []byte
}

func newDatagram(tb testing.TB, d *frame) *rebuilt {
	tb.Helper()
	plain := cipher.Decrypt(nil, d.Payload)
	b := &rebuilt{tb: tb, d: d}
	if err := b.split.Start(plain); err != nil {
		return b
	}
	b.plain = []byte{plain[0], 0}
	return b
}

// next goes on to the next message.
func (b *rebuilt) next() bool {
	if b.plain == nil {
		return false
	}
	body, ok, err := b.split.Read(&b.header)
	b.body = body
	if err != nil {
		b.plain = nil // it is damaged, and stays unchanged
	}
	return ok && err == nil
}

// keep keeps the message, with another header or body unless they are nil.
func (b *rebuilt) keep(h *transport.Header, body []byte) {
	if h == nil {
		h = &b.header
	}
	if body == nil {
		body = b.body
	}
	b.add(h, body)
}

func (b *rebuilt) add(h *transport.Header, body []byte) {
	if b.plain == nil {
		return
	}
	plain, err := transport.Append(b.plain, h, body)
	if err != nil {
		b.tb.Fatal(err)
	}
	b.plain = plain
	b.plain[1]++
}

// room reports whether a message with a body of n bytes can be added.
func (b *rebuilt) room(n int) bool {
	return b.plain != nil && len(b.plain)+n+transport.PlainHeader+2 <= transport.MaxDatagram && b.plain[1] < 0xFF
}

// done changes the datagram, and reports whether anything is left of it.
func (b *rebuilt) done() bool {
	if b.plain == nil {
		return true
	}
	b.d.WireLen -= len(b.d.Payload)
	b.d.Payload = cipher.Encrypt(nil, b.plain)
	b.d.Full = len(b.d.Payload)
	b.d.WireLen += b.d.Full
	return b.plain[1] > 0
}

// TestOrder: the rule about the order of copies fails where a host passes on one client's
// messages in another order, and passes where it doesn't.
func TestOrder(t *testing.T) {
	failed := func(tp tape) (n int) {
		for _, r := range tp.judged(t) {
			for i := range r.Invariants {
				if v := &r.Invariants[i]; v.Name == "order" {
					n += v.Failed
				}
			}
		}
		return n
	}
	whole := readTape(t, "reliability/st_mix_fix_drx.pcap.gz")
	if n := failed(whole); n > 0 {
		t.Errorf("a sound host fails %d times", n)
	}
	m := newMeddler(t, whole)
	m.commit(t, "disordered", 60, rand.New(rand.NewPCG(1, 1))) //nolint:gosec // a fixed seed
	if n := failed(m.faulty(t)); len(m.done) == 0 || n == 0 {
		t.Errorf("%d messages in another order: %d failures", len(m.done), n)
	}
}
