package ndjson

import (
	"bytes"
	"encoding/json"
	"io"
	"unicode"
	"unicode/utf8"

	"github.com/bcdissect/bcdissect/decode/display"
)

// Write writes values as package encoding/json does, each on its own line. It
// escapes control characters and characters that change the writing direction
// with \u, as in all JSON of the program.
func Write[T any](w io.Writer, all ...T) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	var safe []byte
	for i := range all {
		if err := e.Encode(&all[i]); err != nil {
			return err
		}
	}
	for _, r := range b.String() { // encoding/json always writes valid UTF-8
		if unicode.IsGraphic(r) || r == '\n' {
			safe = utf8.AppendRune(safe, r)
		} else {
			safe = display.AppendUnicode(safe, r)
		}
	}
	_, err := w.Write(safe)
	return err
}
