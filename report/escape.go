package report

import (
	"strings"
	"unicode/utf8"

	"github.com/bcdissect/bcdissect/decode/wire"
)

// Escape escapes text from the network, so that a terminal shows it and does
// not interpret it. See [wire.Escape].
func Escape(s string) string { return wire.Escape(s) }

// AppendEscaped appends the result of [Escape] for s.
func AppendEscaped[T ~string | ~[]byte](dst []byte, s T) []byte { return wire.AppendEscaped(dst, s) }

// ASCII returns text in which each character that is not ASCII is replaced by a
// question mark.
func ASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= utf8.RuneSelf {
			return '?'
		}
		return r
	}, s)
}
