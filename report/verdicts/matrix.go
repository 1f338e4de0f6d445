package verdicts

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/bcdissect/bcdissect/decode/plural"
	"github.com/bcdissect/bcdissect/dissect/conform/suite"
)

// mostReport is the maximum size of a report in bytes.
const mostReport = 16 << 20

// Read parses the JSON of a run.
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
		return nil, errors.New("not a report of conform -T json: something follows it; give each report its own file")
	case rep.Profile == "" || len(rep.Cases) == 0:
		return nil, errors.New("not a report of conform -T json: it has no cases")
	case len(rep.byCase()) == 0:
		return nil, errors.New("not a report of a run of conform: it has no verdict on a case that this version knows")
	}
	return &rep, nil
}

// byCase returns the cases by ID. It skips cases without a verdict and cases
// that this version does not know.
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

// A server is a column of the matrix.
type server struct {
	*Report
	File          string // name of the file
	Passed, Tried int
	by            map[string]*Case
}

// On returns the verdict on a case, or nil if there is none.
func (s server) On(id string) *Case { return s.by[id] }

// Matrix writes a web page that compares several servers. The names are the
// names of the reports' files.
func Matrix(w io.Writer, names []string, reports []*Report) error {
	var m struct {
		Servers []server
		Cases   []*suite.Case
		LeftOut string // number of entries in the reports that are not shown, as text
	}
	strange := 0
	for i, r := range reports {
		s := server{Report: r, File: names[i], by: r.byCase()}
		strange += len(r.Cases) - len(s.by)
		for _, c := range s.by {
			switch c.Verdict {
			case suite.Pass.String():
				s.Passed++
				s.Tried++
			case suite.Fail.String(), suite.Known.String():
				s.Tried++
			}
		}
		m.Servers = append(m.Servers, s)
	}
	for _, c := range suite.Cases() {
		if slices.ContainsFunc(m.Servers, func(s server) bool { return s.On(c.ID) != nil }) {
			m.Cases = append(m.Cases, c)
		}
	}
	if strange > 0 {
		m.LeftOut = fmt.Sprintf(plural.Form(strange, "%d {entry of the reports is not in the page: it has no verdict, comes twice, or is of a case|entries of the reports are not in the page: they have no verdict, come twice, or are of cases} that this version does not know."), strange)
	}
	return write(w, "matrix", m)
}

// class returns the CSS class of a verdict, or "" for unknown verdicts.
func class(verdict any) string {
	name := fmt.Sprint(verdict)
	for v := suite.Pass; v <= suite.Known; v++ {
		if v.String() == name {
			return strings.Fields(name)[0]
		}
	}
	return ""
}
