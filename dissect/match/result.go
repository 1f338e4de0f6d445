package match

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/bcdissect/bcdissect/decode/names"
	"github.com/bcdissect/bcdissect/decode/wire"
)

// An Outcome is the way in which a match ended.
type Outcome uint8

// The outcomes of a match.
const (
	Unknown   Outcome = iota // the capture lacks the beginning or the end of the match
	Undecided                // all players left, or the match was stopped
	Draw                     // the host ended it, and the best were equal
	Won                      // the host ended it, and a player or a team was the best
)

// String returns the outcome as written in outputs.
func (o Outcome) String() string { return [...]string{"unknown", "undecided", "draw", "winner"}[o] }

// The evidence for a result.
const (
	ByHost  = "host"  // the host's scores
	ByKills = "kills" // the kills in the capture, if the host keeps no score
)

// The reasons for the end of a match that do not come from the host.
const (
	EndRestart = "restart"
	EndMission = "another mission"
	EndClosed  = "the host closed the game"
	EndLeft    = "all players left"
)

// The reasons why a result is unknown.
const (
	lacksBegin = "the capture begins within the match"
	lacksEnd   = "the capture ends before the match does"
)

// A Result tells who won a match. It is fixed at the end of the match. Later
// events do not change it.
type Result struct {
	Value  Outcome `json:"value" page:"=" table:"result" as:"text" doc:"[winner], [draw], [undecided] (all left, or the match was stopped) or [unknown] (the capture lacks the beginning or the end)"`
	Winner int     `json:"winner+winner_name,omitempty" page:"winner" table:"=" as:"player" doc:"the player who won, if no team did"` // NoPlayer if no player won
	Team   int     `json:"team,omitempty" page:"team" table:"winner_team" as:"index" doc:"the team that won, from 0"`                 // -1 if no team won
	// Winners are all players who won: one player, or the players who were in the
	// team at the end of the match.
	Winners []int  `json:"winners,omitempty" page:"=" table:"=" doc:"players who won"`
	Reason  string `json:"reason" page:"=" table:"result_reason" doc:"why the match ended, or why the result is unknown"`
	Rests   string `json:"rests_on,omitempty" page:"=" table:"result_rests_on,omitempty" doc:"[host]: the host's scores; [kills]: those in the capture, if the host sent no scores, or only zeros although ships were lost"`
	Frame   int    `json:"frame,omitempty" page:"=" table:"result_frame,omitempty" doc:"frame that shows the end"`
	Scored  int    `json:"score_frame,omitempty" page:"=" table:"score_frame,omitempty" doc:"frame of the last score, or else of the last kill, that counts"`
	Place   int    `json:"place,omitempty" page:"=" doc:"index in [places] of the recording with these frames"`
	Differs bool   `json:"kills_differ,omitempty" page:"=" table:"kills_differ" doc:"the host counts other kills or deaths than the capture shows"`
}

// end fixes the result of a match. Later calls do nothing.
func (g *game) end(frame int, t float64, why string) {
	m := g.m
	if m.Over != nil {
		return
	}
	g.settleEnds(math.Inf(1))
	m.Over, m.EndedBy = &t, why
	g.decide(frame)
	g.eventAt(t, frame, EventMatch, NoPlayer, m.Verdict(m.NameOf))
}

// endLeft ends a match that all players have left.
func (g *game) endLeft(frame int) {
	if g.empty = len(g.m.Lives) > 0 && g.deserted(); g.empty {
		g.end(frame, g.b.now, EndLeft)
	}
}

// again begins the next match if all players have left and a new one comes.
func (g *game) again() {
	if g.empty {
		g.next(EndLeft)
	}
}

// soFar computes the result of a match that has not ended, as if the last
// record ended it.
func (g *game) soFar() {
	m := g.m
	if m.Over != nil {
		g.rejoin()
		return
	}
	frame := 0
	if g.deserted() {
		frame = g.goneIn
		for i := range m.Players {
			if left := m.Players[i].Left; left != nil && (m.Over == nil || *left > *m.Over) {
				m.Over, m.EndedBy = left, EndLeft
				if m.Players[i].LeftHow == LeftSilent {
					frame = 0
				}
			}
		}
	}
	g.decide(frame)
	g.guessed = m.Over != nil
}

// deserted reports whether all players have left, and nobody has just been let
// in. A capture of one client may lack players who are still there.
func (g *game) deserted() bool {
	for _, a := range g.who.accepted {
		if g.b.now-a.t < goneSeconds {
			return false
		}
	}
	left := false
	for i := range g.m.Players {
		p := &g.m.Players[i]
		left = left || p.Left != nil
		if p.Left == nil && !p.refused && (p.Address.IsValid() || p.Joined != nil || g.current(i) != NoLife || g.captured() < 2) {
			return false
		}
	}
	return left
}

// decide computes the result from what the capture has shown so far.
func (g *game) decide(frame int) {
	g.rejoin()
	m := g.m
	m.Late = g.begunLate()
	m.Teams = g.teamed()
	r := Result{Winner: NoPlayer, Team: -1, Reason: m.EndedBy, Frame: frame, Rests: ByKills}
	keeps := g.keepsScore()
	g.heed(keeps)
	if keeps && g.scored || slices.ContainsFunc(m.Players, func(p Player) bool { return p.HostSays != nil }) {
		r.Rests = ByHost
	}
	for i := range m.Players {
		r.Differs = r.Differs || m.Players[i].Differs()
	}
	m.Result = r
	m.lead()
	m.Result.settle(m)
}

// settle computes the kind of a result, and who won.
func (r *Result) settle(m *Match) {
	switch {
	case m.Late:
		r.Reason = lacksBegin
		return
	case m.Over == nil:
		r.Reason = lacksEnd
		return
	}
	switch m.EndedBy {
	case EndRestart, EndMission, EndClosed, EndLeft:
		r.Value = Undecided
		return
	}
	r.Value = Draw
	switch {
	case m.LeadingTeam != nil:
		r.Value, r.Team = Won, *m.LeadingTeam
		for i := range m.Players {
			if t := m.Players[i].Team; t != nil && *t == r.Team {
				r.Winners = append(r.Winners, i)
			}
		}
	case len(m.Leaders) == 1:
		r.Value, r.Winner, r.Winners = Won, m.Leaders[0], m.Leaders
	}
}

// begunLate reports whether the capture lacks the beginning of the match: it
// has a player's connection without its start.
func (g *game) begunLate() bool {
	return !g.followed && slices.ContainsFunc(g.m.Players, func(p Player) bool { return p.Address.IsValid() && p.Joined == nil })
}

// teamed reports whether the match has teams: the host counts for teams, or
// players are in different teams.
func (g *game) teamed() bool {
	if g.teams {
		return true
	}
	team := -1
	for i := range g.m.Players {
		if t := g.m.Players[i].Team; t != nil {
			if team >= 0 && *t != team {
				return true
			}
			team = *t
		}
	}
	return false
}

// friends reports whether two players are in the same team.
func (g *game) friends(a, b int) bool {
	if a < 0 || b < 0 || a == b {
		return false
	}
	x, y := g.m.Players[a].Team, g.m.Players[b].Team
	return x != nil && y != nil && *x == *y && g.teamed()
}

// standing is what ranks a player or team.
type standing struct {
	score, kills int
	frame        int // last frame that changed it
}

func (s *standing) add(t standing) {
	s.score, s.kills, s.frame = s.score+t.score, s.kills+t.kills, max(s.frame, t.frame)
}

// compare compares by score and then by kills. If the kill limit ended the
// match, it compares by kills first.
func (m *Match) compare(a, b standing) int {
	score, kills := cmp.Compare(a.score, b.score), cmp.Compare(a.kills, b.kills)
	if m.EndedBy == names.EndGameReasons.Name(fragLimit) {
		return cmp.Or(kills, score)
	}
	return cmp.Or(score, kills)
}

// fragLimit is the number of the host's reason for an end by the kill limit.
const fragLimit = 2

// standings returns the standing of each player, and of each team.
func (m *Match) standings() (players []standing, teams map[int]standing) {
	players, teams = make([]standing, len(m.Players)), map[int]standing{}
	for i := range m.Players {
		p, s := &m.Players[i], &players[i]
		switch h := p.HostSays; {
		case m.Result.Rests == ByKills:
			s.kills = p.Kills
		case h != nil:
			*s = standing{value(h.Score), value(h.Kills), h.Frame}
		}
		if p.Team != nil {
			t := teams[*p.Team]
			t.add(*s)
			teams[*p.Team] = t
		}
	}
	if m.Result.Rests == ByKills {
		for i := range m.Kills {
			if k := &m.Kills[i]; !k.After && k.Killer != NoPlayer {
				players[k.Killer].frame = k.Frame
			}
		}
	}
	told := map[int]standing{}
	for i := range m.Scores {
		if s := &m.Scores[i]; s.Player == NoPlayer && !s.After && m.Result.Rests == ByHost {
			told[s.Team] = standing{*s.Score, *s.Kills, s.Frame} // the host sends both for teams
		}
	}
	if len(told) > 0 {
		for team := range teams {
			if _, named := told[team]; !named {
				told[team] = standing{} // a team that the host has not sent has no score
			}
		}
		teams = told
	}
	return players, teams
}

func value(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}

// lead finds the leaders: the team in a match with teams, and otherwise the
// players.
func (m *Match) lead() {
	m.Leaders, m.LeadingTeam = nil, nil
	players, teams := m.standings()
	best := standing{}
	for i, s := range players {
		m.Result.Scored = max(m.Result.Scored, s.frame)
		switch c := m.compare(s, best); {
		case m.Teams || s.score == 0 && s.kills == 0:
		case c > 0:
			best, m.Leaders = s, []int{i}
		case c == 0:
			m.Leaders = append(m.Leaders, i)
		}
	}
	if !m.Teams {
		return
	}
	order := slices.SortedFunc(maps.Keys(teams), func(a, b int) int { return cmp.Or(m.compare(teams[b], teams[a]), a-b) })
	for _, s := range teams {
		m.Result.Scored = max(m.Result.Scored, s.frame)
	}
	if len(order) > 1 && m.compare(teams[order[0]], teams[order[1]]) != 0 {
		m.LeadingTeam = &order[0]
	}
}

// Differs reports whether the host's count of a player's kills or deaths
// differs from the capture's.
func (p *Player) Differs() bool {
	h := p.HostSays
	return h != nil && (h.Kills != nil && *h.Kills != p.Kills || h.Deaths != nil && *h.Deaths != p.Deaths)
}

// Minutes returns a time as minutes and seconds.
func Minutes(t float64) string {
	tenths := int64(t*10 + 0.5)
	if tenths < 0 {
		return "-" + Minutes(-t)
	}
	return fmt.Sprintf("%d:%02d.%d", tenths/600, tenths/10%60, tenths%10)
}

// Ending tells in words how the match ended, or what the capture lacks for
// knowing that.
func (m *Match) Ending() wire.Untrusted {
	if m.Over == nil {
		if m.Late {
			return "The capture begins and ends within the match"
		}
		return "The capture ends before the match does"
	}
	text, at := wire.Untrusted(""), wire.Untrusted(" at "+Minutes(*m.Over))
	if m.Result.Frame > 0 {
		at += " (" + m.frame(m.Result.Frame) + ")"
	}
	if m.Late {
		text = "The capture begins within the match. "
	}
	switch m.EndedBy {
	case EndRestart:
		return text + "The host restarted it" + at
	case EndMission:
		return text + "The host went on to another mission" + at
	case EndClosed:
		return text + "The host closed the game" + at
	case EndLeft:
		return text + "All players had left" + at
	}
	return text + "The host ended it" + at + ": " + wire.Untrusted(m.EndedBy)
}

// frame returns the name of a frame in the recording that the result is from.
func (m *Match) frame(n int) wire.Untrusted {
	text := "frame " + wire.Untrusted(digits(n))
	if p := m.Result.Place; p > 0 && p < len(m.Places) {
		text += " of " + wire.Untrusted(strings.Join(m.Places[p].Files, " "))
	}
	return text
}

// Grounds tells in words what a result is based on, if there is a result.
func (m *Match) Grounds() wire.Untrusted {
	text := wire.Untrusted("The host sent no scores, so the kills in the capture decide")
	if len(m.Scores) > 0 {
		text = "The host sent only zeros as scores, so the kills in the capture decide"
	}
	if m.Result.Rests == ByHost {
		text = "The host's scores decide"
	}
	if m.Result.Value < Draw {
		return ""
	}
	if m.Result.Scored > 0 {
		text += ", the last one in " + m.frame(m.Result.Scored)
	}
	return text
}

// Verdict returns the result in words. The argument name returns the name of a
// player.
func (m *Match) Verdict(name func(player int) wire.Untrusted) wire.Untrusted {
	verb, equal := wire.Untrusted(" led"), wire.Untrusted(" were equal")
	if m.Over == nil {
		verb, equal = " leads", " are equal"
	}
	before := wire.Untrusted("Undecided: ")
	switch m.Result.Value {
	case Won:
		before, verb = "", " won"
	case Draw:
		before = "Draw: "
	case Unknown:
		before = "Unknown: "
	case Undecided:
	}
	leaders := make([]wire.Untrusted, len(m.Leaders))
	for i, p := range m.Leaders {
		leaders[i] = name(p)
	}
	switch {
	case m.LeadingTeam != nil:
		return before + "Team " + wire.Untrusted(digits(*m.LeadingTeam+1)) + verb
	case m.Teams:
		return before + "the teams" + equal
	case len(leaders) == 0:
		return before + "no player scored"
	case len(leaders) == 1:
		return before + leaders[0] + verb
	}
	return before + wire.Join(leaders, " and ") + equal
}

// Won reports whether a player or the player's team won.
func (m *Match) Won(player int) bool { return slices.Contains(m.Result.Winners, player) }

// Ranks returns the place of each player in a match with a winner or a draw,
// from 1. Equal players have the same place, and so do the players of a team.
// The place is 0 for players without a place, and in other matches.
func (m *Match) Ranks() []int {
	ranks := make([]int, len(m.Players))
	if m.Result.Value < Draw {
		return ranks
	}
	players, teams := m.standings()
	of := func(i int) (s standing, ok bool) {
		if !m.Teams {
			return players[i], true
		}
		t := m.Players[i].Team
		if t == nil {
			return s, false
		}
		return teams[*t], true
	}
	better := slices.Clone(players)
	if m.Teams {
		better = slices.Collect(maps.Values(teams))
	}
	for i := range ranks {
		s, ok := of(i)
		if !ok {
			continue
		}
		ranks[i] = 1
		for _, o := range better {
			if m.compare(o, s) > 0 {
				ranks[i]++
			}
		}
	}
	return ranks
}
