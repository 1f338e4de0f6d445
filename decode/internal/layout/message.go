package layout

import (
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/wire"
)

// A Dynamic is a message defined at run time. It keeps its values in the order
// of the walk: a number in one or more cells, text and bytes in a slice, and
// the count of a list before its elements. It uses at most a small multiple of
// the payload's memory.
type Dynamic struct {
	def   *definition
	cells []uint32
	texts [][]byte // borrowed from the payload

	// Set during a walk:
	cell, text int // index of the next one
	registers  []register
}

// A register is the value of a field used in conditions.
type register struct {
	value uint32
	there bool
}

func (d *definition) message() decode.Reusable {
	return &Dynamic{def: d, registers: make([]register, d.registers+1)}
}

// Reset prepares the message for reuse.
func (m *Dynamic) Reset() { m.cells, m.texts = m.cells[:0], m.texts[:0] }

// Walk implements [decode.Message].
func (m *Dynamic) Walk(c *decode.Codec) {
	m.cell, m.text = 0, 0
	m.fields(c, m.def.fields)
}

func (m *Dynamic) fields(c *decode.Codec, fields []field) {
	for i := range fields {
		f := &fields[i]
		if f.reg > 0 {
			m.registers[f.reg] = register{}
		}
		m.when(c, f, 0)
	}
}

// when runs a field through the codec if its conditions, from the nth on, are
// true.
func (m *Dynamic) when(c *decode.Codec, f *field, n int) {
	if n == len(f.conds) {
		m.value(c, f)
		return
	}
	c.When(m.cond(c, &f.conds[n]), func() { m.when(c, f, n+1) })
}

func (m *Dynamic) cond(c *decode.Codec, cd *cond) decode.Cond {
	r := m.registers[cd.reg]
	switch cd.op {
	case decode.OpEquals:
		return decode.Equals(cd.field, r.value, cd.value).If(r.there)
	case decode.OpDiffers:
		return decode.Differs(cd.field, r.value, cd.value).If(r.there)
	case decode.OpHas:
		return decode.Has(cd.field, r.value, cd.value).If(r.there)
	case decode.OpLacks:
		return decode.Lacks(cd.field, r.value, cd.value).If(r.there)
	case decode.OpMore, decode.OpFits, decode.OpIs, decode.OpIsNot:
	}
	more := m.get(c) != 0
	if c.Reading() {
		more = c.More()
	}
	m.put(c, number(more))
	return c.Remain(more)
}

func number(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

// stored returns the next value of a message that is being written. While
// reading or describing, there is none.
func stored[T any](c *decode.Codec, list []T, i int) (v T) {
	if c.Reading() || i >= len(list) {
		return v
	}
	return list[i]
}

// store stores the next value of a message that is being read. When the message
// is shown, it gets the same value again.
func store[T any](c *decode.Codec, list *[]T, next *int, v T) {
	if c.Failed() {
		return
	}
	switch {
	case !c.Reading():
	case *next < len(*list):
		(*list)[*next] = v
	default:
		*list = append(*list, v)
	}
	*next++
}

func (m *Dynamic) get(c *decode.Codec) uint32          { return stored(c, m.cells, m.cell) }
func (m *Dynamic) getAt(c *decode.Codec, i int) uint32 { return stored(c, m.cells, i) }
func (m *Dynamic) put(c *decode.Codec, v uint32)       { store(c, &m.cells, &m.cell, v) }

// keep stores the value of a field of one cell, also for conditions.
func (m *Dynamic) keep(c *decode.Codec, f *field, v uint32) {
	m.put(c, v)
	if f.reg > 0 && !c.Failed() {
		m.registers[f.reg] = register{v, true}
	}
}

// value runs a field through the codec.
func (m *Dynamic) value(c *decode.Codec, f *field) {
	switch f.kind {
	case decode.KindBit:
		v := m.get(c) != 0
		c.Bit(f.name, &v, f.doc)
		m.keep(c, f, number(v))
	case decode.KindDir3, decode.KindVec3, decode.KindQuat, decode.KindVec4h, decode.KindVec4f:
		m.vector(c, f)
	case decode.KindIPv4:
		n := m.get(c)
		v := [4]byte{byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24)}
		c.IPv4(f.name, &v, f.doc)
		m.put(c, uint32(v[0])|uint32(v[1])<<8|uint32(v[2])<<16|uint32(v[3])<<24)
	case list:
		m.list(c, f)
	case group:
		c.Struct(f.name, f.doc, func() { m.fields(c, f.fields) })
	case decode.KindStr8, decode.KindStr16, decode.KindStr32, decode.KindStr32z, decode.KindWStr32, decode.KindWStrz, decode.KindBytes:
		m.string(c, f)
	default:
		v := uint32(c.Numeric(f.name, f.kind, f.names(c), f.doc, uint64(m.get(c))))
		if f.kind == decode.KindI16 {
			v = uint32(int16(v)) // conditions compare all 32 bits
		}
		m.keep(c, f, v)
	}
}

// names returns the names of the values or flags, or a plain nil if there are
// none. A describing visitor may keep the names of flags.
func (f *field) names(c *decode.Codec) decode.Names {
	switch {
	case f.values != nil:
		return f.values
	case f.bits == nil:
		return nil
	case c.Describing():
		return f.bits
	}
	return &f.bits
}

// vector reads or writes a field made of a direction, several floats, or both,
// each in one cell.
func (m *Dynamic) vector(c *decode.Codec, f *field) {
	switch f.kind {
	case decode.KindDir3:
		v := direction(m.get(c))
		c.Dir3(f.name, &v, f.doc)
		m.put(c, directionCell(v))
	case decode.KindVec4h:
		from := m.cell
		v := wire.Vec4h{Dir: direction(m.getAt(c, from)), Len: wire.CF16(m.getAt(c, from+1))}
		c.Vec4h(f.name, &v, f.doc)
		m.put(c, directionCell(v.Dir))
		m.put(c, uint32(v.Len))
	case decode.KindVec4f:
		from := m.cell
		v := wire.Vec4f{Dir: direction(m.getAt(c, from)), Len: wire.F32(m.getAt(c, from+1))}
		c.Vec4f(f.name, &v, f.doc)
		m.put(c, directionCell(v.Dir))
		m.put(c, uint32(v.Len))
	case decode.KindQuat:
		var v [4]wire.F32
		m.getFloats(c, v[:])
		c.Quat(f.name, &v, f.doc)
		m.putFloats(c, v[:])
	default:
		var v [3]wire.F32
		m.getFloats(c, v[:])
		c.Vec3(f.name, &v, f.doc)
		m.putFloats(c, v[:])
	}
}

func direction(n uint32) wire.Dir3 { return wire.Dir3{int8(n), int8(n >> 8), int8(n >> 16)} }

func directionCell(d wire.Dir3) uint32 {
	return uint32(uint8(d[0])) | uint32(uint8(d[1]))<<8 | uint32(uint8(d[2]))<<16
}

func (m *Dynamic) getFloats(c *decode.Codec, v []wire.F32) {
	for i := range v {
		v[i] = wire.F32(m.getAt(c, m.cell+i))
	}
}

func (m *Dynamic) putFloats(c *decode.Codec, v []wire.F32) {
	for _, x := range v {
		m.put(c, uint32(x))
	}
}

// string reads or writes text or bytes.
func (m *Dynamic) string(c *decode.Codec, f *field) {
	b := stored(c, m.texts, m.text)
	c.Private(decode.FreeText, func() { f.text(c, &b) })
	store(c, &m.texts, &m.text, b)
}

// text reads or writes a text or bytes.
func (f *field) text(c *decode.Codec, b *[]byte) {
	switch f.kind {
	case decode.KindWStrz:
		c.WStrz(f.name, b, f.doc)
	case decode.KindBytes:
		c.Bytes(f.name, b, f.doc)
	default:
		c.Counted(f.name, b, f.kind, f.doc)
	}
}

// list reads or writes a list. The values of its elements are in cells, so the
// codec gets elements without contents to count.
func (m *Dynamic) list(c *decode.Codec, f *field) {
	at := m.cell
	elements := make([]struct{}, m.get(c))
	if c.Reading() && at == len(m.cells) { // when the message is shown, the number stays the same
		m.cells = append(m.cells, 0)
	}
	m.cell++
	body := func(*struct{}) { m.fields(c, f.fields) }
	switch f.count {
	case byU8:
		decode.List8(c, f.name, &elements, f.least, f.doc, body)
	case byU16:
		decode.List16(c, f.name, &elements, f.least, f.doc, body)
	case toEnd:
		decode.ListToEnd(c, f.name, &elements, f.doc, body)
	}
	if c.Reading() && !c.Failed() {
		m.cells[at] = uint32(len(elements))
	}
}
