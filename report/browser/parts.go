package browser

import (
	"strings"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/report/table"
)

// parts are the details of a message.
type parts struct {
	bytes []byte // the deciphered message, complete if it came in fragments
	at    int    // offset in bytes at which the positions of fields begin
	rows  []part
}

// A part is a row of the details: a branch of the tree, or text about the
// message, which is in Name.
type part struct {
	table.Branch
	field    bool // the part is a field
	remark   bool
	path     string // the names that lead to a field, separated by dots
	outer    int    // row of the group that contains it, -1 for none
	from, to int    // offsets of its bytes, including those of the parts in it
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
	var open []int // rows of the groups that contain the current part
	for i, b := range branches {
		if n := len(p.rows); i == 0 && b.Name == "transport" && n > 0 { // the text of the header has more information
			p.at = b.End
			p.rows[n-1].End, p.rows[n-1].to = b.End, b.End
			continue
		}
		open = append(open[:min(b.Depth, len(open))], len(p.rows))
		q := part{Branch: b, field: true, path: b.Name, outer: -1}
		if n := len(open) - 2; n >= 0 {
			q.outer = open[n]
			q.path = p.rows[q.outer].path + "." + b.Name
		}
		p.rows = append(p.rows, q)
		for _, o := range open {
			if b.Off < b.End {
				p.rows[o].spans(b.Off, min(b.End, len(data)))
			}
		}
	}
	for _, text := range t.Remarks(r) {
		p.rows = append(p.rows, part{Branch: table.Branch{Name: text}, remark: true})
	}
	return p
}

// spans extends the bytes of a part by the bytes from off to end.
func (p *part) spans(off, end int) {
	if p.from == p.to {
		p.from = off
	}
	p.from, p.to = min(p.from, off), max(p.to, end)
}

// place returns the position of a part's bytes in the format of read -V.
func (p *part) place(at int) string { return string(table.AppendPlace(nil, p.Off-at, p.End-at)) }
