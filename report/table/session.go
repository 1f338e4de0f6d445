package table

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/bcdissect/bcdissect/dissect/match"
	"github.com/bcdissect/bcdissect/report"
)

// SessionOptions choose the contents of the story of matches.
type SessionOptions struct {
	Options
	Events bool // all events in order, instead of kills and chat
}

// Rows of a section before the rest is only counted.
const (
	sessionKills = 40
	sessionChat  = 24
	sessionOdd   = 20
	sessionName  = 24
)

// Session writes matches as pages of text, and the league table if there is
// one.
func Session(w io.Writer, all []*match.Match, league []match.Standing, o SessionOptions) error {
	s := sessionPage{o: o, theme: newTheme(o.Color), more: unicodeSigns.more}
	if o.ASCII {
		s.more = asciiSigns.more
	}
	for i, m := range all {
		if i > 0 {
			s.line("")
		}
		s.match(m, i, len(all))
		if s.err != nil {
			break
		}
	}
	if len(league) > 0 {
		s.league(league)
	}
	if s.err == nil {
		_, s.err = io.WriteString(w, s.b.String())
	}
	return s.err
}

type sessionPage struct {
	o      SessionOptions
	theme  *theme
	widths widths
	more   string
	b      strings.Builder
	err    error
}

func (s *sessionPage) line(format string, args ...any) {
	fmt.Fprintf(&s.b, format, args...)
	s.b.WriteByte('\n')
}

// head writes the heading of a section.
func (s *sessionPage) head(text string) {
	s.line("")
	s.line("%s", s.styled(text, green))
}

func (s *sessionPage) styled(text string, look style) string {
	return string(s.theme.append(nil, []byte(text), look))
}

// text returns text from the network, escaped.
func (s *sessionPage) text(t string) string { return report.Escape(t) }

// name returns the name of a player, escaped and cut.
func (s *sessionPage) name(m *match.Match, player int) string {
	b := report.AppendEscaped(nil, m.NameOf(player))
	if k, cut := s.widths.cut(b, sessionName, s.more); cut {
		b = append(b[:k], s.more...)
	}
	return string(b)
}

// grid draws a table.
func (s *sessionPage) grid(head []string, rows [][]string, left int) {
	if s.err == nil {
		s.err = grid(&s.b, s.o.Options, head, rows, left)
	}
}

// minutes returns a time as minutes and seconds.
func minutes(t float64) string {
	tenths := int64(t*10 + 0.5)
	if tenths < 0 {
		return "-" + minutes(-t)
	}
	return fmt.Sprintf("%d:%02d.%d", tenths/600, tenths/10%60, tenths%10)
}

// match writes one match.
func (s *sessionPage) match(m *match.Match, i, n int) {
	title := s.text(m.Map)
	if m.Map == "" {
		title = "unknown map"
	}
	if m.Mission != "" {
		title += ", " + s.text(m.Mission[strings.LastIndexByte(m.Mission, '.')+1:])
	}
	if n > 1 {
		title = fmt.Sprintf("Match %d of %d: %s", i+1, n, title)
	}
	if m.Name != "" {
		title += " on " + s.text(m.Name)
	}
	s.line("%s (%s)", s.styled(title, green), m.Host)
	s.line("%s, %s long%s; %s", m.Clock(m.Begin).UTC().Format("2006-01-02 15:04:05 UTC"),
		minutes(m.End-m.Begin), rules(&m.Rules), s.vantage(m))
	s.line("%s", s.outcome(m))
	s.line("")
	s.players(m)
	if s.o.Events {
		s.events(m)
	} else {
		s.kills(m)
		s.chat(m)
	}
	s.lines(m)
	s.unusual(m)
	s.evicted(&m.Evicted)
}

// rules returns the limits of a match.
func rules(r *match.Rules) string {
	text := ""
	for _, l := range []struct {
		n    *int
		none bool
		what string
	}{{r.TimeLimit, r.NoTimeLimit, "minute"}, {r.FragLimit, r.NoFragLimit, "kill"}} {
		switch {
		case l.none:
			text += ", no " + l.what + " limit"
		case l.n != nil:
			text += ", " + strconv.Itoa(*l.n) + " " + l.what + " limit"
		}
	}
	return strings.NewReplacer("no minute limit", "no time limit").Replace(text)
}

func (s *sessionPage) vantage(m *match.Match) string {
	switch {
	case m.Vantage == match.VantageHost:
		return "captured at the host"
	case m.Vantage >= 0:
		return "captured at " + s.name(m, m.Vantage)
	}
	return "captured at an unknown place"
}

// outcome says how a match ended and who leads.
func (s *sessionPage) outcome(m *match.Match) string {
	var text, verb string
	switch {
	case m.Over != nil:
		text, verb = "The host ended it at "+minutes(*m.Over)+": "+s.text(m.EndedBy)+". ", " won"
	case m.EndedBy != "":
		text, verb = "It ended by "+s.text(m.EndedBy)+". ", " won"
	case m.Open:
		text, verb = "The capture ends before the match does. ", " leads"
	default:
		text, verb = "All players left. ", " won"
	}
	if m.Late {
		text = "The capture begins within the match. " + text
	}
	switch {
	case m.LeadingTeam != nil:
		return text + "Team " + strconv.Itoa(*m.LeadingTeam+1) + verb + "."
	case len(m.Leaders) == 1:
		return text + s.name(m, m.Leaders[0]) + verb + "."
	case len(m.Leaders) > 1:
		names := make([]string, len(m.Leaders))
		for i, p := range m.Leaders {
			names[i] = s.name(m, p)
		}
		return text + "Nobody" + verb + ": " + strings.Join(names, " and ") + " are equal."
	}
	return text + "Nobody scored."
}

// players writes the score board.
func (s *sessionPage) players(m *match.Match) {
	order := make([]int, len(m.Players))
	for i := range order {
		order[i] = i
	}
	scores, says, teams, damage := false, false, false, false
	for i := range m.Players {
		p := &m.Players[i]
		scores = scores || p.Score != nil && *p.Score != 0
		says = says || differs(p)
		teams = teams || p.Team != nil
		damage = damage || p.Damage != nil
	}
	slices.SortStableFunc(order, func(a, b int) int { return rank(&m.Players[a], &m.Players[b]) })
	head := []string{"player"}
	if teams {
		head = append(head, "team")
	}
	head = append(head, "ships", "kills", "deaths", "shots")
	left := len(head) - 3
	if damage {
		head = append(head, "damage")
	}
	if scores {
		head = append(head, "score")
	}
	if says {
		head = append(head, "host says k/d")
	}
	head = append(head, "joined", "left", "")
	rows := [][]string{}
	for _, i := range order {
		p := &m.Players[i]
		row := []string{s.name(m, i)}
		if teams {
			row = append(row, orNothing(p.Team, 1))
		}
		row = append(row, s.ships(m, i), strconv.Itoa(p.Kills), strconv.Itoa(p.Deaths), strconv.Itoa(p.Shots))
		if damage {
			d := ""
			if p.Damage != nil {
				d = strconv.FormatFloat(*p.Damage, 'f', 0, 64)
			}
			row = append(row, d)
		}
		if scores {
			row = append(row, orNothing(p.Score, 0))
		}
		if says {
			said := ""
			if h := p.HostSays; h != nil {
				said = orDash(h.Kills) + "/" + orDash(h.Deaths)
				if differs(p) {
					said = s.styled(said, yellow)
				}
			}
			row = append(row, said)
		}
		how := ""
		if p.Left != nil {
			how = s.text(leftHow(m, p))
		}
		rows = append(rows, append(row, at(p.Joined), at(p.Left), how))
	}
	s.grid(head, rows, left)
}

// leftHow says in words how a player left.
func leftHow(m *match.Match, p *match.Player) string {
	switch {
	case p.LeftHow == "disconnect":
		return "disconnected"
	case p.LeftHow != "host":
		return p.LeftHow
	case m.Over != nil && *m.Over <= *p.Left:
		return "game over"
	}
	return "host reports"
}

// differs reports whether the host counts otherwise than the kills tell.
func differs(p *match.Player) bool {
	h := p.HostSays
	return h != nil && (h.Kills != nil && *h.Kills != p.Kills || h.Deaths != nil && *h.Deaths != p.Deaths)
}

// rank orders the players of a score board.
func rank(a, b *match.Player) int {
	score := func(p *match.Player) int {
		if p.Score == nil {
			return 0
		}
		return *p.Score
	}
	if d := score(b) - score(a); d != 0 {
		return d
	}
	if d := b.Kills - a.Kills; d != 0 {
		return d
	}
	return a.Deaths - b.Deaths
}

func orDash(n *int) string {
	if n == nil {
		return "-"
	}
	return strconv.Itoa(*n)
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
	return minutes(*t)
}

// ships lists the ships of a player in order.
func (s *sessionPage) ships(m *match.Match, player int) string {
	var names []string
	for i := range m.Lives {
		l := &m.Lives[i]
		if l.Player != player {
			continue
		}
		name := s.text(l.Ship)
		if name == "" {
			name = "unknown ship"
		}
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

// kills lists the losses of ships.
func (s *sessionPage) kills(m *match.Match) {
	if len(m.Kills) == 0 {
		s.head("No ship was lost")
		return
	}
	s.head("Kills")
	rows := [][]string{}
	for i := range m.Kills {
		if i == sessionKills {
			break
		}
		k := &m.Kills[i]
		rows = append(rows, []string{minutes(k.T), s.text(m.Tell(k)), s.assists(m, k), strconv.Itoa(k.Frame)})
	}
	s.grid([]string{"time", "", "others who did damage", "frame"}, rows, 3)
	s.rest(len(m.Kills), sessionKills)
}

// rest counts the rows that are not shown.
func (s *sessionPage) rest(n, shown int) {
	if n > shown {
		s.line("and %d more: --events lists all", n-shown)
	}
}

func (s *sessionPage) assists(m *match.Match, k *match.Kill) string {
	var out []string
	for _, a := range k.Assists {
		out = append(out, fmt.Sprintf("%s (score %d)", s.name(m, a.Player), a.Score))
	}
	return strings.Join(out, ", ")
}

// chat lists the chat lines.
func (s *sessionPage) chat(m *match.Match) {
	if len(m.Chat) == 0 {
		return
	}
	s.head("Chat")
	for i := range m.Chat {
		if i == sessionChat {
			break
		}
		c := &m.Chat[i]
		to := ""
		if c.Team {
			to = " (team)"
		}
		text := s.text(c.Text)
		if strings.TrimSpace(text) == "" {
			text = "(empty)"
		}
		s.line("%8s  %s%s: %s", minutes(c.T), s.name(m, c.Player), to, text)
	}
	s.rest(len(m.Chat), sessionChat)
}

// events lists everything that happened.
func (s *sessionPage) events(m *match.Match) {
	s.head("Events")
	for i := range m.Events {
		e := &m.Events[i]
		frame := ""
		if e.Frame > 0 {
			frame = strconv.Itoa(e.Frame)
		}
		times := ""
		if e.Times > 1 {
			times = fmt.Sprintf(" (%d times)", e.Times)
		}
		s.line("%8s  %7s  %-7s  %s%s", minutes(e.T), frame, e.Kind, s.styled(s.text(e.Text), eventStyles[e.Kind]), times)
	}
}

var eventStyles = map[match.EventKind]style{
	match.EventJoin: green, match.EventReady: green, match.EventChat: green, match.EventMatch: green, match.EventName: green, match.EventTeam: green,
	match.EventKill: magenta, match.EventLoss: magenta, match.EventLeave: magenta, match.EventRefused: magenta,
	match.EventSpawn: blue, match.EventCloak: cyan, match.EventDecloak: cyan, match.EventSilence: yellow, match.EventError: red,
}

// lines gives a verdict on each player's connection.
func (s *sessionPage) lines(m *match.Match) {
	if len(m.Lines) == 0 {
		return
	}
	s.head("Lines")
	for i := range m.Lines {
		l := &m.Lines[i]
		s.line("  %s: %s", s.name(m, l.Player), l.Verdict)
	}
}

// unusual lists the unusual events.
func (s *sessionPage) unusual(m *match.Match) {
	if len(m.Unusual) == 0 {
		return
	}
	s.head("Unusual (numbers, not a verdict on anybody)")
	for i := range m.Unusual {
		if i == sessionOdd {
			s.line("and %d more: -T json has all", len(m.Unusual)-i)
			break
		}
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
		s.line("%8s  %s %s%s (frame %d%s)", minutes(f.T), s.name(m, f.Player), s.text(f.Text), numbers, f.Frame, times)
	}
}

// evicted lists the parts missing from the report.
func (s *sessionPage) evicted(e *match.Evicted) {
	var out []string
	for _, n := range []struct {
		n    int
		what string
	}{
		{e.Matches, "matches"},
		{e.Players, "players"},
		{e.Lives, "ships"},
		{e.Kills, "kills"},
		{e.Scores, "scores"},
		{e.Shots, "shots"},
		{e.Chat, "chat lines"},
		{e.Events, "events"},
		{e.Samples, "positions"},
		{e.Conditions, "conditions"},
		{e.Findings, "findings"},
	} {
		if n.n > 0 {
			out = append(out, strconv.Itoa(n.n)+" "+n.what)
		}
	}
	if len(out) > 0 {
		s.line("")
		s.line("Left out to keep to the limits: %s.", strings.Join(out, ", "))
	}
}

// league writes the table of several captures.
func (s *sessionPage) league(all []match.Standing) {
	s.head("League")
	rows := [][]string{}
	for i := range all {
		l := &all[i]
		b := report.AppendEscaped(nil, l.Name)
		if k, cut := s.widths.cut(b, sessionName, s.more); cut {
			b = append(b[:k], s.more...)
		}
		rows = append(rows, []string{string(b), strconv.Itoa(l.Matches), strconv.Itoa(l.Wins), strconv.Itoa(l.Kills), strconv.Itoa(l.Deaths)})
	}
	s.grid([]string{"player", "matches", "wins", "kills", "deaths"}, rows, 1)
}
