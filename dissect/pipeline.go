package dissect

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/gamespy"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/ship"
	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/dissect/fragment"
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
	Malformed     int // records that stopped making sense, but for what the capture cut short
}

// A Pipeline turns datagrams into records. It is not safe for concurrent use.
type Pipeline struct {
	cfg     Config
	catalog *decode.Catalog
	table   *session.Table
	decoder *decode.Decoder
	stats   Stats

	plain    []byte // the deciphered datagram, which may be the caller's
	own      []byte // room for one
	text     []byte // where a text is made
	rec      Record
	updates  updates
	notes    []Note
	lostGame netip.AddrPort // host of a game that was given up, until a record tells of it
	lost     Datagram       // stands for a conversation that was given up
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
	p.updates.init(p.catalog, p.decoder)
	return p
}

// Stats returns the counts so far.
func (p *Pipeline) Stats() Stats { return p.stats }

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
		return p.gameSpy(d, emit)
	}
	c := p.table.Lookup(d.Src, d.Dst)
	if c == nil && len(p.cfg.Ports) == 0 && !maybeGame(d.Payload) {
		p.stats.Other++
		return nil
	}
	if p.plain = plain; len(plain) == 0 {
		p.own = cipher.Decrypt(p.own[:0], d.Payload)
		p.plain = p.own
	}
	if c == nil {
		if len(p.cfg.Ports) == 0 && !transport.Plausible(p.plain, !d.Truncated()) {
			p.stats.Other++
			return nil
		}
		var err error
		if c, err = p.open(d, emit); err != nil {
			return err
		}
	}
	return p.datagram(c, d, emit)
}

// Flush gives emit what never became complete: the fragments of messages of
// which others are missing.
func (p *Pipeline) Flush(emit func(*Record) error) error {
	var err error
	p.table.All(func(c *session.Conversation) {
		if err == nil {
			err = p.flush(c, nil, ErrMissing, "until the end of the capture", emit)
		}
	})
	return err
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

// open starts a conversation.
func (p *Pipeline) open(d *Datagram, emit func(*Record) error) (*session.Conversation, error) {
	c, evicted := p.table.Open(d.Src, d.Dst)
	p.stats.Conversations++
	if evicted == nil {
		return c, nil
	}
	p.stats.Evicted++
	if err := p.flush(evicted, d, ErrEvicted, "gone with its conversation", emit); err != nil {
		return c, err
	}
	host, client, _ := evicted.Addresses()
	p.lost = Datagram{Number: d.Number, Time: d.Time, Digits: d.Digits, Src: client, Dst: host}
	text := append(p.text[:0], ErrEvicted.Error()...)
	text = client.AppendTo(append(text, ": what was known of the conversation between "...))
	text = host.AppendTo(append(text, " and "...))
	text = append(text, ", the least recently used of more than "...)
	text = strconv.AppendInt(text, int64(p.cfg.Limits.Conversations), 10)
	p.text = text
	why := &because{ErrEvicted, string(text)}
	p.rec = Record{Datagram: &p.lost, Kind: KindEvicted, Err: why}
	p.rec.Notes = append(p.notes[:0], Note{Code: "evicted", Text: why.text})
	return c, emit(&p.rec)
}

// because is an error with a text of its own.
type because struct {
	is   error
	text string
}

func (b *because) Error() string { return b.text }
func (b *because) Unwrap() error { return b.is }

// flush reports the incomplete fragments of a conversation.
func (p *Pipeline) flush(c *session.Conversation, d *Datagram, why error, when string, emit func(*Record) error) error {
	var err error
	c.Flush(func(s session.Side, g fragment.Group) {
		if err == nil {
			err = p.evicted(c, s, d, &g, why, when, emit)
		}
	})
	return err
}

// evicted reports one group of fragments that is given up. Without a datagram
// that is to blame, the record stands for the group alone.
func (p *Pipeline) evicted(c *session.Conversation, s session.Side, d *Datagram, g *fragment.Group, why error, when string, emit func(*Record) error) error {
	if d == nil {
		d = &Datagram{Number: g.Last}
		host, client, _ := c.Addresses()
		d.Src, d.Dst = client, host
		if s == session.Host {
			d.Src, d.Dst = host, client
		}
	}
	r := &p.rec
	*r = Record{Datagram: d, Kind: KindEvicted, Status: StatusPending, Dir: dirOf(c, s)}
	r.Transport = transport.Header{Type: transport.Standard, HasSeq: true, Seq: g.Seq, Reliable: true, Fragment: true, Count: uint8(g.Count)}
	r.Err = fmt.Errorf("%w: message %d from frame %d on, %d of %s fragments, %s",
		why, g.Seq, g.First, g.Have, countText(g.Count), when)
	r.Notes = append(p.notes[:0], Note{Code: "incomplete", Text: r.Err.Error()})
	return emit(r)
}

func countText(n int) string {
	if n == 0 {
		return "an unknown number of"
	}
	return fmt.Sprint(n)
}

func dirOf(c *session.Conversation, s session.Side) Dir {
	switch {
	case !c.HostKnown():
		return DirUnknown
	case s == session.Host:
		return FromHost
	}
	return ToHost
}

// gameSpy makes the record of a plain-text datagram.
func (p *Pipeline) gameSpy(d *Datagram, emit func(*Record) error) error {
	r := &p.rec
	*r = Record{Datagram: d, Kind: KindGameSpy, Bytes: d.Payload, GameSpy: gamespy.Parse(d.Payload)}
	switch {
	case p.table.IsHost(d.Src):
		r.Dir = FromHost
	case p.table.IsHost(d.Dst):
		r.Dir = ToHost
	case r.GameSpy.Kind() == "query":
		r.Dir = ToHost
	case r.GameSpy.Kind() == "reply":
		r.Dir = FromHost
	}
	return emit(r)
}

// sideOf finds out who sends the datagram. The sender's peer id tells: 1 is
// the host's, all others are clients'.
func (p *Pipeline) sideOf(c *session.Conversation, d *Datagram, peer uint8) session.Side {
	if s, known := c.SideOf(d.Src); known {
		return s
	}
	host := d.Dst
	switch {
	case slices.Contains(p.cfg.Ports, d.Src.Port()) && !slices.Contains(p.cfg.Ports, d.Dst.Port()):
		host = d.Src
	case slices.Contains(p.cfg.Ports, d.Dst.Port()) && !slices.Contains(p.cfg.Ports, d.Src.Port()):
	case peer == transport.HostPeer:
		host = d.Src
	case !transport.PlausiblePeer(peer):
		return session.Client // nothing can be said from this datagram
	}
	p.lostGame = c.SetHost(host)
	s, _ := c.SideOf(d.Src)
	return s
}

// datagram takes a deciphered datagram apart.
func (p *Pipeline) datagram(c *session.Conversation, d *Datagram, emit func(*Record) error) error {
	var split transport.Splitter
	if err := split.Start(p.plain); err != nil {
		return p.malformed(c, d, session.Client, 0, 0, p.plain, err, emit)
	}
	s := p.sideOf(c, d, split.Peer)
	c.Heard(s, split.Peer)
	for part := 0; ; part++ {
		var err error
		if part, err = p.passUpdates(c, s, d, &split, part, emit); err != nil || split.Done() {
			return err
		}
		offset := split.Offset()
		p.rec = Record{}
		body, _, err := split.Read(&p.rec.Transport)
		if err != nil {
			return p.malformed(c, d, s, part, offset, split.Rest(), err, emit)
		}
		r := &p.rec
		r.Datagram, r.Peer, r.Part, r.Offset = d, split.Peer, part, offset
		r.Dir = dirOf(c, s)
		r.Bytes = p.plain[offset : offset+r.Transport.Len : offset+r.Transport.Len]
		if err := p.message(c, s, body, emit); err != nil {
			return err
		}
	}
}

// malformed reports the rest of a datagram that does not split.
func (p *Pipeline) malformed(c *session.Conversation, d *Datagram, s session.Side, part, offset int, rest []byte, err error, emit func(*Record) error) error {
	r := &p.rec
	*r = Record{Datagram: d, Kind: KindMalformed, Part: part, Offset: offset, Dir: dirOf(c, s), Bytes: rest, Rest: rest, Status: StatusMalformed, Err: err}
	if len(p.plain) > 0 {
		r.Peer = p.plain[0]
	}
	p.describe(r, c, s)
	p.beginNotes()
	if d.Truncated() {
		r.Cut = true
		r.Err = fmt.Errorf("%w: %d of %d bytes", ErrCut, len(d.Payload), d.Full)
		p.note("cut", r.Err.Error())
	} else {
		p.stats.Malformed++
	}
	r.Notes = p.notes
	return emit(r)
}

// describe fills in what a record says of its conversation.
func (p *Pipeline) describe(r *Record, c *session.Conversation, s session.Side) {
	r.Client, r.ClientID = c.Client()
	r.Sender = c.Dialect(s)
	if g := c.Game(); g != nil {
		r.Session = g
	}
}

// message completes the record of one transport message, which has its header
// and where it stands.
func (p *Pipeline) message(c *session.Conversation, s session.Side, body []byte, emit func(*Record) error) error {
	r := &p.rec
	h := &r.Transport
	p.beginNotes()
	p.shape(c, s, h)
	if h.Type == transport.Connect && s == session.Client {
		if err := p.connect(c, body, emit); err != nil {
			return err
		}
	}
	if h.HasSeq && h.Type != transport.Acknowledge && !h.Fragment {
		repeated, missing := c.Arrive(s, r.Datagram.Time, h, r.Bytes)
		if repeated {
			r.Status = StatusDuplicate
			if h.Type == transport.Standard {
				r.Payload = body
				if len(body) > 0 {
					r.Spec = p.catalog.Lookup(decode.Opcode(body[0]))
				}
			} else {
				r.Spec = transport.SpecFor(&transport.Message{Header: *h, Body: body})
			}
			return p.finish(c, s, emit)
		}
		p.gap(h.Seq, missing)
	}
	switch {
	case h.Type != transport.Standard:
		p.control(c, s, body)
	case h.Fragment:
		if err := p.fragment(c, s, body, emit); err != nil {
			return err
		}
	case len(body) == 0:
		p.note("empty", "a game message without an opcode")
	default:
		r.Payload = body
		p.game(c, s)
	}
	return p.finish(c, s, emit)
}

// finish hands out the current record.
func (p *Pipeline) finish(c *session.Conversation, s session.Side, emit func(*Record) error) error {
	p.describe(&p.rec, c, s)
	p.rec.Notes = p.notes
	if p.rec.Status == StatusMalformed {
		p.stats.Malformed++
	}
	return emit(&p.rec)
}

func (p *Pipeline) note(code, text string) { p.notes = append(p.notes, Note{Code: code, Text: text}) }

// beginNotes begins the notes of a record. The first after a game was given up
// tells of it.
func (p *Pipeline) beginNotes() {
	p.notes = p.notes[:0]
	if p.lostGame.IsValid() {
		p.note("evicted", fmt.Sprintf("what was known of the game at %v is given up, the least recently used of more than %d", p.lostGame, p.cfg.Limits.Games))
		p.lostGame = netip.AddrPort{}
	}
}

// gap notes sequence numbers that were passed over.
func (p *Pipeline) gap(seq uint16, missing int) {
	switch {
	case missing == 1:
		p.note("seq-gap", fmt.Sprintf("number %d has not been seen", seq-1))
	case missing > 1:
		p.note("seq-gap", fmt.Sprintf("numbers %d to %d have not been seen", seq-uint16(missing), seq-1))
	}
}

// shape takes evidence for the sender's dialect from the forms of transport
// messages.
func (p *Pipeline) shape(c *session.Conversation, s session.Side, m *transport.Header) {
	switch {
	case m.Type == transport.Standard: // by far the most
	case m.Short:
		p.decide(c, s, decode.OpenBC, session.Form, "a transport message with an 8-bit length")
	case m.Type == transport.Acknowledge && m.AckFlags&0x80 != 0:
		p.decide(c, s, decode.OpenBC, session.Form, "acknowledgement flag 0x80")
	case m.Type == transport.Connect && s == session.Client, m.Type == transport.Disconnect && s == session.Client, m.Type == transport.DoNothing:
		p.decide(c, s, decode.Stock, session.Shape, "")
	}
}

func (p *Pipeline) decide(c *session.Conversation, s session.Side, d decode.Dialect, by session.Strength, why string) {
	before := c.Dialect(s)
	if c.Decide(s, d, by) && (d != decode.Stock || before == decode.OpenBC) {
		p.note("dialect", fmt.Sprintf("the %s writes %s: %s", s, d, why))
	}
}

// connect starts the conversation anew if a client asks to be let in again.
func (p *Pipeline) connect(c *session.Conversation, body []byte, emit func(*Record) error) error {
	var req transport.Request
	if spec := transport.SpecFor(&transport.Message{Header: p.rec.Transport, Body: body}); spec != nil {
		if res := p.decoder.ReadBody(spec, body); res.Err == nil {
			if q, ok := res.Message.(*transport.Request); ok {
				req = *q
			}
		}
	}
	if !c.Connect(req.Nonce) {
		c.Connected(req.Nonce)
		return nil
	}
	current := p.rec
	notes := slices.Clone(p.notes)
	if err := p.flush(c, current.Datagram, ErrMissing, "before the client connected anew", emit); err != nil {
		return err
	}
	p.rec, p.notes = current, append(p.notes[:0], notes...)
	c.Restart()
	c.Connected(req.Nonce)
	p.shape(c, session.Client, &p.rec.Transport)
	p.note("restart", "the client connects anew: numbers and fragments begin again")
	return nil
}

// control decodes the body of a transport message that is not a Standard one.
func (p *Pipeline) control(c *session.Conversation, s session.Side, body []byte) {
	r := &p.rec
	if r.Transport.Type == transport.Acknowledge {
		r.Rest = body
		return
	}
	spec := transport.SpecFor(&transport.Message{Header: r.Transport, Body: body})
	if spec == nil {
		r.Rest = body
		if len(r.Rest) > 0 {
			r.Status = StatusUnknown
		}
		return
	}
	r.Spec = spec
	p.take(p.decoder.ReadBody(spec, body), body, 0)
	if r.Err == nil {
		c.Learn(s, r.Message)
	}
}

// fragment adds a piece of a message.
func (p *Pipeline) fragment(c *session.Conversation, s session.Side, body []byte, emit func(*Record) error) error {
	r := &p.rec
	d, h := r.Datagram, r.Transport
	r.Status = StatusPending
	if !h.HasSeq {
		r.Status, r.Rest = StatusMalformed, body
		r.Err = fmt.Errorf("%w: it has no sequence number", ErrFragment)
		return nil
	}
	p.gap(h.Seq, c.Fragment(s, h.Seq))
	res := c.Fragments(s).Add(d.Time, h.Seq, h.Index, h.Count, d.Number, body)
	if len(res.Evicted) > 0 {
		current := *r
		for i := range res.Evicted {
			if err := p.evicted(c, s, d, &res.Evicted[i], ErrEvicted, res.Evicted[i].Reason.String(), emit); err != nil {
				return err
			}
		}
		*r = current
	}
	switch res.Status {
	case fragment.Pending:
	case fragment.Duplicate:
		r.Status = StatusDuplicate
	case fragment.Invalid:
		r.Status, r.Rest = StatusMalformed, body
		r.Err = fmt.Errorf("%w: %w", ErrFragment, res.Err)
	case fragment.Complete:
		r.Status, r.Payload, r.Pieces = StatusOK, res.Message, res.Frames
		if len(r.Payload) == 0 {
			p.note("empty", "a game message without an opcode")
			return nil
		}
		p.game(c, s)
	}
	return nil
}

// game decodes the game message in the record's payload.
func (p *Pipeline) game(c *session.Conversation, s session.Side) {
	r := &p.rec
	op := decode.Opcode(r.Payload[0])
	spec := p.catalog.Lookup(op)
	r.Spec = spec
	switch {
	case spec == nil:
		r.Status, r.Rest = StatusUnknown, r.Payload[1:]
		r.Err = fmt.Errorf("%w %v", ErrOpcode, op)
		return
	case !spec.Known() && len(spec.Instead) == 0:
		r.Status, r.Rest = StatusUnknown, r.Payload[1:]
		return
	}
	p.evidence(c, s, op)
	sender := c.Dialect(s)
	res := p.decoder.Read(spec, r.Payload, sender, c.Env(s))
	if op == msg.OpStateUpdate {
		res = p.state(c, s, spec, sender, res)
	} else if res.Exact() && !res.Common && res.Dialect != sender {
		p.decide(c, s, res.Dialect, session.Form, "a message has a form of that dialect")
	}
	if len(spec.Instead) > 0 {
		if res = p.decoder.Instead(spec, r.Payload, res, c.Env(s)); res.Message == nil {
			r.Status, r.Rest = StatusUnknown, r.Payload[1:]
			return
		}
		r.Spec = res.Spec
	}
	p.take(res, r.Payload, 1)
	if m, ok := r.Message.(*msg.StateUpdate); ok && r.Err == nil {
		p.hash(c, s, m)
	}
	if r.Err == nil || beyondHead(op, res.Err) {
		if gone := c.Learn(s, r.Message); gone != 0 {
			p.note("evicted", fmt.Sprintf("what was known of object 0x%08X is given up, the oldest of more than %d", uint32(gone), p.cfg.Limits.Objects))
		}
	}
}

// hash takes from the integrity hash in an update what it tells of the ship.
func (p *Pipeline) hash(c *session.Conversation, s session.Side, m *msg.StateUpdate) {
	if m.HasHash && m.Flags&msg.DirtyPosition != 0 {
		if _, why := c.InferByHash(s, m.Object, m.Hash, m.Class); why != "" {
			p.note("inferred", why)
		}
	}
}

// beyondHead reports whether decoding stopped behind the species of a new
// object: what later messages need stands before that.
func beyondHead(op decode.Opcode, err *decode.Error) bool {
	switch op {
	case msg.OpObjectCreate:
		return err.Offset >= 2+4+4+1
	case msg.OpObjectCreateTeam:
		return err.Offset >= 3+4+4+1
	}
	return false
}

// evidence takes from an opcode what it tells of its sender.
func (p *Pipeline) evidence(c *session.Conversation, s session.Side, op decode.Opcode) {
	switch op {
	case msg.OpClientReady:
		if s == session.Host {
			p.decide(c, s, decode.OpenBC, session.Form, "it passes ClientReady on, which the game's host does not")
		}
		c.Ready()
	case msg.OpScore:
		if s == session.Host && c.Joining() {
			p.decide(c, s, decode.OpenBC, session.Form, "it sends scores before the client is ready")
		}
	}
}

// state sees to ship updates whose subsystem block does not fit what is known:
// what was decided of the sender's dialect from less than a block may be wrong,
// and another message may have called the ship by another class.
func (p *Pipeline) state(c *session.Conversation, s session.Side, spec *decode.Spec, sender decode.Dialect, res decode.Result) decode.Result {
	m, ok := res.Message.(*msg.StateUpdate)
	if !ok || m.Flags&msg.DirtySubsystems == 0 {
		return res
	}
	id, class := m.Object, m.Class
	if class == nil {
		return p.infer(c, s, spec, m)
	}
	settled := c.Settled(s)
	if settled && res.Exact() {
		return res
	}
	read := func() decode.Result {
		d := decode.Undecided
		if settled {
			d = sender
		}
		return p.decoder.Read(spec, p.rec.Payload, d, c.Env(s))
	}
	if sender != decode.Undecided && !res.Exact() && !settled {
		res = read()
	}
	if !res.Exact() && c.Game() != nil {
		c.Game().Doubt(id)
		if other := c.Game().Other(id); other != nil {
			c.Try(s, other)
			again := read()
			c.Try(s, nil)
			if again.Exact() {
				p.note("class", fmt.Sprintf("the block fits %s, which the ship was called before %s", other.Name, class.Name))
				c.Game().Settle(id, other)
				res = again
			} else {
				res = read()
			}
		}
	}
	if s == session.Host && !settled && (res.Fits == 1<<decode.Stock || res.Fits == 1<<decode.OpenBC) {
		p.decide(c, s, res.Dialect, session.Block, "only that rule reads its subsystem block to the end")
	}
	return res
}

// infer finds out the class of a ship whose creation the capture does not
// hold, from the blocks that only one list fits.
func (p *Pipeline) infer(c *session.Conversation, s session.Side, spec *decode.Spec, m *msg.StateUpdate) decode.Result {
	before := c.Dialect(s)
	defer c.Try(s, nil)
	class, why := c.Infer(s, m.Object, m.Start, func(class *ship.Class, d decode.Dialect) bool {
		c.Try(s, class)
		r := p.decoder.ReadAs(spec, p.rec.Payload, d, c.Env(s))
		return r.Exact()
	})
	c.Try(s, nil)
	if d := c.Dialect(s); d != before && d == decode.OpenBC {
		p.note("dialect", fmt.Sprintf("the %s writes %s: no list fits its subsystem blocks otherwise", s, d))
	}
	if class != nil {
		p.note("inferred", why)
	}
	// The trials used the message's memory.
	return p.decoder.Read(spec, p.rec.Payload, c.Dialect(s), c.Env(s))
}

// take puts the result of decoding into the record.
func (p *Pipeline) take(res decode.Result, fields []byte, at int) {
	r := &p.rec
	r.SetMessage(res, fields, at)
	switch {
	case res.Err != nil && errors.Is(res.Err, decode.ErrState):
		r.Status = StatusUnresolved
	case res.Err != nil:
		r.Status = StatusMalformed
	case len(res.Rest) > 0:
		r.Status = StatusTrailing
	}
}

// Session returns the conversation of two addresses for inspection, nil if
// there is none.
func (p *Pipeline) Session(a, b netip.AddrPort) *session.Conversation { return p.table.Lookup(a, b) }
