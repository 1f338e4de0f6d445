package ndjson

import (
	"bytes"
	"encoding/json"
	"unicode"
	"unicode/utf8"

	"github.com/bcdissect/bcdissect/decode/display"
)

// Line returns a value as package encoding/json writes it, on a line of its own.
// Control characters, and those that change the direction of writing, are \u
// escapes, as in all JSON of the program.
func Line(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	text := b.Bytes()
	if bytes.IndexFunc(text, strange) == len(text)-1 { // the end of the line alone
		return text, nil
	}
	var safe []byte
	for len(text) > 1 {
		r, n := utf8.DecodeRune(text)
		if !strange(r) {
			safe = append(safe, text[:n]...)
		} else { // encoding/json writes no bytes that are not UTF-8
			safe = display.AppendUnicode(safe, r)
		}
		text = text[n:]
	}
	return append(safe, '\n'), nil
}

func strange(r rune) bool { return !unicode.IsGraphic(r) }
