package verdicts

import (
	"bufio"
	"bytes"
	"embed"
	"fmt"
	"html"
	"io"
	"strconv"
	"strings"
	"text/template"

	"github.com/bcdissect/bcdissect/decode/plural"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/conform/suite"
	"github.com/bcdissect/bcdissect/dissect/measure"
	"github.com/bcdissect/bcdissect/report"
	"github.com/bcdissect/bcdissect/report/table"
)

//go:embed *.tmpl
var templates embed.FS

// write executes one of the templates.
func write(w io.Writer, name string, data any) error {
	t := template.New("").Funcs(template.FuncMap{
		"class": class, "sum": sum, "tap": tapText, "yaml": strconv.QuoteToGraphic,
		"way":  func(l measure.Loss) string { return report.Way(l.Dir, l.Who(), false) },
		"text": func(v any) string { return html.EscapeString(report.Escape(fmt.Sprint(v))) },
	})
	b := bufio.NewWriter(w)
	if err := template.Must(t.ParseFS(templates, "*.tmpl")).ExecuteTemplate(b, name, data); err != nil {
		return err
	}
	return b.Flush()
}

func sum(numbers ...int) (n int) {
	for _, k := range numbers {
		n += k
	}
	return n
}

// mostLines is the number of messages of a case above which a page shows only
// some of them.
const mostLines = 80

type pageLine struct {
	Text  string
	Shows bool
}

// A pageData is a run with the additional data for its page.
type pageData struct {
	*suite.Report
	Heads   string // headings of the columns of lines
	decoded map[int][]string
}

// Page writes a run as a web page with the decoded messages of each case.
func Page(w io.Writer, r *suite.Report) error {
	return write(w, "page", pageData{r, table.New(io.Discard, table.Options{}).Heads(), decodedLines(r)})
}

// Counts returns a text with the number of cases for each verdict.
func (p pageData) Counts() string {
	parts := []string{plural.Count(len(p.Results), "case")}
	for v := suite.Pass; v <= suite.Known; v++ {
		if n := p.Count(v); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, v))
		}
	}
	return strings.Join(parts, ", ")
}

// Lines returns the messages of a case that a page shows: those that prove the
// verdict and those near them.
func (p pageData) Lines(res *suite.Result) (list []pageLine) {
	shows := map[int]bool{}
	for _, f := range res.Frames {
		shows[f] = true
	}
	whole := 0
	for f := res.First; f <= res.Last; f++ {
		whole += len(p.decoded[f])
	}
	const around = 1
	left := 0
	for f := res.First; f <= res.Last; f++ {
		near := whole <= mostLines
		for k := f - around; k <= f+around; k++ {
			near = near || shows[k]
		}
		if !near && (len(res.Frames) > 0 || len(list) >= mostLines) || len(list) >= 2*mostLines {
			left += len(p.decoded[f])
			continue
		}
		for _, text := range p.decoded[f] {
			list = append(list, pageLine{text, shows[f]})
		}
	}
	if left > 0 {
		list = append(list, pageLine{Text: fmt.Sprintf(plural.Form(left, "… and %d {message|messages} more"), left)})
	}
	return list
}

// decodedLines returns the lines in the format of read, for each frame of a
// run.
func decodedLines(r *suite.Report) map[int][]string {
	byFrame := map[int][]string{}
	if len(r.Frames) == 0 {
		return byFrame
	}
	var b bytes.Buffer
	sink := table.New(&b, table.Options{Start: r.Frames[0].At})
	_ = r.Decode(func(rec *dissect.Record) error { // cannot fail, since all data is in memory
		frame := rec.Datagram.Number
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
