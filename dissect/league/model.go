package league

import (
	"time"

	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/match"
)

// A League is the sum of matches. Players, matches and seasons refer to each
// other by index.
type League struct {
	Title     string     `json:"title"`
	Zone      string     `json:"time_zone"`
	Seasons   []Table    `json:"seasons"` // the last one is for all time
	Players   []Player   `json:"players"`
	Matches   []Match    `json:"matches"`
	Ships     []Ship     `json:"ships"`
	Rivalries []Rivalry  `json:"rivalries"`
	Records   []Record   `json:"records"`
	Similar   []Likeness `json:"similar_names,omitempty"`

	Settings *Settings
}

// A Table is the table of a season.
type Table struct {
	Name    string    `json:"name"`
	Begin   time.Time `json:"begin,omitempty"`
	End     time.Time `json:"end,omitempty"`
	Matches int       `json:"matches"`
	Rows    []Row     `json:"rows"` // rows in order, the best first
}

// A Row has a player's results in a season.
type Row struct {
	Player    int     `json:"player"`
	Matches   int     `json:"matches"`
	Wins      int     `json:"wins"`
	Draws     int     `json:"draws"`
	Losses    int     `json:"losses"`
	Undecided int     `json:"undecided"` // results that are undecided or unknown
	Points    int     `json:"points"`
	Kills     int     `json:"kills"`
	Deaths    int     `json:"deaths"`
	TeamKills int     `json:"team_kills"`
	Shots     int     `json:"shots"`
	Hits      int     `json:"hits"`   // hits among the shots whose result is known
	Misses    int     `json:"misses"` // misses among these shots
	Damage    float64 `json:"damage" digits:"0"`
	Skill     *Skill  `json:"rating,omitempty"` // rating after the last match
}

// Accuracy returns the share of shots that hit, or -1 if it is unknown.
func (r *Row) Accuracy() float64 {
	if r.Hits+r.Misses == 0 {
		return -1
	}
	return float64(r.Hits) / float64(r.Hits+r.Misses)
}

// A Player is a player's row for all time, and further results.
type Player struct {
	Key     string           `json:"key"` // unique key
	Name    wire.Untrusted   `json:"name"`
	Names   []wire.Untrusted `json:"other_names,omitempty"`
	Total   Row              `json:"total"`
	Streak  int              `json:"longest_winning_streak"`
	Ratings []Rated          `json:"ratings,omitempty"`
	In      []int            `json:"in"` // indices of matches
}

// A Rated is a player's skill after a match.
type Rated struct {
	Match int   `json:"match"`
	Skill Skill `json:"rating"`
}

// A Match is a match of the league.
type Match struct {
	ID      string        `json:"id"`
	Also    []string      `json:"also,omitempty"` // names of the match's other recordings
	Season  int           `json:"season,omitempty" as:"index"`
	Ignored string        `json:"ignored,omitempty"` // why the match does not count, empty if it does
	Begin   time.Time     `json:"begin"`
	Seconds float64       `json:"seconds" digits:"1"` // length up to the match's end
	Host    string        `json:"host,omitempty"`     // set if addresses are published
	Parts   []Part        `json:"players"`
	Kills   []Kill        `json:"kills"`
	Story   *match.Match  // the other data of the match
	Detail  Detail        `json:"match"`
	Replay  string        // name of its data
	Evicted match.Evicted // items dropped because of limits

	players []int // for each player of the story, the index in the league, or -1 for players who do not count
}

// A Detail has what the report of a match says about the match as a whole.
type Detail struct {
	Server  wire.Untrusted `json:"server,omitempty"`
	Map     string         `json:"map,omitempty"`
	Result  string         `json:"result"`
	Verdict wire.Untrusted `json:"verdict"`
	Ending  wire.Untrusted `json:"ending"`
	Grounds wire.Untrusted `json:"grounds,omitempty"`
	Frame   int            `json:"frame,omitempty"` // frame that shows the end
	Teams   bool           `json:"team_match,omitempty"`
	Places  []Place        `json:"places"`
}

// A Place is a recording of a match. The best one is first, and all numbers
// come from it.
type Place struct {
	Files  []string       `json:"files"`
	Host   bool           `json:"host"` // it was recorded at the host
	At     wire.Untrusted `json:"player_name,omitempty"`
	Result string         `json:"result"` // result according to this recording
	Agrees bool           `json:"agrees"` // whether that result is unknown or the match's result
}

// A Part is a player's part in a match.
type Part struct {
	Player    int      `json:"player"`
	Team      *int     `json:"team,omitempty"`
	Place     int      `json:"place,omitempty"` // from 1, in matches with a winner or a draw
	Won       bool     `json:"won"`
	Points    int      `json:"points"`
	Kills     int      `json:"kills"`
	Deaths    int      `json:"deaths"`
	TeamKills int      `json:"team_kills,omitempty"`
	Score     *int     `json:"score,omitempty"`
	Shots     int      `json:"shots"`
	Hits      int      `json:"hits"`
	Misses    int      `json:"misses"`
	Damage    *float64 `json:"damage,omitempty" digits:"0"`
	Ships     []string `json:"ships"`
	Skill     *Skill   `json:"rating,omitempty"` // rating after the match
	Before    *Skill   `json:"rating_before,omitempty"`
}

// A Kill is the loss of a ship in a match before its end.
type Kill struct {
	T        float64  `json:"t" digits:"3"`
	Frame    int      `json:"frame"`
	Killer   int      `json:"killer,omitempty" as:"index"`
	Victim   int      `json:"victim,omitempty" as:"index"`
	Weapon   string   `json:"weapon,omitempty"`
	Distance *float64 `json:"distance,omitempty" digits:"1"`
	Ship     string   `json:"ship,omitempty"`
	With     string   `json:"killer_ship,omitempty"`
	Friendly bool     `json:"team_kill,omitempty"`
}

// A Ship sums what players did in ships of a class.
type Ship struct {
	Class   string `json:"class"`
	Flown   int    `json:"flown"`   // number of ships
	Matches int    `json:"matches"` // number of matches, counted for each player
	Decided int    `json:"decided"` // number of these with a decision
	Wins    int    `json:"wins"`
	Kills   int    `json:"kills"`
	Losses  int    `json:"losses"`
	In      []int  `json:"in"` // indices of matches
}

// A Rivalry has the results of two players against each other.
type Rivalry struct {
	A        int       `json:"a"`
	B        int       `json:"b"`
	KillsA   int       `json:"kills_a"`
	KillsB   int       `json:"kills_b"`
	AheadA   int       `json:"ahead_a"` // number of matches in which A had the better place
	AheadB   int       `json:"ahead_b"`
	Meetings []Meeting `json:"meetings"` // matches with kills between the two
}

// A Meeting is a match's part in a rivalry.
type Meeting struct {
	Match  int `json:"match"`
	KillsA int `json:"kills_a"`
	KillsB int `json:"kills_b"`
}

// A Record is the best value of its kind in all matches.
type Record struct {
	Kind   string  `json:"kind"`
	Value  float64 `json:"value" digits:"1"`
	Player int     `json:"player,omitempty" as:"index"`
	Match  int     `json:"match"`
	T      float64 `json:"t,omitempty" digits:"3"` // time in the match
	Frame  int     `json:"frame,omitempty"`
}

// A Likeness is two names that may belong to one player. The two never met in a
// match.
type Likeness struct {
	A int `json:"a"`
	B int `json:"b"`
}
