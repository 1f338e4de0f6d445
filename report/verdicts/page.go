package verdicts

import (
	"bytes"
	"fmt"
	"html/template"
	"io"
	"strconv"
	"strings"

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
.v{display:inline-block;min-width:5.5em;font-weight:600}.PASS{color:#0a6b2d}.FAIL{color:#b00020}.SKIP,.NOT{color:#5f5f5f}.KNOWN{color:#8a5a00}
mark{background:#ffe9a8}tr:nth-child(even){background:#f7f7f7}
@media(prefers-color-scheme:dark){body{color:#ddd;background:#161616}pre{background:#222}.PASS{color:#5fd38a}.FAIL{color:#ff7b8a}.SKIP,.NOT{color:#a5a5a5}
.KNOWN{color:#e0b050}mark{background:#5a4a00;color:inherit}tr:nth-child(even){background:#1e1e1e}}`

const policy = `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">`

var pageTemplate = template.Must(template.New("page").Parse(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">` + policy + `
<meta name="viewport" content="width=device-width,initial-scale=1"><title>{{.Host}}: conformance</title><style>` + style + `</style></head><body>
<h1>{{.Host}}{{if .Name}} “{{.Name}}”{{end}}: conformance</h1>
<p>Profile {{.Profile}}, {{.Begun}}, {{.Took}}. {{.Counts}}.{{if .Stopped}} Stopped early: {{.Stopped}}.{{end}}</p>
{{range .Groups}}<h2>{{.Name}}</h2>
{{range .Cases}}<details{{if .Open}} open{{end}} id="{{.ID}}"><summary><span class="v {{.Class}}">{{.Verdict}}</span> <b>{{.ID}}</b> {{.Title}}{{if .Why}} <small>{{.Why}}</small>{{end}}</summary>
<dl><dt>Rule</dt><dd>{{.Rule}} ({{.Source}}, {{.Grade}})</dd>
{{if .Expected}}<dt>Expected</dt><dd>{{.Expected}}</dd><dt>Came</dt><dd><pre>{{range .Came}}{{.}}
{{end}}</pre></dd>{{end}}{{if .Again}}<dt>Repeat</dt><dd><code>{{.Again}}</code></dd>{{end}}
{{if .Lines}}<dt>Frames {{.First}} to {{.Last}}</dt><dd><pre>{{range .Lines}}{{if .Shows}}<mark>{{.Text}}</mark>{{else}}{{.Text}}{{end}}
{{end}}</pre></dd>{{end}}</dl></details>
{{end}}{{end}}</body></html>
`))

// mostLines bounds the messages that a page shows of a case.
const mostLines = 80

type pageLine struct {
	Text  string
	Shows bool
}

type pageCase struct {
	ID, Title, Rule, Source, Grade, Verdict, Class, Why, Expected, Again string
	Came                                                                 []string
	Open                                                                 bool
	First, Last                                                          int
	Lines                                                                []pageLine
}

type pageGroup struct {
	Name  string
	Cases []pageCase
}

// Page writes a run as a web page with the decoded messages of each case.
func Page(w io.Writer, r *suite.Report) error {
	decoded := decodedLines(r)
	data := struct {
		Host, Name, Profile, Begun, Took, Counts, Stopped string
		Groups                                            []pageGroup
	}{
		Host: report.Escape(r.Host), Name: report.Escape(r.Name), Profile: r.Profile.String(), Begun: r.Begun.UTC().Format("2006-01-02 15:04:05 UTC"),
		Took: r.Took.Round(1e8).String(), Counts: counts(r), Stopped: report.Escape(r.Stopped),
	}
	for i := range r.Results {
		res := &r.Results[i]
		c := pageCase{
			ID: res.Case.ID, Title: res.Case.Title, Rule: res.Case.Rule, Source: res.Case.Source, Grade: string(res.Case.Grade),
			Verdict: res.Verdict.String(), Class: strings.Fields(res.Verdict.String())[0], Expected: report.Escape(res.Expected),
			Open: res.Verdict == suite.Fail, First: res.First, Last: res.Last,
		}
		if res.Verdict == suite.Fail {
			c.Again = report.Escape(r.Again(res.Case))
			for _, came := range res.Came {
				c.Came = append(c.Came, report.Escape(came))
			}
		} else {
			c.Why = report.Escape(res.Why)
		}
		c.Lines = linesOf(res, decoded)
		if n := len(data.Groups); n == 0 || data.Groups[n-1].Name != res.Case.Group {
			data.Groups = append(data.Groups, pageGroup{Name: res.Case.Group})
		}
		g := &data.Groups[len(data.Groups)-1]
		g.Cases = append(g.Cases, c)
	}
	return pageTemplate.Execute(w, data)
}

func counts(r *suite.Report) string {
	parts := []string{strconv.Itoa(len(r.Results)) + " cases"}
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
		list = append(list, pageLine{Text: fmt.Sprintf("… and %d messages more", left)})
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
