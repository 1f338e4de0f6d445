package page

import (
	"encoding/base64"
	"slices"

	"github.com/bcdissect/bcdissect/dissect/match"
)

// Replay returns a script that contains the data of a match, for pages that
// share the other files. A page that was opened as a file can load a script but
// no other data.
func Replay(m *match.Match) []byte {
	text, columnBytes := Data([]*match.Match{m}, match.Evenings{})
	return slices.Concat([]byte("window.bcdissectReplay = ["), text, []byte(", '"+base64.StdEncoding.EncodeToString(deflate(columnBytes))+"'];\n"))
}

// Shared returns the script that these pages share. The text begin is its last
// part.
func Shared(begin string) string { return "'use strict';\n(() => {\n" + Script() + begin + "})();\n" }
