package table

import (
	"bytes"
	"io"
	"slices"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
)

// A column of a table that has to fit a terminal.
type column struct {
	head  string
	cells []string
	text  bool // aligned left, unlike numbers
	least int  // columns to which the text is folded before columns are dropped, 0 if it is never folded
	whole bool // words are not cut
	drop  int  // the column with the lowest number is dropped first, 0 for never
}

// columnsOf returns the columns of a table. The first left columns contain
// text.
func columnsOf(head []string, rows [][]string, left int) []column {
	all := make([]column, len(head))
	for i := range head {
		all[i] = column{head: head[i], text: i < left}
	}
	for _, r := range rows {
		addRow(all, r...)
	}
	return all
}

// addRow adds a row to the columns of a table.
func addRow(all []column, cells ...string) {
	for i, cell := range cells {
		all[i].cells = append(all[i].cells, cell)
	}
}

// narrowest is the minimum width of a column with text.
const narrowest = 6

// fitted draws a table that is not wider than the terminal. It drops columns
// until the rest fits when folded, and folds the widest columns.
func (w *widths) fitted(out io.Writer, o Options, all []column) error {
	room := w.rooms(all)
	if o.Width > 0 && taken(room) > o.Width {
		all = slices.Clone(all)
		for taken(w.folded(all, room)) > o.Width {
			first := -1
			for i := range all {
				if d := all[i].drop; d > 0 && (first < 0 || d < all[first].drop) {
					first = i
				}
			}
			if first < 0 {
				break
			}
			all, room = slices.Delete(all, first, first+1), slices.Delete(room, first, first+1)
		}
		least := w.folded(all, room)
		if taken(least) > o.Width { // still too wide
			for i := range all {
				if all[i].least > 0 {
					least[i] = min(least[i], narrowest)
				}
			}
		}
		for taken(room) > o.Width {
			widest := -1
			for i := range room {
				if room[i] > least[i] && (widest < 0 || room[i] > room[widest]) {
					widest = i
				}
			}
			if widest < 0 {
				break
			}
			room[widest]--
		}
	}
	return w.draw(out, o, all, room)
}

// hardSpace replaces a space where a line must not break.
const hardSpace = "\x00"

// draw draws the columns. Foldable columns get the widths in room.
func (w *widths) draw(out io.Writer, o Options, all []column, room []int) error {
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
				lines = w.fold(all[i].cells[r], max(room[i], 1), all[i].whole)
			}
			for k, line := range lines {
				if from+k == len(rows) {
					rows = append(rows, make([]string, len(all)))
				}
				rows[from+k][i] = strings.ReplaceAll(line, hardSpace, " ")
			}
		}
	}
	symbols := tw.StyleLight
	if o.ASCII {
		symbols = tw.StyleASCII
	}
	var drawn bytes.Buffer
	t := tablewriter.NewTable(&drawn,
		tablewriter.WithRenderer(renderer.NewBlueprint(tw.Rendition{
			Borders:  tw.BorderNone,
			Symbols:  tw.NewSymbols(symbols),
			Settings: tw.Settings{Separators: tw.SeparatorsNone, Lines: tw.Lines{ShowHeaderLine: tw.On}},
		})),
		tablewriter.WithHeaderAutoFormat(tw.Off),
		tablewriter.WithAlignment(align),
		tablewriter.WithRowAutoWrap(tw.WrapNone),
		tablewriter.WithHeaderAutoWrap(tw.WrapNone),
		tablewriter.WithEastAsian(tw.Off),
	)
	t.Header(head)
	if err := t.Bulk(rows); err != nil {
		return err
	}
	if err := t.Render(); err != nil {
		return err
	}
	var text []byte
	for line := range bytes.Lines(drawn.Bytes()) {
		line = bytes.TrimRight(line, " \n") // the padding of the last cells is not needed
		plain := unpainted(line)
		if n, long := w.cut(plain, o.Width, ""); long && o.Width > 0 { // the terminal is too narrow for any other way
			line = plain[:n]
		}
		text = append(append(text, line...), '\n')
	}
	_, err := out.Write(text)
	return err
}

// unpainted returns text without colour sequences, which take no columns. Text
// from the network contains none.
func unpainted(b []byte) []byte {
	for {
		from := bytes.IndexByte(b, 0x1b)
		if from < 0 {
			return b
		}
		size := bytes.IndexByte(b[from:], 'm')
		if size < 0 {
			return b
		}
		b = slices.Concat(b[:from], b[from+size+1:])
	}
}

// rooms returns the widths that columns need without folding.
func (w *widths) rooms(all []column) []int {
	room := make([]int, len(all))
	for i := range all {
		room[i] = w.of([]byte(all[i].head))
		for _, c := range all[i].cells {
			room[i] = max(room[i], w.of(unpainted([]byte(c))))
		}
	}
	return room
}

// folded returns the widths to which columns are folded before any column is
// dropped.
func (w *widths) folded(all []column, room []int) []int {
	least := slices.Clone(room)
	for i := range all {
		if all[i].least > 0 {
			least[i] = min(room[i], max(all[i].least, w.of([]byte(all[i].head))))
		}
	}
	return least
}

// taken returns the width of a table. Each column has a space on both sides.
func taken(room []int) int {
	sum := 2 * len(room)
	for _, n := range room {
		sum += n
	}
	return sum
}
