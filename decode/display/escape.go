package display

import (
	"strconv"
	"unicode"
	"unicode/utf8"
)

// Escape returns text that came over the network in a form that a terminal
// shows and does not obey: control characters and bytes that are not UTF-8 as
// \x1b, other characters that cannot be seen, such as those that reverse the
// direction of writing, as \u{202e}. A backslash stays as it is.
func Escape(s string) string {
	if plain(s) {
		return s
	}
	return string(AppendEscaped(make([]byte, 0, len(s)+16), s))
}

// AppendEscaped appends the result of [Escape] for s.
func AppendEscaped[T string | []byte](dst []byte, s T) []byte {
	if plain(s) {
		return append(dst, s...)
	}
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c < utf8.RuneSelf && c != 0x7F {
			dst = append(dst, c)
			i++
			continue
		}
		r, n := utf8.RuneError, 1
		if c >= utf8.RuneSelf {
			r, n = utf8.DecodeRuneInString(string(s[i:min(len(s), i+utf8.UTFMax)]))
		}
		switch {
		case n == 1: // a control character, or not UTF-8
			dst = append(dst, '\\', 'x', lowerDigits[c>>4], lowerDigits[c&15])
		case unicode.IsGraphic(r):
			dst = append(dst, s[i:i+n]...)
		default:
			dst = append(dst, `\u{`...)
			dst = strconv.AppendUint(dst, uint64(r), 16)
			dst = append(dst, '}')
		}
		i += n
	}
	return dst
}

const lowerDigits = "0123456789abcdef"

// printable reports whether s is printable ASCII throughout and has neither of two
// characters.
func printable[T string | []byte](s T, neither, nor byte) bool {
	if len(s) < 8 {
		for i := range len(s) {
			if c := s[i]; c < ' ' || c >= 0x7F || c == neither || c == nor {
				return false
			}
		}
		return true
	}
	const each = 0x0101010101010101
	without, and := each*uint64(neither), each*uint64(nor)
	for rest := s; ; {
		b := rest[:8]
		w := uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
			uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
		// Bytes below ' ', of 0x7F or more, and those that are 0 where one of the two is.
		if (w|(w-each*' ')|(w+each)|((w^without)-each)|((w^and)-each))&(each*0x80) != 0 {
			return false
		}
		switch {
		case len(rest) == 8:
			return true
		case len(rest) < 16: // the rest, less than a word, with some of the bytes before it
			rest = s[len(s)-8:]
		default:
			rest = rest[8:]
		}
	}
}

// plain reports whether s is printable ASCII throughout.
func plain[T string | []byte](s T) bool { return printable(s, 0x7F, 0x7F) }
