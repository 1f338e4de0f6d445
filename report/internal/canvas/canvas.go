// Package canvas holds what programs that take a whole terminal share: how they run,
// ask and draw lines. No line is wider than it may be. Text from the network has to be
// escaped before.
package canvas

import (
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/bcdissect/bcdissect/report"
)

// A Style is how text stands out.
type Style int

// The styles.
const (
	Plain  Style = iota
	Bar          // the first line
	Title        // of a pane
	Active       // the title of the pane in focus
	Faint
	Good
	Warn
	Bad
	Accent
	Marked // the chosen row of the pane in focus
	Chosen // that of another pane
	styles
)

// A Look is how lines are drawn.
type Look struct {
	color  bool
	ascii  bool
	styles [styles]lipgloss.Style

	More  string // the end of cut text
	Mark  string // of the pane in focus, and of a closed group
	Noted string // of a message that the user has marked

	Opened string // an open group
}

// New returns a look, with or without colours and characters beyond ASCII.
func New(color, ascii bool) Look {
	l := Look{color: color, ascii: ascii, More: "…", Mark: "▸", Noted: "✓", Opened: "▾"}
	if ascii {
		l.More, l.Mark, l.Noted, l.Opened = "~", ">", "*", "v"
	}
	s := lipgloss.NewStyle()
	l.styles = [styles]lipgloss.Style{
		Plain:  s,
		Bar:    s.Reverse(true),
		Title:  s.Underline(true),
		Active: s.Bold(true).Underline(true).Foreground(lipgloss.Cyan),
		Faint:  s.Faint(true),
		Good:   s.Foreground(lipgloss.Green),
		Warn:   s.Foreground(lipgloss.Yellow),
		Bad:    s.Foreground(lipgloss.Red),
		Accent: s.Foreground(lipgloss.Cyan),
		Marked: s.Reverse(true),
		Chosen: s.Underline(true),
	}
	return l
}

// Width returns the columns of text without sequences.
func Width(s string) int { return lipgloss.Width(s) }

// Cut shortens text to a width.
func (l *Look) Cut(s string, width int) string {
	if l.ascii {
		s = report.ASCII(s)
	}
	switch {
	case width <= 0:
		return ""
	case len(s) <= width || lipgloss.Width(s) <= width:
		return s
	case width == 1: // for lipgloss no width is no limit
		return l.More
	}
	return lipgloss.NewStyle().MaxWidth(width-1).Render(s) + l.More
}

// Pad brings text to a width, to the left or to the right of it.
func (l *Look) Pad(s string, width int, right bool) string {
	s = l.Cut(s, width)
	fill := strings.Repeat(" ", max(width-lipgloss.Width(s), 0))
	if right {
		return fill + s
	}
	return s + fill
}

// A Row is a line of the screen in the making. It does not get wider than it
// may.
type Row struct {
	look  *Look
	width int
	used  int
	b     strings.Builder
}

// Row begins a line of a width.
func (l *Look) Row(width int) *Row { return &Row{look: l, width: width} }

// Used returns the columns used so far.
func (r *Row) Used() int { return r.used }

// Add adds text, as far as there is room.
func (r *Row) Add(st Style, s string) *Row {
	s = r.look.Cut(s, r.width-r.used)
	if s == "" {
		return r
	}
	r.used += lipgloss.Width(s)
	if r.look.color && st != Plain {
		s = r.look.styles[st].Inline(true).Render(s)
	}
	r.b.WriteString(s)
	return r
}

// Fill adds spaces up to a column.
func (r *Row) Fill(st Style, column int) *Row {
	if n := min(column, r.width) - r.used; n > 0 {
		r.Add(st, strings.Repeat(" ", n))
	}
	return r
}

// String returns the line.
func (r *Row) String() string { return r.b.String() }
