package wire

import (
	"encoding/binary"
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

// high are the characters of bytes 80 to 9F in Windows-1252. Five of them are
// unassigned and stand for themselves, as in the WHATWG encoding standard.
// Higher bytes are Latin-1.
var high = [32]rune{
	'€', 0x81, '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', 0x8D, 'Ž', 0x8F,
	0x90, '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', 0x9D, 'ž', 'Ÿ',
}

// IsPlain reports whether b is ASCII, control characters included. Such bytes
// are the same text in Windows-1252 and in UTF-8.
func IsPlain(b []byte) bool {
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// Text returns Windows-1252 text in UTF-8. Every byte is one character. Control
// characters are kept.
func Text(b []byte) Untrusted {
	if IsPlain(b) {
		return Untrusted(b)
	}
	return Untrusted(AppendText(make([]byte, 0, len(b)+len(b)/2), b))
}

// Chars is text as sent, in Windows-1252. It prints escaped, as [Untrusted]
// does.
type Chars []byte

// String returns the text in UTF-8, escaped.
func (c Chars) String() string { return Text(c).String() }

// WideChars is text as sent, in UTF-16LE. It prints escaped, as [Untrusted]
// does.
type WideChars []byte

// String returns the text in UTF-8, escaped.
func (c WideChars) String() string { return WideText(c).String() }

// AppendText appends Windows-1252 text in UTF-8.
func AppendText(dst, b []byte) []byte {
	if IsPlain(b) {
		return append(dst, b...)
	}
	for _, c := range b {
		switch {
		case c < utf8.RuneSelf:
			dst = append(dst, c)
		case c < 0xA0:
			dst = utf8.AppendRune(dst, high[c-0x80])
		default:
			dst = utf8.AppendRune(dst, rune(c))
		}
	}
	return dst
}

// WideText returns UTF-16LE text in UTF-8. Half a surrogate pair and a final
// odd byte each become U+FFFD. A NUL does not end the text.
func WideText(b []byte) Untrusted {
	return Untrusted(AppendWideText(make([]byte, 0, len(b)), b))
}

// AppendWideText appends UTF-16LE text in UTF-8, as WideText does.
func AppendWideText(dst, b []byte) []byte {
	for len(b) >= 2 {
		r := rune(binary.LittleEndian.Uint16(b))
		b = b[2:]
		if utf16.IsSurrogate(r) {
			pair := rune(utf8.RuneError)
			if len(b) >= 2 {
				pair = utf16.DecodeRune(r, rune(binary.LittleEndian.Uint16(b)))
			}
			if r = pair; r != utf8.RuneError {
				b = b[2:]
			}
		}
		dst = utf8.AppendRune(dst, r)
	}
	if len(b) > 0 {
		dst = utf8.AppendRune(dst, utf8.RuneError)
	}
	return dst
}

// AppendTextOf appends UTF-8 text in Windows-1252. Other characters become
// question marks.
func AppendTextOf[T ~string](dst []byte, text T) []byte {
	for _, r := range text {
		switch at := slices.Index(high[:], r); {
		case r < utf8.RuneSelf || r >= 0xA0 && r <= 0xFF:
			dst = append(dst, byte(r))
		case at >= 0:
			dst = append(dst, byte(0x80+at))
		default:
			dst = append(dst, '?')
		}
	}
	return dst
}

// AppendWideTextOf appends UTF-8 text as UTF-16LE.
func AppendWideTextOf[T ~string](dst []byte, text T) []byte {
	for _, r := range text {
		if a, b := utf16.EncodeRune(r); a != utf8.RuneError {
			dst = binary.LittleEndian.AppendUint16(dst, uint16(a))
			r = b
		}
		dst = binary.LittleEndian.AppendUint16(dst, uint16(r))
	}
	return dst
}
