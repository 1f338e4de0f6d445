package page

import (
	"slices"
	"strconv"

	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/match"
)

// pageData is all data for the script except the packed columns: the columns of
// the match model for the page, and data that only the page shows. Times are in
// seconds since the first frame of a match's capture.
type pageData struct {
	Captures []string         `page:"captures"`
	League   []match.Standing `page:"league,omitempty"`
	Matches  []pageMatch      `page:"matches"`
}

type pageMatch struct {
	*match.Match
	Mission string       `page:"mission"`
	Rules   []string     `page:"rules"`
	Origin  int64        `page:"origin"` // Unix time in milliseconds
	Teams   []pageTeam   `page:"teams"`
	Players []pagePlayer `page:"players"`
	Lives   []pageLife   `page:"lives"`
	Lines   []pageLine   `page:"lines"`
	Shots   int          `page:"shots"` // number of rows in the columns
	debriefing
	Evicted int `page:"evicted,omitempty"`
}

type pageTeam struct {
	Team  int  `page:"team"`
	Score *int `page:"score,omitempty"`
}

type pagePlayer struct {
	Name wire.Untrusted `page:"name"` // name, or a description
	*match.Player
}

type pageLife struct {
	*match.Life
	Points    int          `page:"points"` // number of rows in the columns
	Box       box          `page:"box" digits:"-1 -1"`
	Condition int          `page:"condition"` // number of rows in the columns
	Systems   []pageSystem `page:"systems,omitempty"`
}

// A pageSystem has the lowest condition of a subsystem.
type pageSystem struct {
	Name   string   `page:"name"`
	Least  float64  `page:"least"`            // lowest condition
	Lost   *float64 `page:"lost,omitempty"`   // time when the condition was first 0
	Points int      `page:"points,omitempty"` // number of rows of its history
}

type pageLine struct {
	*match.Line
	Points int `page:"points"` // number of rows in the columns
}

// collect returns the data of a page and writes the columns.
func collect(all []*match.Match, o match.Evenings, c *columns) *pageData {
	d := &pageData{Captures: o.Captures, League: o.League}
	flights := tracks(all)
	c.systems = histories(all)
	for _, m := range all {
		d.Matches = append(d.Matches, collectMatch(m, flights, c))
	}
	return d
}

// Live returns a match in the form of the page, for a model with the output
// [match.Page]. It contains neither columns nor flights, and their lengths are
// 0.
func Live(m *match.Match) any {
	p := collectMatch(m, nil, nil)
	return &p
}

func collectMatch(m *match.Match, flights map[*match.Life][]match.Sample, c *columns) pageMatch {
	p := pageMatch{
		Match: m, Mission: mission(m.Mission.Raw()), Rules: rules(&m.Rules), Origin: m.Origin.UnixMilli(), Teams: teams(m), Shots: len(m.Shots),
	}
	m.Evicted.Each(func(_ string, n int) { p.Evicted += n })
	for i := range m.Players {
		p.Players = append(p.Players, pagePlayer{m.NameOf(i), &m.Players[i]})
	}
	for i := range m.Lives {
		p.Lives = append(p.Lives, collectLife(&m.Lives[i], flights[&m.Lives[i]], c))
	}
	c.addShots(m.Shots)
	p.debriefing = debrief(m, c)
	for i := range m.Lines {
		p.Lines = append(p.Lines, pageLine{&m.Lines[i], len(m.Lines[i].Points)})
		c.addLine(m.Lines[i].Points)
	}
	return p
}

func collectLife(l *match.Life, track []match.Sample, c *columns) pageLife {
	p := pageLife{Life: l, Points: len(track), Box: boxOf(track), Condition: len(l.Condition)}
	c.addTrack(track, &p.Box)
	c.addCondition(l.Condition)
	for i := range l.Systems {
		s := collectSystem(&l.Systems[i])
		s.Points = c.addHistory(&l.Systems[i])
		p.Systems = append(p.Systems, s)
	}
	return p
}

func collectSystem(s *match.System) pageSystem {
	p := pageSystem{Name: s.Name, Least: 1}
	for i, l := range s.History {
		level := share(l.Value)
		if level < 0 {
			continue
		}
		p.Least = min(p.Least, float64(level)/1000)
		if level == 0 && p.Lost == nil {
			p.Lost = &s.History[i].T
		}
	}
	return p
}

// teams returns the teams with players, and their last scores from the host.
func teams(m *match.Match) []pageTeam {
	out := []pageTeam{}
	for i := range m.Players {
		team := m.Players[i].Team
		if team != nil && !slices.ContainsFunc(out, func(t pageTeam) bool { return t.Team == *team }) {
			out = append(out, pageTeam{Team: *team})
		}
	}
	for _, s := range m.Scores {
		for i := range out {
			if s.Player == match.NoPlayer && !s.After && s.Team == out[i].Team && s.Score != nil {
				out[i].Score = s.Score
			}
		}
	}
	return out
}

// rules describes the settings of a match.
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
