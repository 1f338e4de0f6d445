package browser

import (
	"strings"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/report/table"
)

// parts are the details of a message.
type parts struct {
	bytes []byte // the deciphered message; the reassembled one if it came in fragments
	at    int    // offset in bytes that the places of fields count from
	rows  []part
}

// A part is a row of the details: a branch of the tree, or text about the message
// in the name of one.
type part struct {
	table.Branch
	field  bool // in the tree
	remark bool
}

// partsOf returns the details of r.
func partsOf(t *table.Teller, r *dissect.Record, ascii bool) parts {
	branches, data := t.Tree(r)
	p := parts{bytes: data}
	header := t.Header(r)
	if ascii {
		header = strings.ReplaceAll(header, "→", "->")
	}
	for line := range strings.Lines(header) {
		p.rows = append(p.rows, part{Branch: table.Branch{Name: strings.TrimSpace(line)}})
	}
	for i, b := range branches {
		if n := len(p.rows); i == 0 && b.Name == "transport" && n > 0 { // the header's text says more
			p.at = b.End
			p.rows[n-1].End = b.End
			continue
		}
		p.rows = append(p.rows, part{Branch: b, field: true})
	}
	for _, text := range t.Remarks(r) {
		p.rows = append(p.rows, part{Branch: table.Branch{Name: text}, remark: true})
	}
	return p
}

// place returns the place of a part's bytes as read -V shows it.
func (p *part) place(at int) string { return string(table.AppendPlace(nil, p.Off-at, p.End-at)) }
