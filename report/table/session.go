package table

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/match"
	"github.com/bcdissect/bcdissect/report"
)

// SessionOptions choose the contents of the report of matches.
type SessionOptions struct {
	Options
	Events bool // all events in order, instead of kills and chat
}

// Maximum number of rows in a section. Further rows are counted.
const (
	sessionKills = 40
	sessionChat  = 24
	sessionOdd   = 20
	sessionName  = 24
)

// Session writes the report of each match. If there are several matches, it
// lists them first. It writes a league table at the end.
func Session(w io.Writer, all []*match.Match, league []match.Standing, o SessionOptions) error {
	s := sessionPage{newPage(o.Options), o.Events}
	if len(all) > 1 {
		s.overview(all)
	}
	for i, m := range all {
		if i > 0 || s.b.Len() > 0 {
			s.line("")
		}
		s.match(m, i, len(all))
		if s.err != nil {
			break
		}
	}
	if len(league) > 0 { // at the end, where a terminal shows it after hundreds of matches
		s.league(league)
	}
	return s.flush(w)
}

type sessionPage struct {
	page

	events bool // all events in order
}

// line writes text, folded to the width of the terminal.
func (s *sessionPage) line(format string, args ...any) {
	s.flow("", fmt.Sprintf(format, args...), normal)
}

// flow writes a part of fixed width and, to the right of it, folded text.
func (s *sessionPage) flow(first, text string, look style) {
	indent := len(first)
	if indent == 0 {
		indent = 2
	}
	room := 0
	if s.o.Width > 0 {
		if len(first) > s.o.Width/2 { // there is no room for it in front of the text
			text, first, indent = first+text, "", 2
		}
		room = max(s.o.Width-indent, 1)
	}
	if s.o.Width <= 0 || s.widths.of([]byte(first+text)) <= s.o.Width {
		room = 0
	}
	for i, part := range s.widths.fold(text, room, false) {
		if i > 0 || first != "" {
			s.b.WriteString(first)
		}
		if i == 0 {
			first = strings.Repeat(" ", indent)
		}
		s.printf("%s\n", s.paint(part, look))
	}
}

// head writes the heading of a section.
func (s *sessionPage) head(text string) {
	if s.b.Len() > 0 {
		s.b.WriteByte('\n')
	}
	s.flow("", text, green)
}

// name returns the name of a player, escaped and cut.
func (s *sessionPage) name(m *match.Match, player int) string { return s.short(m.NameOf(player)) }

// short returns a name, escaped and cut.
func (s *sessionPage) short(name wire.Untrusted) string { return s.brief(name, sessionName) }

// table draws a table that fits the terminal. Columns with the headings in
// without are not shown.
func (s *sessionPage) table(all []column, without ...string) {
	s.page.table(slices.DeleteFunc(all, func(c column) bool { return c.head != "" && slices.Contains(without, c.head) }))
}

// overview lists several matches.
func (s *sessionPage) overview(all []*match.Match) {
	s.head(strconv.Itoa(len(all)) + " matches")
	table := []column{
		{head: "match"},
		{head: "begin (UTC)", text: true},
		{head: "length"},
		{head: "map", text: true, least: 8},
		{head: "players", drop: 1},
		{head: "kills"},
		{head: "result", text: true, least: 16},
	}
	for i, m := range all {
		n := 0
		for k := range m.Kills {
			if m.Kills[k].Killer != match.NoPlayer && !m.Kills[k].After {
				n++
			}
		}
		addRow(table, strconv.Itoa(i+1), m.Clock(m.Begin).UTC().Format("2006-01-02 15:04"), match.Minutes(m.End-m.Begin), s.short(wire.Untrusted(m.Map)),
			strconv.Itoa(len(m.Players)), strconv.Itoa(n), s.result(m))
	}
	s.table(table)
}

// match writes one match.
func (s *sessionPage) match(m *match.Match, i, n int) {
	title := report.Escape(m.Map)
	if m.Map == "" {
		title = "unknown map"
	}
	if m.Mission != "" {
		title += ", " + m.Mission[strings.LastIndexByte(m.Mission.Raw(), '.')+1:].String()
	}
	if n > 1 {
		title = fmt.Sprintf("Match %d of %d: %s", i+1, n, title)
	}
	if m.Name != "" {
		title += " on " + m.Name.String()
	}
	s.flow("", fmt.Sprintf("%s (%s)", title, m.Host), green)
	s.line("%s, %s long%s; %s", m.Clock(m.Begin).UTC().Format("2006-01-02 15:04:05 UTC"),
		match.Minutes(m.End-m.Begin), rules(&m.Rules), s.vantage(m))
	result := fmt.Sprintf("%s. %s.", m.Ending(), s.result(m))
	if grounds := m.Grounds(); grounds != "" {
		result += fmt.Sprintf(" %s.", grounds)
	}
	s.line("%s", result)
	if places := m.Recorded(); places != "" {
		s.line("%s.", places)
	}
	switch idle := n > 1 && len(m.Lives)+len(m.Kills)+len(m.Chat) == 0; {
	case s.events:
		s.line("")
		s.players(m)
		s.happened(m)
	case idle:
		s.idle(m)
	default:
		s.line("")
		s.players(m)
		counting := slices.IndexFunc(m.Kills, func(k match.Kill) bool { return k.After })
		if counting < 0 {
			counting = len(m.Kills)
		}
		s.kills(m, "Kills", m.Kills[:counting])
		switch {
		case len(m.Kills) == 0:
			s.head("No ship was lost")
		case counting == 0:
			s.head("No ship was lost before the end")
		}
		s.kills(m, "After the end: counts for nothing", m.Kills[counting:])
	}
	s.lines(m)
	s.unusual(m)
	if !s.events && len(m.Chat) > 0 {
		s.chat(m) // last, since it is the longest part
	}
	s.evicted(&m.Evicted)
}

// idle writes the players of a match without any ships.
func (s *sessionPage) idle(m *match.Match) {
	var names []string
	for i := range m.Players {
		names = append(names, s.name(m, i))
	}
	text := "No ship flew."
	if len(names) > 0 {
		text += " Players: " + strings.Join(names, ", ") + "."
	}
	s.line("%s", text)
}

// rules returns the limits of a match.
func rules(r *match.Rules) string {
	if r.NoTimeLimit && r.NoFragLimit {
		return ", no limits"
	}
	text := ""
	switch {
	case r.NoTimeLimit:
		text += ", no time limit"
	case r.TimeLimit != nil:
		text += ", " + strconv.Itoa(*r.TimeLimit) + " minute limit"
	}
	switch {
	case r.NoFragLimit:
		text += ", no kill limit"
	case r.FragLimit != nil:
		text += ", " + strconv.Itoa(*r.FragLimit) + " kill limit"
	}
	return text
}

func (s *sessionPage) vantage(m *match.Match) string {
	switch {
	case m.Vantage == match.VantageHost:
		return "captured at the host"
	case m.Vantage >= 0:
		return "captured at " + s.name(m, m.Vantage)
	}
	return "place of capture unknown"
}

// result returns a text that says who won.
func (s *sessionPage) result(m *match.Match) string {
	return m.Verdict(func(player int) wire.Untrusted { return wire.Untrusted(s.name(m, player)) }).String()
}

// players writes the score board. Where the numbers of the host differ, it
// writes them as well.
func (s *sessionPage) players(m *match.Match) {
	order := make([]int, len(m.Players))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return rank(&m.Players[a], &m.Players[b]) })
	table := []column{
		{head: "player", text: true, least: 12},
		{head: "team", text: true},
		{head: "ships", text: true, least: 16},
		{head: "kills"},
		{head: "deaths"},
		{head: "team kills"},
		{head: "score"},
		{head: "shots", drop: 1},
		{head: "damage", drop: 2},
		{head: "joined", drop: 4},
		{head: "left", drop: 5},
		{text: true, least: 12, drop: 3},
	}
	score, team, friends, damage := "score", "team", "team kills", "damage" // headings of columns, empty for columns without any values
	var says []string
	for _, i := range order {
		p := &m.Players[i]
		if p.Score != nil && *p.Score != 0 {
			score = ""
		}
		if p.Team != nil {
			team = ""
		}
		if p.TeamKills > 0 {
			friends = ""
		}
		done, reason := "", ""
		if p.Damage != nil {
			damage, done = "", strconv.FormatFloat(*p.Damage, 'f', 0, 64)
		}
		if p.Left != nil {
			reason = report.Escape(leftHow(m, p))
		}
		addRow(table, s.name(m, i), orNothing(p.Team, 1), s.ships(m, i), strconv.Itoa(p.Kills), strconv.Itoa(p.Deaths), strconv.Itoa(p.TeamKills), orNothing(p.Score, 0),
			strconv.Itoa(p.Shots), done, at(p.Joined), at(p.Left), reason)
		if p.Differs() {
			says = append(says, s.name(m, i)+" "+cmp.Or(orNothing(p.HostSays.Kills, 0), "-")+"/"+cmp.Or(orNothing(p.HostSays.Deaths, 0), "-"))
		}
	}
	s.table(table, score, team, friends, damage)
	if len(says) > 0 {
		s.flow("", "The host counts other kills/deaths: "+strings.Join(says, ", ")+".", yellow)
	}
}

// leftHow describes how a player left.
func leftHow(m *match.Match, p *match.Player) string {
	switch {
	case p.LeftHow == match.LeftItself:
		return "disconnected"
	case p.LeftHow == match.LeftClosed:
		return "host closed"
	case p.LeftHow == match.LeftSilent:
		return "fell silent"
	case p.LeftHow != match.LeftAnnounced:
		return p.LeftHow
	case m.Over != nil && *m.Over <= *p.Left && m.EndedBy != match.EndLeft:
		return "game over"
	}
	return "host reports"
}

// rank compares players for a score board.
func rank(a, b *match.Player) int {
	score := func(p *match.Player) int {
		if p.Score == nil {
			return 0
		}
		return *p.Score
	}
	return cmp.Or(score(b)-score(a), b.Kills-a.Kills, a.Deaths-b.Deaths)
}

func orNothing(n *int, add int) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(*n + add)
}

func at(t *float64) string {
	if t == nil {
		return ""
	}
	return match.Minutes(*t)
}

// ships lists the ships of a player in order.
func (s *sessionPage) ships(m *match.Match, player int) string {
	var names []string
	for i := range m.Lives {
		l := &m.Lives[i]
		if l.Player != player {
			continue
		}
		name := report.Escape(l.Ship)
		if name == "" {
			name = "unknown ship"
		}
		name = strings.ReplaceAll(name, " ", hardSpace)
		if n := len(names); n == 0 || names[n-1] != name {
			names = append(names, name)
		}
	}
	const most = 4
	if n := len(names); n > most {
		names = append(names[:most-1:most-1], fmt.Sprintf("and %d more", n-most+1))
	}
	return strings.Join(names, ", ")
}

// kills lists losses of ships.
func (s *sessionPage) kills(m *match.Match, head string, all []match.Kill) {
	if len(all) == 0 {
		return
	}
	s.head(head)
	table := []column{{head: "time"}, {text: true, least: 24}, {head: "others (score)", text: true, least: 14, drop: 1}, {head: "frame"}}
	unhelped := "others (score)"
	for i := range min(len(all), sessionKills) {
		k := &all[i]
		if len(k.Assists) > 0 {
			unhelped = ""
		}
		addRow(table, match.Minutes(k.T), m.Tell(k).String(), s.assists(m, k), frameText(k.Frame))
	}
	s.table(table, unhelped)
	s.rest(len(all), sessionKills)
}

// rest writes the number of rows that are not shown.
func (s *sessionPage) rest(n, shown int) {
	if n > shown {
		s.line("and %d more: --events lists all", n-shown)
	}
}

func (s *sessionPage) assists(m *match.Match, k *match.Kill) string {
	var out []string
	for _, a := range k.Assists {
		out = append(out, fmt.Sprintf("%s (%d)", s.name(m, a.Player), a.Score))
	}
	return strings.Join(out, ", ")
}

// chat lists the chat lines.
func (s *sessionPage) chat(m *match.Match) {
	s.head("Chat")
	for i := range min(len(m.Chat), sessionChat) {
		c := &m.Chat[i]
		to := ""
		if c.Team {
			to = " (team)"
		}
		text := c.Text.String()
		if strings.TrimSpace(text) == "" {
			text = "(empty)"
		}
		s.flow(fmt.Sprintf("%8s  ", match.Minutes(c.T)), s.name(m, c.Player)+to+": "+strings.TrimRight(text, " "), normal)
	}
	s.rest(len(m.Chat), sessionChat)
}

// frameText returns the number of a frame, or "" if the recording does not have
// it.
func frameText(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// happened lists all events.
func (s *sessionPage) happened(m *match.Match) {
	s.head("Events")
	for i := range m.Events {
		e := &m.Events[i]
		frame := frameText(e.Frame)
		times := ""
		if e.Times > 1 {
			times = fmt.Sprintf(" (%d times)", e.Times)
		}
		s.flow(fmt.Sprintf("%8s  %7s  %-7s  ", match.Minutes(e.T), frame, e.Kind), e.Text.String()+times, eventStyles[e.Kind])
	}
}

var eventStyles = map[match.EventKind]style{
	match.EventJoin: green, match.EventReady: green, match.EventChat: green, match.EventMatch: green, match.EventName: green, match.EventTeam: green,
	match.EventKill: magenta, match.EventLoss: magenta, match.EventLeave: magenta, match.EventRefused: magenta,
	match.EventSpawn: blue, match.EventCloak: cyan, match.EventDecloak: cyan, match.EventSilence: yellow, match.EventError: red,
}

// lines writes a verdict on each player's connection.
func (s *sessionPage) lines(m *match.Match) {
	if len(m.Lines) == 0 {
		return
	}
	s.head("Connections")
	for i := range m.Lines {
		l := &m.Lines[i]
		s.flow("  ", s.name(m, l.Player)+": "+report.Escape(l.Verdict), normal)
	}
}

// unusual lists the unusual events.
func (s *sessionPage) unusual(m *match.Match) {
	if len(m.Unusual) == 0 {
		return
	}
	s.head("Unusual (worth a second look, not an accusation)")
	for i := range min(len(m.Unusual), sessionOdd) {
		f := &m.Unusual[i]
		numbers := ""
		if f.Value != 0 {
			numbers = fmt.Sprintf(": %.4g", f.Value)
			if f.Limit != 0 {
				numbers += fmt.Sprintf(", at most %.4g expected", f.Limit)
			}
		}
		times := ""
		if f.Count > 1 {
			times = fmt.Sprintf(", %d times", f.Count)
		}
		s.flow(fmt.Sprintf("%8s  ", match.Minutes(f.T)), fmt.Sprintf("%s %s%s (frame %d%s)", s.name(m, f.Player), f.Text, numbers, f.Frame, times), normal)
	}
	if n := len(m.Unusual) - sessionOdd; n > 0 {
		s.line("and %d more: -T json has all", n)
	}
}

// evicted lists the parts that are missing from the report.
func (s *sessionPage) evicted(e *match.Evicted) {
	words := map[string]string{"lives": "ships", "chat": "chat lines", "samples": "positions"}
	var out []string
	e.Each(func(kind string, n int) { out = append(out, strconv.Itoa(n)+" "+cmp.Or(words[kind], kind)) })
	if len(out) > 0 {
		s.line("")
		s.line("Not shown, as there are limits: %s.", strings.Join(out, ", "))
	}
}

// league writes the table of several captures.
func (s *sessionPage) league(all []match.Standing) {
	s.head("League")
	table := []column{{head: "player", text: true, least: 12}, {head: "matches"}, {head: "wins"}, {head: "kills"}, {head: "deaths"}}
	for i := range all {
		l := &all[i]
		addRow(table, s.short(l.Name), strconv.Itoa(l.Matches), strconv.Itoa(l.Wins), strconv.Itoa(l.Kills), strconv.Itoa(l.Deaths))
	}
	s.table(table)
	s.line("bcdissect league DIR makes a web site of a folder of captures, with ratings.")
}
