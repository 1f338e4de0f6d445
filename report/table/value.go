package table

import (
	"errors"
	"math"
	"strconv"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/report"
)

// appendShort appends the value of a field as a line shows it: objects and
// players by name, numbers with as many digits as matter.
func (s *Sink) appendShort(dst []byte, r *dissect.Record, f *decode.Field) []byte {
	switch f.Kind {
	case decode.KindU8, decode.KindU16, decode.KindU32, decode.KindI8, decode.KindI16, decode.KindI32, decode.KindIndex:
		return appendWho(dst, r, f)
	case decode.KindBit, decode.KindBool8:
		return appendBool(dst, f.Uint)
	case decode.KindEnum8, decode.KindEnum32:
		if name := nameOf(f, f.Uint); name != "" {
			return report.AppendEscaped(dst, name)
		}
		return appendEnum(dst, f.Uint)
	case decode.KindFlags8:
		return appendFlagNames(dst, f)
	case decode.KindObject:
		if name := s.object(r, f); len(name) > 0 {
			return report.AppendEscaped(dst, name)
		}
		return appendObject(dst, wire.ObjectID(f.Uint))
	case decode.KindHash16:
		return appendHex(dst, f.Uint, 4)
	case decode.KindHash32:
		if name := nameOf(f, f.Uint); name != "" {
			return report.AppendEscaped(dst, name)
		}
		return appendHex(dst, f.Uint, 8)
	case decode.KindF32, decode.KindCF16:
		return appendFloat(dst, f.Float)
	case decode.KindRatio8:
		return appendPercent(dst, f.Float*100)
	case decode.KindPercent8, decode.KindPower8:
		return appendPercent(dst, f.Float)
	case decode.KindVec3, decode.KindPlace:
		return s.vectors.Append(dst, (*[3]float32)(f.Vec[:]), appendVector)
	case decode.KindDir3, decode.KindVec4h, decode.KindVec4f, decode.KindQuat:
		return appendFloats(dst, vector(f))
	case decode.KindRatios:
		for i, c := range f.Bytes {
			if i > 0 {
				dst = append(dst, ' ')
			}
			dst = appendPercent(dst, float64(c)/2.55)
		}
		return dst
	case decode.KindStr8, decode.KindStr16, decode.KindStr32, decode.KindStr32z, decode.KindWStr32, decode.KindWStrz:
		dst = append(dst, '"')
		dst = s.appendText(dst, f)
		return append(dst, '"')
	case decode.KindIPv4:
		return appendIPv4(dst, f.Bytes)
	case decode.KindBytes:
		return appendBytes(dst, f.Bytes, shownBytes, s.signs.more)
	case decode.KindText:
		return report.AppendEscaped(dst, f.Text)
	}
	return dst
}

// appendFull appends the value of a field with everything that can be said
// about it.
func (s *Sink) appendFull(dst []byte, r *dissect.Record, f *decode.Field) []byte {
	switch f.Kind {
	case decode.KindU8, decode.KindU16, decode.KindU32, decode.KindI8, decode.KindI16, decode.KindI32, decode.KindIndex:
		dst = appendNumber(dst, f)
		return appendNote(dst, r.NameOf(f))
	case decode.KindEnum8, decode.KindEnum32:
		return appendNote(appendEnum(dst, f.Uint), nameOf(f, f.Uint))
	case decode.KindHash32:
		return appendNote(appendHex(dst, f.Uint, 8), nameOf(f, f.Uint))
	case decode.KindFlags8:
		return s.exact.appendFlags(dst, f)
	case decode.KindObject:
		id := wire.ObjectID(f.Uint)
		dst = appendObject(dst, id)
		name := s.object(r, f)
		slot, ok := id.Slot()
		switch {
		case ok:
			dst = appendInt(append(dst, " (slot "...), int64(slot))
			if len(name) > 0 {
				dst = report.AppendEscaped(append(dst, ", "...), name)
			}
			return append(dst, ')')
		default:
			return appendNote(dst, name)
		}
	case decode.KindF32, decode.KindCF16:
		return s.exact.numbers.Append(dst, &[3]float32{float32(f.Float)}, appendExactNumber)
	case decode.KindRatio8:
		return s.exact.ratios.append(dst, int(f.Float*255+0.5), f.Float*100, appendTenths)
	case decode.KindPower8:
		return s.exact.powers.append(dst, int(f.Float*204/100+0.5), f.Float, appendTenths)
	case decode.KindDir3:
		return s.exact.appendDir(dst, f.Vec[:3])
	case decode.KindVec3, decode.KindVec4h, decode.KindVec4f, decode.KindPlace:
		return s.exact.vectors.Append(dst, (*[3]float32)(f.Vec[:]), appendExactVector)
	case decode.KindQuat:
		return appendExactFloats(dst, f.Vec[:])
	case decode.KindBytes:
		if len(f.Bytes) > treeBytes {
			return appendCount(dst, len(f.Bytes), "byte")
		}
		return dst // they stand beside it
	case decode.KindBit, decode.KindBool8, decode.KindHash16, decode.KindPercent8, decode.KindRatios, decode.KindStr8, decode.KindStr16,
		decode.KindStr32, decode.KindStr32z, decode.KindWStr32, decode.KindWStrz, decode.KindIPv4, decode.KindText:
	}
	return s.appendShort(dst, r, f)
}

// appendNote appends the meaning of a value in brackets, if it is known.
func appendNote[T string | []byte](dst []byte, note T) []byte {
	if len(note) == 0 {
		return dst
	}
	dst = append(dst, ' ', '(')
	return append(report.AppendEscaped(dst, note), ')')
}

func appendNumber(dst []byte, f *decode.Field) []byte {
	if f.Kind == decode.KindI8 || f.Kind == decode.KindI16 || f.Kind == decode.KindI32 {
		return strconv.AppendInt(dst, f.Int, 10)
	}
	return strconv.AppendUint(dst, f.Uint, 10)
}

// appendWho appends a number, or instead of it the name of the player that it
// means. The name that a NameChange announces stands beside the number anyway.
func appendWho(dst []byte, r *dissect.Record, f *decode.Field) []byte {
	if f.Who == decode.NoPlayer || f.Who == decode.Announced {
		return appendNumber(dst, f)
	}
	if name := r.NameOf(f); name != "" {
		return report.AppendEscaped(dst, name)
	}
	if f.Who == decode.ByID && f.Uint == 0 && f.Int == 0 {
		return append(dst, "nobody"...)
	}
	return appendNumber(dst, f)
}

func appendBool(dst []byte, v uint64) []byte {
	switch v {
	case 0:
		return append(dst, "no"...)
	case 1:
		return append(dst, "yes"...)
	}
	return strconv.AppendUint(dst, v, 10)
}

// appendEnum appends the number of an enumerated value. Large ones are known by
// their hexadecimal form.
func appendEnum(dst []byte, v uint64) []byte {
	if v > math.MaxUint8 {
		return appendHex(dst, v, 4)
	}
	return strconv.AppendUint(dst, v, 10)
}

// appendFlags appends the names of the flags that are set.
func appendFlags(dst []byte, f *decode.Field) []byte {
	sep := " ("
	for bit := range uint64(8) {
		if f.Uint>>bit&1 == 0 {
			continue
		}
		dst = append(dst, sep...)
		sep = "|"
		if name := nameOf(f, bit); name != "" {
			dst = append(dst, name...)
		} else {
			dst = appendInt(append(dst, "bit"...), int64(bit))
		}
	}
	if sep == "|" {
		dst = append(dst, ')')
	}
	return dst
}

// appendFlagNames appends the names of the flags that are set, or all bits if one
// of them has no name.
func appendFlagNames(dst []byte, f *decode.Field) []byte {
	from := len(dst)
	for bit := range uint64(8) {
		if f.Uint>>bit&1 == 0 {
			continue
		}
		name := nameOf(f, bit)
		if name == "" {
			return appendHex(dst[:from], f.Uint, 2)
		}
		if len(dst) > from {
			dst = append(dst, ' ')
		}
		dst = report.AppendEscaped(dst, name)
	}
	if len(dst) == from {
		return append(dst, "none"...)
	}
	return dst
}

func appendObject(dst []byte, id wire.ObjectID) []byte {
	switch id {
	case 0:
		return append(dst, "none"...)
	case wire.Anyone:
		return append(dst, "anyone"...)
	}
	return appendHex(dst, uint64(id), 8)
}

func nameOf(f *decode.Field, v uint64) string {
	if f.Names == nil {
		return ""
	}
	return f.Names.Name(v)
}

// object returns the session's description of an object, valid until the next
// call.
func (s *Sink) object(r *dissect.Record, f *decode.Field) []byte {
	id := wire.ObjectID(f.Uint)
	if r.Session == nil || id == 0 || id == wire.Anyone {
		return nil
	}
	s.scratch = r.Session.AppendObject(s.scratch[:0], id)
	return s.scratch
}

func vector(f *decode.Field) []float32 {
	if f.Kind == decode.KindQuat {
		return f.Vec[:]
	}
	return f.Vec[:3]
}

// appendText appends text in UTF-8, escaped.
func (s *Sink) appendText(dst []byte, f *decode.Field) []byte {
	s.scratch = f.AppendText(s.scratch[:0])
	return report.AppendEscaped(dst, s.scratch)
}

func appendIPv4(dst, b []byte) []byte {
	for i, c := range b {
		if i > 0 {
			dst = append(dst, '.')
		}
		dst = strconv.AppendUint(dst, uint64(c), 10)
	}
	return dst
}

const lowerDigits = "0123456789abcdef"

// appendBytes appends at most n bytes in hexadecimal.
func appendBytes(dst, b []byte, n int, more string) []byte {
	for i, c := range b[:min(n, len(b))] {
		if i > 0 {
			dst = append(dst, ' ')
		}
		dst = append(dst, lowerDigits[c>>4], lowerDigits[c&15])
	}
	if len(b) > n {
		dst = append(append(dst, ' '), more...)
	}
	return dst
}

// appendReason appends an error: the place of the field, if one is to blame,
// and the reason. brief leaves out the part that the status shows already.
func appendReason(dst []byte, err error, brief bool) []byte {
	e, ok := errors.AsType[*decode.Error](err)
	switch {
	case !ok:
		return report.AppendEscaped(dst, err.Error())
	case brief && e.Detail != "" && errors.Is(e.Err, decode.ErrState):
		return report.AppendEscaped(dst, e.Detail)
	}
	dst = report.AppendEscaped(dst, e.Field)
	dst = appendInt(append(dst, " at +"...), int64(e.Offset))
	dst = append(dst, ": "...)
	return report.AppendEscaped(dst, e.Reason())
}

func appendInt(dst []byte, n int64) []byte { return strconv.AppendInt(dst, n, 10) }

// appendCount appends a number of things.
func appendCount(dst []byte, n int, thing string) []byte {
	dst = append(appendInt(dst, int64(n)), ' ')
	dst = append(dst, thing...)
	if n != 1 {
		dst = append(dst, 's')
	}
	return dst
}

// appendHex appends v as 0x and upper-case digits, at least as many as asked.
func appendHex(dst []byte, v uint64, digits int) []byte {
	const hexDigits = "0123456789ABCDEF"
	for digits < 16 && v>>(4*digits) != 0 {
		digits++
	}
	dst = append(dst, '0', 'x')
	for i := digits - 1; i >= 0; i-- {
		dst = append(dst, hexDigits[v>>(4*i)&15])
	}
	return dst
}

// percents are the texts of whole percentages from 0 on.
var percents = func() (texts [128]string) {
	for n := range texts {
		texts[n] = strconv.Itoa(n) + "%"
	}
	return texts
}()

// appendPercent appends a percentage without decimals.
func appendPercent(dst []byte, f float64) []byte {
	n := int64(math.Round(f))
	if n >= 0 && n < int64(len(percents)) {
		return append(dst, percents[n]...)
	}
	return append(appendInt(dst, n), '%')
}

// appendSeconds appends d in seconds with three decimals, at the right end of a
// column.
func appendSeconds(dst []byte, d time.Duration, width int) []byte {
	return appendDecimal(dst, d < 0, magnitude(d)/uint64(time.Millisecond), 3, width)
}

// appendMicros is appendSeconds with six decimals.
func appendMicros(dst []byte, d time.Duration, width int) []byte {
	return appendDecimal(dst, d < 0, magnitude(d)/uint64(time.Microsecond), 6, width)
}

// magnitude returns d without its sign.
func magnitude(d time.Duration) uint64 {
	if d < 0 {
		return -uint64(d)
	}
	return uint64(d)
}

// appendFloat appends a number with the decimals that matter to people: none
// from 1000 on, three below 1.
func appendFloat(dst []byte, f float64) []byte {
	abs := math.Abs(f)
	var decimals int
	var scale float64
	switch {
	case !(abs < 1e9): // large, infinite, not a number
		return strconv.AppendFloat(dst, f, 'g', 4, 64)
	case abs >= 1000:
		decimals, scale = 0, 1
	case abs >= 100:
		decimals, scale = 1, 10
	case abs >= 1:
		decimals, scale = 2, 100
	default:
		decimals, scale = 3, 1000
	}
	n := uint64(int64(abs*scale + 0.5))
	for decimals > 0 && n%10 == 0 {
		n, decimals = n/10, decimals-1
	}
	return appendDecimal(dst, f < 0 && n > 0, n, decimals, 0)
}

// appendDecimal appends a number with its last digits as decimals,
// right-aligned in the column.
func appendDecimal(dst []byte, negative bool, n uint64, decimals, width int) []byte {
	var b [32]byte // wider than any column
	i := len(b) - 1
	for ; n > math.MaxUint32 || decimals > 0; i-- {
		b[i] = '0' + byte(n%10)
		n /= 10
		if decimals--; decimals == 0 {
			i--
			b[i] = '.'
		}
	}
	m := uint32(n) // takes half as long to divide
	for ; m >= 10; i-- {
		b[i] = '0' + byte(m%10)
		m /= 10
	}
	b[i] = '0' + byte(m)
	if negative {
		i--
		b[i] = '-'
	}
	for len(b)-i < width {
		i--
		b[i] = ' '
	}
	return append(dst, b[i:]...)
}

// appendVector appends a vector.
func appendVector(dst []byte, v *[3]float32) []byte { return appendFloats(dst, v[:]) }

// appendFloats appends numbers in brackets.
func appendFloats(dst []byte, fs []float32) []byte {
	dst = append(dst, '(')
	for i, x := range fs {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendFloat(dst, float64(x))
	}
	return append(dst, ')')
}

// appendExact appends the shortest number that is f as a float32.
func appendExact(dst []byte, f float64) []byte {
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		return strconv.AppendFloat(dst, f, 'g', -1, 32)
	}
	return strconv.AppendFloat(dst, f, 'f', -1, 32)
}

// appendExactVector appends a vector with the shortest numbers.
func appendExactVector(dst []byte, v *[3]float32) []byte { return appendExactFloats(dst, v[:]) }

// appendExactFloats appends the shortest numbers in brackets.
func appendExactFloats(dst []byte, fs []float32) []byte {
	dst = append(dst, '(')
	for i, x := range fs {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = appendExact(dst, float64(x))
	}
	return append(dst, ')')
}

// appendExactNumber appends the first number of a vector.
func appendExactNumber(dst []byte, v *[3]float32) []byte { return appendExact(dst, float64(v[0])) }

// appendTenths appends a percentage with one decimal.
func appendTenths(dst []byte, f float64) []byte {
	return append(strconv.AppendFloat(dst, f, 'f', 1, 64), '%')
}

// An exact caches the texts of values as the tree has them. Its zero value is
// ready to use.
type exact struct {
	vectors, numbers       report.Vectors // numbers are vectors that are 0 but for the first
	ratios, powers, shares byteTexts
	flags                  byteTexts
	flagsOf                *string // first of the names in flags
}

// A byteTexts holds the texts of values that are computed from a byte.
type byteTexts [256]string

// append appends the text of v, which is computed from c.
func (t *byteTexts) append(dst []byte, c int, v float64, text func([]byte, float64) []byte) []byte {
	s := &t[uint8(c)]
	if *s == "" {
		*s = string(text(nil, v))
	}
	return append(dst, *s...)
}

// appendDir appends a vector of 127ths.
func (e *exact) appendDir(dst []byte, v []float32) []byte {
	dst = append(dst, '(')
	for i, x := range v {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = e.shares.append(dst, int(math.Round(float64(x)*127)), float64(x), appendExact)
	}
	return append(dst, ')')
}

// appendFlags appends a byte of flags with the names of those that are set.
func (e *exact) appendFlags(dst []byte, f *decode.Field) []byte {
	names, ok := f.Names.(*decode.FlagNames)
	if !ok || len(*names) == 0 || f.Uint > math.MaxUint8 {
		return appendFlags(appendHex(dst, f.Uint, 2), f)
	}
	if first := &(*names)[0]; e.flagsOf != first { // tables of names do not change
		e.flagsOf, e.flags = first, byteTexts{}
	}
	s := &e.flags[f.Uint]
	if *s == "" {
		*s = string(appendFlags(appendHex(nil, f.Uint, 2), f))
	}
	return append(dst, *s...)
}
