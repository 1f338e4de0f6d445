package anonymize

import (
	"bytes"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/gamespy"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/names"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/dissect/packet"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// A witness collects private values of the input independently of the rewriter.
// It ignores the state of a session and tries every form that a message can
// have. Therefore it knows values that the rewriter misreads, and the check
// finds them.
type witness struct {
	values  *values
	catalog *decode.Catalog
	decoder *decode.Decoder
	viewer  decode.Viewer
	clear   bool
	groups  map[uint32][][]byte // fragments by sender ID and number
	private map[*decode.Spec]bool
}

// maxGroups is the maximum number of incomplete messages in fragments.
const maxGroups = 256

func newWitness(v *values, cfg *dissect.Config) *witness {
	catalog := cfg.Catalog
	if catalog == nil {
		catalog = msg.Catalog()
	}
	return &witness{values: v, catalog: catalog, decoder: decode.NewDecoder(), clear: cfg.Clear, groups: map[uint32][][]byte{}, private: map[*decode.Spec]bool{}}
}

// datagram collects the values of a datagram. The datagram may not belong to
// the game.
func (w *witness) datagram(g *dissect.Datagram) {
	if bytes.HasPrefix(g.Payload, []byte{'\\'}) {
		w.text(g.Payload)
	}
	plain := g.Payload
	if g.Form == packet.Wire && !w.clear {
		plain = cipher.Decrypt(nil, plain)
	}
	split, err := transport.Split(plain)
	if err != nil {
		return
	}
	for {
		m, ok, err := split.Next()
		if !ok || err != nil {
			return
		}
		w.message(plain[0], &m)
	}
}

// text collects the words of a GameSpy text that are not from the game.
func (w *witness) text(b []byte) {
	for word := range bytes.SplitSeq(b, []byte{'\\'}) {
		if !gamespy.Own(word) {
			w.values.suspect(decode.FreeText, bytes.TrimPrefix(word, []byte{'*'}), false)
		}
	}
}

func (w *witness) message(peer byte, m *transport.Message) {
	switch {
	case m.Type == transport.Standard && m.Fragment:
		if whole := w.fragment(peer, m); whole != nil {
			w.payload(whole)
		}
	case m.Type == transport.Standard:
		w.payload(m.Body)
	default:
		if spec := transport.SpecFor(m); spec != nil {
			r := w.decoder.ReadBody(spec, m.Body)
			w.fields(&r, m.Body, 0)
		}
	}
}

// fragment adds a fragment. It returns the message if that is complete.
func (w *witness) fragment(peer byte, m *transport.Message) (whole []byte) {
	key := uint32(peer)<<16 | uint32(m.Seq)
	parts := w.groups[key]
	if m.Index == 0 {
		parts = make([][]byte, m.Count)
	}
	if int(m.Index) >= len(parts) {
		return nil
	}
	parts[m.Index] = bytes.Clone(m.Body)
	if len(w.groups) >= maxGroups {
		clear(w.groups)
	}
	w.groups[key] = parts
	for _, part := range parts {
		if part == nil {
			return nil
		}
		whole = append(whole, part...)
	}
	delete(w.groups, key)
	return whole
}

// payload collects the values of a game message in each of its forms.
func (w *witness) payload(b []byte) {
	if len(b) == 0 {
		return
	}
	spec := w.catalog.Lookup(decode.Opcode(b[0]))
	if spec == nil || !spec.Known() || !w.tells(spec) {
		return
	}
	r := w.decoder.ReadAs(spec, b, decode.Stock, nil)
	w.fields(&r, b, 1)
	for i := range spec.Forms {
		r := w.decoder.ReadAs(spec, b, spec.Forms[i].Dialect, nil)
		w.fields(&r, b, 1)
	}
}

// tells reports whether a message can have a private value in any of its forms.
func (w *witness) tells(s *decode.Spec) bool {
	yes, known := w.private[s]
	if known {
		return yes
	}
	yes = len(s.Alternatives) > 0
	see := decode.FieldFunc(func(f *decode.Field) {
		t := s.Treatment(f)
		yes = yes || t != decode.Blanked && t != decode.Kept && f.Kind != decode.KindHash32 && !f.Kind.Derived()
	})
	decode.Describe(s.Layout, decode.Stock, see)
	for i := range s.Forms {
		decode.Describe(s.Forms[i].Layout, s.Forms[i].Dialect, see)
	}
	w.private[s] = yes
	return yes
}

func (w *witness) fields(r *decode.Result, b []byte, from int) {
	if r.Message == nil {
		return
	}
	w.viewer.Show(r.Message, b, from, r.Dialect, decode.FieldFunc(func(f *decode.Field) {
		switch r.Spec.Treatment(f) {
		case decode.Renamed:
			w.values.suspect(f.Privacy, f.Bytes, isWide(f.Kind))
		case decode.Compared:
			if f.Kind != decode.KindHash32 && !names.Own(string(f.AppendText(nil))) {
				w.values.suspect(decode.FreeText, f.Bytes, isWide(f.Kind))
			}
		case decode.Addressed:
			w.values.suspectAddress(f.Bytes)
		case decode.Blanked, decode.Kept:
		}
	}))
}

// suspect adds a text that may be private. It ignores bytes that no user can
// type.
func (v *values) suspect(p decode.Privacy, b []byte, wide bool) {
	if b = canonical(b, wide); p == decode.ChatLine && v.keepChat {
		return
	}
	for _, c := range b {
		if c < ' ' || c == 0x7f {
			return
		}
	}
	if len(b) >= shortest && !plain(string(b)) {
		v.remember(kindOf[p], b)
	}
}

// suspectAddress adds an address.
func (v *values) suspectAddress(b []byte) {
	if !unassigned(b) {
		v.remember(ipv4Address, b)
	}
}

// canonical converts a text to Windows-1252 if that can encode it.
func canonical(b []byte, wide bool) []byte {
	if wide {
		if narrow := wire.AppendTextOf(nil, wire.WideText(b)); bytes.Equal(wire.AppendWideTextOf(nil, wire.Text(narrow)), b) {
			return narrow
		}
	}
	return b
}
