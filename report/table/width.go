package table

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
)

// widths computes how many columns of a terminal text takes. Looking up a
// character is slow, so widths remembers the results.
type widths struct{ wide map[rune]uint8 }

// maxWide is the number of characters that are remembered.
const maxWide = 4096

// of returns the width of b in columns.
func (w *widths) of(b []byte) int {
	i := 0
	for i+8 <= len(b) && binary.LittleEndian.Uint64(b[i:])&0x8080808080808080 == 0 {
		i += 8 // ASCII
	}
	n := i
	for i < len(b) {
		if b[i] < utf8.RuneSelf {
			n, i = n+1, i+1
			continue
		}
		r, size := utf8.DecodeRune(b[i:])
		n, i = n+w.rune(r), i+size
	}
	return n
}

// widest returns the width of the widest line.
func (w *widths) widest(text []byte) int {
	most := 0
	for line := range bytes.Lines(text) {
		most = max(most, w.of(bytes.TrimRight(line, "\n")))
	}
	return most
}

// rune returns the width of a character that is not ASCII.
func (w *widths) rune(r rune) int {
	switch {
	case r < 0x300: // Latin
		return 1
	case r == '→' || r == '↔' || r == '…': // these are wide only on terminals configured so
		return 1
	}
	if n, ok := w.wide[r]; ok {
		return int(n)
	}
	n := twwidth.WidthWithOptions(string(r), twwidth.Options{})
	if w.wide == nil || len(w.wide) >= maxWide {
		w.wide = map[rune]uint8{}
	}
	w.wide[r] = uint8(n)
	return n
}

// cut returns the number of bytes of b that fit into a width together with
// more, and true. If b fits without more, it returns the length of b and false.
func (w *widths) cut(b []byte, width int, more string) (n int, cut bool) {
	room := width - w.of([]byte(more))
	if room < 0 {
		room = width
	}
	col := 0
	for i := 0; i < len(b); {
		r, size := rune(b[i]), 1
		c := 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRune(b[i:])
			c = w.rune(r)
		}
		if col+c <= room {
			n = i + size
		}
		if col += c; col > width {
			return n, true
		}
		i += size
	}
	return len(b), false
}

// fit pads or cuts dst[from:] to a column of the given width. It cuts off the
// end, or the beginning if that is set.
func (w *widths) fit(dst []byte, from, width int, more string, beginning bool) []byte {
	b := dst[from:]
	n := w.of(b)
	if n <= width {
		return pad(dst, width-n)
	}
	sign := w.of([]byte(more))
	if beginning { // addresses are ASCII and end with the port
		return slices.Replace(dst, from, from+n-width+sign, []byte(more)...)
	}
	k, _ := w.cut(b, width, more)
	dst = append(dst[:from+k], more...)
	return pad(dst, width-w.of(b[:k])-sign)
}

// fold breaks text into lines of a width, at spaces if possible. It cuts longer
// words unless whole is set. Width 0 means no limit.
func (w *widths) fold(text string, width int, whole bool) []string {
	if width <= 0 {
		return []string{text}
	}
	var out []string
	from, space, col := 0, -1, 0 // the start of the line, its last space, and its width so far
	for i, r := range text {
		size := 1
		if r >= utf8.RuneSelf {
			size = w.rune(r)
		}
		if col+size > width && i > from && (!whole || r == ' ' || space > from) {
			end, next := i, i
			switch {
			case r == ' ':
				next = i + 1
			case space > from:
				end, next = space, space+1
			}
			out = append(out, strings.TrimRight(text[from:end], " "))
			from, space = next, -1
			col = w.of([]byte(text[from:max(i, from)]))
			if next > i {
				continue
			}
		}
		if r == ' ' {
			space = i
		}
		col += size
	}
	return append(out, text[from:])
}
