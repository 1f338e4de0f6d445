package table

import (
	"bytes"
	"fmt"
	"io"

	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/report"
)

// A page is an unfinished report: text and tables for a terminal.
type page struct {
	b      bytes.Buffer
	o      Options
	theme  *theme
	widths widths
	more   string // replaces the end of text that is cut
	err    error
}

func newPage(o Options) page { return page{o: o, theme: newTheme(o.Color), more: signsOf(o).more} }

// flush writes the page. It returns an error if a table could not be drawn.
func (p *page) flush(w io.Writer) error {
	if p.err == nil {
		_, p.err = w.Write(p.b.Bytes())
	}
	return p.err
}

func (p *page) printf(format string, args ...any) { fmt.Fprintf(&p.b, format, args...) }

// paint returns text in a style.
func (p *page) paint(s string, look style) string {
	return string(p.theme.append(nil, []byte(s), look))
}

// brief returns text from the network, escaped and cut to a width.
func (p *page) brief(s wire.Untrusted, width int) string {
	b := report.AppendEscaped(nil, s)
	if k, cut := p.widths.cut(b, width, p.more); cut {
		b = append(b[:k], p.more...)
	}
	return string(b)
}

// table draws columns so that they fit the terminal.
func (p *page) table(all []column) {
	if p.err == nil {
		p.err = p.widths.fitted(&p.b, p.o, all)
	}
}

// grid draws a table whose first left columns contain text. Its width is not
// limited.
func (p *page) grid(head []string, rows [][]string, left int) {
	if p.err == nil {
		p.err = p.widths.draw(&p.b, Options{ASCII: p.o.ASCII}, columnsOf(head, rows, left), nil)
	}
}

// folded writes a heading and text that is folded to the width of the terminal.
// All lines of the text start at the same column.
func (p *page) folded(head string, column int, text string) {
	room := 0
	if p.o.Width > 0 {
		room = max(p.o.Width-column, narrowest)
	}
	for i, line := range p.widths.fold(text, room, false) {
		if i > 0 {
			head = string(pad(nil, column))
		}
		p.printf("%s%s\n", head, line)
	}
}
