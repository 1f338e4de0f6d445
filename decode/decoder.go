package decode

import (
	"bytes"
	"errors"
	"fmt"
)

// A Decoder reads messages into structs that it owns and uses again for the
// next message with the same layout. It is not safe for concurrent use.
type Decoder struct {
	codec Codec
	specs map[*Spec]*entry
	first [256]*entry // of the specs used last, by opcode
	kept  Error       // of what the last Read of a spec with alternatives gave
}

type entry struct {
	spec  *Spec
	slots []slot
}

// A slot is one layout with the message that is used for it.
type slot struct {
	dialect Dialect
	common  bool
	m       Message
	fast    FastReader // m, if it is one
	reset   func()
}

// A FastReader is a message that can also be read without a codec.
type FastReader interface {
	Message
	// ReadFast reads a message whose bytes, opcode first, are all accounted
	// for, and leaves it as its walk does. It may report false for any other,
	// whose walk then tells what is wrong with it.
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

// A Result is what became of a message.
type Result struct {
	Spec    *Spec   // that Message is of
	Message Message // nil if the spec has no decoder; valid until the next Read with the same spec
	Dialect Dialect // of the layout that Message has
	Common  bool    // senders of other dialects use that layout, too
	Rest    []byte  // bytes after the last field that was read
	Err     *Error  // why Message is not complete; valid until the next Read
	Fits    uint8   // bit 1<<Dialect: this dialect reads the message to its end; only dialects that were tried
}

// Exact reports whether every byte is accounted for.
func (r *Result) Exact() bool { return r.Message != nil && r.Err == nil && len(r.Rest) == 0 }

// Read decodes payload, whose first byte is the opcode. The layout of the
// sender's dialect is tried first; the others follow if it does not fit and
// the spec allows it. The result is the first layout that accounts for every
// byte. If there is none, it is the sender's, unless the game's own gets
// further: that of another dialect is taken only where it fits.
func (d *Decoder) Read(s *Spec, payload []byte, sender Dialect, env Env) Result {
	if !s.Known() || len(payload) == 0 {
		return Result{Spec: s}
	}
	slots := d.layouts(s)
	first := 0
	for i := range slots {
		if slots[i].dialect == sender {
			first = i
			break
		}
	}
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

// Fast returns the message that Read uses for a spec and a dialect, if it can be
// read without a codec, or else nil.
func (d *Decoder) Fast(s *Spec, sender Dialect) FastReader {
	if !s.Known() {
		return nil
	}
	for _, l := range d.layouts(s) {
		if l.dialect == sender {
			return l.fast
		}
	}
	return nil
}

// ReadAs decodes payload in the layout of one dialect.
func (d *Decoder) ReadAs(s *Spec, payload []byte, as Dialect, env Env) Result {
	if !s.Known() || len(payload) == 0 {
		return Result{}
	}
	slots := d.layouts(s)
	for i := range slots {
		if slots[i].dialect == as {
			return d.try(s, &slots[i], payload, 1, env)
		}
	}
	return d.try(s, &slots[0], payload, 1, env)
}

// ReadAlternatives returns the first alternative of s that accounts for every
// byte. If there is none, or if r lacks only knowledge of the session, it
// returns r, the result of Read.
func (d *Decoder) ReadAlternatives(s *Spec, payload []byte, r Result, env Env) Result {
	if len(s.Alternatives) == 0 || r.Exact() || r.Err != nil && errors.Is(r.Err, ErrState) {
		return r
	}
	if r.Err != nil { // the codec's error is overwritten by what follows
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

// ReadBody decodes the fields of a message that has no opcode before them, as
// transport messages have not.
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
type Viewer struct{ codec Codec }

// Show takes v through the fields of m, which was read from payload in the
// given dialect, up to the first byte that does not decode. The fields begin
// at offset from, after the opcode of a game message.
func (w *Viewer) Show(m Message, payload []byte, from int, d Dialect, v Visitor) {
	w.codec.start(payload, from, d, nil, v)
	w.codec.showing = true
	m.Walk(&w.codec)
	w.codec.v = nil
}

// A FieldSet selects fields of messages by their names. The zero FieldSet
// selects all.
type FieldSet struct{ hide uint64 } // a bit for many names

// nameBit returns the bit that stands for a name.
func nameBit(name string) uint {
	if name == "" {
		return 0
	}
	return (uint(name[0])*3 + uint(len(name))) & 63
}

// Fields selects the fields and groups with the given names. The names of the
// groups around them must be among these. The set may contain further names, so
// a visitor still compares names.
func Fields(names ...string) FieldSet {
	hide := ^uint64(0)
	for _, name := range names {
		hide &^= 1 << nameBit(name)
	}
	return FieldSet{hide}
}

// Limit restricts the following calls of Show to a set, which is faster.
func (w *Viewer) Limit(s FieldSet) { w.codec.hide = s.hide }

// Stop ends the walk that Show is on: a visitor that has seen enough calls it,
// and sees no more of the message, not even the end of groups that are open.
// The message stays as it was read.
func (w *Viewer) Stop() { w.codec.stop() }

// Append writes a message, beginning with the opcode, in the given dialect.
// It fails if a value does not fit its field.
func Append(dst []byte, s *Spec, m Message, d Dialect) ([]byte, error) {
	op := s.Code
	if o, ok := m.(interface{ Opcode() Opcode }); ok { // one spec for many opcodes
		op = o.Opcode()
	}
	return appendFields(append(dst, byte(op)), s.Name, m, d, len(dst))
}

// AppendBlank is Append with zeros in the place of the numbers and bits of some
// names.
func AppendBlank(dst []byte, s *Spec, m Message, d Dialect, names []string) ([]byte, error) {
	c := &Codec{mode: writing, dialect: d, buf: append(dst, byte(s.Code)), group: -1, blank: names}
	return c.write(s.Name, m, len(dst))
}

func appendFields(dst []byte, name string, m Message, d Dialect, base int) ([]byte, error) {
	c := &Codec{mode: writing, dialect: d, buf: dst, group: -1}
	return c.write(name, m, base)
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

// ReadFields decodes the fields of a message that is not from a catalogue of
// game messages: fields begins with the first of them.
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
	return appendFields(dst, name, m, d, len(dst))
}

// Describe takes v through every field that a message of the layout can have.
func Describe(l Layout, d Dialect, v Visitor) {
	m := l.New()
	if m == nil {
		return
	}
	DescribeMessage(m, d, v)
}

// DescribeMessage takes v through every field that m can have.
func DescribeMessage(m Message, d Dialect, v Visitor) {
	m.Walk(&Codec{mode: describing, dialect: d, group: -1, v: v})
}

// RoundTrips reports whether m, written again, gives exactly the bytes it was
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
