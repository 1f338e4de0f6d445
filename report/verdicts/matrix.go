package verdicts

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/bcdissect/bcdissect/dissect/conform/suite"
)

// mostReport bounds the size of a report that is read.
const mostReport = 16 << 20

// Read reads the JSON of a run.
func Read(r io.Reader) (*Report, error) {
	d := json.NewDecoder(io.LimitReader(r, mostReport))
	var rep Report
	if err := d.Decode(&rep); err != nil {
		if path := (*fs.PathError)(nil); errors.As(err, &path) {
			return nil, path.Err
		}
		return nil, errors.New("not a report of conform -T json")
	}
	if rep.Profile == "" || len(rep.Cases) == 0 {
		return nil, errors.New("not a report of conform -T json: it has no cases")
	}
	return &rep, nil
}

// Matrix writes a web page with several servers side by side. The names are
// those of the files.
func Matrix(w io.Writer, names []string, reports []*Report) error {
	m := newMarkup(w)
	m.head("Servers compared")
	m.own("<h1>Servers compared</h1>\n<table><thead><tr><th>case</th><th>rule</th>")
	for i, r := range reports {
		m.text("<th>", names[i], "")
		m.text("<br><small>", fmt.Sprintf("%s, %s, %s", r.Host, r.Profile, r.Begun), "</small></th>")
	}
	m.own("</tr></thead><tbody>\n<tr><td></td><th>cases passed</th>")
	for _, r := range reports {
		passed, tried := 0, 0
		for _, c := range r.Cases {
			switch c.Verdict {
			case suite.Pass.String():
				passed++
				tried++
			case suite.Fail.String(), suite.Known.String():
				tried++
			}
		}
		m.own(fmt.Sprintf("<td>%d of %d</td>", passed, tried))
	}
	m.own("</tr>\n")
	for _, c := range suite.Cases() {
		cells := make([]*Case, len(reports))
		seen := false
		for i, r := range reports {
			for k := range r.Cases {
				if o := &r.Cases[k]; o.ID == c.ID && o.Verdict != "" {
					cells[i], seen = o, true
				}
			}
		}
		if seen {
			m.row(c, cells)
		}
	}
	m.own("</tbody></table></body></html>\n")
	return m.b.Flush()
}

// row writes the verdicts on a case; nil for servers on which it was not tried.
func (m markup) row(c *suite.Case, cells []*Case) {
	m.text("<tr><td><b>", c.ID, "</b></td>")
	m.text("<td>", c.Rule, "</td>")
	for _, o := range cells {
		if o == nil {
			m.own("<td>–</td>")
			continue
		}
		m.text(`<td title="`, o.Why, `"><span class="v `+class(o.Verdict)+`">`)
		m.text("", o.Verdict, "</span></td>")
	}
	m.own("</tr>\n")
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
