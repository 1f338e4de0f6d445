package verdicts

import (
	"bufio"
	"bytes"
	"fmt"
	"html"
	"io"
	"strings"

	"github.com/bcdissect/bcdissect/decode/plural"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/conform/suite"
	"github.com/bcdissect/bcdissect/report"
	"github.com/bcdissect/bcdissect/report/table"
)

// style is the style of both pages. They load nothing and have no script.
const style = `body{font:15px/1.45 system-ui,sans-serif;margin:1.5em auto;max-width:75em;padding:0 1em;color:#222;background:#fff}
h1{font-size:1.4em}h2{font-size:1.1em;margin:1.5em 0 .3em}table{border-collapse:collapse}td,th{padding:.2em .6em;text-align:left;vertical-align:top}
pre{font:12px/1.4 ui-monospace,monospace;background:#f4f4f4;padding:.6em;overflow-x:auto;margin:.4em 0}
summary{cursor:pointer;padding:.15em 0}dt{font-weight:600}dd{margin:0 0 .4em 1em}
.v{display:inline-block;min-width:6em;margin-right:.3em;font-weight:600}.PASS{color:#0a6b2d}.FAIL{color:#b00020}.SKIP,.NOT{color:#5f5f5f}.KNOWN{color:#8a5a00}
mark{background:#ffe9a8}tr:nth-child(even){background:#f7f7f7}
.wide{overflow:auto;max-height:95vh}.wide thead th{position:sticky;top:0;background:#fff}.wide td,.wide th{overflow-wrap:anywhere;min-width:4.5em}
.wide .rule{min-width:9em}.wide .v{min-width:0;margin:0}.wide details{max-width:22em}.wide summary{padding:0}@media print{.wide{max-height:none}}
@media(max-width:40em){.wide{font-size:.85em}.wide td,.wide th{padding:.2em .3em}}
@media(prefers-color-scheme:dark){body{color:#ddd;background:#161616}pre{background:#222}.PASS{color:#5fd38a}.FAIL{color:#ff7b8a}.SKIP,.NOT{color:#a5a5a5}
.KNOWN{color:#e0b050}mark{background:#5a4a00;color:inherit}tr:nth-child(even){background:#1e1e1e}.wide thead th{background:#161616}}`

const policy = `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">`

// A markup writes a page: the parts of the page's own as they are, and text escaped,
// in elements and in quoted attributes. The error is that of the writer.
type markup struct{ b *bufio.Writer }

func newMarkup(w io.Writer) markup { return markup{bufio.NewWriter(w)} }

// own writes markup of the page's own.
func (m markup) own(part string) { _, _ = m.b.WriteString(part) } // Flush returns the error

// text writes text that may be from the network, between two parts of the page's own.
func (m markup) text(before, text, after string) {
	m.own(before)
	m.own(html.EscapeString(report.Escape(text)))
	m.own(after)
}

// head begins a page.
func (m markup) head(title string) {
	m.own(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">` + policy + `
<meta name="viewport" content="width=device-width,initial-scale=1">`)
	m.text("<title>", title, "</title><style>"+style+"</style></head><body>\n")
}

// mostLines bounds the messages that a page shows of a case.
const mostLines = 80

type pageLine struct {
	Text  string
	Shows bool
}

// Page writes a run as a web page with the decoded messages of each case.
func Page(w io.Writer, r *suite.Report) error {
	decoded := decodedLines(r)
	heads := table.New(io.Discard, table.Options{}).Heads()
	m := newMarkup(w)
	m.head(r.Host + ": conformance")
	m.text("<h1>", r.Host, "")
	if r.Name != "" {
		m.text(" “", r.Name.String(), "”")
	}
	m.text(": conformance</h1>\n<p>Profile ", r.Profile.String(), "")
	m.text(", ", r.Begun.UTC().Format("2006-01-02 15:04:05 UTC"), "")
	m.text(", ", r.Span(), "")
	m.text(". ", counts(r), ".")
	if r.Stopped != "" {
		m.text(" Stopped early: ", r.Stopped, ".")
	}
	m.own("</p>\n")
	group := ""
	for i := range r.Results {
		res := &r.Results[i]
		if res.Case.Group != group {
			group = res.Case.Group
			m.text("<h2>", group, "</h2>\n")
		}
		m.result(r, res, heads, linesOf(res, decoded))
	}
	m.own("</body></html>\n")
	return m.b.Flush()
}

// result writes a case with its verdict and messages.
func (m markup) result(r *suite.Report, res *suite.Result, heads string, lines []pageLine) {
	c, verdict := res.Case, res.Verdict.String()
	failed := res.Verdict == suite.Fail
	m.own("<details")
	if failed {
		m.own(" open")
	}
	m.text(` id="`, c.ID, `"><summary><span class="v `+class(verdict)+`">`)
	m.text("", verdict, "</span>")
	m.text(" <b>", c.ID, "</b>")
	m.text(" ", c.Title, "")
	if res.Why != "" && !failed {
		m.text(" <small>", res.Why, "</small>")
	}
	m.text("</summary>\n<dl><dt>Rule</dt><dd>", fmt.Sprintf("%s (%s, %s)", c.Rule, c.Source, c.Grade), "</dd>\n")
	if len(res.Came) > 0 {
		m.text("<dt>Expected</dt><dd>", res.Expected, "</dd><dt>Came</dt><dd><pre>")
		for _, came := range res.Came {
			m.text("", came, "\n")
		}
		m.own("</pre></dd>")
		if again := r.Again(c); failed && again != "" {
			m.text("<dt>Repeat</dt><dd><code>", again, "</code></dd>\n")
		}
	}
	if len(lines) > 0 {
		m.own(fmt.Sprintf("<dt>Frames %d to %d</dt><dd><pre>", res.First, res.Last))
		m.text("<b>", heads, "</b>\n")
		for _, line := range lines {
			if line.Shows {
				m.text("<mark>", line.Text, "</mark>\n")
			} else {
				m.text("", line.Text, "\n")
			}
		}
		m.own("</pre></dd>")
	}
	m.own("</dl></details>\n")
}

func counts(r *suite.Report) string {
	parts := []string{plural.Count(len(r.Results), "case")}
	for v := suite.Pass; v <= suite.Known; v++ {
		if n := r.Count(v); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, v))
		}
	}
	return strings.Join(parts, ", ")
}

// linesOf returns the messages that a page shows of a case: those that show it
// and those around them.
func linesOf(res *suite.Result, decoded map[int][]string) (list []pageLine) {
	shows := map[int]bool{}
	for _, f := range res.Frames {
		shows[f] = true
	}
	whole := 0
	for f := res.First; f <= res.Last; f++ {
		whole += len(decoded[f])
	}
	const around = 1
	left := 0
	for f := res.First; f <= res.Last; f++ {
		near := whole <= mostLines
		for k := f - around; k <= f+around; k++ {
			near = near || shows[k]
		}
		if !near && (len(res.Frames) > 0 || len(list) >= mostLines) || len(list) >= 2*mostLines {
			left += len(decoded[f])
			continue
		}
		for _, text := range decoded[f] {
			list = append(list, pageLine{text, shows[f]})
		}
	}
	if left > 0 {
		list = append(list, pageLine{Text: fmt.Sprintf(plural.Form(left, "… and %d {message|messages} more"), left)})
	}
	return list
}

// decodedLines returns the lines that read shows of the frames of a run.
func decodedLines(r *suite.Report) map[int][]string {
	byFrame := map[int][]string{}
	if len(r.Frames) == 0 {
		return byFrame
	}
	var b bytes.Buffer
	sink := table.New(&b, table.Options{Start: r.Frames[0].At})
	frame := 0
	_ = r.Decode(func(rec *dissect.Record) error { // nothing below fails: it is memory
		if rec.Datagram.Number != frame {
			frame = rec.Datagram.Number
		}
		_ = sink.Record(rec)
		_ = sink.Flush()
		for text := range strings.Lines(b.String()) {
			byFrame[frame] = append(byFrame[frame], strings.TrimRight(text, "\n"))
		}
		b.Reset()
		return nil
	})
	return byFrame
}
