package anonymize

import (
	"bytes"
	"cmp"
	"hash/maphash"
	"net/netip"
	"slices"
	"strings"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/gamespy"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/ship"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/capture"
	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/dissect/packet"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// Limits of the frames that wait for the rest of a message in fragments.
const (
	maxWaiting      = 1 << 15
	maxWaitingBytes = 32 << 20

	maxRecent = 1 << 13 // datagrams that may be doubled, as many as the pipeline compares
)

// A waiting is a frame that is to be written, with its deciphered datagram.
type waiting struct {
	number int
	frame  *capture.Frame // nil once it is written
	plain  []byte         // anonymous but for the fragments that are waited for
	game   bool           // to be enciphered
	parts  int            // fragments that are waited for
	groups []group        // of these fragments, or of some that came
}

// A part is the place of a fragment. A repeated one has several.
type part struct {
	in       *waiting
	lo, hi   int // of the body in the datagram
	index    uint8
	original []byte // the whole message
}

// A group is the message that fragments belong to, if it is not complete.
type group struct {
	conversation int
	from         netip.AddrPort
	seq          uint16
}

// A rewriter makes frames anonymous.
type rewriter struct {
	*values
	to       *capture.Copy
	pipeline *dissect.Pipeline
	clear    bool // all datagrams are deciphered
	keepRest bool // undecoded bytes stay
	viewer   decode.Viewer
	decoder  *decode.Decoder

	queue  []*waiting // in the order of the capture
	bytes  int        // in the queue
	recent []*waiting // datagrams of the game, twice maxRecent at most
	groups map[group][]part
	sent   memory

	now *waiting // the current datagram
	out []byte   // of the current message
	in  []byte   // the same as it was

	covered int // bytes of in up to the end of the last field that is not blank

	others   int // frames without a datagram of the game
	pieces   int // frames of datagrams in IP fragments
	blocks   int // of pcapng, other than frames and interfaces
	options  int // of pcapng
	lost     int // fragments that could not be put together in time
	blanked  int // bytes
	messages int // messages with such bytes
}

// datagram rewrites the frame that the copy holds. Frames that are not of the
// game are left out.
func (w *rewriter) datagram(g *dissect.Datagram) {
	f := w.to.Take()
	if f == nil {
		return // counted by keep
	}
	w.frame = g.Number
	w.now = &waiting{number: g.Number, frame: f, plain: make([]byte, len(g.Payload))}
	game, text, double := false, false, 0
	_ = w.pipeline.Push(g, func(r *dissect.Record) error {
		switch {
		case r.Datagram == nil || r.Datagram.Number != g.Number || r.Kind == dissect.KindEvicted:
		case r.DoubleOf > 0:
			text, game = r.Kind == dissect.KindGameSpy, r.Kind != dissect.KindGameSpy
			double = r.DoubleOf
		case r.Kind == dissect.KindGameSpy:
			text = true
			w.gameSpy(r)
		default:
			game = true
			w.record(r)
		}
		return nil // so that Push does not fail either
	})
	if !game && !text {
		w.others++
		return
	}
	if w.now.game = game; game && len(g.Payload) > 1 {
		plain := g.Payload
		if g.Form == packet.Wire && !w.clear {
			plain = cipher.Decrypt(nil, g.Payload)
		}
		copy(w.now.plain[:2], plain) // peer id and number of messages
	}
	if first := w.recentFrame(double); first != nil {
		w.now.plain = first.plain // it is written before this one
	}
	if w.recent = append(w.recent, w.now); len(w.recent) == 2*maxRecent {
		w.recent = slices.Delete(w.recent, 0, maxRecent)
	}
	f.Options = nil
	w.queue = append(w.queue, w.now)
	w.bytes += len(f.Data)
	w.write(false)
}

// recentFrame returns the datagram of a recent frame, or nil.
func (w *rewriter) recentFrame(number int) *waiting {
	i, ok := slices.BinarySearchFunc(w.recent, number, func(h *waiting, number int) int { return cmp.Compare(h.number, number) })
	if !ok {
		return nil
	}
	return w.recent[i]
}

// write writes the frames that wait for nothing, or all.
func (w *rewriter) write(all bool) {
	n := 0
	for ; n < len(w.queue); n++ {
		h := w.queue[n]
		if h.parts > 0 {
			if !all && len(w.queue)-n <= maxWaiting && w.bytes <= maxWaitingBytes {
				break
			}
			w.giveUp(h)
		}
		w.bytes -= len(h.frame.Data)
		w.finish(h)
	}
	clear(w.queue[:n])
	w.queue = w.queue[n:]
}

// giveUp drops the messages that a frame waits for. Their fragments stay blank.
func (w *rewriter) giveUp(h *waiting) {
	for _, g := range h.groups {
		if slices.ContainsFunc(w.groups[g], func(p part) bool { return p.in == h }) {
			w.drop(g)
		}
	}
}

// drop forgets an incomplete message.
func (w *rewriter) drop(g group) {
	for _, p := range w.groups[g] {
		p.in.parts--
		w.lost++
		w.blank(p.hi - p.lo)
	}
	delete(w.groups, g)
}

func (w *rewriter) blank(n int) {
	if n > 0 {
		w.messages++
		w.blanked += n
	}
}

// finish writes a frame.
func (w *rewriter) finish(h *waiting) {
	payload := h.plain
	if h.game {
		payload = cipher.Encrypt(nil, h.plain)
	}
	f := h.frame
	copy(f.Data[f.Payload:], payload)
	f.Readdress(w.hardware, w.ip)
	w.to.Put(f)
	h.frame = nil
}

// gameSpy rewrites a datagram of GameSpy text.
func (w *rewriter) gameSpy(r *dissect.Record) {
	copy(w.now.plain, r.Bytes)
	private := map[string]bool{}
	gamespy.Parse(w.now.plain).EachPrivate(func(kind decode.Privacy, text []byte) {
		private[wire.Text(text).Raw()] = true
		copy(text, w.text(kind, text, false))
	})
	for key, value := range r.GameSpy.Pairs() {
		for _, text := range []string{key.Raw(), value.Raw()} {
			if !private[strings.TrimPrefix(text, "*")] && !private[text] {
				w.public([]byte(text))
			}
		}
	}
}

// record rewrites a transport message or the malformed rest of a datagram.
func (w *rewriter) record(r *dissect.Record) {
	lo, hi := r.Offset, r.Offset+len(r.Bytes)
	if lo < 0 || hi > len(w.now.plain) {
		return
	}
	out := w.now.plain[lo:hi]
	if r.Kind != dissect.KindMessage {
		w.malformed(r, out)
		return
	}
	h := &r.Transport
	copy(out[:h.Size], r.Bytes)
	body := out[h.Size:]
	numbered := h.HasSeq && h.Type != transport.Acknowledge
	g := group{r.Conversation, r.Src, h.Seq}
	switch {
	case r.Repeat:
		if known, ok := w.sent.get(g, r.Bytes); ok && len(known) == len(body) {
			copy(body, known)
			return
		}
		if h.Fragment && w.again(g, r, lo+h.Size, hi) {
			return
		}
		w.blank(len(body))
		return
	case h.Fragment:
		w.fragment(g, r, lo+h.Size, hi)
		return
	}
	w.fields(r, r.Bytes[h.Size:], body)
	if numbered {
		w.sent.put(g, r.Bytes, body)
	}
}

// malformed keeps the header of a message that the capture cut: its length is
// how readers tell. All else is blank.
func (w *rewriter) malformed(r *dissect.Record, out []byte) {
	size := 0
	if r.Cut {
		m, _, _ := transport.Next(r.Bytes) // the error is why it is malformed
		if size = m.Size; size == 0 {
			const shortest = 3 // a header that is itself cut
			size = shortest
		}
	}
	size = min(size, len(out))
	copy(out[:size], r.Bytes)
	if w.keepRest {
		copy(out, r.Bytes)
		return
	}
	w.blank(len(out) - size)
}

// again notes the place of a fragment that repeats one that is waited for.
func (w *rewriter) again(g group, r *dissect.Record, lo, hi int) bool {
	known := slices.ContainsFunc(w.groups[g], func(p part) bool { return bytes.Equal(p.original, r.Bytes) })
	if known {
		w.add(g, r, lo, hi)
	}
	return known
}

func (w *rewriter) add(g group, r *dissect.Record, lo, hi int) {
	if w.groups == nil {
		w.groups = map[group][]part{}
	}
	w.now.parts++
	w.now.groups = append(w.now.groups, g)
	w.groups[g] = append(w.groups[g], part{w.now, lo, hi, r.Transport.Index, bytes.Clone(r.Bytes)})
}

// fragment notes the place of a fragment, and rewrites the message if it is
// complete.
func (w *rewriter) fragment(g group, r *dissect.Record, lo, hi int) {
	if r.Payload == nil && r.Status != dissect.StatusPending {
		w.blank(hi - lo)
		return
	}
	w.add(g, r, lo, hi)
	if r.Payload == nil {
		return
	}
	// The fragments by index. Of a message with the same number that never became
	// complete there may be others.
	var whole []byte
	first := make([]*part, len(r.Pieces))
	for i := range first {
		for j := range w.groups[g] {
			if p := &w.groups[g][j]; int(p.index) == i && p.in.number == r.Pieces[i] {
				first[i] = p
				whole = append(whole, p.original[len(p.original)-(p.hi-p.lo):]...)
				break
			}
		}
	}
	if !bytes.Equal(whole, r.Payload) {
		w.drop(g)
		return
	}
	out := make([]byte, len(whole))
	w.fields(r, whole, out)
	for _, p := range first {
		body := out[:p.hi-p.lo]
		out = out[len(body):]
		w.sent.put(g, p.original, body)
		for j := range w.groups[g] {
			if q := &w.groups[g][j]; q.in != nil && bytes.Equal(q.original, p.original) {
				copy(q.in.plain[q.lo:q.hi], body)
				q.in.parts--
				q.in = nil
			}
		}
	}
	w.groups[g] = slices.DeleteFunc(w.groups[g], func(p part) bool { return p.in == nil })
	w.drop(g)
}

// fields rewrites the fields of a message, the payload or the body in, into out.
func (w *rewriter) fields(r *dissect.Record, in, out []byte) {
	w.in, w.out = in, out
	w.covered = 0
	game := r.Payload != nil && len(in) > 0
	if game {
		w.covered = 1
		out[0] = in[0] // the opcode, which is no field
	}
	keepRest := w.keepRest || r.Status == dissect.StatusUnresolved // the numbers of a ship of unknown class
	if keepRest {
		copy(out, in)
	}
	r.Visit(&w.viewer, decode.FieldFunc(w.field))
	if keepRest || w.covered >= len(in) {
		return
	}
	lead := 0
	if n := len(r.Rest); r.Message != nil && n > 0 && n <= len(in) {
		lead = w.lead(r, len(in)-n)
	}
	w.blank(len(in) - w.covered - lead)
}

// lead fills the bytes that do not decode, from at on, so that the message
// decodes as far as before: with zeros, or else FF, and up to four of the bytes
// as they were: a length, mostly. It returns their number.
func (w *rewriter) lead(r *dissect.Record, at int) int {
	const most = 4
	want := w.decoded(r, w.in)
	for _, filler := range []byte{0, 0xff} {
		for n := range min(most, len(w.in)-at) + 1 {
			copy(w.out[at:], bytes.Repeat([]byte{filler}, len(w.out)-at))
			copy(w.out[at:], w.in[at:at+n])
			if w.decoded(r, w.out) == want {
				return n
			}
		}
	}
	clear(w.out[at:])
	return 0
}

// An extent is how far a message decodes.
type extent struct {
	dialect decode.Dialect
	fits    uint8
	rest    int
	err     error
	offset  int
}

// decoded returns how far a message of the record decodes with other bytes.
func (w *rewriter) decoded(r *dissect.Record, b []byte) extent {
	var res decode.Result
	if r.Payload == nil {
		res = w.decoder.ReadBody(r.Spec, b)
	} else {
		var env shipOnly
		if m, ok := r.Message.(*msg.StateUpdate); ok {
			env.class = m.Class
		}
		res = w.decoder.Read(r.Spec, b, r.Sender, env)
	}
	e := extent{dialect: res.Dialect, fits: res.Fits, rest: len(res.Rest)}
	if res.Err != nil {
		e.err, e.offset = res.Err.Err, res.Err.Offset
	}
	return e
}

// A shipOnly is a session of one ship.
type shipOnly struct{ class *ship.Class }

// Ship implements [decode.Env].
func (s shipOnly) Ship(wire.ObjectID) *ship.Class { return s.class }

// Base implements [decode.Env].
func (s shipOnly) Base(wire.ObjectID) (p wire.Vec3, ok bool) { return p, false }

// field copies a field of a message, a private one as a pseudonym.
func (w *rewriter) field(f *decode.Field) {
	if f.Off < 0 || f.End > len(w.in) || f.Off >= f.End {
		return
	}
	if f.Kind == decode.KindBytes {
		return // opaque
	}
	copy(w.out[f.Off:f.End], w.in[f.Off:f.End])
	w.covered += max(f.End-f.Off, 0)
	lo, hi := f.Span()
	switch {
	case f.Kind == decode.KindIPv4:
		w.ip(w.out[lo:hi])
	case f.Privacy != decode.Public && f.Privacy != decode.ChatLine, f.Privacy == decode.ChatLine && !w.keepChat:
		copy(w.out[lo:hi], w.text(f.Privacy, w.in[lo:hi], isWide(f.Kind)))
	case f.Privacy == decode.ChatLine:
		w.namesIn(w.out[lo:hi])
	case f.Kind.Type() == decode.TypeText:
		w.public(w.in[lo:hi])
	}
}

func isWide(k decode.Kind) bool { return k == decode.KindWStr32 || k == decode.KindWStrz }

// A memory holds the rewritten numbered messages, for their repetitions. When it
// is full it forgets the older half.
type memory struct {
	seed     maphash.Seed
	new, old map[sent][]byte
}

type sent struct {
	group
	hash uint64 // of the whole message
}

func (m *memory) key(g group, message []byte) sent {
	if m.new == nil {
		m.seed, m.new = maphash.MakeSeed(), map[sent][]byte{}
	}
	return sent{g, maphash.Bytes(m.seed, message)}
}

func (m *memory) put(g group, message, body []byte) {
	const most = 1 << 14
	k := m.key(g, message)
	if len(m.new) >= most {
		m.old, m.new = m.new, map[sent][]byte{}
	}
	m.new[k] = bytes.Clone(body)
}

func (m *memory) get(g group, message []byte) (body []byte, ok bool) {
	k := m.key(g, message)
	if body, ok = m.new[k]; !ok {
		body, ok = m.old[k]
	}
	return body, ok
}
