package decode

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/bcdissect/bcdissect/decode/wire"
)

// The methods and functions below are the fields that make up walks. Each takes
// the field's wire name, a pointer to its value, and its description. The value
// stays unchanged if the message ends too early.

// U8 is a number from 0 to 255.
func (c *Codec) U8(name string, p *uint8, doc string) {
	if c.fast && c.off < len(c.buf) {
		*p = c.buf[c.off]
		c.off++
		if c.v != nil {
			c.watchUint(name, doc, KindU8, c.off-1, uint64(*p), nil)
		}
		return
	}
	off := c.place()
	if !c.gives(name, KindU8, nil) {
		return
	}
	if c.raw8(name, p) {
		c.watchUint(name, doc, KindU8, off, uint64(*p), nil)
	}
}

// U16 is a number from 0 to 65535.
func (c *Codec) U16(name string, p *uint16, doc string) {
	off := c.place()
	if !c.gives(name, KindU16, nil) {
		return
	}
	if c.raw16(name, p) {
		c.watchUint(name, doc, KindU16, off, uint64(*p), nil)
	}
}

// U32 is a number of 32 bits without sign.
func (c *Codec) U32(name string, p *uint32, doc string) {
	off := c.place()
	if !c.gives(name, KindU32, nil) {
		return
	}
	if c.raw32(name, p) {
		c.watchUint(name, doc, KindU32, off, uint64(*p), nil)
	}
}

// I32 is a number of 32 bits with sign.
func (c *Codec) I32(name string, p *int32, doc string) {
	off := c.place()
	if !c.gives(name, KindI32, nil) {
		return
	}
	u := uint32(*p)
	if !c.raw32(name, &u) {
		return
	}
	*p = int32(u)
	if c.v != nil && c.err == nil && !c.hides(name) {
		c.field.Int = int64(*p)
		c.watch(name, doc, KindI32, off)
	}
}

// I16 is a number of 16 bits with sign.
func (c *Codec) I16(name string, p *int16, doc string) {
	off := c.place()
	if !c.gives(name, KindI16, nil) {
		return
	}
	u := uint16(*p)
	if !c.raw16(name, &u) {
		return
	}
	*p = int16(u)
	if c.v != nil && c.err == nil && !c.hides(name) {
		c.field.Int = int64(*p)
		c.watch(name, doc, KindI16, off)
	}
}

// Bool8 is a byte that holds 0 or 1; other values are kept.
func (c *Codec) Bool8(name string, p *uint8, doc string) {
	off := c.place()
	if !c.gives(name, KindBool8, nil) {
		return
	}
	if c.raw8(name, p) {
		c.watchUint(name, doc, KindBool8, off, uint64(*p), nil)
	}
}

// Hash16 is a 16-bit digest.
func (c *Codec) Hash16(name string, p *uint16, doc string) {
	off := c.place()
	if !c.gives(name, KindHash16, nil) {
		return
	}
	if c.raw16(name, p) {
		c.watchUint(name, doc, KindHash16, off, uint64(*p), nil)
	}
}

// Hash32 is a 32-bit digest; names, if not nil, maps digests to their sources.
func (c *Codec) Hash32(name string, p *uint32, names Names, doc string) {
	off := c.place()
	if !c.gives(name, KindHash32, names) {
		return
	}
	if c.raw32(name, p) {
		c.watchUint(name, doc, KindHash32, off, uint64(*p), names)
	}
}

// Enum8 is a byte with named values.
func Enum8[T ~uint8](c *Codec, name string, p *T, names Names, doc string) {
	off, u := c.place(), uint8(*p)
	if !c.gives(name, KindEnum8, names) {
		return
	}
	if c.raw8(name, &u) {
		*p = T(u)
		c.watchUint(name, doc, KindEnum8, off, uint64(u), names)
	}
}

// Enum32 is a 32-bit number with named values.
func Enum32[T ~uint32](c *Codec, name string, p *T, names Names, doc string) {
	off, u := c.place(), uint32(*p)
	if !c.gives(name, KindEnum32, names) {
		return
	}
	if c.raw32(name, &u) {
		*p = T(u)
		c.watchUint(name, doc, KindEnum32, off, uint64(u), names)
	}
}

// Flags8 is a byte of flags; names are by bit number, nil if there are none.
func Flags8[T ~uint8](c *Codec, name string, p *T, names FlagNames, doc string) {
	off, u := c.place(), uint8(*p)
	if c.fill != nil && !c.give(name, KindFlags8, names, -1) { // names in an interface are an allocation
		return
	}
	if !c.raw8(name, &u) {
		return
	}
	*p = T(u)
	switch {
	case c.v == nil:
	case names == nil:
		c.watchUint(name, doc, KindFlags8, off, uint64(u), nil)
	case c.mode == describing: // a describing visitor may keep the names
		c.watchUint(name, doc, KindFlags8, off, uint64(u), names)
	default: // a pointer avoids the allocation of a slice in an interface
		c.flags = names
		c.watchUint(name, doc, KindFlags8, off, uint64(u), &c.flags)
	}
}

// Object is the id of a game object or subsystem.
func (c *Codec) Object(name string, p *wire.ObjectID, doc string) {
	if c.fast && len(c.buf)-c.off >= 4 {
		*p = wire.ObjectID(binary.LittleEndian.Uint32(c.buf[c.off:]))
		c.off += 4
		if c.v != nil {
			c.watchUint(name, doc, KindObject, c.off-4, uint64(*p), nil)
		}
		return
	}
	off := c.place()
	if !c.gives(name, KindObject, nil) {
		return
	}
	if c.raw32(name, (*uint32)(p)) {
		c.watchUint(name, doc, KindObject, off, uint64(*p), nil)
	}
}

// F32 is an IEEE-754 single.
func (c *Codec) F32(name string, p *wire.F32, doc string) {
	if c.fast && len(c.buf)-c.off >= 4 {
		*p = wire.F32(binary.LittleEndian.Uint32(c.buf[c.off:]))
		c.off += 4
		if c.v != nil && !c.hides(name) {
			c.watchFloat(name, doc, KindF32, c.off-4, float64(p.Float()))
		}
		return
	}
	off := c.place()
	if !c.gives(name, KindF32, nil) {
		return
	}
	if c.raw32(name, (*uint32)(p)) {
		c.watchFloat(name, doc, KindF32, off, float64(p.Float()))
	}
}

// CF16 is a 16-bit logarithmic float.
func (c *Codec) CF16(name string, p *wire.CF16, doc string) {
	off := c.place()
	if !c.gives(name, KindCF16, nil) {
		return
	}
	if c.raw16(name, (*uint16)(p)) && c.v != nil && !c.hides(name) {
		c.watchFloat(name, doc, KindCF16, off, float64(p.Float()))
	}
}

// Ratio8 is a share of a whole in 255ths.
func (c *Codec) Ratio8(name string, p *uint8, doc string) {
	if c.fast && c.off < len(c.buf) {
		*p = c.buf[c.off]
		c.off++
		if c.v != nil && !c.hides(name) {
			c.watchFloat(name, doc, KindRatio8, c.off-1, float64(float32(*p)/255))
		}
		return
	}
	off := c.place()
	if !c.gives(name, KindRatio8, nil) {
		return
	}
	if c.raw8(name, p) {
		c.watchFloat(name, doc, KindRatio8, off, float64(float32(*p)/255))
	}
}

// Percent8 is a power setting in per cent; a negative one belongs to a system
// that is switched off.
func (c *Codec) Percent8(name string, p *int8, doc string) {
	off, u := c.place(), uint8(*p)
	if !c.gives(name, KindPercent8, nil) {
		return
	}
	if c.raw8(name, &u) {
		*p = int8(u)
		c.watchFloat(name, doc, KindPercent8, off, float64(*p))
	}
}

// Power8 is a power setting with 204 for 100 per cent.
func (c *Codec) Power8(name string, p *uint8, doc string) {
	off := c.place()
	if !c.gives(name, KindPower8, nil) {
		return
	}
	if c.raw8(name, p) {
		c.watchFloat(name, doc, KindPower8, off, float64(float32(*p)*100/204))
	}
}

// Dir3 is a direction of three bytes.
func (c *Codec) Dir3(name string, p *wire.Dir3, doc string) {
	off := c.place()
	if !c.gives(name, KindDir3, nil) {
		return
	}
	if !c.dir3(name, p) || c.v == nil || c.hides(name) {
		return
	}
	v := p.Vec()
	c.watchVec(name, doc, KindDir3, off, v[0], v[1], v[2], 0)
}

func (c *Codec) dir3(name string, p *wire.Dir3) bool {
	if c.fast && len(c.buf)-c.off >= 3 {
		b := c.buf[c.off : c.off+3]
		*p = wire.Dir3{int8(b[0]), int8(b[1]), int8(b[2])}
		c.off += 3
		return true
	}
	switch c.mode {
	case reading:
		b := c.take(name, 3)
		if b == nil {
			return false
		}
		*p = wire.Dir3{int8(b[0]), int8(b[1]), int8(b[2])}
	case writing:
		c.buf = append(c.buf, uint8(p[0]), uint8(p[1]), uint8(p[2]))
	case describing:
	}
	return true
}

// Vec4h is a vector of direction and CF16 length.
func (c *Codec) Vec4h(name string, p *wire.Vec4h, doc string) {
	off := c.place()
	if !c.gives(name, KindVec4h, nil) {
		return
	}
	if c.need(name, 5) && c.dir3(name, &p.Dir) && c.raw16(name, (*uint16)(&p.Len)) && c.v != nil && !c.hides(name) {
		v := p.Vec()
		c.watchVec(name, doc, KindVec4h, off, v[0], v[1], v[2], 0)
	}
}

// Vec4f is a vector of direction and f32 length.
func (c *Codec) Vec4f(name string, p *wire.Vec4f, doc string) {
	off := c.place()
	if !c.gives(name, KindVec4f, nil) {
		return
	}
	if c.need(name, 7) && c.dir3(name, &p.Dir) && c.raw32(name, (*uint32)(&p.Len)) && c.v != nil && !c.hides(name) {
		v := p.Vec()
		c.watchVec(name, doc, KindVec4f, off, v[0], v[1], v[2], 0)
	}
}

// Vec4b is a direction and a length relative to a bounding radius that is not
// in the message: a struct of direction and ratio.
func (c *Codec) Vec4b(name string, p *wire.Vec4b, doc string) {
	c.Struct(name, doc, func() {
		c.Dir3("direction", &p.Dir, "from the centre")
		c.Ratio8("ratio", &p.Len, "length as a share of the bounding radius")
	})
}

// need fails unless n bytes remain, so that a field of several parts is whole
// or absent.
func (c *Codec) need(name string, n int) bool {
	if c.mode != reading {
		return true
	}
	if c.err == nil && len(c.buf)-c.off >= n {
		return true
	}
	c.take(name, n) // records the error
	return false
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
	off := c.place()
	if !c.gives(name, kind, nil) {
		return
	}
	if !c.need(name, 4*len(p)) {
		return
	}
	for i := range p {
		c.raw32(name, (*uint32)(&p[i]))
	}
	if c.v == nil || c.hides(name) {
		return
	}
	var w float32
	if len(p) > 3 {
		w = p[3].Float()
	}
	c.watchVec(name, doc, kind, off, p[0].Float(), p[1].Float(), p[2].Float(), w)
}

// Ratios is an array of n shares in 255ths.
func (c *Codec) Ratios(name string, p *[]byte, n int, doc string) {
	if c.fast && len(c.buf)-c.off >= n {
		*p = c.buf[c.off : c.off+n : c.off+n]
		c.off += n
		c.watchBytes(name, doc, KindRatios, c.off-n, *p)
		return
	}
	off := c.place()
	if c.fill != nil && !c.give(name, KindRatios, nil, n) {
		return
	}
	if c.rawBytes(name, p, n) {
		c.watchBytes(name, doc, KindRatios, off, *p)
	}
}

// Str8 is text of at most 255 bytes in Windows-1252.
func (c *Codec) Str8(name string, p *wire.Chars, doc string) {
	c.counted(name, (*[]byte)(p), KindStr8, doc)
}

// Str16 is text of at most 65535 bytes in Windows-1252.
func (c *Codec) Str16(name string, p *wire.Chars, doc string) {
	c.counted(name, (*[]byte)(p), KindStr16, doc)
}

// Str32 is text in Windows-1252.
func (c *Codec) Str32(name string, p *wire.Chars, doc string) {
	c.counted(name, (*[]byte)(p), KindStr32, doc)
}

// Str32z is text in Windows-1252 with a final 00, which the length counts.
func (c *Codec) Str32z(name string, p *wire.Chars, doc string) {
	c.counted(name, (*[]byte)(p), KindStr32z, doc)
}

// WStr32 is text in UTF-16LE; the length counts characters.
func (c *Codec) WStr32(name string, p *wire.WideChars, doc string) {
	c.counted(name, (*[]byte)(p), KindWStr32, doc)
}

// counted moves a text with its length. If the text is incomplete the whole
// field is absent: its length counts among the bytes left over.
func (c *Codec) counted(name string, p *[]byte, kind Kind, doc string) {
	off, before := c.place(), c.err
	if !c.gives(name, kind, nil) {
		return
	}
	c.countedAt(name, p, kind, doc, off)
	if c.mode == reading && before == nil && c.err != nil {
		c.off = off
	}
}

func (c *Codec) countedAt(name string, p *[]byte, kind Kind, doc string, off int) {
	n := len(*p)
	switch kind {
	case KindStr8:
		u := uint8(n)
		if c.mode == writing && n > math.MaxUint8 {
			c.Reject(name, off, fmt.Sprintf("%d bytes do not fit an 8-bit length", n))
			return
		}
		if !c.raw8(name, &u) {
			return
		}
		n = int(u)
	case KindStr16:
		u := uint16(n)
		if c.mode == writing && n > math.MaxUint16 {
			c.Reject(name, off, fmt.Sprintf("%d bytes do not fit a 16-bit length", n))
			return
		}
		if !c.raw16(name, &u) {
			return
		}
		n = int(u)
	default: // the 32-bit lengths
		u := uint32(n)
		switch kind {
		case KindStr32z:
			u++
		case KindWStr32:
			u /= 2
		default:
		}
		if !c.raw32(name, &u) {
			return
		}
		if c.mode == reading && int64(u) > int64(c.Left()) {
			c.fail(name, off, ErrShort, "")
			c.fault.Need, c.fault.Have = int(min(int64(u), math.MaxInt32)), c.Left()
			return
		}
		n = int(u)
		switch kind {
		case KindStr32z:
			n--
		case KindWStr32:
			n *= 2
		default:
		}
	}
	if c.mode == reading && n < 0 {
		c.Reject(name, off, "length 0 leaves no room for the final 00")
		return
	}
	if !c.rawBytes(name, p, n) {
		return
	}
	if kind == KindStr32z {
		var zero uint8
		if !c.raw8(name, &zero) {
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
	off := c.place()
	if !c.gives(name, KindWStrz, nil) {
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
	var zero uint16
	if c.raw16(name, &zero) {
		c.watchBytes(name, doc, KindWStrz, off, *p)
	}
}

// IPv4 is an address in network order.
func (c *Codec) IPv4(name string, p *[4]byte, doc string) {
	off := c.place()
	if !c.gives(name, KindIPv4, nil) {
		return
	}
	b := p[:]
	if c.rawBytes(name, &b, 4) {
		copy(p[:], b)
		c.watchBytes(name, doc, KindIPv4, off, p[:])
	}
}

// Bytes is opaque and takes all that remains of the message.
func (c *Codec) Bytes(name string, p *[]byte, doc string) {
	off := c.place()
	if !c.gives(name, KindBytes, nil) {
		return
	}
	if c.rawBytes(name, p, len(c.buf)-c.off) {
		c.watchBytes(name, doc, KindBytes, off, *p)
	}
}

// Text shows a text derived from other fields or from the session. It has no
// bytes of its own and is omitted if empty.
func (c *Codec) Text(name, text, doc string) {
	if c.fill != nil {
		c.fill.top().use(name)
	}
	if c.v == nil || c.err != nil || text == "" && c.mode != describing || c.hides(name) {
		return
	}
	c.field.Text = text
	c.watch(name, doc, KindText, c.Offset())
}

// Number shows a number derived from other fields or from the session.
func (c *Codec) Number(name string, v uint64, doc string) {
	if c.fill != nil {
		c.fill.top().use(name)
	}
	c.watchUint(name, doc, KindIndex, c.Offset(), v, nil)
}

// Place shows a vector derived from earlier messages; known reports whether
// there is one.
func (c *Codec) Place(name string, v wire.Vec3, known bool, doc string) {
	if c.fill != nil {
		c.fill.top().use(name)
	}
	if known || c.mode == describing {
		c.watchVec(name, doc, KindPlace, c.Offset(), v[0], v[1], v[2], 0)
	}
}

// Bit is one bit. Bits share a group byte: three bits for the count, five for
// values. Fields in between do not close a group; the fifth bit does.
func (c *Codec) Bit(name string, p *bool, doc string) { c.bit(name, p, false, doc) }

// BitNot is a bit that is shown inverted if inverted is set, because some
// senders swap 0 and 1.
func (c *Codec) BitNot(name string, p *bool, inverted bool, doc string) {
	c.bit(name, p, inverted, doc)
}

func (c *Codec) bit(name string, p *bool, inverted bool, doc string) {
	off := c.place()
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
		if c.group < 0 || c.nbits == 5 {
			c.group, c.nbits = len(c.buf), 0
			c.buf = append(c.buf, 0)
		}
		if *p && !c.blanks(name) {
			c.buf[c.group] |= 1 << c.nbits
		}
		c.nbits++
		c.buf[c.group] = c.buf[c.group]&0x1F | c.nbits<<5
	case describing:
	}
	var u uint64
	if *p != inverted {
		u = 1
	}
	c.watchUint(name, doc, KindBit, off, u, nil)
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

// wideText reports whether b is whole UTF-16 characters without a 00 00.
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
