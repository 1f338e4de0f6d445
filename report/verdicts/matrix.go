package verdicts

import (
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/bcdissect/bcdissect/dissect/conform/suite"
	"github.com/bcdissect/bcdissect/report"
)

// mostReport bounds the size of a report that is read.
const mostReport = 16 << 20

// Read reads the JSON of a run.
func Read(r io.Reader) (*Report, error) {
	d := json.NewDecoder(io.LimitReader(r, mostReport))
	var rep Report
	if err := d.Decode(&rep); err != nil {
		return nil, fmt.Errorf("not a report of conform -T json: %w", err)
	}
	if rep.Profile == "" || len(rep.Cases) == 0 {
		return nil, errors.New("not a report of conform -T json: it has no cases")
	}
	return &rep, nil
}

var matrixTemplate = template.Must(template.New("matrix").Parse(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">` + policy + `
<meta name="viewport" content="width=device-width,initial-scale=1"><title>Servers compared</title><style>` + style + `</style></head><body>
<h1>Servers compared</h1>
<table><thead><tr><th>case</th><th>rule</th>{{range .Servers}}<th>{{.Name}}<br><small>{{.Host}}, {{.Profile}}, {{.Begun}}</small></th>{{end}}</tr></thead><tbody>
<tr><td></td><th>cases passed</th>{{range .Servers}}<td>{{.Passed}} of {{.Tried}}</td>{{end}}</tr>
{{range .Rows}}<tr><td><b>{{.ID}}</b></td><td>{{.Rule}}</td>{{range .Cells}}<td title="{{.Why}}"><span class="v {{.Class}}">{{.Verdict}}</span></td>{{end}}</tr>
{{end}}</tbody></table></body></html>
`))

type matrixServer struct {
	Name, Host, Profile, Begun string
	Passed, Tried              int
}

type matrixCell struct{ Verdict, Class, Why string }

type matrixRow struct {
	ID, Rule string
	Cells    []matrixCell
}

// Matrix writes a web page with several servers side by side. The names are
// those of the files.
func Matrix(w io.Writer, names []string, reports []*Report) error {
	var data struct {
		Servers []matrixServer
		Rows    []matrixRow
	}
	for i, r := range reports {
		s := matrixServer{Name: report.Escape(names[i]), Host: report.Escape(r.Host), Profile: report.Escape(r.Profile), Begun: report.Escape(r.Begun)}
		for _, c := range r.Cases {
			if c.Verdict == suite.Pass.String() {
				s.Passed++
			}
			if c.Verdict == suite.Pass.String() || c.Verdict == suite.Fail.String() || c.Verdict == suite.Known.String() {
				s.Tried++
			}
		}
		data.Servers = append(data.Servers, s)
	}
	for _, c := range suite.Cases() {
		row := matrixRow{ID: c.ID, Rule: c.Rule}
		seen := false
		for _, r := range reports {
			cell := matrixCell{Verdict: "–"}
			for _, o := range r.Cases {
				if o.ID != c.ID || o.Verdict == "" {
					continue
				}
				seen = true
				cell = matrixCell{Verdict: report.Escape(o.Verdict), Class: class(o.Verdict), Why: report.Escape(o.Why)}
			}
			row.Cells = append(row.Cells, cell)
		}
		if seen {
			data.Rows = append(data.Rows, row)
		}
	}
	return matrixTemplate.Execute(w, data)
}

// class returns the style of a verdict, for those that there are.
func class(verdict string) string {
	for v := suite.Pass; v <= suite.Known; v++ {
		if v.String() == verdict {
			return strings.Fields(verdict)[0]
		}
	}
	return ""
}
