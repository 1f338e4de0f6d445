package verdicts

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/bcdissect/bcdissect/decode/plural"
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
	switch {
	case d.More():
		return nil, errors.New("not a report of conform -T json: something follows it; give each report a file of its own")
	case rep.Profile == "" || len(rep.Cases) == 0:
		return nil, errors.New("not a report of conform -T json: it has no cases")
	case len(rep.byCase()) == 0:
		return nil, errors.New("not a report of a run of conform: it has no verdict on a case that this version knows")
	}
	return &rep, nil
}

// byCase returns the cases that have a verdict and that this version knows, by id.
func (r *Report) byCase() map[string]*Case {
	by, known := map[string]*Case{}, map[string]bool{}
	for _, k := range suite.Cases() {
		known[k.ID] = true
	}
	for i := range r.Cases {
		if c := &r.Cases[i]; c.Verdict != "" && known[c.ID] {
			by[c.ID] = c
		}
	}
	return by
}

// Matrix writes a web page with several servers side by side. The names are
// those of the files.
func Matrix(w io.Writer, names []string, reports []*Report) error {
	m := newMarkup(w)
	m.head("Servers compared")
	m.own("<h1>Servers compared</h1>\n<div class=\"wide\" tabindex=\"0\"><table><thead><tr><th>case</th><th>rule</th>")
	for i, r := range reports {
		m.text("<th>", names[i], "")
		m.text("<br><small>", fmt.Sprintf("%s, %s, %s", r.Host, r.Profile, r.Begun), "</small></th>")
	}
	m.own("</tr></thead><tbody>\n<tr><td></td><th>cases passed</th>")
	all, strange := make([]map[string]*Case, len(reports)), 0
	for i, r := range reports {
		all[i] = r.byCase()
		strange += len(r.Cases) - len(all[i])
		passed, tried := 0, 0
		for _, c := range all[i] {
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
		cells, seen := make([]*Case, len(reports)), false
		for i := range reports {
			cells[i] = all[i][c.ID]
			seen = seen || cells[i] != nil
		}
		if seen {
			m.row(c, cells)
		}
	}
	m.own("</tbody></table></div>\n")
	if strange > 0 {
		m.own(fmt.Sprintf(plural.Form(strange, "<p>%d {entry of the reports is left out: it has no verdict, comes twice, or is of a case|entries of the reports are left out: they have no verdict, come twice, or are of cases} that this version does not know.</p>\n"), strange))
	}
	m.own("</body></html>\n")
	return m.b.Flush()
}

// row writes the verdicts on a case; nil for servers on which it was not tried.
func (m markup) row(c *suite.Case, cells []*Case) {
	m.text("<tr><td><b>", c.ID, "</b></td>")
	m.text(`<td class="rule">`, c.Rule, "</td>")
	for _, o := range cells {
		switch {
		case o == nil:
			m.own("<td>–</td>")
		case o.Why == "":
			m.text(`<td><span class="v `+class(o.Verdict)+`">`, o.Verdict, "</span></td>")
		default:
			m.text(`<td><details><summary><span class="v `+class(o.Verdict)+`">`, o.Verdict, "</span></summary>")
			m.text("<small>", o.Why, "</small></details></td>")
		}
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
