package table

import (
	"strconv"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/display"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/transport"
	"github.com/bcdissect/bcdissect/report"
	"github.com/bcdissect/bcdissect/report/internal/hexdump"
)

// treeBytes is the number of bytes of a field that are shown next to it.
const treeBytes = 8

// A tree is a visitor that collects the rows of a message: the position of each
// field, its bytes, its name and its value.
type tree struct {
	sink *Sink
	r    *dissect.Record
	data []byte // the bytes that offsets refer to

	rows  []row
	text  []byte // values of all rows
	place []byte // buffer for the position of a row's bytes
	depth int
	lists []int // indexes of the rows of the open lists

	copies report.Copies
}

// A row is one field or group. Its value is a part of the text.
type row struct {
	off, end int // positions of the bytes, equal if there are none
	depth    int
	name     string
	from, to int // positions of the value in text
	n        int // number of elements of a list
	list     bool
	group    bool   // the row is a group with rows below it
	object   uint32 // number of the object that the field names, 0 for none
	style    style
	doc      string // documentation of a field
}

// details appends the text below the line of r.
func (s *Sink) details(dst []byte, r *dissect.Record) []byte {
	dst = s.header(dst, r)
	t := &s.tree
	text, keep := t.copies.Find(r)
	if text != nil {
		return s.remarks(append(dst, text...), r)
	}
	from := len(dst)
	dst = s.gather(r).append(dst)
	keep.Keep(dst[from:])
	if len(r.Rest) > treeBytes {
		dst = hexdump.Append(dst, r.Rest, max(len(t.data)-len(r.Rest), 0), indent+"  ")
	}
	if r.Kind == dissect.KindGameSpy {
		for key, value := range r.GameSpy.Pairs() {
			dst = append(dst, indent...)
			dst = report.AppendEscaped(dst, key)
			if value != "" {
				dst = report.AppendEscaped(append(dst, "  "...), value)
			}
			dst = append(dst, '\n')
		}
	}
	return s.remarks(dst, r)
}

// remarks appends the error and the notes of r.
func (s *Sink) remarks(dst []byte, r *dissect.Record) []byte {
	if r.Err != nil {
		look := yellow
		if r.Status == dissect.StatusMalformed {
			look = red
		}
		dst = s.remark(dst, look, "error  ")
		dst = appendReason(dst, r.Err, false)
		dst = append(append(dst, s.theme[look].off...), '\n')
	}
	for _, n := range r.Notes {
		dst = s.remark(dst, yellow, "note   ")
		dst = report.AppendEscaped(dst, n.Code)
		dst = report.AppendEscaped(append(dst, ": "...), n.Text)
		dst = append(append(dst, s.theme[yellow].off...), '\n')
	}
	return dst
}

// gather collects the rows of r in the sink's tree.
func (s *Sink) gather(r *dissect.Record) *tree {
	t := &s.tree
	t.sink, t.r, t.rows, t.text, t.depth, t.lists = s, r, t.rows[:0], t.text[:0], 0, t.lists[:0]
	t.data = r.Payload
	if t.data == nil && r.Kind == dissect.KindMessage && r.Transport.Size <= len(r.Bytes) {
		t.data = r.Bytes[r.Transport.Size:]
	}
	if op, ok := r.Opcode(); ok {
		t.add(0, 1, "opcode")
		t.text = display.AppendHex(t.text, uint64(op), 2)
		if r.Spec != nil {
			t.text = display.AppendNote(t.text, r.Spec.Name)
		}
		t.close()
	}
	r.Visit(&s.viewer, t)
	if n := len(r.Rest); n > 0 && n <= len(t.data) {
		t.add(len(t.data)-n, len(t.data), "residue")
		t.rows[len(t.rows)-1].style = yellow
		t.text = appendCount(t.text, n, "byte")
		t.close()
	}
	return t
}

// remark begins a line in a style.
func (s *Sink) remark(dst []byte, look style, what string) []byte {
	dst = append(dst, indent...)
	dst = append(dst, s.theme[look].on...)
	return append(dst, what...)
}

// header appends the fields of the datagram and of the message's header.
func (s *Sink) header(dst []byte, r *dissect.Record) []byte {
	if d := r.Datagram; d != nil && !s.opts.NoCapture {
		dst = append(dst, indent...)
		if !d.Time.IsZero() {
			dst = append(s.clock.Append(dst, d.Time, d.Digits), " UTC, "...)
		}
		dst = append(s.addrs.Append(dst, d.Src), ' ')
		dst = append(append(dst, s.signs.arrow...), ' ')
		dst = append(s.addrs.Append(dst, d.Dst), '\n')
	}
	h := &r.Transport
	if r.Kind != dissect.KindMessage || h.Len == 0 {
		return dst
	}
	dst = append(dst, indent...)
	dst = append(dst, h.Type.Kind()...)
	if r.Peer != 0 {
		dst = appendInt(append(dst, ", message "...), int64(r.Part))
		dst = appendInt(append(dst, " of peer "...), int64(r.Peer))
		dst = appendInt(append(dst, " at +"...), int64(r.Offset))
	}
	dst = appendCount(append(dst, ", "...), h.Len, "byte")
	if h.Reliable {
		dst = append(dst, ", reliable"...)
	}
	if h.Priority {
		dst = append(dst, ", priority"...)
	}
	if h.HasSeq {
		dst = appendInt(append(dst, ", seq "...), int64(h.Seq))
	}
	if h.Type == transport.Acknowledge {
		dst = display.AppendHex(append(dst, ", flags "...), uint64(h.AckFlags), 2)
	}
	if h.Fragment {
		dst = appendInt(append(dst, ", fragment "...), int64(h.Index)+1)
		if h.Count > 0 {
			dst = appendInt(append(dst, " of "...), int64(h.Count))
		}
	}
	for i, n := range r.Pieces {
		if i == 0 {
			dst = append(dst, ", from frames"...)
		}
		dst = appendInt(append(dst, ' '), int64(n))
	}
	if r.Layout == decode.OpenBC || r.Sender == decode.OpenBC {
		dst = append(append(dst, ", dialect "...), decode.OpenBC.String()...)
	}
	return append(dst, '\n')
}

// add begins a row for the bytes from off to end, without end. The caller
// appends the value to the text and then closes the row.
func (t *tree) add(off, end int, name string) *row {
	t.rows = append(t.rows, row{off: off, end: end, depth: t.depth, name: name, from: len(t.text)})
	return &t.rows[len(t.rows)-1]
}

func (t *tree) close() { t.rows[len(t.rows)-1].to = len(t.text) }

// Begin implements [decode.Visitor].
func (t *tree) Begin(g *decode.Group) {
	switch g.Kind {
	case decode.GroupStruct:
		t.add(0, 0, g.Name)
	case decode.GroupList:
		t.add(0, 0, g.Name)
		t.rows[len(t.rows)-1].list = true
		t.lists = append(t.lists, len(t.rows)-1)
	case decode.GroupElement:
		t.rows[t.lists[len(t.lists)-1]].n++
		t.add(0, 0, "["+strconv.Itoa(g.Index)+"]")
	}
	t.rows[len(t.rows)-1].group = true
	t.close()
	t.depth++
}

// End implements [decode.Visitor].
func (t *tree) End(g *decode.Group) {
	t.depth--
	if g.Kind == decode.GroupList {
		t.lists = t.lists[:len(t.lists)-1]
	}
}

// Field implements [decode.Visitor].
func (t *tree) Field(f *decode.Field) {
	row := t.add(f.Off, f.End, f.Name)
	row.doc = f.Doc
	if f.Kind == decode.KindObject {
		row.object = uint32(f.Uint)
	}
	t.text = t.sink.values.AppendText(t.text, f, t.r)
	row.to = len(t.text)
}

// AppendPlace appends the position of the bytes from off to end, without end,
// such as +10..14. It appends nothing if there are no bytes.
func AppendPlace(dst []byte, off, end int) []byte {
	if off < end {
		dst = appendInt(append(dst, '+'), int64(off))
	}
	if off+1 < end {
		dst = appendInt(append(dst, '.', '.'), int64(end))
	}
	return dst
}

// append appends the rows in columns. Each column is as wide as its longest
// text.
func (t *tree) append(dst []byte) []byte {
	theme, more, w := t.sink.theme, t.sink.signs.more, &t.sink.widths
	places, bytes, names := 0, 0, 0
	for i := range t.rows {
		r := &t.rows[i]
		t.place = AppendPlace(t.place[:0], r.off, r.end)
		places = max(places, len(t.place))
		n := 3*min(r.end-r.off, treeBytes) - 1
		if r.end-r.off > treeBytes {
			n += 1 + w.of([]byte(more))
		}
		bytes = max(bytes, n)
		names = max(names, 2*r.depth+len(r.name))
	}
	for i := range t.rows {
		r := &t.rows[i]
		dst = append(append(dst, indent...), theme[faint].on...)
		from := len(dst)
		dst = w.fit(AppendPlace(dst, r.off, r.end), from, places+2, more, false)
		from = len(dst)
		if r.off < r.end && r.end <= len(t.data) {
			dst = t.sink.values.AppendBytes(dst, t.data[r.off:r.end], treeBytes)
		}
		dst = w.fit(dst, from, bytes, more, false)
		dst = append(append(dst, theme[faint].off...), theme[r.style].on...)
		dst = append(pad(dst, 2+2*r.depth), r.name...)
		if r.to > r.from || r.list {
			dst = pad(dst, names-2*r.depth-len(r.name)+2)
		}
		dst = append(dst, t.text[r.from:r.to]...)
		if r.list {
			dst = appendCount(dst, r.n, "element")
		}
		dst = append(append(dst, theme[r.style].off...), '\n')
	}
	return dst
}
