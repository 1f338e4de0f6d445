// Package hexdump renders bytes in rows of 16, with their offsets and their
// printable ASCII characters. It replaces all other characters, so that they do
// not reach a terminal.
package hexdump

const (
	// PerRow is the number of bytes in a row.
	PerRow = 16
	digits = "0123456789abcdef"
)

// Append appends the rows of b to dst, each after indent and with a line end.
// Offsets begin at first.
//
//	0000  19 0d 00 00 40 02 01 df  87 11 ff ff 03 40 00 88  ....@........@..
//	0010  d8 5c                                             .\
func Append(dst, b []byte, first int, indent string) []byte {
	for len(b) > 0 {
		row := b[:min(PerRow, len(b))]
		dst = append(dst, indent...)
		dst = appendOffset(dst, first)
		for i := range PerRow {
			if i == PerRow/2 {
				dst = append(dst, ' ')
			}
			if i == 0 {
				dst = append(dst, ' ')
			}
			if i < len(row) {
				dst = append(dst, ' ', digits[row[i]>>4], digits[row[i]&15])
			} else {
				dst = append(dst, "   "...)
			}
		}
		dst = append(dst, ' ', ' ')
		for _, c := range row {
			if c < ' ' || c > '~' {
				c = '.'
			}
			dst = append(dst, c)
		}
		dst = append(dst, '\n')
		b, first = b[len(row):], first+len(row)
	}
	return dst
}

// appendOffset appends an offset with at least four digits.
func appendOffset(dst []byte, n int) []byte {
	shift := 12
	for n>>shift > 15 {
		shift += 4
	}
	for ; shift >= 0; shift -= 4 {
		dst = append(dst, digits[n>>shift&15])
	}
	return dst
}

// Columns returns the columns of the digits and of the character of byte i in a
// row of Append. The row ends with the character of its last byte.
func Columns(row string, i int) (digits, char int) {
	start := 0
	for start < len(row) && row[start] == ' ' {
		start++
	}
	for start < len(row) && row[start] != ' ' { // skips the offset
		start++
	}
	digits = start + 2 + 3*i
	if i >= PerRow/2 {
		digits++
	}
	return digits, start + 2 + 3*PerRow + 2 + i
}
