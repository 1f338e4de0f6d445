package display

import (
	"bytes"
	"encoding/hex"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/internal/ascii"
	"github.com/bcdissect/bcdissect/decode/wire"
)

// jsonRatios, jsonShares and jsonPowers are the JSON of fields with 256 values.
// Most fields of a message have so few, and a lookup takes a tenth of the time
// of formatting.
var (
	jsonRatios = jsonOf(func(c uint8) float32 { return float32(c) / 255 })
	jsonShares = jsonOf(func(c uint8) float32 { return float32(int8(c)) / 127 })
	jsonPowers = jsonOf(func(c uint8) float32 { return float32(math.Round(float64(c)*10000/204) / 100) })
)

func jsonOf(f func(c uint8) float32) *byteTexts {
	var t byteTexts
	for i := range t {
		t[i] = string(AppendFloat(nil, f(uint8(i))))
	}
	return &t
}

// jsonTexts caches the JSON of recent values.
type jsonTexts struct {
	vectors, numbers vectors // numbers has vectors with only a first component, the others are 0
	flags            flagTexts
}

// index returns the wire value from which f was computed.
func index(f float64) int {
	if f < 0 {
		return int(f - 0.5)
	}
	return int(f + 0.5)
}

// AppendJSON appends the JSON of what a view shows of a field, or nothing if
// the view is empty. The argument n may be nil.
func (p *Presenter) AppendJSON(b []byte, f *decode.Field, v View, n Names) []byte {
	switch v {
	case Whole:
		return p.appendWhole(b, f)
	case FlagNames:
		if f.Names == nil {
			return b
		}
		return p.json.flags.append(b, f, appendFlagArray)
	case Slot: // this and the next case are the most frequent
		if slot, ok := wire.ObjectID(f.Uint).Slot(); ok {
			return AppendInt(b, int64(slot))
		}
		return b
	case ObjectName:
		if n == nil {
			return b
		}
		if p.text = n.AppendObject(p.text[:0], wire.ObjectID(f.Uint)); len(p.text) == 0 {
			return b
		}
		return AppendString(b, p.text)
	default:
		if it, ok := p.Item(f, v, n); ok {
			return it.AppendJSON(b)
		}
		return b
	}
}

// AppendJSON appends the item as JSON.
func (it *Item) AppendJSON(b []byte) []byte {
	switch it.Type {
	case decode.TypeInt:
		return AppendInt(b, it.Int)
	case decode.TypeBool:
		return strconv.AppendBool(b, it.Int != 0)
	case decode.TypeFloat:
		return AppendFloat(b, it.Float)
	default:
		return AppendString(b, it.Text)
	}
}

// appendWhole decides how the values of each kind look in JSON.
func (p *Presenter) appendWhole(b []byte, f *decode.Field) []byte {
	switch f.Kind { //nolint:exhaustive // the others look as all of their type
	case decode.KindF32, decode.KindCF16:
		p.number[0] = float32(f.Float)
		return p.json.numbers.Append(b, &p.number, appendFirst)
	case decode.KindRatio8:
		return append(b, jsonRatios[index(f.Float*255)]...)
	case decode.KindPower8:
		return append(b, jsonPowers[index(f.Float*204/100)]...)
	case decode.KindDir3:
		for i, x := range f.Vec[:3] { // appendList would call a function for each
			b = append(append(b, "[,,"[i]), jsonShares[uint8(index(float64(x)*127))]...)
		}
		return append(b, ']')
	case decode.KindVec3, decode.KindVec4h, decode.KindVec4f, decode.KindPlace:
		return p.json.vectors.Append(b, (*[3]float32)(f.Vec[:]), appendFloatsJSON)
	case decode.KindQuat:
		return appendFloatsJSON(b, f.Vec[:])
	case decode.KindRatios:
		return appendList(b, '[', ",", ']', f.Bytes, func(b []byte, c byte) []byte { return append(b, jsonRatios[c]...) })
	case decode.KindBytes:
		return append(hex.AppendEncode(append(b, '"'), f.Bytes), '"')
	case decode.KindText:
		return AppendString(b, f.Text)
	}
	switch f.Kind.Type() {
	case decode.TypeInt:
		return AppendInt(b, f.Whole())
	case decode.TypeBool:
		return strconv.AppendBool(b, f.Uint != 0)
	default:
		p.text = f.AppendText(p.text[:0])
		return AppendString(b, p.text)
	}
}

func appendFlagArray(b []byte, f *decode.Field) []byte {
	b = append(b, '[')
	for bit := range Bits(f.Uint) {
		if b[len(b)-1] != '[' {
			b = append(b, ',')
		}
		b = AppendString(b, FlagName(f, bit))
	}
	return append(b, ']')
}

// appendFirst appends the first number of a vector.
func appendFirst(dst []byte, v []float32) []byte { return AppendFloat(dst, v[0]) }

// appendFloatsJSON appends an array of numbers.
func appendFloatsJSON(dst []byte, fs []float32) []byte {
	return appendList(dst, '[', ",", ']', fs, AppendFloat)
}

// A JSON is a visitor that appends the fields it sees to an open object or
// array, each with the keys of its views. Names of fields and groups come from
// walks and need no quoting.
type JSON struct {
	Presenter *Presenter
	Names     Names
	B         []byte
}

// Begin implements [decode.Visitor].
func (j *JSON) Begin(g *decode.Group) {
	switch g.Kind {
	case decode.GroupStruct:
		j.B = append(appendKey(j.B, g.Name), '"', ':', '{')
	case decode.GroupList:
		j.B = append(appendKey(j.B, g.Name), '"', ':', '[')
	case decode.GroupElement:
		if j.B[len(j.B)-1] != '[' {
			j.B = append(j.B, ',')
		}
		j.B = append(j.B, '{')
	}
}

// End implements [decode.Visitor].
func (j *JSON) End(g *decode.Group) {
	if g.Kind == decode.GroupList {
		j.B = append(j.B, ']')
	} else {
		j.B = append(j.B, '}')
	}
}

// Field implements [decode.Visitor].
func (j *JSON) Field(f *decode.Field) {
	j.B = j.Presenter.appendWhole(append(appendKey(j.B, f.Name), '"', ':'), f)
	if views := Views(f); len(views) > 1 {
		j.derived(f, views[1:])
	}
}

// derived appends members for the other views of a field.
func (j *JSON) derived(f *decode.Field, views []View) {
	b, name := j.B, strings.TrimSuffix(f.Name, members[views[0]].loses) // all these views replace the same ending
	for _, v := range views {
		from := len(b)
		b = append(append(appendKey(b, name), members[v].gets...), '"', ':')
		at := len(b)
		if b = j.Presenter.AppendJSON(b, f, v, j.Names); len(b) == at {
			b = b[:from]
		}
	}
	j.B = b
}

// appendKey appends the beginning of a key, after a comma unless b ends in an
// opening bracket. No value ends in one.
func appendKey(b []byte, name string) []byte {
	if c := b[len(b)-1]; c == '{' {
		b = append(b, '"')
	} else {
		b = append(b, ',', '"')
	}
	return append(b, name...)
}

// AppendInt appends a number. Numbers of one or two digits, which most are,
// take a quarter of the time of strconv.
func AppendInt(dst []byte, v int64) []byte {
	switch {
	case uint64(v) < 10:
		return append(dst, '0'+byte(v))
	case uint64(v) < 100:
		return append(dst, '0'+byte(v)/10, '0'+byte(v)%10)
	}
	return strconv.AppendInt(dst, v, 10)
}

// AppendFloat appends the shortest decimal number that is x as a float32, with
// a point or an exponent. Database engines that learn the types of columns from
// the first lines tell floats from integers by the point, and none reads
// integers of more than 64 bits. NaN and infinity become null, since JSON has
// neither.
func AppendFloat(dst []byte, x float32) []byte {
	if n := int32(x); float32(n) == x && n > -1<<24 && n < 1<<24 && (n != 0 || !math.Signbit(float64(x))) {
		return append(strconv.AppendInt(dst, int64(n), 10), ".0"...)
	}
	f := float64(x)
	switch abs := math.Abs(f); {
	case math.IsNaN(f) || abs > math.MaxFloat32:
		return append(dst, "null"...)
	case abs != 0 && (abs < 1e-6 || abs >= 1e15):
		return strconv.AppendFloat(dst, f, 'e', -1, 32)
	}
	return withPoint(strconv.AppendFloat(dst, f, 'f', -1, 32), len(dst))
}

// withPoint appends .0 to a number that begins at from and has no point.
func withPoint(dst []byte, from int) []byte {
	if bytes.IndexByte(dst[from:], '.') < 0 {
		dst = append(dst, ".0"...)
	}
	return dst
}

// needsCare tells which bytes of a string must be escaped.
var needsCare = careTable()

func careTable() *[256]bool {
	var t [256]bool
	for c := range t {
		t[c] = c < ' ' || c >= 0x7F || c == '"' || c == '\\'
	}
	return &t
}

// AppendString appends a JSON string. Characters that a terminal might
// interpret are written as equivalent \u escapes. Bytes that are not UTF-8
// become U+FFFD.
func AppendString[T ~string | ~[]byte](dst []byte, s T) []byte {
	dst = append(dst, '"')
	if ascii.Printable(s, '"', '\\') {
		return append(append(dst, s...), '"')
	}
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if !needsCare[c] {
			i++
			continue
		}
		dst = append(dst, s[from:i]...)
		n := 1
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < utf8.RuneSelf:
			dst = AppendUnicode(dst, rune(c))
		default:
			var r rune
			r, n = utf8.DecodeRuneInString(string(s[i:min(len(s), i+utf8.UTFMax)]))
			if n > 1 && unicode.IsGraphic(r) {
				dst = append(dst, s[i:i+n]...)
			} else {
				dst = AppendUnicode(dst, r)
			}
		}
		i += n
		from = i
	}
	dst = append(dst, s[from:]...)
	return append(dst, '"')
}

// AppendUnicode appends a character as a JSON escape, or as two if it has more
// than 16 bits.
func AppendUnicode(dst []byte, r rune) []byte {
	if r > 0xFFFF {
		var hi rune
		hi, r = utf16.EncodeRune(r)
		dst = AppendUnicode(dst, hi)
	}
	return append(dst, '\\', 'u', lowerDigits[r>>12&15], lowerDigits[r>>8&15], lowerDigits[r>>4&15], lowerDigits[r&15])
}
