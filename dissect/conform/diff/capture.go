// Not part of the library: package diff compares two captures of the same match
// from two places, or of the same script played on two hosts.
//
// Each [Capture] is a sink of records. It keeps a digest of each message and
// the message's bytes, within limits that the report names. [Compare] finds the
// conversations that belong together, aligns their messages by content, and
// reports the messages that one capture lacks, that differ, and that come in
// another order. Ids of players and objects, addresses and clocks may differ as
// long as each has one counterpart.
package diff

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"math"
	"net/netip"
	"slices"
	"strconv"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/gamespy"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/packet"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// Limits of a capture. Messages beyond them are counted but not compared.
const (
	MaxMessages      = 1 << 20
	MaxConversations = 1024
	maxBytes         = 48 << 20 // size of all messages
	maxIDs           = 4 << 20
)

// A Capture holds the messages of one capture. It is a sink of records.
type Capture struct {
	seed  maphash.Seed
	all   []*conversation
	open  map[place]*conversation
	bytes []byte // bytes of all messages
	ids   []id
	scan  scanner
	count int

	// Lengths compares only the lengths of texts and undecoded bytes, as an
	// anonymised copy requires. It must be set before the first record.
	Lengths bool

	Messages   int  `json:"messages"`        // number of compared messages
	Repeats    int  `json:"retransmissions"` // retransmissions
	Acks       int  `json:"acks"`            // acknowledgements
	Keepalives int  `json:"keepalives"`      // datagrams without contents, and repeated names
	Left       int  `json:"left_out"`        // number of messages beyond the limits
	Cut        int  // number of datagrams truncated by a snap length
	Undirected int  // messages from a sender that may be the host or a client
	Bare       bool // the capture is a log without transport messages
}

// A place identifies the conversation of a datagram.
type place struct {
	number int // number in the pipeline, 0 for GameSpy
	low    netip.AddrPort
	high   netip.AddrPort
}

// A conversation is one connection of a client, or the queries of one address.
type conversation struct {
	place
	End
	ways  [2][]item // from the client and from the host
	begun netip.AddrPort
	names map[uint64]bool // NameChanges that have been seen
}

// An item is one message.
type item struct {
	time  int64
	key   uint64 // digest without ids and clocks
	exact uint64 // digest with ids
	frame int32
	since int32  // frame of the first fragment, or of the message
	num   int32  // low bits of its number
	body  uint32 // offset of the body
	ids   uint32 // offset of the ids
	size  uint16
	idN   uint16
	part  uint16
	kind  dissect.Kind
	typ   transport.Type
	op    decode.Opcode
	flags uint8
	group uint8 // group of messages within which the order is compared
}

const (
	flagReliable = 1 << iota
	flagPriority
	flagUnknown // the log does not contain the other flags
	flagCut     // the capture lacks the end of the datagram from here on
	flagResent  // a retransmission without its original
)

// An id is a value that may differ in the other capture.
type id struct {
	domain domain
	value  uint32
}

// A domain is a kind of ids.
type domain uint8

const (
	objects domain = iota
	addresses
	numbers // numbers of players, by decode.Who
)

// New returns two empty captures.
func New() (a, b *Capture) {
	seed := maphash.MakeSeed()
	make1 := func() *Capture { return &Capture{seed: seed, open: map[place]*conversation{}} }
	return make1(), make1()
}

// Conversations returns the conversations in the order in which they began.
func (c *Capture) Conversations() []*End {
	all := make([]*End, len(c.all))
	for i, v := range c.all {
		all[i] = &v.End
	}
	return all
}

// Close does nothing. It exists so that Capture is a sink.
func (c *Capture) Close() error { return nil }

// Record takes a record of the pipeline. It is borrowed until the call returns.
func (c *Capture) Record(r *dissect.Record) error {
	if r.Datagram == nil || r.Kind == dissect.KindEvicted {
		return nil
	}
	at := c.conversation(r)
	if at == nil {
		c.Left++
		return nil
	}
	if r.Client != "" {
		at.Name = r.Client
	}
	if r.DoubleOf != 0 && r.Kind != dissect.KindMessage { // message looks at those, since acknowledgements and keepalives have counts of their own
		c.Repeats++
		return nil
	}
	it := item{kind: r.Kind, time: packet.Nanos(r.Datagram.Time), frame: frameOf(r.Datagram.Number), part: uint16(min(r.Part, 1<<16-1))}
	if it.since = it.frame; len(r.Pieces) > 0 {
		it.since = frameOf(slices.Min(r.Pieces))
	}
	if r.Cut || r.Kind == dissect.KindGameSpy && r.Datagram.Truncated() {
		it.flags |= flagCut
		c.Cut++
	}
	body := r.Bytes
	switch r.Kind {
	case dissect.KindMessage:
		var ok bool
		if body, ok = c.message(r, at, &it); !ok {
			return nil
		}
	case dissect.KindPayload: // compared with a message of a capture
		c.Bare, it.kind, it.typ, it.flags, body = true, dissect.KindMessage, transport.Standard, flagUnknown, r.Payload
	case dissect.KindGameSpy, dissect.KindMalformed, dissect.KindEvicted:
	}
	way := at.way(r)
	if it.typ == transport.Standard && len(body) > 0 && r.Kind != dissect.KindGameSpy && r.Kind != dissect.KindMalformed {
		it.op = decode.Opcode(body[0])
	}
	if r.Kind == dissect.KindMessage && r.Dir == dissect.DirUnknown {
		c.Undirected++
	}
	if c.count >= MaxMessages || len(c.bytes)+len(body) > maxBytes || len(c.ids) > maxIDs-256 {
		c.Left++
		return nil
	}
	c.digest(r, body, &it)
	if way == 1 {
		it.group = c.ownerOf(&it)
	}
	it.body, it.size = uint32(len(c.bytes)), uint16(min(len(body), 1<<16-1))
	c.bytes = append(c.bytes, body[:it.size]...)
	c.count++
	c.Messages++
	at.Messages++
	if r.Kind == dissect.KindMessage && it.flags&flagReliable != 0 {
		if it.num = int32(r.Number); r.Late && resent(at.ways[way], &it) {
			it.flags |= flagResent
		}
	}
	at.ways[way] = append(at.ways[way], it)
	return nil
}

// Limits of retransmissions without their originals.
const (
	detour   = int64(transport.Detour)
	lookBack = 8192 // how many messages before a retransmission are searched
)

// resent reports whether a late message is a retransmission: it came long after
// the first message with a higher number.
func resent(all []item, it *item) bool {
	follows := it.time
	for i := len(all) - 1; i >= max(0, len(all)-lookBack); i-- {
		other := &all[i]
		if other.flags&flagReliable == 0 || (other.typ == transport.Standard) != (it.typ == transport.Standard) {
			continue
		}
		if it.num-other.num > 0 {
			return other.flags&flagResent != 0 || it.time-follows >= detour
		}
		if other.flags&flagResent == 0 {
			follows = other.time
		}
	}
	return false
}

func frameOf(number int) int32 { return int32(min(number, math.MaxInt32)) }

// message handles the header of a transport message. If the message is not
// compared, ok is false: a retransmission, a fragment, an acknowledgement or a
// keepalive.
func (c *Capture) message(r *dissect.Record, at *conversation, it *item) (body []byte, ok bool) {
	h := &r.Transport
	switch {
	case r.Keepalive() && r.DoubleOf == 0:
		c.Keepalives++
		return nil, false
	case r.Repeat || r.Status == dissect.StatusDuplicate:
		c.Repeats++
		return nil, false
	}
	it.typ = h.Type
	if h.Reliable {
		it.flags |= flagReliable
	}
	if h.Priority {
		it.flags |= flagPriority
	}
	switch h.Type {
	case transport.Acknowledge:
		c.Acks++
		return nil, false
	case transport.Standard:
		return r.Payload, len(r.Payload) > 0 || r.Status != dissect.StatusPending
	case transport.NameChange:
		body = r.Bytes[h.Size:]
		if at.again(maphash.Bytes(c.seed, append([]byte{byte(r.Dir)}, body...))) || len(body) == 0 {
			c.Keepalives++
			return nil, false
		}
		return body, true
	case transport.Connect, transport.BootPlayer, transport.Disconnect, transport.Leave, transport.DoNothing:
	}
	return r.Bytes[min(h.Size, len(r.Bytes)):], true
}

// maxNames is the maximum number of remembered names of a conversation.
const maxNames = 256

// again reports whether a NameChange came before. The game and OpenBC repeat
// them as keepalives.
func (v *conversation) again(key uint64) bool {
	if v.names[key] {
		return true
	}
	if v.names == nil || len(v.names) >= maxNames {
		v.names = map[uint64]bool{}
	}
	v.names[key] = true
	return false
}

// conversation returns the conversation of a record, or nil if there are too
// many. A new connect begins another conversation.
func (c *Capture) conversation(r *dissect.Record) *conversation {
	d := r.Datagram
	p := place{number: r.Conversation, low: d.Src, high: d.Dst}
	if p.high.Compare(p.low) < 0 {
		p.low, p.high = p.high, p.low
	}
	spy := r.Kind == dissect.KindGameSpy
	if spy {
		p.number = 0
	}
	v := c.open[p]
	anew := v != nil && r.Kind == dissect.KindMessage && !r.Repeat && r.Transport.Type == transport.Connect && r.Dir == dissect.ToHost &&
		slices.ContainsFunc(r.Notes, func(n dissect.Note) bool { return n.Code == "restart" })
	if v == nil || anew {
		if len(c.all) >= MaxConversations {
			return nil
		}
		v = &conversation{place: p, begun: d.Src, End: End{First: d.Number, GameSpy: spy}}
		c.open[p] = v
		c.all = append(c.all, v)
	}
	if !v.Host.IsValid() {
		switch {
		case spy && !r.GameSpy.Query(), r.Dir == dissect.FromHost:
			v.Host, v.Client = d.Src, d.Dst
		case spy, r.Dir == dissect.ToHost:
			v.Host, v.Client = d.Dst, d.Src
		}
	}
	return v
}

// way returns the index of the direction of a record: 0 from the client, 1 from
// the host. If the direction is unknown, the first sender counts as the client.
func (v *conversation) way(r *dissect.Record) int {
	from := v.Client
	if !from.IsValid() {
		from = v.begun
	}
	switch {
	case r.Dir == dissect.ToHost:
		return 0
	case r.Dir == dissect.FromHost:
		return 1
	case r.Datagram.Src == from:
		return 0
	}
	return 1
}

// digest computes the digests of a message and collects its ids.
func (c *Capture) digest(r *dissect.Record, body []byte, it *item) {
	if r.Kind == dissect.KindGameSpy {
		c.digestGameSpy(r, it)
		return
	}
	s := &c.scan
	s.body, s.sent = append(s.body[:0], body...), body
	s.ids, s.bits, s.record, s.depth, s.lengths = s.ids[:0], s.bits[:0], r, 0, c.Lengths
	if c.Lengths { // Field appends the decoded values
		clear(s.body)
		if it.typ == transport.Standard && it.kind == dissect.KindMessage && len(body) > 0 {
			s.body[0] = body[0]
		}
	}
	if r.Message != nil && (!c.Lengths || !isBlank(r, body)) {
		r.Visit(&s.viewer, s)
	}
	s.body = append(append(s.body, s.bits...), byte(it.kind), byte(it.typ))
	it.key = maphash.Bytes(c.seed, s.body)
	for _, v := range s.ids {
		s.body = append(s.body, byte(min(v.domain, numbers)))
		s.body = binary.LittleEndian.AppendUint32(s.body, v.value)
	}
	it.exact = maphash.Bytes(c.seed, s.body)
	it.ids, it.idN = uint32(len(c.ids)), uint16(min(len(s.ids), 1<<16-1))
	c.ids = append(c.ids, s.ids[:it.idN]...)
}

// queryID is the key with the number of the query and of the part of its
// answer.
const queryID = "queryid"

// digestGameSpy computes the digests of a GameSpy text: of its keys, and of its
// keys and values. The number of the query serves as sequence number.
func (c *Capture) digestGameSpy(r *dissect.Record, it *item) {
	keys, all := c.scan.body[:0], c.scan.bits[:0]
	known := r.GameSpy.Kind() != gamespy.KindOther
	for key, value := range r.GameSpy.Pairs() {
		if c.Lengths && !known {
			key, value = length(key), length(value)
		}
		keys = append(append(keys, key.Raw()...), 0)
		if all = append(append(all, key.Raw()...), 0); key != queryID && !c.Lengths {
			all = append(append(all, value.Raw()...), 0)
		}
	}
	if it.flags&flagCut != 0 { // the rest is unknown
		all = append(all, "cut"...)
		keys = append(keys, all...)
	}
	it.key, it.exact = maphash.Bytes(c.seed, keys), maphash.Bytes(c.seed, all)
	c.scan.body, c.scan.bits = keys, all
}

// length returns the length of a text as a text.
func length(t wire.Untrusted) wire.Untrusted { return wire.Untrusted(strconv.Itoa(len(t))) }

// ownerOf returns a number for the owner of the first object in a host's
// message, since a host passes on messages of different players in any order.
func (c *Capture) ownerOf(it *item) uint8 {
	for _, v := range c.ids[it.ids : it.ids+uint32(it.idN)] {
		if slot, ok := wire.ObjectID(v.value).Slot(); ok && v.domain == objects {
			return uint8(slot) + 1
		}
	}
	return 0
}

func (c *Capture) bodyOf(it *item) []byte { return c.bytes[it.body : it.body+uint32(it.size)] }

func (c *Capture) idsOf(it *item) []id { return c.ids[it.ids : it.ids+uint32(it.idN)] }

// A scanner blanks the bytes of ids and clocks in a copy of a message.
type scanner struct {
	record *dissect.Record
	viewer decode.Viewer
	sent   []byte // the original message
	body   []byte // the message without ids and clocks, or with Lengths, only the decoded values
	ids    []id
	bits   []byte
	depth  int

	lengths bool
}

// A meaning tells how a field is compared.
type meaning uint8

const (
	asSent  meaning = iota
	renamed         // the value has one counterpart
	ofClock         // the value is not compared, since it is a clock or a random number
)

// meaningOf returns how a field of a message is compared, and the id in it.
func meaningOf(r *dissect.Record, f *decode.Field, depth int) (m meaning, v id) {
	switch {
	case f.Kind == decode.KindObject:
		m, v = renamed, id{objects, uint32(f.Uint)}
	case f.Kind == decode.KindIPv4 && len(f.Bytes) == 4:
		m, v = renamed, id{addresses, binary.BigEndian.Uint32(f.Bytes)}
	case f.Who != decode.NoPlayer:
		m, v = renamed, id{numbers + domain(f.Who), uint32(f.Whole())}
	case f.Name == msg.ClockField && depth == 0:
		return ofClock, v
	case f.Name == transport.NonceField && r.Transport.Type == transport.Connect: // each attempt has another random number
		return ofClock, v
	}
	if depth > 0 || r.Spec == nil {
		return m, v
	}
	for i := range r.Spec.HostFields {
		h := &r.Spec.HostFields[i]
		if h.Name != f.Name {
			continue
		}
		switch h.From {
		case decode.HostClock, decode.HostIDs, decode.HostLine:
			return ofClock, v
		case decode.GivenSlot:
			return renamed, id{numbers + domain(decode.BySlot), uint32(f.Uint)}
		case decode.GivenID:
			return renamed, id{numbers + domain(decode.ByID), uint32(f.Uint)}
		}
	}
	return m, v
}

// isText reports whether fields of a kind contain text, bytes or a digest,
// which anonymizing may change.
func isText(k decode.Kind) bool {
	return k.Type() == decode.TypeText || k.Type() == decode.TypeBytes || k == decode.KindHash32
}

// isBlank reports whether anonymizing replaces everything after the head of a
// message by zeros. It does so if the message does not decode.
func isBlank(r *dissect.Record, body []byte) bool {
	if r.Payload != nil && len(body) > 0 {
		kept := 1
		if r.Spec != nil {
			kept = min(max(kept, r.Spec.Head), len(body))
		}
		body = body[kept:]
	}
	return r.Status == dissect.StatusMalformed || len(bytes.Trim(body, "\x00")) == 0
}

// Field implements [decode.Visitor].
func (s *scanner) Field(f *decode.Field) {
	if f.Kind.Derived() || f.End <= f.Off || f.End > len(s.body) {
		return
	}
	m, v := meaningOf(s.record, f, s.depth)
	switch {
	case m == renamed:
		s.ids = append(s.ids, v)
	case m == ofClock:
	case s.lengths && isText(f.Kind):
		return
	case f.Kind == decode.KindBit && len(s.record.Spec.HostFields) > 0: // the bit shares its byte with a bit that is not compared
		s.bits = append(s.bits, byte(f.Uint))
	default:
		copy(s.body[f.Off:f.End], s.sent[f.Off:f.End])
		return
	}
	clear(s.body[f.Off:f.End])
}

// Begin implements [decode.Visitor].
func (s *scanner) Begin(*decode.Group) { s.depth++ }

// End implements [decode.Visitor].
func (s *scanner) End(*decode.Group) { s.depth-- }
