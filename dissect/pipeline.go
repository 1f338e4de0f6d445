package dissect

import (
	"errors"
	"hash/maphash"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/ship"
	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/dissect/internal/session"
	"github.com/bcdissect/bcdissect/dissect/packet"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// Limits bound the state of a pipeline.
type Limits = session.Limits

// DefaultLimits returns limits that exceed any real session.
func DefaultLimits() Limits { return session.DefaultLimits() }

// A Config holds the options of a pipeline.
type Config struct {
	// Ports are the host ports. If set, all UDP traffic of these ports counts as
	// the game's, and no other traffic does. If empty, the game's traffic is
	// detected by content on any port.
	Ports []uint16
	// Dialect is the dialect of every sender, unless it is Undecided.
	Dialect decode.Dialect
	// Ships, if not nil, is the class of all ships whose class is unknown.
	Ships *ship.Class
	// Clear tells that datagrams are already deciphered.
	Clear bool
	// Catalog has the game messages. Nil means the stock catalogue.
	Catalog *decode.Catalog
	// Limits bound the state. Zero values mean DefaultLimits.
	Limits Limits
}

// Stats count a pipeline's input.
type Stats struct {
	Datagrams     int // all datagrams
	Other         int // datagrams of other traffic, which were skipped
	Conversations int // conversations of the game
	Evicted       int // evicted conversations
	Forgotten     int // reliable messages that the limits of transport.Tracker dropped within a minute, so that a retransmission would not be recognised
	Malformed     int // malformed records, except for those truncated by the capture
}

// A Pipeline turns datagrams into records. It is not safe for concurrent use.
type Pipeline struct {
	cfg     Config
	catalog *decode.Catalog
	table   *session.Table
	decoder *decode.Decoder
	blocks  *session.Blocks
	stats   Stats
	needs   Needs

	own     []byte // buffer for a deciphered datagram
	text    []byte // buffer for a text
	now     pass   // current datagram
	clock   packet.Clock
	updates updates
	doubles doubles
	asides  asides
	headers headers
}

// New returns a pipeline.
func New(cfg Config) *Pipeline {
	if cfg.Catalog == nil {
		cfg.Catalog = msg.Catalog()
	}
	if cfg.Limits == (Limits{}) {
		cfg.Limits = DefaultLimits()
	}
	p := &Pipeline{
		clock:   packet.Clock{Jump: longestStep},
		cfg:     cfg,
		catalog: cfg.Catalog,
		table:   session.NewTable(cfg.Limits, cfg.Dialect),
		decoder: decode.NewDecoder(),
		doubles: doubles{seed: maphash.MakeSeed()},
	}
	p.table.AssumeShips(cfg.Ships)
	p.now.Pipeline = p
	p.table.Note = p.now.note
	p.blocks = session.NewBlocks(p.decoder, p.now.note)
	p.updates.init(p.catalog, p.decoder)
	return p
}

// longestStep is the longest time for which all hosts and clients can be
// silent. A longer step means that the clock was set, so that retransmissions
// of messages before the step may follow it.
const longestStep = 10 * time.Second

// Stats returns the counts so far.
func (p *Pipeline) Stats() Stats { return p.stats }

// The reasons why a record is not understood, in addition to the errors of the
// layers.
var (
	ErrCut      = errors.New("the capture holds only a part of the datagram")
	ErrOpcode   = errors.New("unknown opcode")
	ErrFragment = errors.New("impossible fragment")
	ErrEvicted  = errors.New("given up to keep to a limit")
	ErrHeader   = errors.New("the IP header is damaged, by its checksum: its addresses may be wrong")
	ErrMissing  = errors.New("never became complete")
)

// Push emits the records of a datagram. It fails only if emit fails. Datagrams
// of other traffic make no record.
func (p *Pipeline) Push(d *Datagram, emit func(*Record) error) error {
	defer p.doubles.settle()
	return p.push(d, nil, emit)
}

// push is Push for a datagram that may already be deciphered. If it is not, or
// for GameSpy, plain is empty.
func (p *Pipeline) push(d *Datagram, plain []byte, emit func(*Record) error) error {
	if !d.Form.Whole() {
		return p.pushLogged(d, emit)
	}
	p.stats.Datagrams++
	anyPort := len(p.cfg.Ports) == 0
	if len(d.Payload) == 0 || !anyPort && !p.wanted(d) {
		p.stats.Other++
		return nil
	}
	text := len(plain) == 0 && d.Payload[0] == '\\' // if plain is given, do not load the payload into this processor's caches
	c, clear := p.table.Lookup(d.Src, d.Dst), p.isClear(d)
	if c == nil && anyPort && !clear && !text && !maybeGame(d.Payload) {
		p.stats.Other++
		return nil
	}
	at := p.clock.Read(d.Time)
	nanos := packet.Nanos(at)
	if text {
		plain = d.Payload
	} else {
		plain = p.plainOf(d, plain)
	}
	if frame := p.doubles.find(d, plain, nanos); frame > 0 {
		return p.double(d, c, plain, emit, frame)
	}
	if text {
		p.doubles.keep(d, d.Number)
		return p.begin(d, at, nanos, c, nil, emit).gameSpy()
	}
	if c == nil {
		if anyPort && !transport.Plausible(plain, !d.Truncated()) {
			p.stats.Other++
			return nil
		}
		if d.Damaged && !clear && p.headers.tell() {
			p.doubles.keep(d, d.Number)
			return p.begin(d, at, nanos, nil, plain, emit).damaged()
		}
		c = p.open(d, at)
	}
	p.doubles.keep(d, d.Number)
	p.headers.take(d)
	return p.begin(d, at, nanos, c, plain, emit).datagram()
}

// double emits the records of a datagram that doubles an earlier one. The
// argument frame is the earlier one's frame. The state of the session does not change.
func (p *Pipeline) double(d *Datagram, c *session.Conversation, plain []byte, emit func(*Record) error, frame int) error {
	n := &p.now
	n.d, n.c, n.side, n.plain, n.emit = d, c, session.Client, plain, emit
	n.doubleOf = frame
	defer func() { n.doubleOf = 0 }()
	n.doubleNote[0] = Note{Code: "doubled_datagram", Text: "the network or the capture doubled the datagram of frame " + strconv.Itoa(frame)}
	switch {
	case d.Payload[0] == '\\':
		return n.gameSpy()
	case c == nil:
		return n.damaged()
	}
	return n.datagram()
}

// isClear reports whether a datagram is already deciphered.
func (p *Pipeline) isClear(d *Datagram) bool { return d.Form == packet.Clear || p.cfg.Clear }

// plainOf returns the deciphered datagram. If plain is not empty, that is it.
func (p *Pipeline) plainOf(d *Datagram, plain []byte) []byte {
	switch {
	case p.isClear(d):
		// Copy the payload, since the owner of the datagram may change it while
		// records are still used.
		p.own = append(p.own[:0], d.Payload...)
	case len(plain) > 0:
		return plain
	default:
		p.own = cipher.Decrypt(p.own[:0], d.Payload)
	}
	return p.own
}

// Flush emits records of the fragments of incomplete messages.
func (p *Pipeline) Flush(emit func(*Record) error) error {
	p.table.All(func(c *session.Conversation) {
		p.flush(c, nil, ErrMissing, "until the end of the capture")
	})
	return p.asides.drain(emit)
}

// headers count the game's datagrams with correct and with damaged IP headers.
type headers struct{ sound, damaged int }

func (h *headers) take(d *Datagram) {
	if d.Damaged {
		h.damaged++
	} else {
		h.sound++
	}
}

// tell reports whether a wrong checksum means a damaged header. Where checksums
// are often wrong, something has changed the addresses and not the checksums.
func (h *headers) tell() bool {
	const often = 4
	return h.sound > often*h.damaged
}

// wanted reports whether one of the datagram's ports is configured.
func (p *Pipeline) wanted(d *Datagram) bool {
	if d.WireLen == 0 && (d.Src.Addr().IsUnspecified() || d.Dst.Addr().IsUnspecified()) {
		return true // a log does not contain its writer's port
	}
	return slices.Contains(p.cfg.Ports, d.Src.Port()) || slices.Contains(p.cfg.Ports, d.Dst.Port())
}

// maybeGame is a cheap test that rejects payloads of other traffic.
func maybeGame(p []byte) bool {
	return len(p) > 2 && transport.PlausiblePeer(p[0]) && p[1] != cipher.FirstKey
}

// open starts a conversation, and may evict another one.
func (p *Pipeline) open(d *Datagram, at time.Time) *session.Conversation {
	p.table.Rest(at) // a client that keeps coming from new addresses must not use much memory
	c, evicted := p.table.Open(d.Src, d.Dst)
	p.stats.Conversations++
	if evicted != nil {
		p.stats.Evicted++
		p.flush(evicted, d, ErrEvicted, "gone with its conversation")
		p.evictedConversation(evicted, d)
	}
	return c
}

// Session returns the conversation between two addresses for inspection, or
// nil.
func (p *Pipeline) Session(a, b netip.AddrPort) *session.Conversation { return p.table.Lookup(a, b) }
