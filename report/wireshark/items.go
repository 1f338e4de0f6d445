package wireshark

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"net/netip"
	"strconv"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/display"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/transport"
	"github.com/bcdissect/bcdissect/report"
)

// line begins the line of a field in the comment of a cut frame.
func (a *Annotator) line(f *field) []byte {
	b := a.text
	for range a.depth {
		b = append(b, ' ', ' ')
	}
	return append(append(b, f.name...), ": "...)
}

// put adds a field and its value.
func (a *Annotator) put(f *field, from, to int, it display.Item) {
	if !a.chosen.has(f) {
		return
	}
	short := shortest(it.Float)
	switch {
	case it.Type >= decode.TypeText:
		a.putEscaped(f, from, to, report.AppendEscaped(a.value[:0], it.Text))
	case a.cut && it.Type == decode.TypeFloat:
		a.text = append(strconv.AppendFloat(a.line(f), short, 'g', -1, 64), '\n')
	case a.cut:
		a.text = append(it.AppendJSON(a.line(f)), '\n')
	case !a.item(f, from, to):
	case it.Type == decode.TypeInt:
		a.items = binary.LittleEndian.AppendUint32(a.items, uint32(it.Int))
	case it.Type == decode.TypeBool:
		a.items = append(a.items, byte(min(it.Int, 1)))
	default:
		a.items = binary.LittleEndian.AppendUint64(a.items, math.Float64bits(short))
	}
}

// putFrame adds a field with a frame number if the frame is in the annotated
// capture.
func (a *Annotator) putFrame(f *field, n int64) {
	if a.opts.Frame != nil {
		n = int64(a.opts.Frame(int(n)))
	}
	if n > 0 {
		a.put(f, 0, 0, display.Item{Type: decode.TypeInt, Int: n})
	}
}

// shortest converts a 32-bit float to the shortest decimal number that
// represents it. JSON has the same number, so the same filters match.
func shortest(v float32) float64 {
	if n := int32(v); float32(n) == v && n > -1<<24 && n < 1<<24 {
		return float64(v)
	}
	var b [32]byte
	f, err := strconv.ParseFloat(string(strconv.AppendFloat(b[:0], float64(v), 'g', -1, 32)), 64)
	if err != nil { // cannot happen, since the text was a number
		return float64(v)
	}
	return f
}

// putText adds a field with text from the network. It escapes control
// characters.
func (a *Annotator) putText(f *field, from, to int, s wire.Untrusted) {
	a.putEscaped(f, from, to, report.AppendEscaped(a.value[:0], s))
}

func (a *Annotator) putEscaped(f *field, from, to int, s []byte) {
	a.value = s
	switch {
	case a.cut:
		a.text = append(append(a.line(f), s...), '\n')
	case a.item(f, from, to):
		a.putString(s)
	}
}

// putBytes adds a field whose value is its bytes.
func (a *Annotator) putBytes(f *field, from, to int, b []byte) {
	switch {
	case a.cut && f.form == formIPv4 && len(b) == 4:
		a.text = append(netip.AddrFrom4([4]byte(b)).AppendTo(a.line(f)), '\n')
	case a.cut:
		a.text = append(hex.AppendEncode(a.line(f), b), '\n')
	default:
		a.item(f, from, to)
	}
}

// putKey adds a key of the record if the JSON of the record has it.
func (a *Annotator) putKey(k *keyField, r *dissect.Record) {
	if !a.chosen.has(k.field) && k.Name != "notes" || !k.Present(r) {
		return
	}
	depth := a.depth
	from, to := a.span(k.Name, r)
	for _, c := range k.name {
		if c == '.' { // placed below the item of its object
			a.depth++
		}
	}
	switch {
	case k.Name == "notes":
		a.putNotes(k.field, r)
	case k.Name == "notes.code" || k.Name == "notes.text": // placed below each note
	case k.form == formGroup:
		a.putGroup(k.field, from, to)
	case k.Bytes != nil:
		a.putBytes(k.field, from, to, k.Bytes(r))
	default:
		for i := 0; ; i++ {
			it, ok := k.Item(a.keyText[:0], r, i)
			switch {
			case !ok:
				a.depth = depth
				return
			case k.form == formFrame:
				a.putFrame(k.field, it.Int)
			default:
				a.put(k.field, from, to, it)
			}
			if it.Type >= decode.TypeText {
				a.keyText = it.Text
			}
		}
	}
	a.depth = depth
}

// putGroup adds a field without a value.
func (a *Annotator) putGroup(f *field, from, to int) { a.putLabel(f, from, to, nil) }

// putLabel adds a field without a value that is shown with a label.
func (a *Annotator) putLabel(f *field, from, to int, label []byte) {
	switch {
	case a.cut:
		a.text = append(a.line(f), '\n')
	case a.item(f, from, to):
		a.putString(label)
	}
}

// putNotes adds the notes.
func (a *Annotator) putNotes(f *field, r *dissect.Record) {
	for _, n := range r.Notes {
		a.putText(f, 0, 0, wire.Untrusted(n.Code))
		a.depth++
		a.putText(a.table.byName["notes.code"], 0, 0, wire.Untrusted(n.Code))
		a.putText(a.table.byName["notes.text"], 0, 0, wire.Untrusted(n.Text))
		a.depth--
	}
}

// putGameSpy adds the keys and values of a GameSpy datagram.
func (a *Annotator) putGameSpy(r *dissect.Record) {
	if r.Kind != dissect.KindGameSpy {
		return
	}
	a.depth++
	for p := range r.GameSpy.Places() {
		if f := a.table.gamespy[p.Key.Raw()]; f != nil {
			a.putText(f, p.From, p.To, p.Value)
		} else {
			a.putText(a.table.pair, p.From, p.To, p.Key+`\`+p.Value)
		}
	}
	a.depth--
}

// span returns the position of a key's value in the current data source.
func (a *Annotator) span(name string, r *dissect.Record) (from, to int) {
	if part, ok := headerParts[name]; ok {
		if r.Kind == dissect.KindMessage {
			from, to = r.Transport.Span(part)
		}
		return r.Offset + from, r.Offset + to
	}
	end := a.base + len(r.Payload)
	if r.Payload == nil {
		end = r.Offset + len(r.Bytes)
	}
	switch name {
	case "peer":
		return 0, 1
	case "gamespy":
		return r.Offset, end
	case "opcode", "name":
		return a.base, a.base + 1
	case "residue", "error", "error.offset", "error.field", "error.reason":
		if r.Kind == dissect.KindMalformed {
			return r.Offset, end
		}
		return end - len(r.Rest), end
	}
	return 0, 0
}

// headerParts are the parts of a header that contain the value of a key.
var headerParts = map[string]transport.Part{
	"kind": transport.PartType, "type": transport.PartType, "len": transport.PartLength, "reliable": transport.PartLength,
	"priority": transport.PartLength, "seq": transport.PartSeq, "ack": transport.PartSeq, "ack.seq": transport.PartSeq,
	"ack.kind": transport.PartAckFlags, "ack.index": transport.PartIndex,
	"fragment": transport.PartIndex, "fragment.index": transport.PartIndex, "fragment.count": transport.PartCount,
}

// member returns the node of a member of the open group. If the table does not
// have the member, the node has no field.
func (a *Annotator) member(name string) *node {
	if n := a.open[len(a.open)-1].node; n != nil {
		if m := n.member[name]; m != nil {
			return m
		}
	}
	return a.table.unknown
}

// A visitor adds the fields of a message.
type visitor struct{ *Annotator }

// Begin implements [decode.Visitor].
func (a visitor) Begin(g *decode.Group) {
	n, f := a.open[len(a.open)-1].node, a.table.element
	var label []byte
	if g.Kind == decode.GroupElement {
		label = append(strconv.AppendInt(append(a.value[:0], '['), int64(g.Index), 10), ']')
		a.value = label
	} else if n = a.member(g.Name); n.field != nil {
		f = n.field
	} else {
		label = append(a.value[:0], g.Name...)
		a.value = label
	}
	at := -1
	switch {
	case a.cut:
		a.text = append(append(a.line(f), label...), '\n')
	case a.item(f, 0, 0):
		at = len(a.items) - itemSize
		a.putString(label)
	}
	a.open = append(a.open, group{node: n, at: at})
	a.depth++
}

// End implements [decode.Visitor].
func (a visitor) End(*decode.Group) {
	last := len(a.open) - 1
	g := a.open[last]
	a.open = a.open[:last]
	a.depth--
	if g.at >= 0 {
		binary.LittleEndian.PutUint16(a.items[g.at+2:], uint16(g.from))
		binary.LittleEndian.PutUint16(a.items[g.at+4:], uint16(g.to-g.from))
	}
	a.grow(g.from, g.to)
}

// grow extends the range of the open group by a field.
func (a *Annotator) grow(from, to int) {
	g := &a.open[len(a.open)-1]
	switch {
	case from == to:
	case g.from == g.to:
		g.from, g.to = from, to
	default:
		g.from, g.to = min(g.from, from), max(g.to, to)
	}
}

// Field implements [decode.Visitor].
func (a visitor) Field(f *decode.Field) {
	n := a.member(f.Name)
	from, to := a.base+f.Off, a.base+f.End
	switch {
	case f.Kind == decode.KindBit && f.Off < f.End:
		a.bits = from
	case f.Kind == decode.KindBit: // in the byte of an earlier field
		from, to = a.bits, a.bits+1
	case f.Off >= f.End: // the field has no bytes
		from, to = 0, 0
	}
	a.grow(from, to)
	if n.field == nil { // a field of a mod
		a.putEscaped(a.table.other, from, to, a.values.AppendText(append(append(a.value[:0], f.Name...), ": "...), f, a.record))
		return
	}
	a.putValue(n, f, from, to)
	a.depth++
	a.putViews(n, f, from, to)
	a.depth--
}

// putValue adds the value of a field.
func (a *Annotator) putValue(n *node, f *decode.Field, from, to int) {
	switch f.Kind.Type() {
	case decode.TypeVector:
		a.putVector(n, f, from, to)
	case decode.TypeShares:
		for i := range f.Bytes {
			it, _ := display.Element(f, i)
			a.put(n.field, from+i, from+i+1, it)
		}
	case decode.TypeIPv4, decode.TypeBytes:
		a.putBytes(n.field, from, to, f.Bytes)
	default:
		it, _ := a.values.Item(f, display.Whole, a.record)
		a.put(n.field, from, to, it)
	}
}

// putVector adds a vector as a group with its components.
func (a *Annotator) putVector(n *node, f *decode.Field, from, to int) {
	a.value = append(append(a.value[:0], n.title...), ": "...)
	a.value = a.values.AppendText(a.value, f, a.record)
	if n.unit != "" {
		a.value = append(append(a.value, ' '), n.unit...)
	}
	a.putLabel(n.field, from, to, a.value)
	a.depth++
	each := 0 // bytes of a component, 0 if components have no separate bytes
	if size := to - from; f.Kind == decode.KindDir3 || f.Kind == decode.KindVec3 || f.Kind == decode.KindQuat {
		each = size / len(n.parts)
	}
	for i, part := range n.parts {
		if each > 0 {
			to = from + each
		}
		a.put(part, from, to, display.Item{Type: decode.TypeFloat, Float: f.Vec[i]})
		from += each
	}
	a.depth--
}

// putViews adds the keys that JSON has in addition to the value of a field.
func (a *Annotator) putViews(n *node, f *decode.Field, from, to int) {
	for view, of := range n.views {
		if of == nil {
			continue
		}
		if it, ok := a.values.Item(f, display.View(view), a.record); ok {
			a.put(of, from, to, it)
		} else if display.View(view) == display.FlagNames {
			for bit := range display.Bits(f.Uint) {
				a.putText(of, from, to, wire.Untrusted(display.FlagName(f, bit)))
			}
		}
	}
}
