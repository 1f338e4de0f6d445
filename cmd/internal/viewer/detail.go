package viewer

import (
	"encoding/hex"
	"slices"
	"strings"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/report/table"
)

// Numbers of records around a chosen one that are kept, since the next choice
// is likely to be near.
const (
	windowBefore = 200
	windowAfter  = 200
)

// A window reads single records in a passage. It keeps some records, and starts
// again from the beginning for earlier ones.
type window struct {
	*passage
	next  int               // number of the next record
	from  int               // number of the first record to keep
	first int               // number of the first record in kept
	kept  []*dissect.Record // all records from first to next
	done  bool              // there are no more records
}

// at returns the record of a row, or nil if there is none.
func (l *List) at(row int) *dissect.Record {
	w := l.details
	if w == nil || row < w.first {
		const most = 64
		p, err := passTapped(l.names, nil, most)
		if err != nil {
			return nil
		}
		if w != nil {
			w.close()
		}
		w = &window{passage: p}
		l.details = w
	}
	if row >= w.next {
		w.from = max(row-windowBefore, 0)
		drop := min(max(w.from-w.first, 0), len(w.kept))
		w.kept = slices.Clone(w.kept[drop:])
		w.first += drop
		for !w.done && w.next <= row+windowAfter {
			w.done = !w.step(w.add)
		}
	}
	if i := row - w.first; i < len(w.kept) {
		return w.kept[i]
	}
	return nil
}

func (w *window) add(r *dissect.Record) error {
	if w.next >= w.from {
		if len(w.kept) == 0 {
			w.first = w.next
		}
		w.kept = append(w.kept, r.Clone())
	}
	w.next++
	return nil
}

// A Detail has everything about one record.
type Detail struct {
	Row      int            `json:"row"`
	Frame    int            `json:"frame"`
	Time     float64        `json:"time"` // Unix time in milliseconds
	Name     string         `json:"name"`
	Header   []string       `json:"header"`
	Branches []table.Branch `json:"branches"`
	Bytes    string         `json:"bytes"` // hexadecimal
	Cut      int            `json:"cut"`   // number of bytes that are not shown
	Remarks  []string       `json:"remarks"`
}

// mostBytes and mostBranches limit the parts of a record that are shown.
const (
	mostBytes    = 4096
	mostBranches = 4096
)

// Detail returns everything about a row. It returns nil if the captures can no
// longer be read.
func (l *List) Detail(row int) *Detail {
	r := l.at(row)
	if r == nil {
		return nil
	}
	cells := l.teller.Cells(r)
	d := &Detail{Row: row, Name: cells.Name, Header: []string{}, Remarks: append([]string{}, l.teller.Remarks(r)...)}
	if r.Datagram != nil {
		d.Frame, d.Time = r.Datagram.Number, float64(r.Datagram.Time.UnixMicro())/1e3
	}
	for line := range strings.Lines(l.teller.Header(r)) {
		d.Header = append(d.Header, strings.TrimSpace(line))
	}
	branches, data := l.teller.Tree(r)
	d.Branches = append([]table.Branch{}, branches[:min(len(branches), mostBranches)]...)
	shown := min(len(data), mostBytes)
	d.Bytes, d.Cut = hex.EncodeToString(data[:shown]), len(data)-shown
	return d
}
