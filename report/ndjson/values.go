package ndjson

import (
	"bytes"
	"iter"
	"math"
	"strconv"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/bcdissect/bcdissect/report"
)

// ratios, shares and powers are the texts of fields with 256 values: most
// fields of a message are such, and looking them up costs a tenth of formatting
// them.
var (
	ratios = texts(func(c uint8) string { return shortest(float32(c) / 255) })
	shares = texts(func(c uint8) string { return shortest(float32(int8(c)) / 127) })
	powers = texts(func(c uint8) string {
		return string(withPoint(strconv.AppendFloat(nil, math.Round(float64(c)*10000/204)/100, 'f', -1, 64), 0))
	})
)

func texts(f func(c uint8) string) *[256]string {
	var t [256]string
	for i := range t {
		t[i] = f(uint8(i))
	}
	return &t
}

func shortest(x float32) string { return string(appendFloat(nil, x)) }

// index is the wire value that f was computed from.
func index(f float64) int {
	if f < 0 {
		return int(f - 0.5)
	}
	return int(f + 0.5)
}

// appendFloat appends the shortest decimal number that is x as a float32, with a
// point or an exponent: engines that learn the types of columns from the first
// lines tell floats from integers by them, and none reads integers of more than
// 64 bits. JSON has no NaN and no infinity: both are null.
func appendFloat(dst []byte, x float32) []byte {
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

// appendSeconds appends d in seconds with the given number of digits after the
// point.
func appendSeconds(dst []byte, d time.Duration, digits int8) []byte {
	u := uint64(d)
	if d < 0 {
		dst, u = append(dst, '-'), -u
	}
	dst = strconv.AppendUint(dst, u/1e9, 10)
	return report.AppendFraction(dst, uint32(u%1e9), digits)
}

// needsCare tells which bytes of a string do not stand for themselves.
var needsCare = careTable()

func careTable() *[256]bool {
	var t [256]bool
	for c := range t {
		t[c] = c < ' ' || c >= 0x7F || c == '"' || c == '\\'
	}
	return &t
}

// appendString appends a JSON string. Characters that a terminal might obey
// are written as \u escapes, which JSON takes for the same; bytes that are not
// UTF-8 become U+FFFD.
func appendString[T string | []byte](dst []byte, s T) []byte {
	dst = append(dst, '"')
	if plain(s) {
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
			dst = appendUnit(dst, rune(c))
		default:
			var r rune
			r, n = utf8.DecodeRuneInString(string(s[i:min(len(s), i+utf8.UTFMax)]))
			switch {
			case n > 1 && unicode.IsGraphic(r):
				dst = append(dst, s[i:i+n]...)
			case r > 0xFFFF:
				hi, lo := utf16.EncodeRune(r)
				dst = appendUnit(appendUnit(dst, hi), lo)
			default:
				dst = appendUnit(dst, r)
			}
		}
		i += n
		from = i
	}
	dst = append(dst, s[from:]...)
	return append(dst, '"')
}

// plain reports whether every byte of a string stands for itself.
func plain[T string | []byte](s T) bool { return report.Plain(s, '"', '\\') }

// appendUnit appends one UTF-16 unit as an escape.
func appendUnit(dst []byte, u rune) []byte {
	const digits = "0123456789abcdef"
	return append(dst, '\\', 'u', digits[u>>12&15], digits[u>>8&15], digits[u>>4&15], digits[u&15])
}

// appendPairs appends the members of an object. A key that came before gets a
// number: key, key_2, key_3.
func appendPairs(dst []byte, pairs iter.Seq2[string, string]) []byte {
	seen := map[string]int{} // how often a key came
	first := true
	for key, value := range pairs {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = appendString(dst, unique(seen, key))
		dst = append(dst, ':')
		dst = appendString(dst, value)
	}
	return dst
}

// unique returns key, or key with the first number that makes it new.
func unique(seen map[string]int, key string) string {
	name := key
	for seen[name] > 0 {
		seen[key]++
		name = key + "_" + strconv.Itoa(seen[key])
	}
	seen[name] = 1
	return name
}
