package report

import (
	"strings"
	"unicode/utf8"

	"github.com/bcdissect/bcdissect/decode/wire"
)

// Escape returns text that came over the network in a form that a terminal
// shows and does not obey, see [wire.Escape].
func Escape(s string) string { return wire.Escape(s) }

// AppendEscaped appends the result of [Escape] for s.
func AppendEscaped[T ~string | ~[]byte](dst []byte, s T) []byte { return wire.AppendEscaped(dst, s) }

// ASCII returns text with a question mark for every character that is not ASCII.
func ASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= utf8.RuneSelf {
			return '?'
		}
		return r
	}, s)
}
