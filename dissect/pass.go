package dissect

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/gamespy"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect/internal/fragment"
	"github.com/bcdissect/bcdissect/dissect/internal/session"
	"github.com/bcdissect/bcdissect/dissect/packet"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// A pass takes one datagram through the pipeline. It has the datagram, its
// conversation, and the record of the current message.
type pass struct {
	*Pipeline
	d          *Datagram
	at         time.Time             // time of d by the pipeline's clock
	nanos      int64                 // the same time in nanoseconds since 1970
	c          *session.Conversation // nil for GameSpy datagrams without a conversation
	side       session.Side          // side of the sender
	plain      []byte                // the deciphered datagram
	oneMessage bool                  // d has only one message
	emit       func(*Record) error

	rec     Record
	from    session.Origin // origin of rec
	sighted bool           // from is about the next message
	notes   []Note         // notes of rec, and before its message begins, notes for it

	doubleOf   int // frame of the datagram that this one doubles, 0 if it doubles none
	doubleNote [1]Note
}

// begin prepares the pass of a datagram.
func (p *Pipeline) begin(d *Datagram, at time.Time, nanos int64, c *session.Conversation, plain []byte, emit func(*Record) error) *pass {
	if c != nil {
		c.Touch()
	}
	n := &p.now
	n.d, n.at, n.nanos, n.c, n.side, n.plain, n.emit = d, at, nanos, c, session.Client, plain, emit
	return n
}

// gameSpy makes the record of a plain-text datagram.
func (p *pass) gameSpy() error {
	r := &p.rec
	*r = Record{
		Datagram: p.d, Conversation: p.table.Number(p.d.Src, p.d.Dst), Kind: KindGameSpy,
		Bytes: p.d.Payload, GameSpy: gamespy.Parse(p.d.Payload),
	}
	switch {
	case p.table.IsHost(p.d.Src):
		r.Dir = FromHost
	case p.table.IsHost(p.d.Dst):
		r.Dir = ToHost
	case r.GameSpy.Kind() == "query":
		r.Dir = ToHost
	case r.GameSpy.Kind() == "reply":
		r.Dir = FromHost
	}
	p.markDouble()
	return p.emit(r)
}

// damaged makes the record of a datagram whose header is damaged and whose
// addresses are new, so that they cannot be trusted.
func (p *pass) damaged() error {
	r := &p.rec
	*r = Record{
		Datagram: p.d, Conversation: p.table.Number(p.d.Src, p.d.Dst), Kind: KindMalformed, Peer: p.plain[0],
		Bytes: p.plain, Rest: p.plain, Status: StatusMalformed, Err: ErrHeader,
	}
	if !p.markDouble() {
		p.headers.damaged++
		p.stats.Malformed++
	}
	return p.emit(r)
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

// findSide determines the sender's side from its peer id. Peer id 1 belongs to
// the host, and all others belong to clients.
func (p *pass) findSide(peer uint8) {
	s, known := p.c.SideOf(p.d.Src)
	if !known {
		host := p.d.Dst
		switch {
		case slices.Contains(p.cfg.Ports, p.d.Src.Port()) && !slices.Contains(p.cfg.Ports, p.d.Dst.Port()):
			host = p.d.Src
		case slices.Contains(p.cfg.Ports, p.d.Dst.Port()) && !slices.Contains(p.cfg.Ports, p.d.Src.Port()):
		case peer == transport.HostPeer:
			host = p.d.Src
		case !transport.PlausiblePeer(peer):
			return // this datagram has no evidence
		}
		if gone := p.c.SetHost(host); gone.IsValid() {
			p.note("evicted", fmt.Sprintf("the state of the game at %v is evicted, the least recently used of more than %d games", gone, p.cfg.Limits.Games))
		}
		s, _ = p.c.SideOf(p.d.Src)
	}
	p.side = s
}

// datagram splits a deciphered datagram.
func (p *pass) datagram() error {
	var split transport.Splitter
	if err := split.Start(p.plain); err != nil {
		return p.malformed(0, 0, p.plain, err)
	}
	if p.doubleOf > 0 {
		p.side, _ = p.c.SideOf(p.d.Src)
	} else {
		p.findSide(split.Peer)
		p.c.SetPeer(p.side, split.Peer)
	}
	p.oneMessage = split.Count == 1
	for part := 0; ; part++ {
		var err error
		switch {
		case p.doubleOf > 0:
		case p.needs.Run == nil:
			part, err = p.passUpdates(&split, part)
		default:
			part, err = p.countRun(&split, part)
		}
		if err != nil || split.Done() {
			return err
		}
		offset := split.Offset()
		p.rec = Record{}
		body, _, err := split.Read(&p.rec.Transport)
		if err != nil {
			return p.malformed(part, offset, split.Rest(), err)
		}
		r := &p.rec
		r.Datagram, r.Peer, r.Part, r.Offset = p.d, split.Peer, part, offset
		r.Dir = dirOf(p.c, p.side)
		r.Bytes = p.plain[offset : offset+r.Transport.Len : offset+r.Transport.Len]
		if err := p.message(body); err != nil {
			return err
		}
	}
}

// malformed reports the rest of a datagram that does not split.
func (p *pass) malformed(part, offset int, rest []byte, err error) error {
	r := &p.rec
	*r = Record{
		Datagram: p.d, Kind: KindMalformed, Part: part, Offset: offset, Dir: dirOf(p.c, p.side),
		Bytes: rest, Rest: rest, Status: StatusMalformed, Err: err,
	}
	if len(p.plain) > 0 && p.d.Form.Whole() {
		r.Peer = p.plain[0]
	}
	if p.d.Truncated() {
		r.Cut = true
		r.Err = fmt.Errorf("%w: %d of %d bytes", ErrCut, len(p.d.Payload), p.d.Full)
		if p.d.Full == packet.FullUnknown {
			r.Err = fmt.Errorf("%w: %d bytes", ErrCut, len(p.d.Payload))
		}
		if p.doubleOf == 0 {
			p.note("cut", r.Err.Error())
		}
	}
	return p.finish()
}

// describe fills in a record's conversation.
func (p *pass) describe(r *Record) {
	r.isOf(p.c)
	if r.Writer == decode.Undecided {
		r.Writer = p.c.Dialect(p.side)
	}
	r.Sender = p.c.Dialect(p.side)
	if g := p.c.Game(); g != nil {
		r.Session = g
	}
}

// message completes the record of a transport message, whose header and place
// are set, and emits it.
func (p *pass) message(body []byte) error {
	r := &p.rec
	h := &r.Transport
	if p.doubleOf > 0 {
		r.Repeat = h.HasSeq && h.Type != transport.Acknowledge
		p.repetition(body)
		return p.finish()
	}
	p.shape()
	if h.Type == transport.Connect && p.side == session.Client {
		p.connect(body)
	}
	if h.Type.Ends() {
		p.c.Ended()
	}
	// The host makes up the number of a challenge, so no messages are missing
	// before it.
	challenge := r.Challenge()
	if h.HasSeq && h.Type != transport.Acknowledge && !challenge {
		p.number()
		if r.Repeat {
			p.repetition(body)
			return p.finish()
		}
	}
	switch {
	case h.Type != transport.Standard:
		p.control(body)
	case h.Fragment:
		p.fragment(body)
	case len(body) == 0 && !challenge:
		p.note("empty", "a game message without an opcode")
	case len(body) > 0:
		r.Payload = body
		p.game()
	}
	return p.finish()
}

// number tracks the number of the message.
func (p *pass) number() {
	r := &p.rec
	v := p.c.Number(p.side, p.at, &r.Transport, r.Bytes, p.oneMessage)
	r.Number, r.Repeat, r.Late, r.Gap = v.Number, v.Repeat, v.Late, v.Gap
	if v.Forgot {
		p.stats.Forgotten++
	}
	switch {
	case v.Late:
		p.note("seq-late", fmt.Sprintf("number %d was missing until now", v.Number))
	case v.Gap == 1:
		p.note("seq-gap", fmt.Sprintf("number %d has not been seen", v.Number-1))
	case v.Gap > 1:
		p.note("seq-gap", fmt.Sprintf("numbers %d to %d have not been seen", v.Number-int64(v.Gap), v.Number-1))
	}
}

// repetition fills in the kind of a message that is not decoded again.
func (p *pass) repetition(body []byte) {
	r := &p.rec
	r.Status = StatusDuplicate
	if r.Transport.Fragment {
		return
	}
	if r.Transport.Type != transport.Standard {
		r.Spec = transport.SpecFor(&transport.Message{Header: r.Transport, Body: body})
		return
	}
	r.Payload = body
	if len(body) > 0 {
		r.Spec = p.catalog.Lookup(decode.Opcode(body[0]))
	}
}

// finish emits the pending records and then the current one.
func (p *pass) finish() error {
	r := &p.rec
	p.describe(r)
	if p.markDouble() {
		return p.emit(r)
	}
	r.Notes = p.notes
	p.notes = p.notes[:0]
	if r.Status == StatusMalformed && !r.Cut {
		p.stats.Malformed++
	}
	if err := p.asides.drain(p.emit); err != nil {
		return err
	}
	return p.emit(r)
}

// markDouble marks the record of a datagram that doubles an earlier one, and
// reports whether the datagram is a double.
func (p *pass) markDouble() bool {
	if p.doubleOf == 0 {
		return false
	}
	r := &p.rec
	r.Status, r.Err, r.DoubleOf, r.Notes = StatusDuplicate, nil, p.doubleOf, p.doubleNote[:]
	return true
}

// note adds a note to the current record, or to the next one if there is none.
func (p *pass) note(code, text string) { p.notes = append(p.notes, Note{Code: code, Text: text}) }

// shape uses the form of a transport message as evidence of the sender's
// dialect.
func (p *pass) shape() {
	if d, by, why := session.OfShape(p.side, &p.rec.Transport); d != decode.Undecided {
		p.decide(d, by, why)
	}
}

func (p *pass) decide(d decode.Dialect, by session.Strength, why string) {
	before := p.c.Dialect(p.side)
	if p.c.Decide(p.side, d, by) && (d != decode.Stock || before == decode.OpenBC) {
		p.note("dialect", fmt.Sprintf("the %s writes %s: %s", p.side, d, why))
	}
}

// connect restarts the conversation if a client requests a new connection.
func (p *pass) connect(body []byte) {
	var req transport.Request
	if spec := transport.SpecFor(&transport.Message{Header: p.rec.Transport, Body: body}); spec != nil {
		if res := p.decoder.ReadBody(spec, body); res.Err == nil {
			if q, ok := res.Message.(*transport.Request); ok {
				req = *q
			}
		}
	}
	restart := p.c.Connect(req.Nonce, p.at)
	if restart {
		p.flush(p.c, p.d, ErrMissing, "before the client connected anew")
		p.c.Restart()
	}
	p.c.Connected(req.Nonce)
	if restart {
		p.shape()
		p.note("restart", "the client connects anew: numbers and fragments begin again")
	}
}

// control decodes the body of a transport message other than Standard.
func (p *pass) control(body []byte) {
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
		if r.Transport.Type == transport.DoNothing && r.Transport.Len > 1 {
			p.note("form", "not as the game writes it: a keepalive with a header; the game's is one byte")
		}
		return
	}
	r.Spec = spec
	p.take(p.decoder.ReadBody(spec, body), body, 0)
	if r.Err == nil {
		p.c.Learn(p.side, r.Message)
	}
}

// fragment adds a fragment to its message.
func (p *pass) fragment(body []byte) {
	r := &p.rec
	h := &r.Transport
	r.Status = StatusPending
	if !h.HasSeq {
		r.Status, r.Rest = StatusMalformed, body
		r.Err = fmt.Errorf("%w: it has no sequence number", ErrFragment)
		return
	}
	res := p.c.Fragments(p.side).Add(p.at, h.Seq, h.Index, h.Count, p.d.Number, body)
	for i := range res.Evicted {
		p.evictedFragments(p.c, p.side, p.d, &res.Evicted[i], ErrEvicted, res.Evicted[i].Reason.String())
	}
	switch res.Status {
	case fragment.Pending:
	case fragment.Duplicate:
		r.Status, r.Repeat = StatusDuplicate, true
	case fragment.Invalid:
		r.Status, r.Rest = StatusMalformed, body
		r.Err = fmt.Errorf("%w: %w", ErrFragment, res.Err)
	case fragment.Complete:
		r.Status, r.Payload, r.Pieces = StatusOK, res.Message, res.Frames
		if len(r.Payload) == 0 {
			p.note("empty", "a game message without an opcode")
			return
		}
		p.game()
	}
}

// game decodes the game message in the record's payload.
func (p *pass) game() {
	r := &p.rec
	op := decode.Opcode(r.Payload[0])
	spec := p.catalog.Lookup(op)
	r.Spec = spec
	chat := op == msg.OpChat || op == msg.OpTeamChat
	switch {
	case p.sighted:
		p.sighted = false
		p.origin(p.from)
	case !chat:
		p.origin(p.c.Origin(p.side, p.d.Number, p.nanos, spec, r.Payload))
	}
	switch {
	case spec == nil:
		r.Status, r.Rest = StatusUnknown, r.Payload[1:]
		r.Err = fmt.Errorf("%w %v", ErrOpcode, op)
		return
	case !spec.Known() && len(spec.Alternatives) == 0:
		r.Status, r.Rest = StatusUnknown, r.Payload[1:]
		return
	}
	p.evidence(spec)
	sender := p.c.Dialect(p.side)
	own := session.WritesItself(p.side, spec, &p.from)
	if p.from.Passed && r.Writer != decode.Undecided {
		sender = r.Writer
	}
	res := p.decoder.Read(spec, r.Payload, sender, p.c.Env(p.side))
	switch {
	case !own:
	case op == msg.OpStateUpdate:
		res = p.blocks.Check(p.c, p.side, spec, r.Payload, res)
	default:
		if d, by, why := session.OfForm(&res); d != decode.Undecided && d != sender {
			p.decide(d, by, why)
		}
	}
	if len(spec.Alternatives) > 0 {
		if res = p.decoder.ReadAlternatives(spec, r.Payload, res, p.c.Env(p.side)); res.Message == nil {
			r.Status, r.Rest = StatusUnknown, r.Payload[1:]
			return
		}
		if r.Spec = res.Spec; r.Spec != spec {
			p.evidence(r.Spec)
		}
	}
	p.take(res, r.Payload, 1)
	if res.Common && res.Exact() && res.Dialect != decode.Stock && res.Dialect != sender {
		for i := range r.Spec.Forms {
			if f := &r.Spec.Forms[i]; f.Dialect == res.Dialect {
				p.note("form", "not as the game writes it: "+f.Doc)
			}
		}
	}
	if chat {
		p.chat(spec)
	}
	if m, ok := r.Message.(*msg.StateUpdate); ok && r.Err == nil {
		p.hash(m)
	}
	if r.Err == nil || spec.Head > 0 && res.Err.Offset >= spec.Head {
		if gone := p.c.Learn(p.side, r.Message); gone != 0 {
			p.note("evicted", fmt.Sprintf("object 0x%08X is evicted, the oldest of more than %d objects", uint32(gone), p.cfg.Limits.Objects))
		}
	}
}

// origin fills in the origin of the message.
func (p *pass) origin(from session.Origin) {
	r := &p.rec
	p.from = from
	r.CopyOf, r.Author, r.Writer = from.CopyOf, from.Author, from.Writer
	r.First = from.CopyOf == 0
}

// chat determines the author of a line of chat.
func (p *pass) chat(spec *decode.Spec) {
	switch m := p.rec.Message.(type) {
	case *msg.Chat:
		p.origin(p.c.ChatOrigin(p.side, p.d.Number, p.nanos, spec, m))
	case *msg.TeamChat:
		p.origin(p.c.ChatOrigin(p.side, p.d.Number, p.nanos, spec, &m.Chat))
	}
}

// hash infers a ship's class from the integrity hash in an update.
func (p *pass) hash(m *msg.StateUpdate) {
	if m.HasHash && m.Flags&msg.DirtyPosition != 0 {
		if _, why := p.c.InferByHash(p.side, m.Object, m.Hash, m.Class); why != "" {
			p.note("inferred", why)
		}
	}
}

// evidence uses a message as evidence of its sender's dialect.
func (p *pass) evidence(spec *decode.Spec) {
	if spec.HostDialect != decode.Undecided && p.side == session.Host {
		p.decide(spec.HostDialect, session.Form, fmt.Sprintf("it sends %s, which only such hosts do", spec.Name))
	}
	switch spec.Code {
	case msg.OpClientReady:
		p.c.Ready()
	case msg.OpScore, msg.OpScoreInit:
		if p.side == session.Host && p.c.Scored() {
			p.decide(decode.OpenBC, session.Form, "it sends scores before the client is ready")
		}
	case msg.OpMissionInit:
		if p.side == session.Host && p.c.Unscored() && p.rec.Gap == 0 { // if there were scores, they would come directly before this message
			p.decide(decode.Stock, session.Form, "")
		}
	}
}

// take stores the result of decoding in the record.
func (p *pass) take(res decode.Result, fields []byte, at int) {
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
