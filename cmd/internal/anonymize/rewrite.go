package anonymize

import (
	"bytes"
	"cmp"
	"hash/maphash"
	"math"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/gamespy"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/names"
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

	maxRecent = 1 << 13 // datagrams that may be doubled, the number that the pipeline compares
)

// A waiting is a frame to be written, with its deciphered datagram.
type waiting struct {
	number int
	frame  *capture.Frame // nil after it is written
	plain  []byte         // the deciphered datagram, anonymous except for the fragments that are missing
	game   bool           // encipher it before writing
	parts  int            // number of fragments that are missing
	groups []group        // messages of these fragments, and of fragments that have arrived
}

// A part is the position of a fragment. A repeated fragment has several parts.
type part struct {
	in       *waiting
	lo, hi   int // range of the body in the datagram
	index    uint8
	original []byte // the complete transport message with the fragment
}

// A group identifies an incomplete message in fragments.
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
	witness  *witness
	clear    bool // all datagrams are already deciphered
	keepRest bool // keep bytes that are not decoded
	viewer   decode.Viewer
	decoder  *decode.Decoder

	queue  []*waiting // in the order of the capture
	bytes  int        // size of the queue
	recent []*waiting // recent game datagrams, at most twice maxRecent
	groups map[group][]part
	sent   memory

	now *waiting // the datagram that is being rewritten
	out []byte   // bytes of the current message
	in  []byte   // original bytes of the current message

	spec    *decode.Spec
	texts   [][2]int // ranges of texts in the original bytes
	covered int      // number of original bytes that fields describe
	misread bool     // a number in it is not plausible
	strange bool     // a value in its head is unknown

	others    int // frames without a game datagram
	pieces    int // frames of datagrams in IP fragments
	blocks    int // pcapng blocks other than frames and interfaces
	options   int // pcapng options
	lost      int // fragments whose message was not complete in time
	malformed int // messages that did not decode or were misread
	blanked   int // bytes replaced by zeros
	messages  int // messages with such bytes
}

// datagram rewrites the frame that the copy holds. It drops frames that do not
// belong to the game.
func (w *rewriter) datagram(g *dissect.Datagram) {
	f := w.to.Take()
	if f == nil {
		return // keep has counted it
	}
	w.witness.datagram(g)
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
		return nil // Push must not return it
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
		copy(w.now.plain[:2], plain) // sender ID and number of messages
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

// write writes the frames for which no fragment is missing, or all frames.
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

// drop drops an incomplete message.
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
	f.Readdress(w.hardware, w.ip, w.packetID)
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
		w.broken(r, out)
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

// broken keeps only the header of a message that the capture cut. Readers
// detect the cut by the length in it.
func (w *rewriter) broken(r *dissect.Record, out []byte) {
	size := 0
	if r.Cut {
		m, _, _ := transport.Next(r.Bytes) // the error is the reason that the message is malformed
		if size = m.Size; size == 0 {
			const shortest = 3 // bytes of a header, shorter ones are cut
			size = shortest
		}
	}
	size = min(size, len(out))
	copy(out[:size], r.Bytes)
	if w.keepRest {
		copy(out, r.Bytes)
		return
	}
	if r.Cut {
		w.blank(len(out) - size)
	} else {
		w.malformed++
	}
}

// again adds the position of a repeated fragment. It returns false if the
// fragment is not missing.
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

// fragment adds the position of a fragment, and rewrites the message if it is
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
	// The fragments, ordered by index. There may be others, from an incomplete
	// earlier message with the same number.
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

// fields rewrites the fields of a message, the payload or the body in, into
// out. Bytes without a field become zeros. A message that does not decode
// becomes zeros as well. So does a message decoded with the wrong form, since
// its numbers may be part of a name.
func (w *rewriter) fields(r *dissect.Record, in, out []byte) {
	w.in, w.out, w.spec = in, out, r.Spec
	w.covered, w.misread, w.strange, w.texts = 0, false, false, w.texts[:0]
	first := 0
	if r.Payload != nil && len(in) > 0 {
		first = 1 // the opcode, which is not a field
	}
	copy(out, in[:first])
	if w.keepRest {
		copy(out, in)
	}
	r.Visit(&w.viewer, decode.FieldFunc(w.field))
	rest := len(in) - first - w.covered
	switch {
	case w.keepRest:
	case w.misread, w.wordsInNumbers():
		clear(out[first:])
		w.malformed++
	case r.Status == dissect.StatusMalformed:
		if r.Spec != nil && r.Spec.Head <= len(in) && !w.strange {
			first = max(first, r.Spec.Head) // later messages depend on the head
		}
		clear(out[first:])
		w.malformed++
	case r.Status == dissect.StatusUnresolved && unresolvedState(r, in):
		copy(out[len(in)-len(r.Rest):], r.Rest)
	case rest > 0:
		w.blank(rest)
		if n := len(r.Rest); r.Message != nil && n > 0 && n <= len(in) {
			w.fill(r, out[len(in)-n:])
		}
	}
}

// unresolvedState reports whether the rest of a message is the state of a ship
// whose class is unknown. The flags of the update must say that it is, and it
// must not look like text.
func unresolvedState(r *dissect.Record, in []byte) bool {
	const letters, different = 4, 3 // letters in a row in a name, since one letter may be full power, which is d
	_, update := r.Message.(*msg.StateUpdate)
	if !update || len(r.Rest) > len(in) {
		return false
	}
	run, seen := 0, map[byte]bool{}
	for _, b := range r.Rest {
		if b|0x20 < 'a' || b|0x20 > 'z' {
			run = 0
			clear(seen)
			continue
		}
		run++
		if seen[b] = true; run >= letters && len(seen) >= different {
			return false
		}
	}
	return true
}

// fill replaces the bytes that do not decode by zeros. If the message would
// then be decoded in another way, it uses FF instead.
func (w *rewriter) fill(r *dissect.Record, rest []byte) {
	read := func() (decode.Dialect, int) {
		if r.Payload == nil {
			res := w.decoder.ReadBody(r.Spec, w.out)
			return res.Dialect, len(res.Rest)
		}
		var env shipOnly
		if m, ok := r.Message.(*msg.StateUpdate); ok {
			env.class = m.Class
		}
		res := w.decoder.Read(r.Spec, w.out, r.Sender, env)
		return res.Dialect, len(res.Rest)
	}
	for _, filler := range []byte{0, 0xff} {
		for i := range rest {
			rest[i] = filler
		}
		if dialect, n := read(); dialect == r.Layout && n == len(rest) {
			return
		}
	}
	clear(rest)
}

// A shipOnly is a session with only one ship.
type shipOnly struct{ class *ship.Class }

// Ship implements [decode.Env].
func (s shipOnly) Ship(wire.ObjectID) *ship.Class { return s.class }

// Base implements [decode.Env].
func (s shipOnly) Base(wire.ObjectID) (p wire.Vec3, ok bool) { return p, false }

// wordsInNumbers reports whether the numbers of the message contain a word of
// the game. Then they were really a text.
func (w *rewriter) wordsInNumbers() bool {
	for _, word := range ownWords() {
		for at := 0; ; at++ {
			next := bytes.Index(w.in[at:], word)
			if next < 0 {
				break
			}
			at += next
			inText := slices.ContainsFunc(w.texts, func(t [2]int) bool { return t[0] <= at && at+len(word) <= t[1] })
			if !inText && bytes.Equal(w.out[at:at+len(word)], word) {
				return true
			}
		}
	}
	return false
}

// ownWords are parts of the game's texts that do not occur in numbers by
// chance.
var ownWords = sync.OnceValue(func() [][]byte {
	words := [][]byte{[]byte("Multi"), []byte("Mission"), []byte("cripts/"), []byte(".pyc")}
	const long = 6 // minimum letters
	for _, name := range names.Systems.Values() {
		if len(name) >= long && !strings.HasPrefix(name, "Multi") {
			words = append(words, []byte(name))
		}
	}
	return words
})

// field rewrites a field according to the spec of its message.
func (w *rewriter) field(f *decode.Field) {
	if f.Off < 0 || f.End > len(w.in) || f.Off >= f.End {
		return
	}
	lo, hi := f.Span()
	in := w.in[lo:hi]
	treatment := w.spec.Treatment(f)
	if treatment == decode.Blanked {
		return
	}
	copy(w.out[f.Off:f.End], w.in[f.Off:f.End])
	w.covered += f.End - f.Off
	switch treatment {
	case decode.Addressed:
		w.ip(w.out[lo:hi])
	case decode.Renamed:
		w.texts = append(w.texts, [2]int{f.Off, f.End})
		if f.Privacy == decode.ChatLine && w.keepChat {
			w.namesIn(w.out[lo:hi])
			return
		}
		copy(w.out[lo:hi], w.text(f.Privacy, in, isWide(f.Kind)))
	case decode.Compared:
		w.compared(f, w.out[lo:hi])
	case decode.Kept:
		w.misread = w.misread || !plausible(f)
		const letters = 0x100 // numbers from here on may be more than one letter
		w.strange = w.strange || f.Names != nil && f.End <= w.spec.Head && f.Uint >= letters && f.Names.Name(f.Uint) == ""
	case decode.Blanked:
	}
}

// compared replaces a text or a hash unless it is from the original game.
func (w *rewriter) compared(f *decode.Field, out []byte) {
	if f.Kind == decode.KindHash32 {
		if f.Names == nil || f.Names.Name(f.Uint) == "" {
			w.hash(w.out[f.Off:f.End])
		}
		return
	}
	w.texts = append(w.texts, [2]int{f.Off, f.End})
	if text := string(f.AppendText(nil)); names.Own(text) {
		w.public([]byte(text))
		return
	}
	copy(out, w.text(decode.FreeText, out, isWide(f.Kind)))
}

// plausible reports whether the game could have computed a vector. If the bytes
// are really a text, they have letters in place of exponents.
func plausible(f *decode.Field) bool {
	const least, most = 1e-20, 1e15
	switch f.Kind { //nolint:exhaustive // the others are too short for a name, or have no exponents
	case decode.KindVec3, decode.KindQuat, decode.KindVec4f:
		for _, v := range f.Vec {
			if a := math.Abs(float64(v)); a != 0 && !(a > least && a < most) {
				return false
			}
		}
	}
	return true
}

func isWide(k decode.Kind) bool { return k == decode.KindWStr32 || k == decode.KindWStrz }

// A memory keeps the rewritten numbered messages for retransmissions. When it
// is full, it drops the older half.
type memory struct {
	seed     maphash.Seed
	new, old map[sent][]byte
}

type sent struct {
	group
	hash uint64 // hash of the original message
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
