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
	v := tea.NewView(strings.Join(m.lines(), "\n"))
	v.AltScreen = true
	if m.asking != nothing {
		if c := m.input.Cursor(); c != nil && m.height > 0 {
			c.X = min(c.X+len(prompts[m.asking]), max(m.width-1, 0))
			c.Y = m.height - 1
			v.Cursor = c
		}
	}
	return v
}

var prompts = [...]string{aFilter: "filter: ", aTime: "go to time: "}

// lines returns the screen: as many lines as it is high, none wider than it is
// wide.
func (m *model) lines() []string {
	if m.width <= 0 || m.height <= 0 {
		return nil
	}
	out := []string{m.top()}
	if m.height >= 8 {
		out = append(out, m.counts())
	}
	room := m.height - len(out) - 1
	if m.height == 1 {
		return out
	}
	if m.help {
		out = append(out, m.helpLines(room)...)
	} else {
		out = append(out, m.body(room)...)
	}
	for len(out) < m.height-1 {
		out = append(out, "")
	}
	if m.asking != nothing && m.reason != "" && m.height > 2 {
		out[m.height-2] = m.look.Row(m.width).Add(bad, m.reason).String()
	}
	return append(out[:m.height-1], m.foot())
}

// top returns the first line: source, time and state.
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
		if m.width >= 120 {
			time = s.now.UTC().Format("2006-01-02 15:04:05 UTC") + "  " + time
		}
	}
	right := time + "  " + state + " "
	name := m.look.Cut(" bcdissect  "+clean(m.d.opts.Title, maxText), max(m.width-len(right)-1, 10))
	r := m.look.Row(m.width)
	return r.Add(bar, name).Fill(bar, m.width-len(right)).Add(bar, right).Fill(bar, m.width).String()
}

// counts returns the second line.
func (m *model) counts() string {
	s := &m.snap
	r := m.look.Row(m.width)
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
		if m.width >= 120 {
			r.Add(plain, fmt.Sprintf(" of %s received", plural.Thousands(int64(s.received))))
		}
	}
	return r.String()
}

// foot returns the last line: the question for a filter, or which keys there
// are.
func (m *model) foot() string {
	r := m.look.Row(m.width)
	switch {
	case m.asking != nothing:
		prompt := prompts[m.asking]
		m.input.SetWidth(max(m.width-len(prompt)-1, 1))
		return r.Add(accent, prompt).Add(plain, m.input.View()).String()
	case m.reason != "":
		return r.Add(bad, m.reason).String()
	case m.help:
		return r.Add(faint, "any key goes back, q quits").String()
	}
	keys := "q quit  space pause  / filter  s sort  1-5 pane  arrows scroll  z zoom  ? help"
	if m.d.opts.Pacer != nil {
		keys = "q quit  space pause  +/- speed  " + m.look.seek + " seek  / filter  1-5 pane  z zoom  ? help"
	}
	if m.filter != "" {
		r.Add(warn, "filter "+clean(m.filter, maxText)).Add(plain, "  ")
	}
	return r.Add(faint, keys).String()
}

// leastStacked is how many lines the three panes need below each other, wide
// from how many columns on opcodes and events are side by side.
const (
	leastStacked = 9
	wide         = 120
	eventLines   = 11 // of the pane of events, if there is room: ten and a title
)

// body returns the panes.
func (m *model) body(room int) []string {
	if room <= 0 {
		return nil
	}
	if m.zoomed || room < leastStacked {
		return m.pane(m.focus, m.width, room)
	}
	p := min(max(len(m.snap.players), 1), max(room/3-1, 1)) + 1
	out := m.pane(players, m.width, p)
	rest := room - p
	if m.width >= wide && m.middle == opcodes {
		left := m.width * 9 / 20
		a, b := m.pane(opcodes, left, rest), m.pane(events, m.width-left-2, rest)
		for i := range rest {
			out = append(out, a[i]+strings.Repeat(" ", max(left+2-lipgloss.Width(a[i]), 2))+b[i])
		}
		return out
	}
	o := min(max(m.rows(m.middle), 1), max(rest/2-1, 1)) + 1
	if o > 3 && rest-o < eventLines { // a title and two rows are worth showing
		o = max(min(o, rest-eventLines), 3)
	}
	out = append(out, m.pane(m.middle, m.width, o)...)
	return append(out, m.pane(events, m.width, rest-o)...)
}

// pane returns a pane: a title and rows, exactly as many lines as it is high.
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
		out = drawTable(m, links, "Links "+strconv.Itoa(len(m.snap.links)), m.look.linkColumns(), sortedLinks(m.snap.links, orders[links][m.sort[links]]), nil, width, from, room)
	case ships:
		out = drawTable(m, ships, "Ships "+strconv.Itoa(len(m.snap.ships)), m.look.shipColumns(), sortedShips(m.snap.ships, orders[ships][m.sort[ships]]), nil, width, from, room)
	default:
		out = m.events(width, from, room)
	}
	for len(out) < height {
		out = append(out, "")
	}
	return out[:height]
}

// head begins the title of a pane.
func (m *model) head(p pane, width int) (*canvas.Row, style) {
	st, mark := title, " "
	if p == m.focus {
		st, mark = active, m.look.Mark
	}
	return m.look.Row(width).Add(st, mark), st
}

func (m *model) players(width, from, room int) []string {
	name := "Players " + strconv.Itoa(len(m.snap.players)+m.snap.hidden)
	rows := sortedPlayers(m.snap.players, orders[players][m.sort[players]])
	return drawTable(m, players, name, m.look.playerColumns(), rows, func(p *player) bool { return p.gone }, width, from, room)
}

// drawTable returns a pane of columns. The title of the first column is the
// name of the pane. Past rows are faint.
func drawTable[T any](m *model, p pane, name string, columns []column[T], rows []T, past func(*T) bool, width, from, room int) []string {
	by := orders[p][m.sort[p]]
	for i := range columns { // they grow as far as they have to
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
	r, st := m.head(p, width)
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
		r.Add(st, m.look.Pad(title, c.width, c.right))
	}
	out := []string{r.Fill(st, width).String()}
	for i := from; i < len(rows) && len(out) <= room; i++ {
		row := &rows[i]
		r := m.look.Row(width).Add(plain, " ")
		for i, c := range columns {
			if i > 0 {
				r.Add(plain, " ")
			}
			text, st := c.value(m, row)
			if past != nil && past(row) {
				st = faint
			}
			r.Add(st, m.look.Pad(text, c.width, c.right))
		}
		out = append(out, r.String())
	}
	return out
}

func (m *model) opcodes(width, from, room int) []string {
	by := orders[opcodes][m.sort[opcodes]]
	name := min(max(width-40, 8), 22)
	r, st := m.head(opcodes, width)
	r.Add(st, m.look.Pad("Opcodes by "+by, name+3, false)+"   count      /s ").Add(st, "  last seconds").Fill(st, width)
	out := []string{r.String()}
	rows := sortedKinds(m.snap.kinds, by)
	for i := from; i < len(rows) && len(out) <= room; i++ {
		k := &rows[i]
		r := m.look.Row(width).Add(plain, " ").Add(faint, m.look.Pad(k.code, 2, true))
		r.Add(plain, " "+m.look.Pad(k.name, name, false)+m.look.Pad(plural.Thousands(k.total), 9, true)+m.look.Pad(rate(k.rate), 8, true)+" ")
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
	r, st := m.head(events, width)
	name := "Events and chat"
	if from > 0 {
		name += fmt.Sprintf(" (%d newer below)", from)
	}
	out := []string{r.Add(st, name).Fill(st, width).String()}
	all := m.snap.events
	end := len(all) - from
	for _, e := range all[max(end-room, 0):max(end, 0)] {
		r := m.look.Row(width)
		r.Add(faint, " "+clock(e.at.Sub(m.snap.start))+" ").Add(eventStyles[e.kind], m.look.Pad(string(e.kind), 7, false)+" ")
		text := e.text
		if e.times > 1 {
			text = fmt.Sprintf("(%s times) %s", quantity(float64(e.times)), text)
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
		{"", "players and their links count everything; an empty filter ends it"},
		{"s", "sort the pane by the next column"},
		{"tab, 1 2 3", "the pane that keys are for: players, opcodes, events"},
		{"4, 5", "instead of opcodes: links by direction, updates of ships"},
		{"arrows, j k", "scroll it; so do pgup, pgdn, home and end"},
		{"z, enter", "that pane alone, or all"},
		{"?", "this help"},
		{"", ""},
		{"msg/s, B/s", "from the player in the last 5 seconds; " + m.look.out + " to the player"},
		{"heard", "how long ago the last packet of the player came"},
		{"resent", "messages sent again, in both directions"},
		{"RTT", "median time to an acknowledgement, both directions added up"},
	}
	var out []string
	for _, k := range keys {
		if len(out) == room {
			break
		}
		out = append(out, m.look.Row(m.width).Add(plain, " ").Add(accent, m.look.Pad(k[0], 12, false)).Add(plain, " "+k[1]).String())
	}
	return out
}
