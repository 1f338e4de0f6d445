package page

import (
	"encoding/base64"
	"slices"

	"github.com/bcdissect/bcdissect/dissect/match"
)

// Replay returns a script that holds the data of a match, for pages that share the
// rest. A page that was opened as a file can load a script, but no other data.
func Replay(m *match.Match) []byte {
	text, columnBytes := Data([]*match.Match{m}, match.Evenings{})
	return slices.Concat([]byte("window.bcdissectReplay = ["), text, []byte(", '"+base64.StdEncoding.EncodeToString(deflate(columnBytes))+"'];\n"))
}

// Shared returns the script that such pages share. begin is the last part of it.
func Shared(begin string) string { return "'use strict';\n(() => {\n" + Script() + begin + "})();\n" }
