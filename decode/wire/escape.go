package wire

import (
	"strconv"
	"unicode"
	"unicode/utf8"

	"github.com/bcdissect/bcdissect/decode/internal/ascii"
)

// Untrusted is UTF-8 text that came from the network, such as a player's name
// or a line of chat. It prints escaped: fmt and String never pass an escape
// sequence to a terminal.
type Untrusted string

// String returns the text as escaped by [Escape].
func (t Untrusted) String() string { return Escape(string(t)) }

// Raw returns the text unescaped. Use it to compare texts, or for output with
// its own escaping, such as JSON or HTML.
func (t Untrusted) Raw() string { return string(t) }

// Join joins texts with the text between.
func Join(all []Untrusted, between Untrusted) (joined Untrusted) {
	for i, t := range all {
		if i > 0 {
			joined += between
		}
		joined += t
	}
	return joined
}

// Escape returns text from the network in a form that is safe for a terminal.
// Control characters and bytes that are not UTF-8 become escapes such as \x1b.
// Other invisible characters, such as those that reverse the direction of
// writing, become escapes such as \u{202e}. A backslash is kept.
func Escape(s string) string {
	if plain(s) {
		return s
	}
	return string(AppendEscaped(make([]byte, 0, len(s)+16), s))
}

// AppendEscaped appends the result of [Escape] for s.
func AppendEscaped[T ~string | ~[]byte](dst []byte, s T) []byte {
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

// plain reports whether s consists only of printable ASCII characters.
func plain[T ~string | ~[]byte](s T) bool { return ascii.Printable(s, 0x7F, 0x7F) }
