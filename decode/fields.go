package decode

import (
	"fmt"
	"math"

	"github.com/bcdissect/bcdissect/decode/wire"
)

// The methods and functions below are the fields that make up walks. Each takes
// the field's wire name, a pointer to its value, and its description. The value
// stays unchanged if the message ends too early.

// Numeric is a number of any kind of number, in as many bytes as the kind has.
// It returns v if the message ends too early.
func (c *Codec) Numeric(name string, kind Kind, names Names, doc string, v uint64) uint64 {
	size := kinds[kind].least
	if c.fast && c.v == nil && c.fill == nil && len(c.buf)-c.off >= size { // the usual case
		c.off += size
		return little(c.buf[c.off-size:], size)
	}
	off := c.Offset()
	if c.fill != nil && !c.give(name, kind, names, -1) {
		return v
	}
	v, ok := c.raw(name, size, v)
	if !ok || c.v == nil || !c.shows(name) {
		return v
	}
	c.field.set(kind, v)
	if c.field.Names = names; names == nil {
		c.watch(name, doc, kind, off)
		return v
	}
	c.watch(name, doc, kind, off)
	c.field.Names = nil
	return v
}

// set sets the value of a field to the number that the message holds.
func (f *Field) set(kind Kind, u uint64) {
	switch kind {
	case KindI16:
		f.Int = int64(int16(u))
	case KindI32:
		f.Int = int64(int32(u))
	case KindF32:
		f.Float = float64(wire.F32(u).Float())
	case KindCF16:
		f.Float = float64(wire.CF16(u).Float())
	case KindRatio8:
		f.Float = float64(float32(u) / 255)
	case KindPercent8:
		f.Float = float64(int8(u))
	case KindPower8:
		f.Float = float64(float32(u) * 100 / 204)
	default:
		f.Uint = u
	}
}

// U8 is a number from 0 to 255.
func (c *Codec) U8(name string, p *uint8, doc string) {
	*p = uint8(c.Numeric(name, KindU8, nil, doc, uint64(*p)))
}

// U16 is a number from 0 to 65535.
func (c *Codec) U16(name string, p *uint16, doc string) {
	*p = uint16(c.Numeric(name, KindU16, nil, doc, uint64(*p)))
}

// U32 is an unsigned 32-bit number.
func (c *Codec) U32(name string, p *uint32, doc string) {
	*p = uint32(c.Numeric(name, KindU32, nil, doc, uint64(*p)))
}

// I32 is a signed 32-bit number.
func (c *Codec) I32(name string, p *int32, doc string) {
	*p = int32(c.Numeric(name, KindI32, nil, doc, uint64(*p)))
}

// I16 is a signed 16-bit number.
func (c *Codec) I16(name string, p *int16, doc string) {
	*p = int16(c.Numeric(name, KindI16, nil, doc, uint64(*p)))
}

// Bool8 is a byte that holds 0 or 1. Other values are kept unchanged.
func (c *Codec) Bool8(name string, p *uint8, doc string) {
	*p = uint8(c.Numeric(name, KindBool8, nil, doc, uint64(*p)))
}

// Hash16 is a 16-bit digest.
func (c *Codec) Hash16(name string, p *uint16, doc string) {
	*p = uint16(c.Numeric(name, KindHash16, nil, doc, uint64(*p)))
}

// Hash32 is a 32-bit digest. If names is not nil, it maps digests to their
// sources.
func (c *Codec) Hash32(name string, p *uint32, names Names, doc string) {
	*p = uint32(c.Numeric(name, KindHash32, names, doc, uint64(*p)))
}

// Enum8 is a byte with named values.
func Enum8[T ~uint8](c *Codec, name string, p *T, names Names, doc string) {
	*p = T(c.Numeric(name, KindEnum8, names, doc, uint64(*p)))
}

// Enum32 is a 32-bit number with named values.
func Enum32[T ~uint32](c *Codec, name string, p *T, names Names, doc string) {
	*p = T(c.Numeric(name, KindEnum32, names, doc, uint64(*p)))
}

// Flags8 is a byte of flags. The names are indexed by bit number, and nil if
// there are none.
func Flags8[T ~uint8](c *Codec, name string, p *T, names FlagNames, doc string) {
	var n Names
	switch {
	case names == nil:
	case c.mode == describing: // a describing visitor may keep the names
		n = names
	default: // a pointer avoids the allocation of a slice in an interface
		c.flags = names
		n = &c.flags
	}
	*p = T(c.Numeric(name, KindFlags8, n, doc, uint64(*p)))
}

// Object is the id of a game object or subsystem.
func (c *Codec) Object(name string, p *wire.ObjectID, doc string) {
	*p = wire.ObjectID(c.Numeric(name, KindObject, nil, doc, uint64(*p)))
}

// F32 is an IEEE 754 single-precision number.
func (c *Codec) F32(name string, p *wire.F32, doc string) {
	*p = wire.F32(c.Numeric(name, KindF32, nil, doc, uint64(*p)))
}

// CF16 is a 16-bit logarithmic float.
func (c *Codec) CF16(name string, p *wire.CF16, doc string) {
	*p = wire.CF16(c.Numeric(name, KindCF16, nil, doc, uint64(*p)))
}

// Ratio8 is a share of a whole, in 255ths.
func (c *Codec) Ratio8(name string, p *uint8, doc string) {
	*p = uint8(c.Numeric(name, KindRatio8, nil, doc, uint64(*p)))
}

// Percent8 is a power setting in per cent. It is negative if the system is
// switched off.
func (c *Codec) Percent8(name string, p *int8, doc string) {
	*p = int8(c.Numeric(name, KindPercent8, nil, doc, uint64(*p)))
}

// Power8 is a power setting in which 204 means 100 per cent.
func (c *Codec) Power8(name string, p *uint8, doc string) {
	*p = uint8(c.Numeric(name, KindPower8, nil, doc, uint64(*p)))
}

// Dir3 is a direction of three bytes.
func (c *Codec) Dir3(name string, p *wire.Dir3, doc string) {
	if off, ok := c.whole(name, KindDir3); ok {
		c.dir3(name, p)
		c.watchVec(name, doc, KindDir3, off, p.Vec)
	}
}

func (c *Codec) dir3(name string, p *wire.Dir3) {
	for i := range p {
		u, _ := c.raw(name, 1, uint64(p[i]))
		p[i] = int8(u)
	}
}

// Vec4h is a vector made of a direction and a CF16 length.
func (c *Codec) Vec4h(name string, p *wire.Vec4h, doc string) {
	if off, ok := c.whole(name, KindVec4h); ok {
		c.dir3(name, &p.Dir)
		u, _ := c.raw(name, 2, uint64(p.Len))
		p.Len = wire.CF16(u)
		c.watchVec(name, doc, KindVec4h, off, p.Vec)
	}
}

// Vec4f is a vector made of a direction and an f32 length.
func (c *Codec) Vec4f(name string, p *wire.Vec4f, doc string) {
	if off, ok := c.whole(name, KindVec4f); ok {
		c.dir3(name, &p.Dir)
		u, _ := c.raw(name, 4, uint64(p.Len))
		p.Len = wire.F32(u)
		c.watchVec(name, doc, KindVec4f, off, p.Vec)
	}
}

// Vec4b is a direction and a length. The length is relative to a bounding
// radius that the message does not contain, so the field is shown as a struct
// of direction and ratio.
func (c *Codec) Vec4b(name string, p *wire.Vec4b, doc string) {
	c.Struct(name, doc, func() {
		c.Dir3("direction", &p.Dir, "from the centre")
		c.Ratio8("ratio", &p.Len, "length as a share of the bounding radius")
	})
}

// whole begins a field of several parts that must all be present. It returns
// the field's offset, and whether the parts are there.
func (c *Codec) whole(name string, kind Kind) (off int, ok bool) {
	off = c.Offset()
	if !c.gives(name, kind) {
		return off, false
	}
	if n := kinds[kind].least; c.mode == reading && (c.err != nil || len(c.buf)-c.off < n) {
		c.take(name, n) // records the error
		return off, false
	}
	return off, true
}

// Vec3 is a vector of three f32.
func (c *Codec) Vec3(name string, p *[3]wire.F32, doc string) {
	c.floats(name, p[:], KindVec3, doc)
}

// Quat is an orientation of four f32: w, x, y, z.
func (c *Codec) Quat(name string, p *[4]wire.F32, doc string) {
	c.floats(name, p[:], KindQuat, doc)
}

func (c *Codec) floats(name string, p []wire.F32, kind Kind, doc string) {
	off, ok := c.whole(name, kind)
	if !ok {
		return
	}
	for i := range p {
		u, _ := c.raw(name, 4, uint64(p[i]))
		p[i] = wire.F32(u)
	}
	if c.shows(name) {
		c.field.Vec = [4]float32{}
		for i := range p {
			c.field.Vec[i] = p[i].Float()
		}
		c.watch(name, doc, kind, off)
	}
}

// Ratios is an array of n shares in 255ths. The argument from tells where n
// comes from.
func (c *Codec) Ratios(name string, p *[]byte, n int, from *Count, doc string) {
	off := c.Offset()
	if (c.fill == nil || c.give(name, KindRatios, nil, n)) && c.rawBytes(name, p, n) {
		c.field.Count = from
		c.watchBytes(name, doc, KindRatios, off, *p)
		c.field.Count = nil
	}
}

// Str8 is text of at most 255 bytes in Windows-1252.
func (c *Codec) Str8(name string, p *wire.Chars, doc string) {
	c.Counted(name, (*[]byte)(p), KindStr8, doc)
}

// Str16 is text of at most 65535 bytes in Windows-1252.
func (c *Codec) Str16(name string, p *wire.Chars, doc string) {
	c.Counted(name, (*[]byte)(p), KindStr16, doc)
}

// Str32 is text in Windows-1252.
func (c *Codec) Str32(name string, p *wire.Chars, doc string) {
	c.Counted(name, (*[]byte)(p), KindStr32, doc)
}

// Str32z is text in Windows-1252 with a final 00, which the length counts.
func (c *Codec) Str32z(name string, p *wire.Chars, doc string) {
	c.Counted(name, (*[]byte)(p), KindStr32z, doc)
}

// WStr32 is text in UTF-16LE. Its length counts characters.
func (c *Codec) WStr32(name string, p *wire.WideChars, doc string) {
	c.Counted(name, (*[]byte)(p), KindWStr32, doc)
}

// lengthBytes returns the size of the length before a text of a kind.
func lengthBytes(kind Kind) int {
	switch kind { //nolint:exhaustive // the others have 32 bits
	case KindStr8:
		return 1
	case KindStr16:
		return 2
	}
	return 4
}

// Counted is a text of any kind that begins with its length. If the text is
// incomplete, the whole field is absent, and its length is among the bytes left
// over.
func (c *Codec) Counted(name string, p *[]byte, kind Kind, doc string) {
	off, before := c.Offset(), c.err
	if !c.gives(name, kind) {
		return
	}
	c.countedAt(name, p, kind, doc, off)
	if c.mode == reading && before == nil && c.err != nil {
		c.off = off
	}
}

func (c *Codec) countedAt(name string, p *[]byte, kind Kind, doc string, off int) {
	n, size := len(*p), lengthBytes(kind)
	if c.mode == writing && size < 4 && n >= 1<<(8*size) {
		c.Reject(name, off, fmt.Sprintf("%d bytes do not fit %s-bit length", n, [...]string{1: "an 8", 2: "a 16"}[size]))
		return
	}
	switch kind { //nolint:exhaustive // the others count bytes of the text
	case KindStr32z:
		n++
	case KindWStr32:
		n /= 2
	}
	u, ok := c.raw(name, size, uint64(n))
	if !ok {
		return
	}
	if size == 4 && c.mode == reading && int64(u) > int64(c.Left()) {
		c.fail(name, off, ErrShort, "")
		c.fault.Need, c.fault.Have = int(min(int64(u), math.MaxInt32)), c.Left()
		return
	}
	n = int(u)
	switch kind { //nolint:exhaustive // the others count bytes of the text
	case KindStr32z:
		n--
	case KindWStr32:
		n *= 2
	}
	if c.mode == reading && n < 0 {
		c.Reject(name, off, "length 0 leaves no room for the final 00")
		return
	}
	if !c.rawBytes(name, p, n) {
		return
	}
	if kind == KindStr32z {
		zero, ok := c.raw(name, 1, 0)
		if !ok {
			return
		}
		if zero != 0 {
			detail := ""
			if !c.showing {
				detail = fmt.Sprintf("the text ends with %02x, not 00", zero)
			}
			c.Reject(name, c.off-1, detail)
			return
		}
	}
	c.watchBytes(name, doc, kind, off, *p)
}

// WStrz is text in UTF-16LE up to 00 00.
func (c *Codec) WStrz(name string, p *[]byte, doc string) {
	off := c.Offset()
	if !c.gives(name, KindWStrz) {
		return
	}
	n := len(*p)
	if c.mode == writing && !wideText(*p) {
		c.Reject(name, off, "not whole UTF-16 characters, or a 00 00 among them")
		return
	}
	if c.mode == reading {
		n = -1
		for i := c.off; c.err == nil && i+1 < len(c.buf); i += 2 {
			if c.buf[i] == 0 && c.buf[i+1] == 0 {
				n = i - c.off
				break
			}
		}
		if n < 0 {
			c.fail(name, off, ErrShort, "")
			c.fault.Need, c.fault.Have = c.Left()+2, c.Left()
			return
		}
	}
	if !c.rawBytes(name, p, n) {
		return
	}
	if _, ok := c.raw(name, 2, 0); ok {
		c.watchBytes(name, doc, KindWStrz, off, *p)
	}
}

// IPv4 is an address in network order.
func (c *Codec) IPv4(name string, p *[4]byte, doc string) {
	off := c.Offset()
	if !c.gives(name, KindIPv4) {
		return
	}
	b := p[:]
	if c.rawBytes(name, &b, 4) {
		copy(p[:], b)
		c.watchBytes(name, doc, KindIPv4, off, p[:])
	}
}

// Bytes is opaque data up to the end of the message.
func (c *Codec) Bytes(name string, p *[]byte, doc string) {
	off := c.Offset()
	if !c.gives(name, KindBytes) {
		return
	}
	if c.rawBytes(name, p, len(c.buf)-c.off) {
		c.watchBytes(name, doc, KindBytes, off, *p)
	}
}

// Text shows a text derived from other fields or from the session. It takes no
// bytes, and an empty text is not shown.
func (c *Codec) Text(name string, from Source, text, doc string) {
	if c.fill != nil {
		c.fill.top().use(name)
	}
	if (text != "" || c.mode == describing) && c.shows(name) {
		c.field.Text, c.field.From = text, from
		c.watch(name, doc, KindText, c.Offset())
	}
}

// Number shows a number derived from other fields or from the session.
func (c *Codec) Number(name string, from Source, v uint64, doc string) {
	if c.fill != nil {
		c.fill.top().use(name)
	}
	c.field.From = from
	c.watchUint(name, doc, KindIndex, c.Offset(), v)
}

// Place shows a vector derived from earlier messages. The argument known
// reports whether there is one.
func (c *Codec) Place(name string, from Source, v wire.Vec3, known bool, doc string) {
	if c.fill != nil {
		c.fill.top().use(name)
	}
	c.field.From = from
	if known || c.mode == describing {
		c.watchVec(name, doc, KindPlace, c.Offset(), func() wire.Vec3 { return v })
	}
}

// Bit is one bit. Bits share a group byte: three bits for the count, five for
// values. The fifth bit closes a group. Fields in between do not.
func (c *Codec) Bit(name string, p *bool, doc string) { c.bit(name, p, false, doc) }

// BitNot is a bit that is shown inverted if inverted is set, because some
// senders swap 0 and 1.
func (c *Codec) BitNot(name string, p *bool, inverted bool, doc string) {
	c.bit(name, p, inverted, doc)
}

func (c *Codec) bit(name string, p *bool, inverted bool, doc string) {
	off := c.Offset()
	switch c.mode {
	case reading:
		if c.fill != nil {
			c.fillBit(name, p, inverted)
			return
		}
		if c.nbits == 0 && !c.openGroup(name) {
			return
		}
		*p = c.bits&1 != 0
		c.bits >>= 1
		c.nbits--
	case writing:
		c.putBit(*p && !c.blanks(name))
	case describing:
	}
	var u uint64
	if *p != inverted {
		u = 1
	}
	c.field.Inverted = inverted
	c.watchUint(name, doc, KindBit, off, u)
	c.field.Inverted = false
}

// putBit appends a bit to the open group, or to a new group if none is open.
func (c *Codec) putBit(set bool) {
	if c.group < 0 || c.nbits == 5 {
		c.group, c.nbits = len(c.buf), 0
		c.buf = append(c.buf, 0)
	}
	if set {
		c.buf[c.group] |= 1 << c.nbits
	}
	c.nbits++
	c.buf[c.group] = c.buf[c.group]&0x1F | c.nbits<<5
}

// openGroup reads the group byte at the current offset.
func (c *Codec) openGroup(name string) bool {
	b := c.take(name, 1)
	if b == nil {
		return false
	}
	count, values := b[0]>>5, b[0]&0x1F
	if count == 0 || count > 5 || values>>count != 0 {
		c.off--
		detail := ""
		if !c.showing {
			detail = fmt.Sprintf("0x%02x claims %d bits with values 0x%02x", b[0], count, values)
		}
		c.fail(name, c.off, ErrBits, detail)
		return false
	}
	if c.strict && c.group >= 0 && c.full < 5 {
		c.off--
		detail := ""
		if !c.showing {
			detail = fmt.Sprintf("the group before it at +%d holds %d bits and is not full", c.group, c.full)
		}
		c.fail(name, c.off, ErrBits, detail)
		return false
	}
	c.group, c.bits, c.nbits, c.full = c.off-1, values, count, count
	return true
}

// CloseGroup ends the open bit group before it is full, as some senders do.
func (c *Codec) CloseGroup() {
	switch c.mode {
	case reading:
		if c.fill != nil {
			c.group, c.nbits = -1, 0
			return
		}
		if c.nbits > 0 && c.err == nil {
			detail := ""
			if !c.showing {
				detail = fmt.Sprintf("%d of its bits belong to no field", c.nbits)
			}
			c.fail("bits", c.group, ErrBits, detail)
		}
	case writing:
		c.group, c.nbits = -1, 0
	case describing:
	}
}

// wideText reports whether b consists of whole UTF-16 characters and has no 00
// 00.
func wideText(b []byte) bool {
	if len(b)%2 != 0 {
		return false
	}
	for i := 0; i < len(b); i += 2 {
		if b[i] == 0 && b[i+1] == 0 {
			return false
		}
	}
	return true
}
