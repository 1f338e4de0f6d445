// Package canvas provides what full-screen terminal programs share: how they
// run, ask questions and draw lines. No line is wider than its limit. The
// caller must escape text from the network.
package canvas

import (
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/bcdissect/bcdissect/report"
)

// A Style is the style of a text.
type Style int

// The styles.
const (
	Plain  Style = iota
	Bar          // the first line
	Title        // title of a pane
	Active       // title of the focused pane
	Faint
	Good
	Warn
	Bad
	Accent
	Marked // chosen row of the focused pane
	Chosen // chosen row of another pane
	styles
)

// A Look has the styles and symbols of lines.
type Look struct {
	color  bool
	ascii  bool
	styles [styles]lipgloss.Style

	More  string // replaces the end of text that is cut
	Mark  string // marks the focused pane, and a closed group
	Noted string // marks a message with a mark of the user

	Opened string // marks an open group
}

// New returns a look with or without colours, and with or without characters
// that are not ASCII.
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

// Width returns the number of columns of text, not counting escape sequences.
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
	case width == 1: // lipgloss would treat the width 0 as no limit
		return l.More
	}
	return lipgloss.NewStyle().MaxWidth(width-1).Render(s) + l.More
}

// Pad pads or cuts text to a width. If right is set, the text is aligned right.
func (l *Look) Pad(s string, width int, right bool) string {
	s = l.Cut(s, width)
	fill := strings.Repeat(" ", max(width-lipgloss.Width(s), 0))
	if right {
		return fill + s
	}
	return s + fill
}

// A Row is an unfinished line of the screen. It does not become wider than its
// width.
type Row struct {
	look  *Look
	width int
	used  int
	b     strings.Builder
}

// Row begins a line of a width.
func (l *Look) Row(width int) *Row { return &Row{look: l, width: width} }

// Used returns the number of columns used so far.
func (r *Row) Used() int { return r.used }

// Add adds text and cuts it if there is no room.
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
