package filter

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A letterCase is a change of case.
type letterCase uint8

const (
	asWritten letterCase = iota
	upperCase
	lowerCase
)

// A slice is a part of a text or of bytes. Offsets below 0 count from the end.
type slice struct {
	from   int
	length int // length, or -1 up to the end
	upTo   int // last offset, if the slice was given with one
	ranged bool
}

// parseSlice reads the inside of the brackets: i:length, i-j, i:, :length or i.
func parseSlice(s string) (c slice, ok bool) {
	if from, length, found := strings.Cut(s, ":"); found {
		c.length = -1
		return c, (from == "" || number(from, &c.from)) && (length == "" || digits(length) && number(length, &c.length)) && s != ":"
	}
	c.length = 1
	if at := strings.IndexByte(s[min(1, len(s)):], '-'); at >= 0 { // a leading minus is a sign
		c.ranged = true
		return c, number(s[:at+1], &c.from) && number(s[at+2:], &c.upTo)
	}
	return c, number(s, &c.from)
}

func digits(s string) bool { return s != "" && s[0] != '-' }

// number reads a number that may be an offset in a value.
func number(s string, n *int) bool {
	var err error
	*n, err = strconv.Atoi(s)
	return err == nil && *n >= -maxOffset && *n <= maxOffset
}

// maxOffset is the largest offset in a value.
const maxOffset = 1 << 16

// bounds returns the part of a value of n units. If there is none, ok is false.
func (c *slice) bounds(n int) (from, to int, ok bool) {
	from, to = c.from, n
	if from < 0 {
		from += n
	}
	switch {
	case c.ranged:
		if to = c.upTo; to < 0 {
			to += n
		}
		to++
	case c.length >= 0:
		to = from + c.length
	}
	to = min(to, n)
	return from, to, from >= 0 && from < to
}

// A shape is the part of a value to compare, and a change of case.
type shape struct {
	slice *slice // nil for all of the value
	fold  letterCase
	bytes bool // offsets count bytes instead of characters
	buf   []byte
}

// apply returns the part of a value. It is valid until the next call.
func (h *shape) apply(s []byte) (part []byte, ok bool) {
	if h.slice != nil {
		units := len(s)
		if !h.bytes {
			units = utf8.RuneCount(s)
		}
		from, to, ok := h.slice.bounds(units)
		switch {
		case !ok:
			return nil, false
		case h.bytes || units == len(s):
			s = s[from:to]
		default:
			s = s[offset(s, from):]
			s = s[:offset(s, to-from)]
		}
	}
	if h.fold == asWritten {
		return s, true
	}
	h.buf = h.buf[:0]
	for len(s) > 0 {
		r, n := utf8.DecodeRune(s)
		switch {
		case r == utf8.RuneError && n == 1: // not UTF-8: kept unchanged
			h.buf = append(h.buf, s[0])
		case h.fold == upperCase:
			h.buf = utf8.AppendRune(h.buf, unicode.ToUpper(r))
		default:
			h.buf = utf8.AppendRune(h.buf, unicode.ToLower(r))
		}
		s = s[n:]
	}
	return h.buf, true
}

// offset returns the offset of a character.
func offset(s []byte, character int) (at int) {
	for ; character > 0; character-- {
		_, n := utf8.DecodeRune(s[at:])
		at += n
	}
	return at
}
