// Not part of the library: package histogram renders counts as bars: the number
// of messages with each opcode, and of ship updates with each dirty flag.
package histogram

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/measure"
	"github.com/bcdissect/bcdissect/report"
)

// Options control how a histogram looks.
type Options struct {
	Width int  // columns, 0 for 100
	Color bool // draw bars in colour, with ANSI colour sequences
	ASCII bool // draw bars with number signs instead of blocks
}

const (
	defaultWidth = 100
	leastBar     = 6  // minimum width of a bar, narrower ones are not drawn
	mostBar      = 60 // maximum width of a bar, longer ones are not more readable

	colorOn, colorOff = "\x1b[36m", "\x1b[0m"
)

// Write writes the histogram of a tally.
func Write(w io.Writer, t *measure.Tally, o Options) error {
	_, err := w.Write(Append(nil, t, o))
	return err
}

// Append appends the histogram of a tally.
func Append(dst []byte, t *measure.Tally, o Options) []byte {
	if o.Width <= 0 {
		o.Width = defaultWidth
	}
	dst = report.AppendSummary(dst, t)
	dst = append(dst, '\n')
	dst = opcodes(dst, t, &o)
	for _, dir := range []dissect.Dir{dissect.ToHost, dissect.FromHost} {
		if f := &t.Flags[dir]; f.Total() > 0 {
			dst = append(dst, '\n')
			dst = flags(dst, f, "ship updates, "+report.Way(dir, "client", o.ASCII), &o)
		}
	}
	return dst
}

func opcodes(dst []byte, t *measure.Tally, o *Options) []byte {
	p := plot{head: []string{"game messages", "count", "share", "bytes", report.Way(dissect.ToHost, "", o.ASCII), report.Way(dissect.FromHost, "", o.ASCII)}}
	for _, c := range t.ByCount() {
		name := c.Name
		if name == "" {
			name = "unknown"
		}
		p.add(c.Total, c.Opcode.String()+" "+name, count(c.Total), percent(t.Share(c.Total)), count(c.Bytes), count(c.ToHost), count(c.FromHost))
	}
	return p.append(dst, o)
}

func flags(dst []byte, f *measure.FlagCount, title string, o *Options) []byte {
	p := plot{head: []string{title, "count", "share"}}
	total := f.Total()
	for _, c := range f.ByCount() {
		label := fmt.Appendf(nil, "0x%02X ", c.Flags)
		p.add(c.Count, string(measure.AppendFlagNames(label, c.Flags)), count(c.Count), percent(float64(c.Count)/float64(total)))
	}
	return p.append(dst, o)
}

func count(n int64) string { return strconv.FormatInt(n, 10) }

func percent(share float64) string { return string(report.AppendPercent(nil, share)) }

// A plot is a table whose rows end with a bar. The first cell is aligned left,
// the others right.
type plot struct {
	head []string
	rows [][]string
	size []int64 // lengths of the bars
}

func (p *plot) add(size int64, cells ...string) {
	p.rows = append(p.rows, cells)
	p.size = append(p.size, size)
}

func (p *plot) append(dst []byte, o *Options) []byte {
	widths := make([]int, len(p.head))
	for i := range widths {
		widths[i] = utf8.RuneCountInString(p.head[i])
		for _, r := range p.rows {
			widths[i] = max(widths[i], len(r[i]))
		}
	}
	used := 0
	for _, w := range widths {
		used += w + 2
	}
	room := min(o.Width-used, mostBar)
	var most int64
	for _, n := range p.size {
		most = max(most, n)
	}
	dst = cells(dst, p.head, widths)
	for i, r := range p.rows {
		dst = cells(dst, r, widths)
		if room >= leastBar {
			dst = dst[:len(dst)-1]
			dst = append(dst, "  "...)
			if o.Color {
				dst = append(dst, colorOn...)
			}
			dst = bar(dst, p.size[i], most, room, o.ASCII)
			if o.Color {
				dst = append(dst, colorOff...)
			}
			dst = append(dst, '\n')
		}
	}
	return dst
}

func cells(dst []byte, row []string, widths []int) []byte {
	dst = append(dst, row[0]...)
	dst = append(dst, strings.Repeat(" ", widths[0]-utf8.RuneCountInString(row[0]))...)
	for i, c := range row[1:] {
		dst = append(dst, strings.Repeat(" ", 2+widths[i+1]-utf8.RuneCountInString(c))...)
		dst = append(dst, c...)
	}
	return append(dst, '\n')
}

// bar appends a bar for n. A bar for most has the length room. If n is above 0,
// the bar is at least a visible part of a block.
func bar(dst []byte, n, most int64, room int, ascii bool) []byte {
	const whole = 8 // parts of a block are eighths
	if ascii {
		length := max(int((n*int64(room)+most/2)/most), 1)
		return append(dst, strings.Repeat("#", length)...)
	}
	eighths := max(int((n*int64(room)*whole+most/2)/most), 1)
	for ; eighths >= whole; eighths -= whole {
		dst = append(dst, "█"...)
	}
	if eighths > 0 { // from U+258F, one eighth, down to U+2589, seven eighths
		dst = utf8.AppendRune(dst, rune(0x2590-eighths))
	}
	return dst
}
