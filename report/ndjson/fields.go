package ndjson

import (
	"encoding/hex"
	"math"
	"strconv"
	"strings"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/report"
)

// fields is a visitor that appends the fields it sees to b, inside an object
// that is open. Names of fields and groups come from walks and need no quoting.
type fields struct {
	b       []byte
	text    []byte // scratch
	record  *dissect.Record
	vectors report.Vectors
	numbers report.Vectors // numbers alone, as vectors that are 0 but for the first
	number  [3]float32
	flags   map[flagTable]*[256]string
	bare    bool // values alone, without names and companion keys
}

// comma separates members of the same object or array. A value never ends in an
// opening bracket.
func (v *fields) comma() {
	if c := v.b[len(v.b)-1]; c != '{' && c != '[' {
		v.b = append(v.b, ',')
	}
}

// key begins a member of an object.
func (v *fields) key(name string) { v.b = append(appendName(v.b, name), '"', ':') }

// appendKey begins a member; its key is a name and a suffix.
func appendKey(b []byte, name, suffix string) []byte {
	return append(append(appendName(b, name), suffix...), '"', ':')
}

// appendName appends the beginning of a key, after a comma if one is needed.
func appendName(b []byte, name string) []byte {
	if c := b[len(b)-1]; c == '{' {
		b = append(b, '"')
	} else {
		b = append(b, ',', '"')
	}
	return append(b, name...)
}

// Begin implements [decode.Visitor].
func (v *fields) Begin(g *decode.Group) {
	switch g.Kind {
	case decode.GroupStruct:
		v.key(g.Name)
		v.b = append(v.b, '{')
	case decode.GroupList:
		v.key(g.Name)
		v.b = append(v.b, '[')
	case decode.GroupElement:
		v.comma()
		v.b = append(v.b, '{')
	}
}

// End implements [decode.Visitor].
func (v *fields) End(g *decode.Group) {
	if g.Kind == decode.GroupList {
		v.b = append(v.b, ']')
	} else {
		v.b = append(v.b, '}')
	}
}

// Field implements [decode.Visitor].
func (v *fields) Field(f *decode.Field) {
	b := v.b
	if !v.bare {
		b = append(appendName(b, f.Name), '"', ':')
	}
	switch f.Kind {
	case decode.KindU8, decode.KindU16, decode.KindU32, decode.KindHash16, decode.KindIndex:
		b = strconv.AppendUint(b, f.Uint, 10)
	case decode.KindI8, decode.KindI16, decode.KindI32:
		b = strconv.AppendInt(b, f.Int, 10)
	case decode.KindF32, decode.KindCF16:
		v.number[0] = float32(f.Float)
		b = v.numbers.Append(b, &v.number, appendFirst)
	case decode.KindRatio8:
		b = append(b, ratios[index(f.Float*255)]...)
	case decode.KindPercent8:
		b = strconv.AppendInt(b, int64(f.Float), 10)
	case decode.KindPower8:
		b = append(b, powers[index(f.Float*204/100)]...)
	case decode.KindBit:
		b = strconv.AppendBool(b, f.Uint != 0)
	case decode.KindBool8:
		b = strconv.AppendBool(b, f.Uint != 0)
		if f.Uint > 1 && !v.bare {
			b = strconv.AppendUint(appendKey(b, f.Name, "_byte"), f.Uint, 10)
		}
	case decode.KindEnum8, decode.KindEnum32, decode.KindHash32:
		b = strconv.AppendUint(b, f.Uint, 10)
		if !v.bare {
			b = appendNameOf(b, f)
		}
	case decode.KindFlags8:
		b = strconv.AppendUint(b, f.Uint, 10)
		if !v.bare {
			b = v.appendFlags(b, f)
		}
	case decode.KindObject:
		b = strconv.AppendUint(b, f.Uint, 10)
		if !v.bare {
			b = v.appendObject(b, f)
		}
	case decode.KindDir3:
		b = append(b, '[')
		for i, x := range f.Vec[:3] {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, shares[uint8(index(float64(x)*127))]...)
		}
		b = append(b, ']')
	case decode.KindVec3, decode.KindVec4h, decode.KindVec4f, decode.KindPlace:
		b = v.vectors.Append(b, (*[3]float32)(f.Vec[:]), appendVector)
	case decode.KindQuat:
		b = appendFloats(b, f.Vec[:])
	case decode.KindRatios:
		b = append(b, '[')
		for i, c := range f.Bytes {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, ratios[c]...)
		}
		b = append(b, ']')
	case decode.KindStr8, decode.KindStr16, decode.KindStr32, decode.KindStr32z:
		if wire.IsPlain(f.Bytes) {
			b = appendString(b, f.Bytes)
		} else {
			v.text = wire.AppendText(v.text[:0], f.Bytes)
			b = appendString(b, v.text)
		}
	case decode.KindWStr32, decode.KindWStrz:
		v.text = wire.AppendWideText(v.text[:0], f.Bytes)
		b = appendString(b, v.text)
	case decode.KindIPv4:
		b = append(b, '"')
		for i, c := range f.Bytes {
			if i > 0 {
				b = append(b, '.')
			}
			b = strconv.AppendUint(b, uint64(c), 10)
		}
		b = append(b, '"')
	case decode.KindBytes:
		b = append(b, '"')
		b = hex.AppendEncode(b, f.Bytes)
		b = append(b, '"')
	case decode.KindText:
		b = appendString(b, f.Text)
	}
	if f.Who != decode.NoPlayer && !v.bare {
		b = v.appendPlayer(b, f)
	}
	v.b = b
}

// appendObject appends the slot and the name of an object beside its id.
func (v *fields) appendObject(b []byte, f *decode.Field) []byte {
	if slot, ok := wire.ObjectID(f.Uint).Slot(); ok {
		b = appendKey(b, strings.TrimSuffix(f.Name, "_id"), "_slot")
		b = strconv.AppendUint(b, uint64(slot), 10)
	}
	if s := v.record.Session; s != nil {
		if v.text = s.AppendObject(v.text[:0], wire.ObjectID(f.Uint)); len(v.text) > 0 {
			b = appendKey(b, strings.TrimSuffix(f.Name, "_id"), "_name")
			b = appendString(b, v.text)
		}
	}
	return b
}

// appendPlayer appends the name of a player beside the number.
func (v *fields) appendPlayer(b []byte, f *decode.Field) []byte {
	if name := v.record.NameOf(f); name != "" {
		b = appendString(appendKey(b, f.Name, "_name"), name)
	}
	return b
}

// appendNameOf appends the text of an enumerated value beside the number.
func appendNameOf(b []byte, f *decode.Field) []byte {
	if f.Names == nil {
		return b
	}
	if name := f.Names.Name(f.Uint); name != "" {
		b = appendString(appendKey(b, f.Name, "_name"), name)
	}
	return b
}

// A flagTable is a table of names by bit number. Tables do not change.
type flagTable struct {
	first *string
	names int
}

// maxFlagTables bounds how many tables are remembered.
const maxFlagTables = 64

// appendFlags appends the number and the names of the bits that are set. The
// names for each value are cached.
func (v *fields) appendFlags(b []byte, f *decode.Field) []byte {
	if f.Names == nil {
		return b
	}
	b = appendKey(b, strings.TrimSuffix(f.Name, "s"), "_names")
	names, ok := f.Names.(*decode.FlagNames)
	if !ok || len(*names) == 0 || f.Uint > math.MaxUint8 {
		return appendFlagNames(b, f)
	}
	t := flagTable{&(*names)[0], len(*names)}
	texts := v.flags[t]
	if texts == nil {
		if len(v.flags) >= maxFlagTables || v.flags == nil {
			v.flags = map[flagTable]*[256]string{}
		}
		texts = new([256]string)
		v.flags[t] = texts
	}
	if texts[f.Uint] == "" {
		texts[f.Uint] = string(appendFlagNames(nil, f))
	}
	return append(b, texts[f.Uint]...)
}

// appendFlagNames appends an array of the names of the bits that are set.
func appendFlagNames(b []byte, f *decode.Field) []byte {
	b = append(b, '[')
	for bit := range uint64(8) {
		if f.Uint>>bit&1 == 0 {
			continue
		}
		if b[len(b)-1] != '[' {
			b = append(b, ',')
		}
		if name := f.Names.Name(bit); name != "" {
			b = appendString(b, name)
		} else {
			b = append(b, '"', 'b', 'i', 't', '0'+byte(bit), '"')
		}
	}
	return append(b, ']')
}

// appendVector appends a vector.
func appendVector(dst []byte, v *[3]float32) []byte { return appendFloats(dst, v[:]) }

// appendFirst appends the first number of a vector.
func appendFirst(dst []byte, v *[3]float32) []byte { return appendFloat(dst, v[0]) }

// appendFloats appends an array of numbers.
func appendFloats(dst []byte, fs []float32) []byte {
	dst = append(dst, '[')
	for i, x := range fs {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendFloat(dst, x)
	}
	return append(dst, ']')
}
