package browser

import (
	"fmt"
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"github.com/bcdissect/bcdissect/decode/plural"
	"github.com/bcdissect/bcdissect/report/internal/canvas"
	"github.com/bcdissect/bcdissect/report/internal/hexdump"
)

const (
	perRow = hexdump.PerRow

	wide         = 120 // columns from which fields and bytes are side by side
	leastStacked = 12  // minimum lines for three panes one below another
	hexWidth     = 76  // columns of a line of bytes, with four digits of its offset
)

// An area is the position and size of a pane on the screen.
type area struct {
	pane                pane
	x, y, width, height int
}

func (a *area) has(x, y int) bool {
	return x >= a.x && x < a.x+a.width && y >= a.y && y < a.y+a.height
}

// foot returns the number of lines below the panes.
func (m *model) foot() int {
	switch {
	case m.Asking == canvas.Nothing || m.Height < 6:
		return 1
	case m.Column >= 0 || m.Reason != "" || len(m.offers) > 1:
		return 3
	}
	return 1
}

// areas returns the areas of the visible panes.
func (m *model) areas() []area {
	y, room := 1, m.Height-1-m.foot()
	switch {
	case m.Width <= 0 || room <= 0:
		return nil
	case m.zoomed || room < leastStacked:
		return []area{{m.focus, 0, y, m.Width, room}}
	case m.Width >= wide:
		list := max(room*11/20, 4)
		left := m.Width - hexWidth
		return []area{{messages, 0, y, m.Width, list}, {fields, 0, y + list, left, room - list}, {hex, left, y + list, hexWidth, room - list}}
	}
	list := room * 9 / 20
	bytes := min(max(room/4, 3), 18)
	return []area{{messages, 0, y, m.Width, list}, {fields, 0, y + list, m.Width, room - list - bytes}, {hex, 0, y + room - bytes, m.Width, bytes}}
}

// page returns the number of visible rows of a pane.
func (m *model) page(p pane) int {
	for _, a := range m.areas() {
		if a.pane == p {
			return max(a.height-1, 1)
		}
	}
	return 1
}

// View implements [tea.Model].
func (m *model) View() tea.View {
	v := m.Draw(m.lines(), m.foot()/2)
	v.MouseMode = tea.MouseModeCellMotion
	return v
}

// lines returns the lines of the screen. There are as many as the screen is
// high, and none is wider than the screen.
func (m *model) lines() []string {
	if m.Width <= 0 || m.Height <= 0 {
		return nil
	}
	out := []string{m.title()}
	if m.Height == 1 {
		return out
	}
	room := m.Height - 1 - m.foot()
	switch {
	case m.help >= 0:
		out = append(out, m.helpLines(room)...)
	default:
		out = append(out, m.panes()...)
	}
	out = canvas.Exactly(out, 1+room)
	if m.command && m.help < 0 {
		m.overlay(out)
	}
	return append(out, m.bottom()...)
}

// title returns the first line: the source, the position and the length of the
// list.
func (m *model) title() string {
	right := ""
	switch n := m.count(); {
	case m.listing && m.index == nil:
		right = fmt.Sprintf("reading, %s ", plural.Count(m.read, "message"))
	case m.listing:
		right = fmt.Sprintf("filtering, %s of %s ", plural.Thousands(m.matched), plural.Thousands(m.read))
	case m.index == nil:
	case n == 0:
		right = fmt.Sprintf("none of %s ", plural.Count(m.index.seen, "message"))
	case n == m.index.seen:
		right = fmt.Sprintf("%s of %s ", plural.Thousands(m.cursor+1), plural.Count(n, "message"))
	default:
		right = fmt.Sprintf("%s of %s (%s) ", plural.Thousands(m.cursor+1), plural.Thousands(n), plural.Count(m.index.seen, "message"))
	}
	if live := m.liveTitle(); live != "" {
		right = strings.TrimSuffix(right, " ") + live + " "
	}
	name := " bcdissect  " + clean(m.b.opts.Title)
	if m.of.marked != nil {
		name += "  marked"
	}
	if m.of.follow.label != "" {
		name += "  " + m.of.follow.label
	}
	if m.of.expr != "" {
		name += "  filter " + clean(m.of.expr)
	}
	return m.Bar(name, right, 0)
}

// panes returns the lines of all panes.
func (m *model) panes() []string {
	var out []string
	for _, a := range m.areas() {
		var lines []string
		switch a.pane {
		case messages:
			lines = m.messageLines(a)
		case fields:
			lines = m.fieldLines(a)
		default:
			lines = m.byteLines(a)
		}
		lines = canvas.Exactly(lines, a.height)
		if a.x == 0 {
			out = append(out, lines...)
			continue
		}
		canvas.SideBySide(out[len(out)-len(lines):], lines, a.x)
	}
	return out
}

// head returns the title line of a pane.
func (m *model) head(a area, text string) string {
	r, st := m.Head(a.width, a.pane == m.focus)
	return r.Add(st, text).Fill(st, a.width).String()
}

// chosen returns the style and the sign of the chosen row of a pane.
func (m *model) chosen(p pane) (canvas.Style, string) {
	if p == m.focus {
		return canvas.Marked, m.Mark
	}
	return canvas.Chosen, m.Mark
}

// messageLines returns the pane of messages.
func (m *model) messageLines(a area) []string {
	name := "Messages"
	if m.shift > 0 {
		name += fmt.Sprintf("  from column %d", m.shift+1)
	}
	m.measure(a.height - 1)
	shown, width := m.shownColumns(a.width)
	whole := a.width
	a.width -= width
	out := []string{m.head(a, name)}
	if width > 0 {
		out[0] += m.cells(shown, canvas.Title, width, func(c *column) string { return c.title })
	}
	n := m.count()
	if n == 0 && m.index != nil {
		return append(out, m.Row(whole).Add(canvas.Warn, " "+m.emptiness()).String())
	}
	for row := m.top; row < n && len(out) < a.height; row++ {
		out = append(out, m.messageLine(row, a))
		if rec := m.win.has(row); rec != nil && width > 0 {
			st := canvas.Plain
			if row == m.cursor {
				st, _ = m.chosen(messages)
			}
			canvas.SideBySide(out[len(out)-1:], []string{m.cells(shown, st, width, func(c *column) string { return c.value(rec) })}, a.width)
		}
	}
	return out
}

// emptiness returns the reason that the list is empty.
func (m *model) emptiness() string {
	switch {
	case m.index.seen > 0:
		return "no message matches; Y changes the filter"
	case m.b.opts.Live != nil:
		return "no traffic of the game so far"
	}
	return "the captures hold no traffic of the game"
}

// messageLine returns a line of the list.
func (m *model) messageLine(row int, a area) string {
	rec := m.win.has(row)
	r := m.Row(a.width)
	if rec == nil {
		return r.Add(canvas.Faint, " "+m.More).String()
	}
	sign := " "
	if _, marked := m.marks[placeOf(rec)]; marked {
		sign = m.Noted
	}
	switch {
	case row == m.cursor:
		st, mark := m.chosen(messages)
		if sign == " " {
			sign = mark
		}
		r.Add(st, sign+m.shifted(m.sink(m.lineWidth(a), false).Line(rec))).Fill(st, a.width)
	case m.shift > 0 || !m.b.opts.Color || a.width < 3:
		r.Add(canvas.Plain, sign+m.shifted(m.sink(m.lineWidth(a), false).Line(rec)))
	default: // the line is narrow enough, and coloured
		return r.Add(canvas.Accent, sign).String() + m.sink(m.lineWidth(a), true).Line(rec)
	}
	return r.String()
}

// lineWidth returns the width of the lines of messages, 0 for no limit.
func (m *model) lineWidth(a area) int {
	if m.shift > 0 {
		return 0
	}
	return max(a.width-1, 1)
}

// shifted returns a line without the columns hidden on the left.
func (m *model) shifted(s string) string {
	for n := 0; n < m.shift && s != ""; {
		_, size := utf8.DecodeRuneInString(s)
		n += max(canvas.Width(s[:size]), 1)
		s = s[size:]
	}
	return s
}

// fieldLines returns the pane of the fields of a message.
func (m *model) fieldLines(a area) []string {
	if m.rec == nil {
		text := "Fields"
		if m.count() > 0 {
			text += "  reading " + m.More
		}
		return []string{m.head(a, text)}
	}
	out := []string{m.head(a, fmt.Sprintf("Fields of message %d in frame %d", m.rec.Part, m.frame()))}
	places, names := 0, 0
	for _, at := range m.rows {
		if p := &m.parts.rows[at]; p.field {
			places = max(places, len(p.place(m.parts.at)))
			names = max(names, 2*p.Depth+2+canvas.Width(p.Name))
		}
	}
	names = min(names, max(a.width/2, 12))
	for i := m.fieldTop; i < len(m.rows) && len(out) < a.height; i++ {
		at := m.rows[i]
		p := &m.parts.rows[at]
		plain, sign := canvas.Plain, " "
		faint := canvas.Faint
		if i == m.field {
			plain, sign = m.chosen(fields)
			faint = plain
		}
		r := m.Row(a.width).Add(plain, sign)
		switch {
		case !p.field && p.remark && i != m.field:
			r.Add(canvas.Warn, p.Name)
		case !p.field && i != m.field:
			r.Add(canvas.Faint, p.Name)
		case !p.field:
			r.Add(plain, p.Name)
		default:
			mark := "  "
			if p.Group {
				mark = m.Opened + " "
				if m.closed[p.path] {
					mark = m.Mark + " "
				}
			}
			r.Add(faint, m.Pad(p.place(m.parts.at), places, false)+"  ")
			r.Add(plain, m.Pad(strings.Repeat("  ", p.Depth)+mark+p.Name, names, false)+"  "+p.Value)
		}
		if i == m.field {
			r.Fill(plain, a.width)
		}
		out = append(out, r.String())
	}
	return out
}

// frame returns the number of the frame of the chosen message.
func (m *model) frame() int {
	if m.rec.Datagram == nil {
		return 0
	}
	return m.rec.Datagram.Number
}

// byteLines returns the pane of the bytes of a message.
func (m *model) byteLines(a area) []string {
	b := m.parts.bytes
	name := "Bytes"
	if m.rec != nil {
		name = plural.Count(len(b), "byte") + ", deciphered"
		if n := len(m.rec.Pieces); n > 0 {
			name = fmt.Sprintf("%s, reassembled from %d frames", plural.Count(len(b), "byte"), n)
		}
		if off, end := m.marked(); off < end {
			name += fmt.Sprintf("  %d marked at %d", end-off, off)
		}
	}
	out := []string{m.head(a, name)}
	off, end := m.marked()
	for from := m.byteTop * perRow; from < len(b) && len(out) < a.height; from += perRow {
		to := min(from+perRow, len(b))
		line := string(hexdump.Append(nil, b[from:to], from, " "))
		out = append(out, m.highlighted(strings.TrimSuffix(line, "\n"), from, max(off, from), min(end, to), a))
	}
	return out
}

// highlighted returns a line of bytes with the bytes from off to end
// highlighted.
func (m *model) highlighted(line string, from, off, end int, a area) string {
	r := m.Row(a.width)
	if off >= end {
		return r.Add(canvas.Plain, line).String()
	}
	first, last := off-from, end-1-from
	lo, _ := hexdump.Columns(line, first)
	hi, _ := hexdump.Columns(line, last)
	_, textLo := hexdump.Columns(line, first)
	_, textHi := hexdump.Columns(line, last)
	if !m.b.opts.Color { // brackets highlight them without colour
		c := []byte(line)
		c[lo-1], c[hi+2] = '[', ']'
		return r.Add(canvas.Plain, string(c)).String()
	}
	r.Add(canvas.Plain, line[:lo]).Add(canvas.Marked, line[lo:hi+2]).Add(canvas.Plain, line[hi+2:textLo])
	return r.Add(canvas.Marked, line[textLo:textHi+1]).Add(canvas.Plain, line[textHi+1:]).String()
}

// byteUnder returns the offset of the byte at a column of a line of bytes, -1
// for none.
func (m *model) byteUnder(column, line int) int {
	from := line * perRow
	if from >= len(m.parts.bytes) {
		return -1
	}
	to := min(from+perRow, len(m.parts.bytes))
	text := string(hexdump.Append(nil, m.parts.bytes[from:to], from, " "))
	for i := range to - from {
		at, char := hexdump.Columns(text, i)
		if column == char || column >= at && column < at+3 && column < char-2 {
			return from + i
		}
	}
	return -1
}

// overlay draws the copied command over the last lines of the panes.
func (m *model) overlay(out []string) {
	text := m.copied
	width := max(m.Width-2, 1)
	var lines []string
	for len(text) > width && len(lines) < len(out)-3 {
		cut := width
		for cut > 1 && !utf8.RuneStart(text[cut]) {
			cut--
		}
		lines, text = append(lines, text[:cut]), text[cut:]
	}
	lines = append(lines, text)
	lines = append([]string{"copied, if the terminal allows it; any key goes on:"}, lines...)
	lines = lines[:min(len(lines), max(len(out)-1, 0))]
	for i, line := range lines {
		st := canvas.Plain
		if i == 0 {
			st = canvas.Title
		}
		out[len(out)-len(lines)+i] = m.Row(m.Width).Add(st, " "+line).Fill(st, m.Width).String()
	}
}

// bottom returns the last lines: a question, a text about the last key, or a
// list of keys.
func (m *model) bottom() []string {
	r := m.Row(m.Width)
	switch {
	case m.Asking != canvas.Nothing:
		bar := m.Question()
		if h := m.history[m.Asking]; m.Input.Value() == "" && len(h) > 0 {
			bar = m.Row(m.Width).Add(canvas.Accent, string(m.Asking)).Add(canvas.Faint, " (up: "+clean(h[len(h)-1])+")").String()
		}
		if m.foot() == 1 {
			return []string{bar}
		}
		above, below := m.Row(m.Width), m.Row(m.Width)
		switch {
		case m.Reason != "":
			above.Add(canvas.Bad, m.Reason)
		case len(m.offers) > 1:
			m.addOffers(above)
		}
		if m.Column >= 0 {
			x := len(m.Asking)
			if c := m.Input.Cursor(); c != nil {
				x += c.X
			}
			below.Fill(canvas.Plain, min(x, m.Width-1)).Add(canvas.Bad, "^")
		} else {
			below.Add(canvas.Faint, "enter applies, esc cancels, tab completes, up and down: earlier ones")
		}
		return []string{above.String(), bar, below.String()}
	case m.Reason != "":
		r.Add(canvas.Bad, m.Reason)
	case m.help >= 0:
		r.Add(canvas.Faint, "q goes back, arrows scroll")
	case m.said != "":
		r.Add(canvas.Accent, m.said)
	case m.rec != nil && m.marks[placeOf(m.rec)] != "":
		r.Add(canvas.Accent, "note: "+clean(m.marks[placeOf(m.rec)]))
	default:
		r.Add(canvas.Faint, keysLine(m.Width))
	}
	return []string{r.String()}
}

// keysLine returns a line with the most useful keys.
func keysLine(width int) string {
	all := []string{"q quit", "? help", "Y filter", "/ search", "n N again", "p player", "o object", "e problem", "m mark", "tab pane", "c copy", "w save", ": frame", "t time", "z zoom", "T times"}
	for len(all) > 0 && len(strings.Join(all, "  ")) > width {
		all = all[:len(all)-1]
	}
	return strings.Join(all, "  ")
}

// addOffers adds the suggested continuations of an unfinished filter.
func (m *model) addOffers(r *canvas.Row) {
	for k := range m.offers {
		i := (max(m.offered, 0) + k) % len(m.offers)
		word := strings.TrimLeft(strings.TrimPrefix(m.offers[i], m.begun[:wordStart(m.begun)]), " ")
		st := canvas.Faint
		if i == m.offered {
			st = canvas.Accent
		}
		r.Add(st, clean(word)).Add(canvas.Plain, "  ")
	}
}

// wordStart returns the offset of the last word of an expression.
func wordStart(s string) int { return strings.LastIndexAny(s, " (!{,") + 1 }
