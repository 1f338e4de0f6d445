package ndjson

import (
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
)

// fields is a visitor that appends the fields it sees to b, inside an object
// that is open. Names of fields and groups come from walks and need no quoting.
type fields struct {
	b       []byte
	text    []byte           // scratch
	session dissect.Resolver // nil if there is none
}

// comma separates what follows from what came before it in the same object or
// array. A value never ends in an opening bracket.
func (v *fields) comma() {
	if c := v.b[len(v.b)-1]; c != '{' && c != '[' {
		v.b = append(v.b, ',')
	}
}

func (v *fields) key(name, suffix string) {
	v.comma()
	v.b = append(v.b, '"')
	v.b = append(v.b, name...)
	v.b = append(v.b, suffix...)
	v.b = append(v.b, '"', ':')
}

// Begin implements [decode.Visitor].
func (v *fields) Begin(g *decode.Group) {
	switch g.Kind {
	case decode.GroupStruct:
		v.key(g.Name, "")
		v.b = append(v.b, '{')
	case decode.GroupList:
		v.key(g.Name, "")
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
	v.key(f.Name, "")
	switch f.Kind {
	case decode.KindU8, decode.KindU16, decode.KindU32, decode.KindHash16, decode.KindIndex:
		v.b = strconv.AppendUint(v.b, f.Uint, 10)
	case decode.KindI8, decode.KindI16, decode.KindI32:
		v.b = strconv.AppendInt(v.b, f.Int, 10)
	case decode.KindF32, decode.KindCF16:
		v.b = appendFloat(v.b, float32(f.Float))
	case decode.KindRatio8:
		v.b = append(v.b, ratios[index(f.Float*255)]...)
	case decode.KindPercent8:
		v.b = strconv.AppendInt(v.b, int64(f.Float), 10)
	case decode.KindPower8:
		v.b = append(v.b, powers[index(f.Float*204/100)]...)
	case decode.KindBit, decode.KindBool8:
		switch f.Uint {
		case 0:
			v.b = append(v.b, "false"...)
		case 1:
			v.b = append(v.b, "true"...)
		default:
			v.b = strconv.AppendUint(v.b, f.Uint, 10)
		}
	case decode.KindEnum8, decode.KindEnum32, decode.KindHash32:
		v.b = strconv.AppendUint(v.b, f.Uint, 10)
		v.name(f)
	case decode.KindFlags8:
		v.b = strconv.AppendUint(v.b, f.Uint, 10)
		v.flags(f)
	case decode.KindObject:
		v.b = strconv.AppendUint(v.b, f.Uint, 10)
		if slot, ok := wire.ObjectID(f.Uint).Slot(); ok {
			v.key(strings.TrimSuffix(f.Name, "_id"), "_slot")
			v.b = strconv.AppendUint(v.b, uint64(slot), 10)
		}
		if v.session != nil {
			if v.text = v.session.AppendObject(v.text[:0], wire.ObjectID(f.Uint)); len(v.text) > 0 {
				v.key(strings.TrimSuffix(f.Name, "_id"), "_name")
				v.b = appendString(v.b, v.text)
			}
		}
	case decode.KindDir3:
		v.b = append(v.b, '[')
		for i, x := range f.Vec[:3] {
			if i > 0 {
				v.b = append(v.b, ',')
			}
			v.b = append(v.b, shares[uint8(index(float64(x)*127))]...)
		}
		v.b = append(v.b, ']')
	case decode.KindVec3, decode.KindVec4h, decode.KindVec4f, decode.KindPlace:
		v.floats(f.Vec[:3])
	case decode.KindQuat:
		v.floats(f.Vec[:])
	case decode.KindRatios:
		v.b = append(v.b, '[')
		for i, c := range f.Bytes {
			if i > 0 {
				v.b = append(v.b, ',')
			}
			v.b = append(v.b, ratios[c]...)
		}
		v.b = append(v.b, ']')
	case decode.KindStr8, decode.KindStr16, decode.KindStr32, decode.KindStr32z:
		if wire.IsPlain(f.Bytes) {
			v.b = appendString(v.b, f.Bytes)
		} else {
			v.text = wire.AppendText(v.text[:0], f.Bytes)
			v.b = appendString(v.b, v.text)
		}
	case decode.KindWStr32, decode.KindWStrz:
		v.text = wire.AppendWideText(v.text[:0], f.Bytes)
		v.b = appendString(v.b, v.text)
	case decode.KindIPv4:
		v.b = append(v.b, '"')
		for i, c := range f.Bytes {
			if i > 0 {
				v.b = append(v.b, '.')
			}
			v.b = strconv.AppendUint(v.b, uint64(c), 10)
		}
		v.b = append(v.b, '"')
	case decode.KindBytes:
		v.b = append(v.b, '"')
		v.b = hex.AppendEncode(v.b, f.Bytes)
		v.b = append(v.b, '"')
	case decode.KindText:
		v.b = appendString(v.b, f.Text)
	}
}

// name adds the text of an enumerated value beside the number.
func (v *fields) name(f *decode.Field) {
	if f.Names == nil {
		return
	}
	if name := f.Names.Name(f.Uint); name != "" {
		v.key(f.Name, "_name")
		v.b = appendString(v.b, name)
	}
}

// flags adds the names of the bits that are set beside the number.
func (v *fields) flags(f *decode.Field) {
	if f.Names == nil {
		return
	}
	v.key(strings.TrimSuffix(f.Name, "s"), "_names")
	v.b = append(v.b, '[')
	for bit := range uint64(8) {
		if f.Uint>>bit&1 == 0 {
			continue
		}
		v.comma()
		if name := f.Names.Name(bit); name != "" {
			v.b = appendString(v.b, name)
		} else {
			v.b = append(v.b, '"', 'b', 'i', 't', '0'+byte(bit), '"')
		}
	}
	v.b = append(v.b, ']')
}

func (v *fields) floats(fs []float32) {
	v.b = append(v.b, '[')
	for i, x := range fs {
		if i > 0 {
			v.b = append(v.b, ',')
		}
		v.b = appendFloat(v.b, x)
	}
	v.b = append(v.b, ']')
}
