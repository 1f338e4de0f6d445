package decode

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
)

// A Decoder reads messages into structs that it reuses for the next message
// with the same layout. It is not safe for concurrent use.
type Decoder struct {
	codec Codec
	specs map[*Spec]*entry
	first [256]*entry // most recent specs, by opcode
	kept  Error       // error of the last Read of a spec with alternatives
}

type entry struct {
	spec  *Spec
	slots []slot
}

// A slot is a layout with its reusable message.
type slot struct {
	dialect Dialect
	common  bool
	m       Message
	fast    FastReader // m, if it implements FastReader
	reset   func()
}

// A FastReader is a message that can also be read without a codec.
type FastReader interface {
	Message
	// ReadFast reads a message, opcode included, that decodes to its last byte,
	// with the same result as its walk. It may report false for any other message.
	// The walk then finds the error.
	ReadFast(payload []byte, d Dialect, env Env) bool
}

// newSlot returns the slot of a layout.
func newSlot(l Layout, d Dialect, common bool) slot {
	m, reset := l.make()
	fast, _ := m.(FastReader)
	return slot{d, common, m, fast, reset}
}

// NewDecoder returns a decoder.
func NewDecoder() *Decoder { return &Decoder{specs: map[*Spec]*entry{}} }

// A Result is the outcome of decoding a message.
type Result struct {
	Spec    *Spec   // the spec of Message
	Message Message // nil if the spec has no decoder. It is valid until the next Read with the same spec.
	Dialect Dialect // dialect of Message's layout
	Common  bool    // other dialects use the layout as well
	Rest    []byte  // bytes after the last decoded field
	Err     *Error  // reason why Message is incomplete. It is valid until the next Read.
	Fits    uint8   // bit 1<<Dialect: this dialect reads the message to its end. Only the dialects that were tried are set.
}

// Exact reports whether every byte is accounted for.
func (r *Result) Exact() bool { return r.Message != nil && r.Err == nil && len(r.Rest) == 0 }

// Read decodes payload, which begins with the opcode. It tries the layout of
// the sender's dialect first, and the others if that does not fit and the spec
// allows it. The result is the first layout that accounts for every byte. If
// none does, it is the sender's layout, or the stock layout if that reads more
// bytes.
func (d *Decoder) Read(s *Spec, payload []byte, sender Dialect, env Env) Result {
	if !s.Known() || len(payload) == 0 {
		return Result{Spec: s}
	}
	slots := d.layouts(s)
	first := max(of(slots, sender), 0)
	r := d.try(s, &slots[first], payload, 1, env)
	if len(slots) == 1 || r.Exact() && (sender != Undecided || !s.BySender) {
		return r
	}
	if s.BySender && sender != Undecided {
		return r
	}
	best, fits := r, r.Fits
	var kept Error
	if r.Err != nil { // the codec's error is overwritten by the next try
		kept = *r.Err
		best.Err = &kept
	}
	for i := range slots {
		if i == first {
			continue
		}
		r := d.try(s, &slots[i], payload, 1, env)
		fits |= r.Fits
		if r.Exact() && !best.Exact() || slots[i].dialect == Stock && better(&r, &best) {
			best = r
			if r.Err != nil {
				kept = *r.Err
				best.Err = &kept
			}
		}
	}
	best.Fits = fits
	return best
}

// Fast returns the message that Read reuses for a spec and a dialect if it can
// be read without a codec, and nil otherwise.
func (d *Decoder) Fast(s *Spec, sender Dialect) FastReader {
	if !s.Known() {
		return nil
	}
	slots := d.layouts(s)
	if i := of(slots, sender); i >= 0 {
		return slots[i].fast
	}
	return nil
}

// of returns the index of a dialect's layout, or -1 if there is none.
func of(slots []slot, d Dialect) int {
	return slices.IndexFunc(slots, func(s slot) bool { return s.dialect == d })
}

// ReadAs decodes payload in the layout of one dialect.
func (d *Decoder) ReadAs(s *Spec, payload []byte, as Dialect, env Env) Result {
	if !s.Known() || len(payload) == 0 {
		return Result{}
	}
	slots := d.layouts(s)
	return d.try(s, &slots[max(of(slots, as), 0)], payload, 1, env)
}

// ReadAlternatives returns the first alternative of s that accounts for every
// byte. It returns r, the result of Read, if there is none or if r only lacks
// session state.
func (d *Decoder) ReadAlternatives(s *Spec, payload []byte, r Result, env Env) Result {
	if len(s.Alternatives) == 0 || r.Exact() || r.Err != nil && errors.Is(r.Err, ErrState) {
		return r
	}
	if r.Err != nil { // the next call overwrites the codec's error
		d.kept = *r.Err
		r.Err = &d.kept
	}
	for _, alt := range s.Alternatives {
		if other := d.try(alt, &d.layouts(alt)[0], payload, 1, env); other.Exact() {
			return other
		}
	}
	return r
}

// better reports whether a accounts for more of a message than b.
func better(a, b *Result) bool {
	switch {
	case a.Exact() || b.Exact():
		return !b.Exact()
	case a.Err == nil || b.Err == nil:
		return a.Err == nil && b.Err != nil
	}
	return a.Err.Offset > b.Err.Offset
}

// ReadBody decodes the fields of a message without an opcode, such as a
// transport message.
func (d *Decoder) ReadBody(s *Spec, fields []byte) Result {
	if !s.Known() {
		return Result{Rest: fields}
	}
	return d.try(s, &d.layouts(s)[0], fields, 0, nil)
}

func (d *Decoder) layouts(s *Spec) []slot {
	if e := d.first[s.Code]; e != nil && e.spec == s {
		return e.slots
	}
	e := d.specs[s]
	if e == nil {
		e = &entry{spec: s, slots: []slot{newSlot(s.Layout, Stock, true)}}
		for _, f := range s.Forms {
			e.slots = append(e.slots, newSlot(f.Layout, f.Dialect, f.Common))
		}
		d.specs[s] = e
	}
	d.first[s.Code] = e
	return e.slots
}

func (d *Decoder) try(s *Spec, l *slot, payload []byte, from int, env Env) Result {
	if l.fast != nil && l.fast.ReadFast(payload, l.dialect, env) {
		return Result{Spec: s, Message: l.m, Dialect: l.dialect, Common: l.common, Rest: payload[len(payload):], Fits: 1 << l.dialect}
	}
	c := &d.codec
	l.reset()
	c.start(payload, from, l.dialect, env, nil)
	l.m.Walk(c)
	c.finish()
	if c.err != nil {
		c.err.Message = s.Name
	}
	r := Result{Spec: s, Message: l.m, Dialect: l.dialect, Common: l.common, Rest: payload[c.off:], Err: c.err}
	if r.Exact() {
		r.Fits = 1 << l.dialect
	}
	return r
}

// A Viewer shows the fields of messages that have been read. It is not safe
// for concurrent use.
type Viewer struct {
	codec Codec
	fast  Showing
}

// Show walks v through the fields of m, which was read from payload in the
// given dialect, up to the first byte that does not decode. The fields begin at
// offset from, after the opcode of a game message.
func (w *Viewer) Show(m Message, payload []byte, from int, d Dialect, v Visitor) {
	if fast, ok := m.(FastShower); ok && from == 1 {
		w.fast.v = v
		if shown := fast.ShowFast(&w.fast, payload, d); shown {
			w.fast.v = nil
			return
		}
	}
	w.codec.start(payload, from, d, nil, v)
	w.codec.showing = true
	m.Walk(&w.codec)
	w.codec.v = nil
}

// A FieldSet selects fields of messages by their names. The zero FieldSet
// selects all.
type FieldSet struct{ hide uint64 }

// nameBit returns the bit of a name.
func nameBit(name string) uint {
	if name == "" {
		return 0
	}
	return (uint(name[0])*3 + uint(len(name))) & 63
}

// Fields selects the fields and groups with the given names. The names of their
// enclosing groups must be included. The set may contain further names, so a
// visitor must still compare names.
func Fields(names ...string) FieldSet {
	hide := ^uint64(0)
	for _, name := range names {
		hide &^= 1 << nameBit(name)
	}
	return FieldSet{hide}
}

// Limit restricts later calls of Show to a set of fields, which is faster.
func (w *Viewer) Limit(s FieldSet) { w.codec.hide, w.fast.hide = s.hide, s.hide }

// Append writes a message, beginning with the opcode, in the given dialect.
// It fails if a value does not fit its field.
func Append(dst []byte, s *Spec, m Message, d Dialect) ([]byte, error) {
	return new(Encoder).Append(dst, s, m, d)
}

// An Encoder writes messages one after another without allocating memory for
// each. Its zero value is ready to use. It is not safe for concurrent use.
type Encoder struct{ codec Codec }

// Append works as the function [Append]. The error is valid until the next
// call.
func (e *Encoder) Append(dst []byte, s *Spec, m Message, d Dialect) ([]byte, error) {
	op := s.Code
	if o, ok := m.(interface{ Opcode() Opcode }); ok { // one spec covers many opcodes
		op = o.Opcode()
	}
	e.codec.startWriting(append(dst, byte(op)), d)
	return e.codec.write(s.Name, m, len(dst))
}

// AppendFields works as the function [AppendFields]. The error is valid until
// the next call.
func (e *Encoder) AppendFields(dst []byte, name string, m Message, d Dialect) ([]byte, error) {
	e.codec.startWriting(dst, d)
	return e.codec.write(name, m, len(dst))
}

// AppendBlank works as Append, but writes the numbers and bits with the given
// names as zero.
func AppendBlank(dst []byte, s *Spec, m Message, d Dialect, names []string) ([]byte, error) {
	c := &Codec{blank: names}
	c.startWriting(append(dst, byte(s.Code)), d)
	return c.write(s.Name, m, len(dst))
}

// write writes the fields of a message that began at base.
func (c *Codec) write(name string, m Message, base int) ([]byte, error) {
	m.Walk(c)
	if c.err != nil {
		c.err.Message = name
		c.err.Offset -= base
		return nil, c.err
	}
	return c.buf, nil
}

// ReadFields decodes the fields of a message outside the catalogue of game
// messages. The argument fields begins with the first of them.
func ReadFields(c *Codec, name string, m Message, fields []byte, d Dialect) (rest []byte, err *Error) {
	c.start(fields, 0, d, nil, nil)
	m.Walk(c)
	c.finish()
	if c.err != nil {
		c.err.Message = name
	}
	return fields[c.off:], c.err
}

// AppendFields writes the fields of a message without an opcode.
func AppendFields(dst []byte, name string, m Message, d Dialect) ([]byte, error) {
	return new(Encoder).AppendFields(dst, name, m, d)
}

// Describe walks v through every possible field of a layout.
func Describe(l Layout, d Dialect, v Visitor) {
	m := l.New()
	if m == nil {
		return
	}
	DescribeMessage(m, d, v)
}

// DescribeMessage walks v through every possible field of m.
func DescribeMessage(m Message, d Dialect, v Visitor) {
	m.Walk(&Codec{mode: describing, dialect: d, group: -1, v: v})
}

// RoundTrips returns an error unless writing m again gives the bytes it was
// read from.
func RoundTrips(s *Spec, r *Result, payload []byte) error {
	got, err := Append(nil, s, r.Message, r.Dialect)
	if err != nil {
		return err
	}
	want := payload[:len(payload)-len(r.Rest)]
	if !bytes.Equal(got, want) {
		return fmt.Errorf("decode: %s is written back as %x, was %x", s.Name, got, want)
	}
	return nil
}
