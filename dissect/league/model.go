package league

import (
	"time"

	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/match"
)

// A League is what matches add up to. Players, matches and seasons refer to each
// other by their indices.
type League struct {
	Title     string     `json:"title"`
	Zone      string     `json:"time_zone"`
	Seasons   []Table    `json:"seasons"` // the last one is of all time
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
	Rows    []Row     `json:"rows"` // the best first
}

// A Row adds up what a player did.
type Row struct {
	Player    int     `json:"player"`
	Matches   int     `json:"matches"`
	Wins      int     `json:"wins"`
	Draws     int     `json:"draws"`
	Losses    int     `json:"losses"`
	Undecided int     `json:"undecided"` // or unknown
	Points    int     `json:"points"`
	Kills     int     `json:"kills"`
	Deaths    int     `json:"deaths"`
	TeamKills int     `json:"team_kills"`
	Shots     int     `json:"shots"`
	Hits      int     `json:"hits"`   // of the shots of which the traffic tells
	Misses    int     `json:"misses"` // of these
	Damage    float64 `json:"damage" digits:"0"`
	Skill     *Skill  `json:"rating,omitempty"` // after the last match
}

// Accuracy returns the share of shots that hit, -1 if that isn't known.
func (r *Row) Accuracy() float64 {
	if r.Hits+r.Misses == 0 {
		return -1
	}
	return float64(r.Hits) / float64(r.Hits+r.Misses)
}

// A Player is a row of all time, with more.
type Player struct {
	Key     string           `json:"key"` // unique
	Name    wire.Untrusted   `json:"name"`
	Names   []wire.Untrusted `json:"other_names,omitempty"`
	Total   Row              `json:"total"`
	Streak  int              `json:"longest_winning_streak"`
	Ratings []Rated          `json:"ratings,omitempty"`
	In      []int            `json:"in"` // matches
}

// A Rated is a player's skill after a match.
type Rated struct {
	Match int   `json:"match"`
	Skill Skill `json:"rating"`
}

// A Match is a match as the league has it.
type Match struct {
	ID      string        `json:"id"`
	Also    []string      `json:"also,omitempty"` // names of the match at its other places
	Season  int           `json:"season,omitempty" as:"index"`
	Ignored string        `json:"ignored,omitempty"` // why the match doesn't count
	Begin   time.Time     `json:"begin"`
	Seconds float64       `json:"seconds" digits:"1"` // up to its end
	Host    string        `json:"host,omitempty"`     // if addresses are published
	Parts   []Part        `json:"players"`
	Kills   []Kill        `json:"kills"`
	Story   *match.Match  // the rest
	Detail  Detail        `json:"match"`
	Replay  string        // names its data
	Evicted match.Evicted // items beyond the limits

	players []int // of the league, for each player of the story; -1 for those who don't count
}

// A Detail is what the report of one match says about it as a whole.
type Detail struct {
	Server  wire.Untrusted `json:"server,omitempty"`
	Map     string         `json:"map,omitempty"`
	Result  string         `json:"result"`
	Verdict wire.Untrusted `json:"verdict"`
	Ending  wire.Untrusted `json:"ending"`
	Grounds wire.Untrusted `json:"grounds,omitempty"`
	Frame   int            `json:"frame,omitempty"` // that shows the end
	Teams   bool           `json:"team_match,omitempty"`
	Places  []Place        `json:"places"`
}

// A Place is a recording that shows a match, the best one first: all numbers are from
// that one.
type Place struct {
	Files  []string       `json:"files"`
	Host   bool           `json:"host"` // it was recorded at the host
	At     wire.Untrusted `json:"player_name,omitempty"`
	Result string         `json:"result"` // of this recording
	Agrees bool           `json:"agrees"` // that result is the match's, or unknown
}

// A Part is what a player did in a match.
type Part struct {
	Player    int      `json:"player"`
	Team      *int     `json:"team,omitempty"`
	Place     int      `json:"place,omitempty"` // from 1; in matches with a winner or a draw
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
	Skill     *Skill   `json:"rating,omitempty"` // after the match
	Before    *Skill   `json:"rating_before,omitempty"`
}

// A Kill is a loss of a ship in a match, up to its end.
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

// A Ship adds up what players did in ships of a class.
type Ship struct {
	Class   string `json:"class"`
	Flown   int    `json:"flown"`   // ships
	Matches int    `json:"matches"` // of players
	Decided int    `json:"decided"` // of these
	Wins    int    `json:"wins"`
	Kills   int    `json:"kills"`
	Losses  int    `json:"losses"`
	In      []int  `json:"in"` // matches
}

// A Rivalry is what two players did to each other.
type Rivalry struct {
	A        int       `json:"a"`
	B        int       `json:"b"`
	KillsA   int       `json:"kills_a"`
	KillsB   int       `json:"kills_b"`
	AheadA   int       `json:"ahead_a"` // matches in which A had the better place
	AheadB   int       `json:"ahead_b"`
	Meetings []Meeting `json:"meetings"` // with kills
}

// A Meeting is the part of a match in a rivalry.
type Meeting struct {
	Match  int `json:"match"`
	KillsA int `json:"kills_a"`
	KillsB int `json:"kills_b"`
}

// A Record is the best there was of something.
type Record struct {
	Kind   string  `json:"kind"`
	Value  float64 `json:"value" digits:"1"`
	Player int     `json:"player,omitempty" as:"index"`
	Match  int     `json:"match"`
	T      float64 `json:"t,omitempty" digits:"3"` // moment in the match
	Frame  int     `json:"frame,omitempty"`
}

// A Likeness is two names that may be of one player. They never met.
type Likeness struct {
	A int `json:"a"`
	B int `json:"b"`
}
