package match

import "cmp"

// A PlayerResult is the result of a match for a player.
type PlayerResult struct {
	Player    int    `json:"player+player_name,omitempty" table:"=" as:"player" doc:"the player"`
	Key       string `json:"player_key,omitempty" table:"=" doc:"name without regard to case, which makes players of several matches one"`
	Outcome   string `json:"outcome" table:"=" doc:"[won], [lost], [draw], [undecided] or [unknown]"`
	Played    bool   `json:"played" table:"played" doc:"the player flew a ship; the result counts only then"`
	Ship      string `json:"ship,omitempty" table:"=" doc:"class that the player flew longest"`
	Team      *int   `json:"team,omitempty" table:"=" doc:"from 0"`
	Kills     int    `json:"kills" table:"=" doc:"counted in the capture, up to the end of the match"`
	Deaths    int    `json:"deaths" table:"=" doc:"counted in the capture, up to the end of the match"`
	TeamKills int    `json:"team_kills,omitempty" table:"team_kills" doc:"kills of players of the same team, which [kills] doesn't count"`
	Score     *int   `json:"score,omitempty" table:"=" doc:"the last that the host gave before the end of the match"`
	Frame     int    `json:"result_frame,omitempty" table:"=" doc:"frame that shows the end of the match"`
}

// Outcomes for a player, in addition to the outcomes of the match.
const (
	PlayerWon  = "won"
	PlayerLost = "lost"
)

// Results returns the result for each player, in the order of Players.
func (m *Match) Results() []PlayerResult {
	all := make([]PlayerResult, len(m.Players))
	flown := make([]map[string]float64, len(all)) // seconds of flight by class
	for i := range m.Lives {
		l := &m.Lives[i]
		if l.Player == NoPlayer {
			continue
		}
		all[l.Player].Played = true
		if flown[l.Player] == nil {
			flown[l.Player] = map[string]float64{}
		}
		flown[l.Player][l.Ship] += l.End - l.Begin
	}
	for i := range all {
		p, r := &m.Players[i], &all[i]
		*r = PlayerResult{
			Player: i, Key: p.Key(), Outcome: m.Result.Value.String(), Played: p.Name != "" && (r.Played || p.Kills+p.Deaths > 0), Ship: longest(flown[i]), Team: p.Team,
			Kills: p.Kills, Deaths: p.Deaths, TeamKills: p.TeamKills, Score: p.Score, Frame: m.Result.Frame,
		}
		if m.Result.Value == Won {
			if r.Outcome = PlayerLost; m.Won(i) {
				r.Outcome = PlayerWon
			}
		}
	}
	return all
}

// longest returns the class with the most seconds, or the first of these by
// name.
func longest(flown map[string]float64) (ship string) {
	for class, seconds := range flown {
		if class != "" && (ship == "" || cmp.Or(cmp.Compare(flown[ship], seconds), cmp.Compare(class, ship)) < 0) {
			ship = class
		}
	}
	return ship
}
