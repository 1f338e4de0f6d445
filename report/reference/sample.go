package reference

import (
	"encoding/hex"
	"math"
	"strconv"
	"strings"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/report"
)

// A Sample is a message for the page.
type Sample struct {
	Title   string
	From    string // the origin of the bytes
	Dialect decode.Dialect
	Env     decode.Env // facts needed to read it; may be nil
	Payload []byte
}

// A Row is one field of a sample.
type Row struct {
	Offset int
	Bytes  []byte // empty if the field has none of its own; part of the payload
	Path   string // an element of list x is x[0]
	Value  string // for people
}

// Rows decodes a sample, up to the first byte that does not decode.
func Rows(s *decode.Spec, sample *Sample) []Row {
	d := decode.NewDecoder()
	r := d.Read(s, sample.Payload, sample.Dialect, sample.Env)
	if r.Message == nil {
		return nil
	}
	v := &dissection{payload: sample.Payload}
	new(decode.Viewer).Show(r.Message, sample.Payload, 1, r.Dialect, v)
	return v.rows
}

// dissection is a visitor that makes rows.
type dissection struct {
	payload []byte
	path    path
	rows    []Row
}

func (v *dissection) Begin(g *decode.Group) { v.path.begin(g, "["+strconv.Itoa(g.Index)+"]") }
func (v *dissection) End(*decode.Group)     { v.path.end() }

func (v *dissection) Field(f *decode.Field) {
	v.rows = append(v.rows, Row{Offset: f.Off, Bytes: v.payload[f.Off:f.End], Path: v.path.join(f.Name), Value: value(f)})
}

// value puts the value of a field into words.
func value(f *decode.Field) string {
	switch f.Kind {
	case decode.KindI8, decode.KindI16, decode.KindI32:
		return strconv.FormatInt(f.Int, 10)
	case decode.KindF32, decode.KindCF16:
		return number(f.Float)
	case decode.KindRatio8:
		return number(f.Float*100) + " %"
	case decode.KindPercent8, decode.KindPower8:
		return number(f.Float) + " %"
	case decode.KindBit, decode.KindBool8:
		switch f.Uint {
		case 0:
			return "no"
		case 1:
			return "yes"
		}
	case decode.KindObject:
		return object(wire.ObjectID(f.Uint))
	case decode.KindHash16:
		return hexadecimal(f.Uint, 4)
	case decode.KindHash32:
		return named(hexadecimal(f.Uint, 8), f.Names, f.Uint)
	case decode.KindEnum8:
		return named(strconv.FormatUint(f.Uint, 10), f.Names, f.Uint)
	case decode.KindEnum32:
		if f.Uint <= math.MaxUint8 {
			return named(strconv.FormatUint(f.Uint, 10), f.Names, f.Uint)
		}
		return named(hexadecimal(f.Uint, 4), f.Names, f.Uint)
	case decode.KindFlags8:
		return flags(f)
	case decode.KindDir3, decode.KindVec3, decode.KindVec4h, decode.KindVec4f, decode.KindPlace:
		return vector(f.Vec[:3])
	case decode.KindQuat:
		return vector(f.Vec[:])
	case decode.KindRatios:
		var all []string
		for _, b := range f.Bytes {
			all = append(all, number(float64(b)*100/math.MaxUint8)+" %")
		}
		return strings.Join(all, ", ")
	case decode.KindStr8, decode.KindStr16, decode.KindStr32, decode.KindStr32z:
		return `"` + report.Escape(wire.Text(f.Bytes)) + `"`
	case decode.KindWStr32, decode.KindWStrz:
		return `"` + report.Escape(wire.WideText(f.Bytes)) + `"`
	case decode.KindIPv4:
		var all []string
		for _, b := range f.Bytes {
			all = append(all, strconv.Itoa(int(b)))
		}
		return strings.Join(all, ".")
	case decode.KindBytes:
		return "" // the bytes stand beside it
	case decode.KindText:
		return report.Escape(f.Text)
	case decode.KindU8, decode.KindU16, decode.KindU32, decode.KindIndex:
	}
	return strconv.FormatUint(f.Uint, 10)
}

func number(f float64) string { return strconv.FormatFloat(f, 'g', 5, 64) }

func hexadecimal(v uint64, digits int) string {
	s := strings.ToUpper(strconv.FormatUint(v, 16))
	return "0x" + strings.Repeat("0", max(0, digits-len(s))) + s
}

func named(value string, names decode.Names, v uint64) string {
	if names == nil || names.Name(v) == "" {
		return value
	}
	return value + " (" + names.Name(v) + ")"
}

func object(id wire.ObjectID) string {
	s := hexadecimal(uint64(id), 8)
	slot, ok := id.Slot()
	switch {
	case id == 0:
		return "none"
	case id == wire.Anyone:
		return "anyone"
	case ok:
		return s + " (slot " + strconv.Itoa(slot) + ")"
	}
	return s
}

func flags(f *decode.Field) string {
	var all []string
	for bit := range uint64(8) {
		if f.Uint>>bit&1 == 0 {
			continue
		}
		name := ""
		if f.Names != nil {
			name = f.Names.Name(bit)
		}
		if name == "" {
			name = "bit" + strconv.FormatUint(bit, 10)
		}
		all = append(all, name)
	}
	s := hexadecimal(f.Uint, 2)
	if len(all) > 0 {
		s += " (" + strings.Join(all, ", ") + ")"
	}
	return s
}

func vector(v []float32) string {
	var all []string
	for _, x := range v {
		all = append(all, number(float64(x)))
	}
	return "(" + strings.Join(all, ", ") + ")"
}

// bytesText returns bytes in hexadecimal, the first of many only.
func bytesText(b []byte) string {
	const most = 16
	s := hex.EncodeToString(b[:min(len(b), most)])
	var w strings.Builder
	for i := 0; i < len(s); i += 2 {
		if i > 0 {
			w.WriteByte(' ')
		}
		w.WriteString(s[i : i+2])
	}
	if len(b) > most {
		w.WriteString(" …")
	}
	return w.String()
}
