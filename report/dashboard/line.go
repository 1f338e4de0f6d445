package dashboard

import (
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/bcdissect/bcdissect/report"
)

// A style is how text stands out.
type style int

const (
	plain  style = iota
	bar          // the first line
	title        // of a pane
	active       // the title of the pane in focus
	faint
	good
	warn
	bad
	accent
	styles
)

// look is how things are drawn.
type look struct {
	color  bool
	ascii  bool
	styles [styles]lipgloss.Style
	more   string // the end of cut text
	bars   []rune // of sparklines, from none to most
	mark   string // of the pane in focus
	sorted string // of the column that is sorted by
	out    string // before numbers of the traffic to the player
	none   string
	seek   string // the keys that move in a recording
}

func newLook(o Options) look {
	l := look{color: o.Color, ascii: o.ASCII, more: "…", bars: []rune(" ▁▂▃▄▅▆▇█"), mark: "▸", sorted: "▾", out: "↓", none: "–", seek: "←→"}
	if o.ASCII {
		l.more, l.bars, l.mark, l.sorted, l.out, l.none, l.seek = "~", []rune(" .,:-=+*#"), ">", "*", "<", "-", "< >"
	}
	s := lipgloss.NewStyle()
	l.styles = [styles]lipgloss.Style{
		plain:  s,
		bar:    s.Reverse(true),
		title:  s.Underline(true),
		active: s.Bold(true).Underline(true).Foreground(lipgloss.Cyan),
		faint:  s.Faint(true),
		good:   s.Foreground(lipgloss.Green),
		warn:   s.Foreground(lipgloss.Yellow),
		bad:    s.Foreground(lipgloss.Red),
		accent: s.Foreground(lipgloss.Cyan),
	}
	return l
}

// cut shortens text to a width.
func (l *look) cut(s string, width int) string {
	if l.ascii {
		s = report.ASCII(s)
	}
	switch {
	case width <= 0:
		return ""
	case len(s) <= width || lipgloss.Width(s) <= width:
		return s
	case width == 1: // for lipgloss no width is no limit
		return l.more
	}
	return lipgloss.NewStyle().MaxWidth(width-1).Render(s) + l.more
}

// pad brings text to a width, to the left or to the right of it.
func (l *look) pad(s string, width int, right bool) string {
	s = l.cut(s, width)
	fill := strings.Repeat(" ", max(width-lipgloss.Width(s), 0))
	if right {
		return fill + s
	}
	return s + fill
}

// A row is a line of the screen in the making. It does not get wider than it
// may.
type row struct {
	look  *look
	width int
	used  int
	b     strings.Builder
}

func (l *look) row(width int) *row { return &row{look: l, width: width} }

// add adds text, as far as there is room.
func (r *row) add(st style, s string) *row {
	s = r.look.cut(s, r.width-r.used)
	if s == "" {
		return r
	}
	r.used += lipgloss.Width(s)
	if r.look.color && st != plain {
		s = r.look.styles[st].Inline(true).Render(s)
	}
	r.b.WriteString(s)
	return r
}

// fill adds spaces up to a column.
func (r *row) fill(st style, column int) *row {
	if n := min(column, r.width) - r.used; n > 0 {
		r.add(st, strings.Repeat(" ", n))
	}
	return r
}

func (r *row) String() string { return r.b.String() }
