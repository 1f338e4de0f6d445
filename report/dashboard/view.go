package dashboard

import (
	"fmt"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/bcdissect/bcdissect/decode/plural"
	"github.com/bcdissect/bcdissect/dissect/match"
	"github.com/bcdissect/bcdissect/report/internal/canvas"
)

// View implements [tea.Model].
func (m *model) View() tea.View {
	return m.Draw(m.lines(), 0)
}

// lines returns the lines of the screen. There are as many as the screen is
// high, and none is wider than the screen.
func (m *model) lines() []string {
	if m.Width <= 0 || m.Height <= 0 {
		return nil
	}
	out := []string{m.top()}
	if m.Height >= 8 {
		out = append(out, m.counts())
	}
	room := m.Height - len(out) - 1
	if m.Height == 1 {
		return out
	}
	if m.help {
		out = append(out, m.helpLines(room)...)
	} else {
		out = append(out, m.body(room)...)
	}
	out = canvas.Exactly(out, m.Height-1)
	if m.Asking != canvas.Nothing && m.Reason != "" && m.Height > 2 {
		out[m.Height-2] = m.Row(m.Width).Add(bad, m.Reason).String()
	}
	return append(out, m.foot())
}

// top returns the first line: the source, the time and the state.
func (m *model) top() string {
	s := &m.snap
	state := "live"
	switch {
	case s.closed && m.paused:
		state = "PAUSED, end of capture"
	case s.closed:
		state = "end of capture"
	case m.paused:
		state = "PAUSED"
	case s.speed > 0:
		state = "speed " + strconv.FormatFloat(s.speed, 'g', 4, 64)
	case s.start.IsZero():
		state = "waiting"
	}
	time := clock(0)
	if !s.start.IsZero() {
		time = clock(s.now.Sub(s.start))
		if m.Width >= 120 {
			time = s.now.UTC().Format("2006-01-02 15:04:05 UTC") + "  " + time
		}
	}
	right := time + "  " + state + " "
	return m.Bar(" bcdissect  "+canvas.Clean(m.d.opts.Title, maxText), right, 10)
}

// counts returns the second line.
func (m *model) counts() string {
	s := &m.snap
	r := m.Row(m.Width)
	r.Add(plain, fmt.Sprintf(" %s  %s  %s msg/s  %s B/s", plural.Count(s.packets, "packet"), plural.Count(s.messages, "message"), rate(s.messageRate), quantity(s.byteRate)))
	st := plain
	if s.errors > 0 {
		st = bad
	}
	r.Add(st, fmt.Sprintf("  errors %s", quantity(float64(s.errors))))
	if s.live {
		st = plain
		if s.dropped > 0 {
			st = bad
		}
		r.Add(st, fmt.Sprintf("  drops %s", quantity(float64(s.dropped))))
		if m.Width >= 120 {
			r.Add(plain, fmt.Sprintf(" of %s received", plural.Thousands(int64(s.received))))
		}
	}
	return r.String()
}

// foot returns the last line: a question, or a list of keys.
func (m *model) foot() string {
	r := m.Row(m.Width)
	switch {
	case m.Asking != canvas.Nothing:
		return m.Question()
	case m.Reason != "":
		return r.Add(bad, m.Reason).String()
	case m.help:
		return r.Add(faint, "any key goes back, q quits").String()
	}
	keys := "q quit  space pause  / filter  s sort  1-5 pane  arrows scroll  z zoom  ? help"
	if m.d.opts.Pacer != nil {
		keys = "q quit  space pause  +/- speed  " + m.look.seek + " seek  / filter  1-5 pane  z zoom  ? help"
	}
	if m.filter != "" {
		r.Add(warn, "filter "+canvas.Clean(m.filter, maxText)).Add(plain, "  ")
	}
	return r.Add(faint, keys).String()
}

// leastStacked is the minimum number of lines for three panes one below
// another. From wide columns on, opcodes and events are side by side.
const (
	leastStacked = 9
	wide         = 120
	eventLines   = 11 // lines of the pane of events if there is room: ten events and a title
)

// body returns the panes.
func (m *model) body(room int) []string {
	if room <= 0 {
		return nil
	}
	if m.zoomed || room < leastStacked {
		return m.pane(m.focus, m.Width, room)
	}
	p := min(max(len(m.snap.players), 1), max(room/3-1, 1)) + 1
	out := m.pane(players, m.Width, p)
	rest := room - p
	if m.Width >= wide && m.middle == opcodes {
		left := m.Width * 9 / 20
		a, b := m.pane(opcodes, left, rest), m.pane(events, m.Width-left-2, rest)
		canvas.SideBySide(a, b, left+2)
		return append(out, a...)
	}
	o := min(max(m.rows(m.middle), 1), max(rest/2-1, 1)) + 1
	if o > 3 && rest-o < eventLines { // a title and two rows are useful
		o = max(min(o, rest-eventLines), 3)
	}
	out = append(out, m.pane(m.middle, m.Width, o)...)
	return append(out, m.pane(events, m.Width, rest-o)...)
}

// pane returns the lines of a pane: a title and rows, as many lines as the pane
// is high.
func (m *model) pane(p pane, width, height int) []string {
	if height <= 0 {
		return nil
	}
	room := height - 1
	if p == m.focus {
		m.page = max(room, 1)
	}
	n := m.rows(p)
	from := min(m.scroll[p], max(n-room, 0))
	m.scroll[p] = from
	var out []string
	switch p {
	case players:
		out = m.players(width, from, room)
	case opcodes:
		out = m.opcodes(width, from, room)
	case links:
		out = drawTable(m, links, "Links "+strconv.Itoa(n), m.look.linkColumns(), m.snap.links, linkOrders, nil, width, from, room)
	case ships:
		out = drawTable(m, ships, "Ships "+strconv.Itoa(n), m.look.shipColumns(), m.snap.ships, shipOrders, nil, width, from, room)
	default:
		out = m.events(width, from, room)
	}
	return canvas.Exactly(out, height)
}

func (m *model) players(width, from, room int) []string {
	name := "Players " + strconv.Itoa(len(m.snap.players)+m.snap.hidden)
	return drawTable(m, players, name, m.look.playerColumns(), m.snap.players, playerOrders, func(p *player) bool { return p.gone() }, width, from, room)
}

// drawTable returns the lines of a pane with columns. The title of the first
// column is the name of the pane. Rows for which past returns true are faint.
func drawTable[T any](m *model, p pane, name string, columns []column[T], rows []T, orders []order[T], past func(*T) bool, width, from, room int) []string {
	rows, by := sorted(m, p, rows, orders)
	for i := range columns { // columns grow up to their maximum width
		c := &columns[i]
		need := 0
		for j := range rows {
			if c.grow > 0 {
				text, _ := c.value(m, &rows[j])
				need = max(need, lipgloss.Width(text))
			}
		}
		c.grow = min(c.grow, need)
	}
	columns = fit(columns, width-1)
	r, st := m.Head(width, p == m.focus)
	for i, c := range columns {
		title := c.title
		if i == 0 {
			title = name
		}
		if i > 0 {
			r.Add(st, " ")
		}
		if c.title == by {
			title = m.look.sorted + title
		}
		r.Add(st, m.Pad(title, c.width, c.right))
	}
	out := []string{r.Fill(st, width).String()}
	for i := from; i < len(rows) && len(out) <= room; i++ {
		row := &rows[i]
		r := m.Row(width).Add(plain, " ")
		for i, c := range columns {
			if i > 0 {
				r.Add(plain, " ")
			}
			text, st := c.value(m, row)
			if past != nil && past(row) {
				st = faint
			}
			r.Add(st, m.Pad(text, c.width, c.right))
		}
		out = append(out, r.String())
	}
	return out
}

func (m *model) opcodes(width, from, room int) []string {
	rows, by := sorted(m, opcodes, m.snap.kinds, kindOrders)
	name := min(max(width-40, 8), 22)
	r, st := m.Head(width, m.focus == opcodes)
	r.Add(st, m.Pad("Opcodes by "+by, name+3, false)+"   count      /s ").Add(st, "  last seconds").Fill(st, width)
	out := []string{r.String()}
	for i := from; i < len(rows) && len(out) <= room; i++ {
		k := &rows[i]
		r := m.Row(width).Add(plain, " ").Add(faint, m.Pad(k.code, 2, true))
		r.Add(plain, " "+m.Pad(k.name, name, false)+m.Pad(plural.Thousands(k.total), 9, true)+m.Pad(rate(k.rate), 8, true)+" ")
		if left := width - r.Used(); left > 0 {
			r.Add(good, m.look.spark(k.history, left))
		}
		out = append(out, r.String())
	}
	return out
}

//nolint:exhaustive // the others are plain
var eventStyles = map[match.EventKind]style{
	match.EventChat: accent, match.EventJoin: good, match.EventReady: good, match.EventLeave: warn, match.EventRefused: warn,
	match.EventKill: bad, match.EventLoss: bad, match.EventError: bad, match.EventSilence: warn,
}

func (m *model) events(width, from, room int) []string {
	r, st := m.Head(width, m.focus == events)
	name := "Events and chat"
	if from > 0 {
		name += fmt.Sprintf(" (%d newer below)", from)
	}
	out := []string{r.Add(st, name).Fill(st, width).String()}
	all := m.snap.events
	end := len(all) - from
	for _, e := range all[max(end-room, 0):max(end, 0)] {
		r := m.Row(width)
		r.Add(faint, " "+clock(e.at.Sub(m.snap.start))+" ").Add(eventStyles[e.Kind], m.Pad(string(e.Kind), 7, false)+" ")
		text := e.Text.String()
		if e.Times > 1 {
			text = fmt.Sprintf("(%s times) %s", quantity(float64(e.Times)), text)
		}
		out = append(out, r.Add(plain, text).String())
	}
	return out
}

func (m *model) helpLines(room int) []string {
	keys := [][2]string{
		{"q, ctrl+c", "quit"},
		{"space, p", "pause: a recording stands still; of live traffic the screen does"},
		{"+, -", "a recording goes twice or half as fast"},
		{"left, right", "10 seconds back or on in a recording; < and > a minute; t a time"},
		{"/", "filter: opcodes, rates and events count matching records from then on"},
		{"", strings.Repeat(" ", 13) + "players and their links count everything; an empty filter ends it"},
		{"s", "sort the pane by the next column"},
		{"tab, 1 2 3", "the pane that keys are for: players, opcodes, events"},
		{"4, 5", "instead of opcodes: links by direction, updates of ships"},
		{"arrows, j k", "scroll it; so do pgup, pgdn, home and end"},
		{"z, enter", "only that pane, or all"},
		{"?", "this help"},
		{"", ""},
		{"msg/s, B/s", "from the player in the last 5 seconds; " + m.look.out + " to the player"},
		{"silent", "time since the last packet of the player"},
		{"resent", "messages sent again, in both directions"},
		{"RTT", "median time to an acknowledgement, both directions added up"},
	}
	return m.Help(keys, 12, room)
}
