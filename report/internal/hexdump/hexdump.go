// Package hexdump renders bytes in rows of 16, with their offsets and, beside
// them, the characters of those that are printable ASCII. No other byte reaches
// a terminal as it is.
package hexdump

const (
	perRow = 16
	digits = "0123456789abcdef"
)

// Append appends the rows of b to dst, each after indent and with a line end.
// Offsets begin at first.
//
//	0000  19 0d 00 00 40 02 01 df  87 11 ff ff 03 40 00 88  ....@........@..
//	0010  d8 5c                                             .\
func Append(dst, b []byte, first int, indent string) []byte {
	for len(b) > 0 {
		row := b[:min(perRow, len(b))]
		dst = append(dst, indent...)
		dst = appendOffset(dst, first)
		for i := range perRow {
			if i == perRow/2 {
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

// appendOffset appends an offset with four digits, or as many as it takes.
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
