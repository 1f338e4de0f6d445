package league

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bcdissect/bcdissect/decode/plural"
	"github.com/bcdissect/bcdissect/dissect/league"
	"github.com/bcdissect/bcdissect/dissect/match"
)

// functions returns the functions of the templates.
func (s *site) functions() template.FuncMap {
	return template.FuncMap{
		"pair":    func(v *view, of any) pair { return pair{v, of} },
		"allTime": func() *league.Table { return &s.Seasons[len(s.Seasons)-1] },
		"season":  func(i int) *league.Table { return &s.Seasons[i] },
		"inc":     func(i int) int { return i + 1 },
		"hits":    func(p *league.Part) string { return percent(ratio(p.Hits, p.Hits+p.Misses)) },
		"part":    func(p league.Part) *league.Part { return &p },
		"ref":     func(r league.Record) *league.Record { return &r },
		"cond": func(t float64) string {
			if t == 0 {
				return ""
			}
			return moment(t)
		},
		"matchesOf": func(all []league.Meeting) (in []int) {
			for _, m := range all {
				in = append(in, m.Match)
			}
			return in
		},
		"pages": func() [][2]string { return pages },
		"text":  text, "day": day, "minutes": match.Minutes, "kind": kindOf, "places": places, "patch": patch, "chart": s.chart, "record": recordValue,
		"matchPage": MatchPage, "replayFile": ReplayFile, "cardFile": CardFile,
		"count": func(n int, form string) string { return fmt.Sprintf("%d %s", n, plural.Form(n, form)) },
		"clock": func(seconds float64) string {
			t := match.Minutes(math.Round(seconds))
			return t[:strings.LastIndexByte(t, '.')]
		},
		"player":   func(i int) *league.Player { return &s.Players[i] },
		"page":     func(i int) string { return s.pages[i] },
		"at":       func(i int) *league.Match { return &s.League.Matches[i] },
		"title":    s.title,
		"percent":  percent,
		"skill":    skill,
		"gain":     gain,
		"last":     s.last,
		"current":  s.current,
		"kills":    countKills,
		"ordered":  ordered,
		"of":       partOf,
		"share":    func(n, of int) string { return percent(ratio(n, of)) },
		"score":    optional[int],
		"rivals":   s.rivals,
		"damage":   optional[float64],
		"team":     func(t *int) string { return "Team " + strconv.Itoa(*t+1) },
		"reverse":  func(all []int) []int { all = slices.Clone(all); slices.Reverse(all); return all },
		"accuracy": func(r *league.Row) string { return percent(r.Accuracy()) },
		"row":      func(r league.Row) *league.Row { return &r },
	}
}

// A pair has a page and the value that a part of it shows.
type pair struct {
	View  *view
	Table any
}

// moment returns the link to a moment of a replay. The link starts two seconds
// earlier.
func moment(t float64) string { return "#t=" + strconv.FormatFloat(max(t-2, 0), 'f', 1, 64) }

// none replaces an unknown value.
const none = "–"

func ratio(n, of int) float64 {
	if of == 0 {
		return -1
	}
	return float64(n) / float64(of)
}

func percent(share float64) string {
	if share < 0 {
		return none
	}
	return strconv.FormatFloat(100*share, 'f', 0, 64) + " %"
}

func optional[T int | float64](n *T) string {
	if n == nil {
		return none
	}
	return strconv.FormatFloat(float64(*n), 'f', 0, 64)
}

// skill formats a rating with its deviation.
func skill(s *league.Skill) string {
	if s == nil {
		return none
	}
	return fmt.Sprintf("%.1f ± %.1f", s.Mu, s.Sigma)
}

// gain formats the change of a rating in a match.
func gain(p *league.Part) string {
	if p.Skill == nil {
		return none
	}
	return strings.Replace(fmt.Sprintf("%+.1f", p.Skill.Mu-p.Before.Mu), "-", "−", 1)
}

// last returns the indexes of the last n matches, the last one first.
func (s *site) last(n int) (all []int) {
	for i := len(s.League.Matches) - 1; i >= 0 && len(all) < n; i-- {
		all = append(all, i)
	}
	return all
}

// current returns the last season that has matches. If there is none, it
// returns the table of all time.
func (s *site) current() *league.Table {
	for i := len(s.Seasons) - 2; i >= 0; i-- {
		if s.Seasons[i].Matches > 0 {
			return &s.Seasons[i]
		}
	}
	return &s.Seasons[len(s.Seasons)-1]
}

func countKills(m *league.Match) (n int) {
	for i := range m.Kills {
		if k := &m.Kills[i]; k.Killer >= 0 && k.Killer != k.Victim {
			n++
		}
	}
	return n
}

// ordered returns the players of a match, the best first.
func ordered(m *league.Match) []league.Part {
	all := slices.Clone(m.Parts)
	slices.SortStableFunc(all, func(a, b league.Part) int {
		place := func(p *league.Part) int {
			if p.Place == 0 {
				return math.MaxInt
			}
			return p.Place
		}
		if x, y := place(&a), place(&b); x != y {
			if x < y {
				return -1
			}
			return 1
		}
		return b.Kills - a.Kills
	})
	return all
}

func partOf(m *league.Match, player int) *league.Part {
	i := slices.IndexFunc(m.Parts, func(p league.Part) bool { return p.Player == player })
	return &m.Parts[i]
}

// A rival is a rivalry from the view of one of the two players.
type rival struct {
	Other         int
	Kills, Deaths int
	Ahead, Behind int
	Meetings      []league.Meeting
}

// rivals returns the rivalries of a player.
func (s *site) rivals(player int) (all []rival) {
	for i := range s.Rivalries {
		switch r := &s.Rivalries[i]; player {
		case r.A:
			all = append(all, rival{r.B, r.KillsA, r.KillsB, r.AheadA, r.AheadB, r.Meetings})
		case r.B:
			all = append(all, rival{r.A, r.KillsB, r.KillsA, r.AheadB, r.AheadA, r.Meetings})
		}
	}
	return all
}

// recordValue formats the value of a record.
func recordValue(r *league.Record) string {
	switch r.Kind {
	case league.LongestOne, league.FirstKill:
		return match.Minutes(r.Value)
	case league.LongestKill, league.Fastest, league.Accurate:
		return strconv.FormatFloat(r.Value, 'f', 1, 64)
	}
	return strconv.FormatFloat(r.Value, 'f', 0, 64)
}

// A point is a rating in a chart.
type point struct {
	X, Y  string
	Match int
	Skill league.Skill
}

// A curve is a chart of a player's ratings: the line, and the area of its deviation.
type curve struct {
	Line, Area string
	Points     []point // few enough that each can be a link
	Low, High  string
}

// The size of a chart in its own units, and the maximum number of points with
// links.
const (
	chartWidth  = 1000.0
	chartHeight = 160.0
	mostPoints  = 60
)

// chart draws a player's ratings.
func (s *site) chart(p *league.Player) *curve {
	if len(p.Ratings) < 2 {
		return nil
	}
	low, high := math.Inf(1), math.Inf(-1)
	for _, r := range p.Ratings {
		low, high = min(low, r.Skill.Mu-r.Skill.Sigma), max(high, r.Skill.Mu+r.Skill.Sigma)
	}
	y := func(v float64) float64 { return chartHeight * (high - v) / (high - low) }
	x := func(i int) float64 { return chartWidth * float64(i) / float64(len(p.Ratings)-1) }
	c := &curve{Low: fmt.Sprintf("%.0f", low), High: fmt.Sprintf("%.0f", high)}
	var line, over, under strings.Builder
	for i, r := range p.Ratings {
		sign := "L"
		if i == 0 {
			sign = "M"
		}
		fmt.Fprintf(&line, "%s%.1f %.1f", sign, x(i), y(r.Skill.Mu))
		fmt.Fprintf(&over, "%s%.1f %.1f", sign, x(i), y(r.Skill.Mu+r.Skill.Sigma))
		back := len(p.Ratings) - 1 - i
		fmt.Fprintf(&under, "L%.1f %.1f", x(back), y(p.Ratings[back].Skill.Mu-p.Ratings[back].Skill.Sigma))
		if len(p.Ratings) <= mostPoints {
			c.Points = append(c.Points, point{fmt.Sprintf("%.1f", x(i)), fmt.Sprintf("%.1f", y(r.Skill.Mu)), r.Match, r.Skill})
		}
	}
	c.Line, c.Area = line.String(), over.String()+under.String()+"Z"
	return c
}
