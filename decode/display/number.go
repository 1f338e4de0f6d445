package display

import (
	"math"
	"strconv"
)

// AppendHex appends v as 0x and upper-case digits, padded with zeros to the
// given number of digits.
func AppendHex(dst []byte, v uint64, digits int) []byte {
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

// percents are the texts of whole percentages, indexed from 0.
var percents = func() (texts [128]string) {
	for n := range texts {
		texts[n] = strconv.Itoa(n) + "%"
	}
	return texts
}()

// AppendPercent appends a percentage without decimals.
func AppendPercent(dst []byte, f float64) []byte {
	n := int64(math.Round(f))
	if n >= 0 && n < int64(len(percents)) {
		return append(dst, percents[n]...)
	}
	return append(strconv.AppendInt(dst, n, 10), '%')
}

// AppendNumber appends a number with as many decimals as people need: none from
// 1000 on, three below 1.
func AppendNumber(dst []byte, f float64) []byte {
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
	return AppendDecimal(dst, f < 0 && n > 0, n, decimals, 0)
}

// AppendDecimal appends a number whose last digits are decimals, right-aligned
// in a column.
func AppendDecimal(dst []byte, negative bool, n uint64, decimals, width int) []byte {
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
	m := uint32(n) // 32-bit division takes half the time
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

// appendList appends values, with open before, between between and end after
// them.
func appendList[T any](dst []byte, open byte, between string, end byte, list []T, one func([]byte, T) []byte) []byte {
	dst = append(dst, open)
	for i, x := range list {
		if i > 0 {
			dst = append(dst, between...)
		}
		dst = one(dst, x)
	}
	return append(dst, end)
}

// appendFloats appends a list of numbers in brackets.
func appendFloats(dst []byte, fs []float32) []byte {
	return appendList(dst, '(', ",", ')', fs, func(b []byte, x float32) []byte { return AppendNumber(b, float64(x)) })
}

// appendExact appends the shortest number that is f as a float32.
func appendExact(dst []byte, f float64) []byte {
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		return strconv.AppendFloat(dst, f, 'g', -1, 32)
	}
	return strconv.AppendFloat(dst, f, 'f', -1, 32)
}

// appendExactFloats appends a list of the shortest exact numbers in brackets.
func appendExactFloats(dst []byte, fs []float32) []byte {
	return appendList(dst, '(', ", ", ')', fs, func(b []byte, x float32) []byte { return appendExact(b, float64(x)) })
}

// appendExactNumber appends the first number of a vector.
func appendExactNumber(dst []byte, v []float32) []byte { return appendExact(dst, float64(v[0])) }

// appendTenths appends a percentage with one decimal.
func appendTenths(dst []byte, f float64) []byte {
	return append(strconv.AppendFloat(dst, f, 'f', 1, 64), '%')
}
