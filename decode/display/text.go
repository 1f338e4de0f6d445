// Not part of the library: package display shows the values of fields: as text
// for people, as JSON, and as typed items for tables and filters. All reports
// use it, so that a kind of value looks the same everywhere.
//
// Text for people is escaped here and is safe for a terminal. JSON is escaped
// by JSON's rules. Items have the text as it came from the network.
package display

import (
	"math"
	"strconv"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/wire"
)

// Names describes what a message's fields refer to. A record of the pipeline
// implements it.
type Names interface {
	// NameOf returns the name of the player in a field. It returns "" if the field
	// is not a player number or the player is unknown.
	NameOf(f *decode.Field) wire.Untrusted
	// AppendObject appends the description of an object, or nothing if it is
	// unknown.
	AppendObject(dst []byte, id wire.ObjectID) []byte
}

// A Presenter shows values. It caches recent texts, since the same values come
// often. The zero value is ready to use. Text that a method returns is valid
// until the next call.
type Presenter struct {
	// More marks where bytes were omitted. If empty, it is "…".
	More string
	// Dumped is how many bytes of a field a hex dump already shows next to its
	// value. The value omits them.
	Dumped int

	short, exact, numbers  vectors // numbers has vectors with only a first component, the others are 0
	number                 [3]float32
	ratios, powers, shares byteTexts
	flags                  flagTexts
	text                   []byte // scratch

	json jsonTexts
}

// A byteTexts caches the texts of values that are computed from a byte.
type byteTexts [256]string

// append appends the text of v, which was computed from c.
func (t *byteTexts) append(dst []byte, c int, v float64, text func([]byte, float64) []byte) []byte {
	s := &t[uint8(c)]
	if *s == "" {
		*s = string(text(nil, v))
	}
	return append(dst, *s...)
}

// AppendBrief appends a value in the short form for lines: objects, players and
// other named values by name, and numbers with as many digits as people need.
// The argument n may be nil.
func (p *Presenter) AppendBrief(dst []byte, f *decode.Field, n Names) []byte {
	return p.append(dst, f, n, false)
}

// AppendText appends a value with all its meanings, such as 0x0D
// (POSITION|FORWARD|UP). The argument n may be nil.
func (p *Presenter) AppendText(dst []byte, f *decode.Field, n Names) []byte {
	return p.append(dst, f, n, true)
}

// shownBytes is the most bytes that a text shows.
const shownBytes = 16

// append decides how the values of each kind look to people.
func (p *Presenter) append(dst []byte, f *decode.Field, n Names, full bool) []byte {
	switch f.Kind {
	case decode.KindU8, decode.KindU16, decode.KindU32, decode.KindI8, decode.KindI16, decode.KindI32, decode.KindIndex:
		name := wire.Untrusted("")
		switch {
		case f.Who == decode.NoPlayer || n == nil:
		case full:
			name = n.NameOf(f)
		case f.Who == decode.Announced: // the message has the name next to the number
		default:
			if name = n.NameOf(f); name == "" && f.Who == decode.ByID && f.Whole() == 0 {
				name = "nobody"
			}
		}
		if name != "" && !full {
			return wire.AppendEscaped(dst, name)
		}
		return AppendNote(strconv.AppendInt(dst, f.Whole(), 10), name)
	case decode.KindBit, decode.KindBool8:
		return appendBool(dst, f.Uint)
	case decode.KindEnum8, decode.KindEnum32, decode.KindHash32:
		name := nameOf(f, f.Uint)
		if name != "" && !full {
			return wire.AppendEscaped(dst, name)
		}
		return AppendNote(appendEnum(dst, f), name)
	case decode.KindHash16:
		return AppendHex(dst, f.Uint, 4)
	case decode.KindFlags8:
		if full {
			return p.flags.append(dst, f, appendFlags)
		}
		return appendFlagNames(dst, f)
	case decode.KindObject:
		return p.appendObject(dst, wire.ObjectID(f.Uint), n, full)
	case decode.KindF32, decode.KindCF16:
		if full {
			p.number[0] = float32(f.Float)
			return p.numbers.Append(dst, &p.number, appendExactNumber)
		}
		return AppendNumber(dst, f.Float)
	case decode.KindRatio8:
		if full {
			return p.ratios.append(dst, int(f.Float*255+0.5), f.Float*100, appendTenths)
		}
		return AppendPercent(dst, f.Float*100)
	case decode.KindPower8:
		if full {
			return p.powers.append(dst, int(f.Float*204/100+0.5), f.Float, appendTenths)
		}
		return AppendPercent(dst, f.Float)
	case decode.KindPercent8:
		return AppendPercent(dst, f.Float)
	case decode.KindVec3, decode.KindPlace, decode.KindDir3, decode.KindVec4h, decode.KindVec4f, decode.KindQuat:
		return p.appendVector(dst, f, full)
	case decode.KindRatios:
		for i, c := range f.Bytes {
			if i > 0 {
				dst = append(dst, ' ')
			}
			dst = AppendPercent(dst, float64(c)/2.55)
		}
		return dst
	case decode.KindStr8, decode.KindStr16, decode.KindStr32, decode.KindStr32z, decode.KindWStr32, decode.KindWStrz:
		p.text = f.AppendText(p.text[:0])
		return append(wire.AppendEscaped(append(dst, '"'), p.text), '"')
	case decode.KindText:
		return wire.AppendEscaped(dst, f.Text)
	case decode.KindIPv4:
		return f.AppendText(dst)
	case decode.KindBytes:
		switch {
		case !full || p.Dumped == 0:
			return p.AppendBytes(dst, f.Bytes, shownBytes)
		case len(f.Bytes) > p.Dumped:
			return append(strconv.AppendInt(dst, int64(len(f.Bytes)), 10), " bytes"...)
		}
	}
	return dst
}

func (p *Presenter) appendVector(dst []byte, f *decode.Field, full bool) []byte {
	v := (*[3]float32)(f.Vec[:])
	switch {
	case f.Kind == decode.KindQuat && full:
		return appendExactFloats(dst, f.Vec[:])
	case f.Kind == decode.KindQuat:
		return appendFloats(dst, f.Vec[:])
	case !full && (f.Kind == decode.KindVec3 || f.Kind == decode.KindPlace):
		return p.short.Append(dst, v, appendFloats)
	case !full:
		return appendFloats(dst, v[:])
	case f.Kind != decode.KindDir3:
		return p.exact.Append(dst, v, appendExactFloats)
	}
	return appendList(dst, '(', ", ", ')', v[:], func(dst []byte, x float32) []byte {
		return p.shares.append(dst, int(math.Round(float64(x)*127)), float64(x), appendExact)
	})
}

func (p *Presenter) appendObject(dst []byte, id wire.ObjectID, n Names, full bool) []byte {
	p.text = p.text[:0]
	if n != nil && id != 0 && id != wire.Anyone {
		p.text = n.AppendObject(p.text, id)
	}
	if len(p.text) > 0 && !full {
		return wire.AppendEscaped(dst, p.text)
	}
	dst = AppendID(dst, id)
	slot, ok := id.Slot()
	if !ok || !full {
		return AppendNote(dst, p.text)
	}
	dst = strconv.AppendInt(append(dst, " (slot "...), int64(slot), 10)
	if len(p.text) > 0 {
		dst = wire.AppendEscaped(append(dst, ", "...), p.text)
	}
	return append(dst, ')')
}

// maxFlagTables limits the number of tables in a flagTexts.
const maxFlagTables = 64

// A flagTexts caches the texts of flags. The key is the first name of their
// table, since tables of names do not change.
type flagTexts struct {
	by   map[*string]*byteTexts
	last *byteTexts // the most recent table's texts
	of   *string
}

// append appends the text of a byte of flags.
func (t *flagTexts) append(dst []byte, f *decode.Field, text func([]byte, *decode.Field) []byte) []byte {
	names, ok := f.Names.(*decode.FlagNames)
	if !ok || len(*names) == 0 || f.Uint > math.MaxUint8 {
		return text(dst, f)
	}
	if first := &(*names)[0]; t.of != first {
		if len(t.by) >= maxFlagTables || t.by == nil {
			t.by = map[*string]*byteTexts{}
		}
		if t.by[first] == nil {
			t.by[first] = new(byteTexts)
		}
		t.of, t.last = first, t.by[first]
	}
	s := &t.last[f.Uint]
	if *s == "" {
		*s = string(text(nil, f))
	}
	return append(dst, *s...)
}

// appendFlags appends a byte of flags with the names of the set bits.
func appendFlags(dst []byte, f *decode.Field) []byte {
	dst = AppendHex(dst, f.Uint, 2)
	sep := " ("
	for bit := range Bits(f.Uint) {
		dst = wire.AppendEscaped(append(dst, sep...), FlagName(f, bit))
		sep = "|"
	}
	if sep == "|" {
		dst = append(dst, ')')
	}
	return dst
}

// appendFlagNames appends the names of the set bits, or all bits as a number if
// one of them has no name.
func appendFlagNames(dst []byte, f *decode.Field) []byte {
	from := len(dst)
	for bit := range Bits(f.Uint) {
		name := nameOf(f, bit)
		if name == "" {
			return AppendHex(dst[:from], f.Uint, 2)
		}
		if len(dst) > from {
			dst = append(dst, ' ')
		}
		dst = wire.AppendEscaped(dst, name)
	}
	if len(dst) == from {
		return append(dst, "none"...)
	}
	return dst
}

// AppendNote appends the meaning of a value in brackets, unless it is empty.
func AppendNote[T ~string | []byte](dst []byte, note T) []byte {
	if len(note) == 0 {
		return dst
	}
	return append(wire.AppendEscaped(append(dst, ' ', '('), note), ')')
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

// appendEnum appends the number of an enumerated value. Large numbers and
// hashes are hexadecimal.
func appendEnum(dst []byte, f *decode.Field) []byte {
	switch {
	case f.Kind == decode.KindHash32:
		return AppendHex(dst, f.Uint, 8)
	case f.Uint > math.MaxUint8:
		return AppendHex(dst, f.Uint, 4)
	}
	return strconv.AppendUint(dst, f.Uint, 10)
}

// AppendID appends the id of an object.
func AppendID(dst []byte, id wire.ObjectID) []byte {
	switch id {
	case 0:
		return append(dst, "none"...)
	case wire.Anyone:
		return append(dst, "anyone"...)
	}
	return AppendHex(dst, uint64(id), 8)
}

func nameOf(f *decode.Field, v uint64) string {
	if f.Names == nil {
		return ""
	}
	return f.Names.Name(v)
}

// AppendBytes appends bytes in hexadecimal, but no more than most.
func (p *Presenter) AppendBytes(dst, b []byte, most int) []byte {
	for i, c := range b[:min(most, len(b))] {
		if i > 0 {
			dst = append(dst, ' ')
		}
		dst = append(dst, lowerDigits[c>>4], lowerDigits[c&15])
	}
	if len(b) <= most {
		return dst
	}
	if p.More == "" {
		return append(dst, " …"...)
	}
	return append(append(dst, ' '), p.More...)
}

const lowerDigits = "0123456789abcdef"
