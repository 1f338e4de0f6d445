package table

import (
	"bytes"
	"io"
	"slices"
	"strings"

	"github.com/olekukonko/tablewriter/tw"
)

// A column of a table that has to fit a terminal.
type column struct {
	head  string
	cells []string
	text  bool // stands left; numbers stand right
	least int  // columns to which its text is folded before columns are left out, 0 if it is never folded
	drop  int  // the columns with the lowest number are left out first, 0 if never
}

// narrowest is the least width of a column with text.
const narrowest = 6

// fitted draws a table no wider than the terminal: it folds the text of the
// widest columns, and leaves out columns if that is not enough.
func (w *widths) fitted(out io.Writer, o Options, all []column) error {
	const gap = 2 // a space on either side of each column
	room := make([]int, len(all))
	natural := func() (sum int) {
		for i := range all {
			room[i] = w.of([]byte(all[i].head))
			for _, c := range all[i].cells {
				room[i] = max(room[i], w.of([]byte(c)))
			}
			sum += room[i] + gap
		}
		return sum
	}
	least := func() (sum int) {
		for i := range all {
			n := room[i]
			if all[i].least > 0 {
				n = min(n, max(all[i].least, w.of([]byte(all[i].head))))
			}
			sum += n + gap
		}
		return sum
	}
	total := natural()
	if o.Width > 0 && total > o.Width {
		all = slices.Clone(all)
		for least() > o.Width {
			first := -1
			for i := range all {
				if d := all[i].drop; d > 0 && (first < 0 || d < all[first].drop) {
					first = i
				}
			}
			if first < 0 {
				break
			}
			all = slices.Delete(all, first, first+1)
			room = room[:len(all)]
			natural()
		}
		short := false // even so
		for total = natural(); total > o.Width; {
			widest := -1
			for i := range all {
				c := &all[i]
				least := max(c.least, w.of([]byte(c.head)))
				if short {
					least = narrowest
				}
				if c.least > 0 && room[i] > least && (widest < 0 || room[i] > room[widest]) {
					widest = i
				}
			}
			switch {
			case widest >= 0:
				room[widest]--
				total--
			case short:
				total = 0
			default:
				short = true
			}
		}
	}
	head := make([]string, len(all))
	align := make(tw.Alignment, len(all))
	var rows [][]string
	for i := range all {
		head[i], align[i] = all[i].head, tw.AlignRight
		if all[i].text {
			align[i] = tw.AlignLeft
		}
	}
	for r := range all[0].cells {
		from := len(rows)
		for i := range all {
			lines := []string{all[i].cells[r]}
			if all[i].least > 0 {
				lines = w.fold(all[i].cells[r], max(room[i], 1))
			}
			for k, line := range lines {
				if from+k == len(rows) {
					rows = append(rows, make([]string, len(all)))
				}
				rows[from+k][i] = strings.ReplaceAll(line, hardSpace, " ")
			}
		}
	}
	var drawn bytes.Buffer
	if err := aligned(&drawn, o, head, rows, align); err != nil {
		return err
	}
	var cut []byte
	for line := range bytes.Lines(drawn.Bytes()) { // nothing else helps on a terminal this narrow
		if n, long := w.cut(bytes.TrimSuffix(line, []byte("\n")), o.Width, ""); long && o.Width > 0 {
			line = append(line[:n:n], '\n')
		}
		cut = append(cut, line...)
	}
	_, err := out.Write(cut)
	return err
}
