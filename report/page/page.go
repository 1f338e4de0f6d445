// Not part of the library: package page writes matches as a web page. The page
// is one file with its own script and style, and loads nothing else. The script
// draws the replay, the charts and the tables from the data in the page: a JSON
// object and a block of packed columns.
//
// Text from the network is escaped as for a terminal. The script inserts it as
// text and never as HTML.
package page

import (
	"bufio"
	"bytes"
	"compress/flate"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html"
	"io"
	"strings"

	"github.com/bcdissect/bcdissect/dissect/match"
	"github.com/bcdissect/bcdissect/report"
	"github.com/bcdissect/bcdissect/report/ndjson"
)

// The script's files share one scope, in this order.
var (
	//go:embed style.css
	style string
	//go:embed data.js
	scriptData string
	//go:embed shapes.js
	scriptShapes string
	//go:embed scene.js
	scriptScene string
	//go:embed panels.js
	scriptPanels string
	//go:embed debrief.js
	scriptDebrief string
	//go:embed main.js
	scriptMain string
	//go:embed begin.js
	scriptBegin string
)

// Style returns the style of a page, for other pages that show matches.
func Style() string { return style }

// Script returns the script of a page without the part that starts it. The
// function show in it draws the result of Data. All parts share one scope.
func Script() string {
	return scriptData + scriptShapes + scriptScene + scriptPanels + scriptDebrief + scriptMain
}

// Data returns the data for the script: a JSON object, and the unpacked columns
// whose rows it counts.
func Data(all []*match.Match, o match.Evenings) (text, columnBytes []byte) {
	var c columns
	data := collect(all, o, &c)
	w := ndjson.Model{Output: match.Page, Text: report.Escape}
	return w.Append(nil, data), c.bytes
}

// Write writes a page. The output depends only on the matches and options.
func Write(w io.Writer, all []*match.Match, o match.Evenings) error {
	text, columnBytes := Data(all, o)
	packed := deflate(columnBytes)
	script := Shared(scriptBegin)
	policy := "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; script-src '" + hash(script) + "'; style-src '" + hash(style) + "'"

	b := bufio.NewWriter(w)
	for _, part := range []string{
		"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n",
		`<meta http-equiv="Content-Security-Policy" content="`, policy, "\">\n",
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1, viewport-fit=cover\">\n",
		"<meta name=\"color-scheme\" content=\"dark light\">\n<meta name=\"generator\" content=\"bcdissect\">\n",
		"<link rel=\"icon\" href=\"data:,\">\n",
		"<title>", html.EscapeString(title(all)), "</title>\n<style>", style, "</style>\n</head>\n<body>\n",
		"<noscript><p>The replay and the tables of this page are drawn by its own script, which is turned off here.</p></noscript>\n",
		"<main id=\"page\"></main>\n",
		`<script type="application/json" id="data">`, string(text), "</script>\n",
		`<script type="application/octet-stream" id="columns">`, base64.StdEncoding.EncodeToString(packed), "</script>\n",
		"<script>", script, "</script>\n</body>\n</html>\n",
	} {
		_, _ = b.WriteString(part) // Flush returns the error
	}
	return b.Flush()
}

// hash returns the source of an inline script or style for a content security
// policy.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

func deflate(p []byte) []byte {
	var out bytes.Buffer
	z, _ := flate.NewWriter(&out, flate.BestCompression) // cannot fail, since the level is valid
	_, _ = z.Write(p)                                    // a buffer never returns an error
	_ = z.Close()
	return out.Bytes()
}

// title returns the map and the day of the first match.
func title(all []*match.Match) string {
	if len(all) == 0 {
		return "No match"
	}
	m := all[0]
	name := m.Map
	if name == "" {
		name = mission(m.Mission.Raw())
	}
	if name == "" {
		name = "Match"
	}
	return report.Escape(name) + " · " + m.Clock(m.Begin).UTC().Format("2 January 2006")
}

// mission returns the name of a mission without its package.
func mission(module string) string {
	return module[strings.LastIndexByte(module, '.')+1:]
}
