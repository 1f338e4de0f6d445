package page

import (
	"strconv"

	"github.com/bcdissect/bcdissect/dissect/match"
	"github.com/bcdissect/bcdissect/report"
)

// pageData is all that the script knows beside the columns. Times are in
// seconds since the first frame of a match's capture.
type pageData struct {
	Captures []string       `json:"captures"`
	League   []pageStanding `json:"league,omitempty"`
	Matches  []pageMatch    `json:"matches"`
}

type pageStanding struct {
	Name    string `json:"name"`
	Matches int    `json:"matches"`
	Wins    int    `json:"wins"`
	Kills   int    `json:"kills"`
	Deaths  int    `json:"deaths"`
}

type pageMatch struct {
	Host    string       `json:"host"`
	Server  string       `json:"server"`
	Mission string       `json:"mission"`
	Map     string       `json:"map"`
	Rules   []string     `json:"rules"`
	Origin  int64        `json:"origin"` // Unix time in milliseconds
	Begin   float64      `json:"begin"`
	End     float64      `json:"end"`
	Over    *float64     `json:"over,omitempty"`
	EndedBy string       `json:"ended_by,omitempty"`
	Late    bool         `json:"late,omitempty"`
	Open    bool         `json:"open,omitempty"`
	Vantage int          `json:"vantage"`
	Leaders []int        `json:"leaders,omitempty"`
	Leading *int         `json:"leading_team,omitempty"`
	Teams   []pageTeam   `json:"teams"`
	Players []pagePlayer `json:"players"`
	Lives   []pageLife   `json:"lives"`
	Kills   []pageKill   `json:"kills"`
	Chat    []pageTalk   `json:"chat"`
	Events  []pageEvent  `json:"events"`
	Lines   []pageLine   `json:"lines"`
	Unusual []pageNotice `json:"unusual"`
	Shots   int          `json:"shots"` // rows of the columns
	Evicted int          `json:"evicted,omitempty"`
}

type pageTeam struct {
	Team  int  `json:"team"`
	Score *int `json:"score,omitempty"`
}

type pagePlayer struct {
	Name    string   `json:"name"`
	Names   []string `json:"names,omitempty"`
	Team    *int     `json:"team,omitempty"`
	Address string   `json:"address,omitempty"`
	Joined  *float64 `json:"joined,omitempty"`
	Left    *float64 `json:"left,omitempty"`
	LeftHow string   `json:"left_how,omitempty"`
	Kills   int      `json:"kills"`
	Deaths  int      `json:"deaths"`
	Score   *int     `json:"score,omitempty"`
	Says    *pageSay `json:"host_says,omitempty"`
	Damage  *float64 `json:"damage,omitempty"`
	Shots   int      `json:"shots"`
}

type pageSay struct {
	Kills  *int `json:"kills,omitempty"`
	Deaths *int `json:"deaths,omitempty"`
	Frame  int  `json:"frame"`
}

type pageLife struct {
	Player    int          `json:"player"`
	Ship      string       `json:"ship"`
	Name      string       `json:"name"`
	Begin     float64      `json:"begin"`
	End       float64      `json:"end"`
	EndHow    string       `json:"end_how,omitempty"`
	Frame     int          `json:"frame"`
	Late      bool         `json:"late,omitempty"`
	Killer    int          `json:"killer"`
	MaxSpeed  float64      `json:"max_speed"`
	Points    int          `json:"points"` // rows of the columns
	Box       box          `json:"box"`
	Condition int          `json:"condition"` // rows
	Systems   []pageSystem `json:"systems,omitempty"`
}

type pageSystem struct {
	Name  string   `json:"name"`
	Least float64  `json:"least"`          // condition
	Lost  *float64 `json:"lost,omitempty"` // the first time without any
}

type pageKill struct {
	T        float64      `json:"t"`
	Frame    int          `json:"frame"`
	Victim   int          `json:"victim"`
	Killer   int          `json:"killer"`
	Weapon   string       `json:"weapon,omitempty"`
	Distance *float64     `json:"distance,omitempty"`
	Ship     string       `json:"ship,omitempty"`
	With     string       `json:"with,omitempty"`
	At       []float64    `json:"at,omitempty"`
	Life     int          `json:"life"`
	Assists  []pageAssist `json:"assists,omitempty"`
}

type pageAssist struct {
	Player int `json:"player"`
	Score  int `json:"score"`
}

type pageTalk struct {
	T      float64 `json:"t"`
	Frame  int     `json:"frame"`
	Player int     `json:"player"`
	Text   string  `json:"text"`
	Team   bool    `json:"team,omitempty"`
}

type pageEvent struct {
	T      float64 `json:"t"`
	Frame  int     `json:"frame"`
	Kind   string  `json:"kind"`
	Player int     `json:"player"`
	Text   string  `json:"text"`
}

type pageLine struct {
	Player    int     `json:"player"`
	Address   string  `json:"address,omitempty"`
	Verdict   string  `json:"verdict"`
	RTT       float64 `json:"rtt"` // seconds
	Lost      int64   `json:"lost"`
	Resent    int64   `json:"resent"`
	Silence   float64 `json:"silence"`
	SilenceAt float64 `json:"silence_at"`
	Points    int     `json:"points"` // rows
}

type pageNotice struct {
	T      float64 `json:"t"`
	Frame  int     `json:"frame"`
	Player int     `json:"player"`
	Kind   string  `json:"kind"`
	Text   string  `json:"text"`
	Value  float64 `json:"value"`
	Limit  float64 `json:"limit"`
	Count  int     `json:"count"`
}

// collect returns the data of a page, and writes the columns.
func collect(all []*match.Match, o Options, c *columns) *pageData {
	d := &pageData{Captures: []string{}, Matches: []pageMatch{}}
	for _, name := range o.Captures {
		d.Captures = append(d.Captures, report.Escape(name))
	}
	for _, s := range o.League {
		d.League = append(d.League, pageStanding{report.Escape(s.Name), s.Matches, s.Wins, s.Kills, s.Deaths})
	}
	flights := tracks(all)
	for _, m := range all {
		d.Matches = append(d.Matches, collectMatch(m, flights, c))
	}
	return d
}

func collectMatch(m *match.Match, flights map[*match.Life][]match.Sample, c *columns) pageMatch {
	p := pageMatch{
		Server: report.Escape(m.Name), Mission: report.Escape(mission(m.Mission)), Map: report.Escape(m.Map),
		Rules: rules(&m.Rules), Origin: m.Origin.UnixMilli(), Begin: seconds(m.Begin), End: seconds(max(m.End, m.Begin)),
		Over: secondsOf(m.Over), EndedBy: report.Escape(m.EndedBy), Late: m.Late, Open: m.Open, Vantage: m.Vantage,
		Leaders: m.Leaders, Leading: m.LeadingTeam, Teams: teams(m), Shots: len(m.Shots), Evicted: evicted(&m.Evicted),
		Players: []pagePlayer{}, Lives: []pageLife{}, Kills: []pageKill{}, Chat: []pageTalk{}, Events: []pageEvent{}, Lines: []pageLine{}, Unusual: []pageNotice{},
	}
	if m.Host.IsValid() {
		p.Host = m.Host.String()
	}
	for i := range m.Players {
		p.Players = append(p.Players, collectPlayer(m, i))
	}
	for i := range m.Lives {
		p.Lives = append(p.Lives, collectLife(&m.Lives[i], flights[&m.Lives[i]], c))
	}
	c.addShots(m.Shots)
	for i := range m.Kills {
		p.Kills = append(p.Kills, collectKill(&m.Kills[i]))
	}
	for _, s := range m.Chat {
		p.Chat = append(p.Chat, pageTalk{seconds(s.T), s.Frame, s.Player, report.Escape(s.Text), s.Team})
	}
	for _, e := range m.Events {
		p.Events = append(p.Events, pageEvent{seconds(e.T), e.Frame, string(e.Kind), e.Player, report.Escape(e.Text)})
	}
	for i := range m.Lines {
		l := &m.Lines[i]
		line := pageLine{
			Player: l.Player, Verdict: report.Escape(l.Verdict), RTT: l.RTT.Seconds(), Lost: l.Lost, Resent: l.Resent,
			Silence: seconds(l.Silence.Seconds()), SilenceAt: seconds(l.SilenceAt), Points: len(l.Points),
		}
		if l.Address.IsValid() {
			line.Address = l.Address.String()
		}
		p.Lines = append(p.Lines, line)
		c.addLine(l.Points)
	}
	for _, f := range m.Unusual {
		p.Unusual = append(p.Unusual, pageNotice{seconds(f.T), f.Frame, f.Player, f.Kind, report.Escape(f.Text), round(f.Value, 3), round(f.Limit, 3), f.Count})
	}
	return p
}

func collectPlayer(m *match.Match, i int) pagePlayer {
	q := &m.Players[i]
	p := pagePlayer{
		Name: report.Escape(m.NameOf(i)), Team: q.Team, Joined: secondsOf(q.Joined), Left: secondsOf(q.Left),
		LeftHow: report.Escape(q.LeftHow), Kills: q.Kills, Deaths: q.Deaths, Score: q.Score, Shots: q.Shots,
	}
	for _, name := range q.Names {
		p.Names = append(p.Names, report.Escape(name))
	}
	if q.Address.IsValid() {
		p.Address = q.Address.String()
	}
	if s := q.HostSays; s != nil {
		p.Says = &pageSay{s.Kills, s.Deaths, s.Frame}
	}
	if q.Damage != nil {
		x := round(*q.Damage, 0)
		p.Damage = &x
	}
	return p
}

func collectLife(l *match.Life, track []match.Sample, c *columns) pageLife {
	p := pageLife{
		Player: l.Player, Ship: report.Escape(l.Ship), Name: report.Escape(l.Name), Begin: seconds(l.Begin), End: seconds(l.End), EndHow: l.EndHow,
		Frame: l.Frame, Late: l.Late, Killer: l.Killer, MaxSpeed: round(l.MaxSpeed, 2), Points: len(track), Box: boxOf(track), Condition: len(l.Condition),
	}
	c.addTrack(track, &p.Box)
	c.addCondition(l.Condition)
	for _, s := range l.Systems {
		p.Systems = append(p.Systems, collectSystem(&s))
	}
	return p
}

// collectSystem returns the lowest condition of a subsystem: its history would
// be most of the page.
func collectSystem(s *match.System) pageSystem {
	p := pageSystem{Name: report.Escape(s.Name), Least: 1}
	for _, l := range s.History {
		level := share(l.Value)
		if level < 0 {
			continue
		}
		p.Least = min(p.Least, float64(level)/1000)
		if level == 0 && p.Lost == nil {
			t := seconds(l.T)
			p.Lost = &t
		}
	}
	return p
}

func collectKill(k *match.Kill) pageKill {
	p := pageKill{
		T: seconds(k.T), Frame: k.Frame, Victim: k.Victim, Killer: k.Killer, Weapon: report.Escape(k.Weapon),
		Ship: report.Escape(k.Ship), With: report.Escape(k.With), Life: k.Life,
	}
	if k.Distance != nil {
		x := round(*k.Distance, 1)
		p.Distance = &x
	}
	if k.At != nil {
		for _, x := range k.At {
			p.At = append(p.At, round(float64(x), 2))
		}
	}
	for _, a := range k.Assists {
		p.Assists = append(p.Assists, pageAssist{a.Player, a.Score})
	}
	return p
}

// teams returns the teams that have players, with the host's last score.
func teams(m *match.Match) []pageTeam {
	out := []pageTeam{}
	for i := range m.Players {
		team := m.Players[i].Team
		if team == nil {
			continue
		}
		known := false
		for _, t := range out {
			known = known || t.Team == *team
		}
		if !known {
			out = append(out, pageTeam{Team: *team})
		}
	}
	for _, s := range m.Scores {
		for i := range out {
			if s.Player == match.NoPlayer && s.Team == out[i].Team && s.Score != nil {
				out[i].Score = s.Score
			}
		}
	}
	return out
}

// rules returns the settings of a match in words.
func rules(r *match.Rules) []string {
	out := []string{}
	limit := func(n *int, none bool, unit string) {
		if n != nil && !none {
			out = append(out, strconv.Itoa(*n)+" "+unit+" limit")
		}
	}
	limit(r.TimeLimit, r.NoTimeLimit, "minute")
	limit(r.FragLimit, r.NoFragLimit, "kill")
	if r.Collisions != nil && !*r.Collisions {
		out = append(out, "no collisions")
	}
	return out
}

func evicted(e *match.Evicted) (sum int) {
	e.Each(func(_ string, n int) { sum += n })
	return sum
}

func seconds(t float64) float64 { return round(t, 3) }

func secondsOf(t *float64) *float64 {
	if t == nil {
		return nil
	}
	x := seconds(*t)
	return &x
}
