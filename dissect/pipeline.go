package dissect

import (
	"errors"
	"net/netip"
	"slices"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/ship"
	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/dissect/session"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// Limits bound the state that traffic can fill.
type Limits = session.Limits

// DefaultLimits returns limits that hold for any session that people play.
func DefaultLimits() Limits { return session.DefaultLimits() }

// A Config says how traffic is to be understood.
type Config struct {
	// Ports are the host ports. If there are any, all UDP traffic of these
	// ports is taken to be the game's and no other; if there are none, the
	// game's traffic is recognised by content on any port.
	Ports []uint16
	// Dialect, other than Undecided, is that of every sender.
	Dialect decode.Dialect
	// Ships, if not nil, is the class of all ships of which the traffic does not
	// tell it.
	Ships *ship.Class
	// Catalog holds the game messages; nil stands for those of the game.
	Catalog *decode.Catalog
	// Limits bound the state; the zero value stands for DefaultLimits.
	Limits Limits
}

// Stats count what a pipeline was given.
type Stats struct {
	Datagrams     int // all
	Other         int // not of the game: passed over
	Conversations int // of the game
	Evicted       int // conversations given up to keep to the limit
	Forgotten     int // reliable messages that would not be known again within a minute, to keep to the limits of transport.Tracker
	Malformed     int // records that stopped making sense, but for what the capture cut short
}

// A Pipeline turns datagrams into records. It is not safe for concurrent use.
type Pipeline struct {
	cfg     Config
	catalog *decode.Catalog
	table   *session.Table
	decoder *decode.Decoder
	blocks  *session.Blocks
	stats   Stats

	omitValues bool

	own     []byte // room for a deciphered datagram
	text    []byte // room for a text
	now     pass   // of the datagram in work
	updates updates
	asides  asides
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
		cfg:     cfg,
		catalog: cfg.Catalog,
		table:   session.NewTable(cfg.Limits, cfg.Dialect),
		decoder: decode.NewDecoder(),
	}
	p.table.AssumeShips(cfg.Ships)
	p.now.Pipeline = p
	p.table.Note = p.now.note
	p.blocks = session.NewBlocks(p.decoder, p.now.note)
	p.updates.init(p.catalog, p.decoder)
	return p
}

// Stats returns the counts so far.
func (p *Pipeline) Stats() Stats { return p.stats }

// OmitValues makes records of ship updates come without Message from now on,
// or with it again. Counting is faster without; later records are the same.
// Updates whose layout is in doubt come with their Message in any case.
func (p *Pipeline) OmitValues(omit bool) { p.omitValues = omit }

// Why a record is not understood, beside the errors of the layers.
var (
	ErrCut      = errors.New("the capture holds only a part of the datagram")
	ErrOpcode   = errors.New("unknown opcode")
	ErrFragment = errors.New("impossible fragment")
	ErrEvicted  = errors.New("given up to keep to a limit")
	ErrMissing  = errors.New("never became complete")
)

// Push takes a datagram and gives emit its records. It fails only if emit
// does. Datagrams that are not of the game make no record.
func (p *Pipeline) Push(d *Datagram, emit func(*Record) error) error {
	return p.push(d, nil, emit)
}

// push is Push for a datagram that may have been deciphered: if not, plain is
// empty.
func (p *Pipeline) push(d *Datagram, plain []byte, emit func(*Record) error) error {
	p.stats.Datagrams++
	if len(d.Payload) == 0 || len(p.cfg.Ports) > 0 && !p.wanted(d) {
		p.stats.Other++
		return nil
	}
	if d.Payload[0] == '\\' {
		return p.begin(d, nil, nil, emit).gameSpy()
	}
	c := p.table.Lookup(d.Src, d.Dst)
	if c == nil && len(p.cfg.Ports) == 0 && !maybeGame(d.Payload) {
		p.stats.Other++
		return nil
	}
	if len(plain) == 0 {
		p.own = cipher.Decrypt(p.own[:0], d.Payload)
		plain = p.own
	}
	if c == nil {
		if len(p.cfg.Ports) == 0 && !transport.Plausible(plain, !d.Truncated()) {
			p.stats.Other++
			return nil
		}
		c = p.open(d)
	}
	return p.begin(d, c, plain, emit).datagram()
}

// Flush gives emit the fragments of messages that never became complete.
func (p *Pipeline) Flush(emit func(*Record) error) error {
	p.table.All(func(c *session.Conversation) {
		p.flush(c, nil, ErrMissing, "until the end of the capture")
	})
	return p.asides.drain(emit)
}

// wanted reports whether the datagram is from or to one of the ports that the
// configuration asks for.
func (p *Pipeline) wanted(d *Datagram) bool {
	return slices.Contains(p.cfg.Ports, d.Src.Port()) || slices.Contains(p.cfg.Ports, d.Dst.Port())
}

// maybeGame is a cheap test for payloads that cannot be the game's.
func maybeGame(p []byte) bool {
	return len(p) > 2 && transport.PlausiblePeer(p[0]) && p[1] != cipher.FirstKey
}

// open starts a conversation. Another one may have to be given up for it.
func (p *Pipeline) open(d *Datagram) *session.Conversation {
	c, evicted := p.table.Open(d.Src, d.Dst)
	p.stats.Conversations++
	if evicted != nil {
		p.stats.Evicted++
		p.flush(evicted, d, ErrEvicted, "gone with its conversation")
		p.evictedConversation(evicted, d)
	}
	return c
}

// Session returns the conversation of two addresses for inspection, nil if
// there is none.
func (p *Pipeline) Session(a, b netip.AddrPort) *session.Conversation { return p.table.Lookup(a, b) }
