// Package match tells the story of a capture: its matches, players, ships,
// kills, tracks and chat, and the quality of each player's connection.
//
// A [Builder] folds records into matches. The types of this package are the
// result. All reports read them: text, JSON, the web page, the flight
// recording, and the dashboard. Every item names the frame that shows it, or 0
// if only another recording of the match does. A value that is not in the
// capture is nil or absent. Zero means zero.
//
// Times are seconds since the first frame of the capture. Distances are game
// units. A reference to a player is an index into Match.Players. Text is from
// the network: escape it before a terminal or a browser sees it.
package match

import (
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/packet"
)

// A Match is one match of one host, from its first sign to its restart, to the
// next mission, or to the end of the capture.
type Match struct {
	Host    netip.AddrPort `json:"host" page:"host" table:"host,omitempty" doc:"[ip:port]"`
	Name    wire.Untrusted `json:"server,omitempty" page:"server" table:"=" doc:"name of the server, as GameSpy tells"`
	Dialect decode.Dialect `json:"dialect,omitempty" table:"=" as:"text" doc:"of the host: [stock], [openbc] or [auto]"` // dialect of the host, or else of the first client
	Mission wire.Untrusted `json:"mission,omitempty" table:"=" doc:"script of the mission"`
	Map     string         `json:"map,omitempty" page:"map" table:"=" doc:"star system"`
	Rules   Rules          `json:"rules" table:",inline"`

	Origin  time.Time      // time of the capture's first frame, from which all times in seconds count
	Begin   float64        `json:"begin+begin_t" page:"begin" table:"begin_ts" doc:"first sign of the match"`
	End     float64        `json:"end+end_t" page:"end" table:"end_ts" doc:"its last sign"`
	_       float64        `table:"seconds" doc:"between the two"`
	Over    *float64       `json:"over_t,omitempty" page:"over,omitempty" table:"=" doc:"end of the match, in seconds since the first frame"` // play may go on after it
	EndedBy string         `json:"ended_by,omitempty" page:"=" table:"=" doc:"the host's reason, [restart], [another mission], [the host closed the game] or [all players left]"`
	Late    bool           `json:"late,omitempty" page:"=" table:"begins_late" doc:"the capture begins within the match"`
	Open    bool           `json:"open,omitempty" table:"open" doc:"the capture ends within the match"`
	Teams   bool           `json:"team_match,omitempty" page:"team_match,omitempty" table:"team_match" doc:"players play in teams"`
	Result  Result         `json:"result" page:"outcome" table:",inline"`
	_       wire.Untrusted `all:"ending" doc:"how the match ended, in words"`
	_       wire.Untrusted `all:"verdict" doc:"the result in words"`
	_       wire.Untrusted `all:"grounds,omitempty" doc:"what the result rests on, in words"`
	Vantage int            `json:"captured_at,omitempty" page:"vantage" table:"captured_at+captured_at_host" as:"place" doc:"player at whose computer the capture was made|the capture was made at the host"` // index of the player who made the capture, VantageHost or VantageUnknown

	// Leaders are the players who lead. There are several if they are equal. There
	// are none if no player has a score or kill, or in a match with teams.
	// LeadingTeam is nil without teams or if teams are equal. Result tells whether
	// the leaders won.
	Leaders     []int `json:"leaders,omitempty" page:"=" table:"=" doc:"players with the highest score, or else the most kills, at the end of the match"`
	LeadingTeam *int  `json:"leading_team,omitempty" page:"=" table:"=" doc:"of a match with teams"`

	Players []Player       `json:"players" table:"=" index:"player" doc:"a player of a match"`
	_       []PlayerResult `table:"results" index:"index" doc:"what a match was for a player: won or lost, and the numbers up to its end"`
	Lives   []Life         `json:"lives" table:"=" index:"life" doc:"a ship of a player, from its creation to its end"`
	Kills   []Kill         `json:"kills" page:"=" table:"=" index:"kill" doc:"the loss of a ship"` // includes losses without a killer
	Scores  []Score        `json:"scores" table:"=" index:"index" doc:"the score of a player or team, at each change that the host sends"`
	Shots   []Shot         `json:"shots" table:"shots>Chat" index:"shot" doc:"a shot"`
	Damage  []Damage       `json:"damage" table:"=" index:"index" doc:"damage to a ship"`
	Fire    []Fire         `json:"fire" doc:"what each player fired at each other one with each weapon, up to the end of the match"`
	Wear    []Wear         `json:"subsystem_damage" doc:"what each subsystem lost to each player, up to the end of the match"`
	Chat    []Talk         `json:"chat" page:"=" table:"=" index:"index" doc:"a line of chat, once"`
	Events  []Event        `json:"events" page:"="` // in the order in which they happened
	Lines   []Line         `json:"lines"`           // one line for each address of a player
	Unusual []Finding      `json:"unusual" page:"="`

	Places []Place `json:"places,omitempty" page:"=" doc:"recordings that show the match, the best first; all else is from that one"`

	Evicted Evicted `json:"evicted,omitempty"`
}

// Places of capture that are not a player's computer.
const (
	VantageUnknown = -1
	VantageHost    = -2
)

// NoPlayer stands for an unknown player, and NoLife for an unknown life.
const (
	NoPlayer = -1
	NoLife   = -1
)

// NameOf returns the name of a player, or a description if there is no name.
func (m *Match) NameOf(player int) wire.Untrusted {
	if player < 0 || player >= len(m.Players) {
		return "somebody"
	}
	p := &m.Players[player]
	switch {
	case p.Name != "":
		return p.Name
	case p.ID != 0:
		return wire.Untrusted("player " + strconv.Itoa(int(p.ID)))
	case p.Slot >= 0:
		return wire.Untrusted("slot " + strconv.Itoa(p.Slot))
	case p.Address.IsValid():
		return wire.Untrusted(p.Address.String())
	}
	return wire.Untrusted("player #" + strconv.Itoa(player+1))
}

// Clock returns the time of day of a time in seconds.
func (m *Match) Clock(t float64) time.Time {
	return m.Origin.Add(packet.Duration(t * float64(time.Second)))
}

// Rules are the settings of a match. Nil means unknown or unlimited.
type Rules struct {
	PlayerLimit *int  `json:"player_limit,omitempty" table:"=" doc:"of players"`
	TimeLimit   *int  `json:"time_limit,omitempty" table:"=" doc:"minutes"`
	FragLimit   *int  `json:"frag_limit,omitempty" table:"=" doc:"kills"`
	NoTimeLimit bool  `json:"no_time_limit,omitempty"` // the host sent that there is no time limit
	NoFragLimit bool  `json:"no_frag_limit,omitempty"`
	Collisions  *bool `json:"collisions,omitempty" table:"=" doc:"ships collide"`
}

// A Player is one person in a match. Several stays of the same person are one
// player.
type Player struct {
	Name      wire.Untrusted   `json:"name" table:"player_name,omitempty" doc:"the last name"`
	Names     []wire.Untrusted `json:"names,omitempty" page:"=" table:"=" least:"2" doc:"all names in order, if there were several"`
	ID        uint8            `json:"id,omitempty" table:"=" doc:"network id"`
	Slot      int              `json:"slot,omitempty" table:"=" as:"index" doc:"player slot"`
	Team      *int             `json:"team,omitempty" page:"=" table:"=" doc:"from 0"`
	Address   netip.AddrPort   `json:"address,omitempty" page:"=" table:"=" doc:"[ip:port] of the last stay"`
	Joined    *float64         `json:"joined,omitempty" page:"=" table:"=" doc:"seconds since the first frame"`
	Ready     *float64         `json:"ready,omitempty" table:"=" doc:"first ready to play"`
	Left      *float64         `json:"left,omitempty" page:"=" table:"=" doc:"seconds since the first frame"`
	LeftHow   string           `json:"left_how,omitempty" page:"=" table:"=" doc:"[disconnect], [host], [closed], [silence], or the host's reason"`
	Visits    []Visit          `json:"visits,omitempty" page:"=" least:"2" doc:"times in the match, if the player left and came back"`
	Stays     int              `json:"stays" table:"=" doc:"connections that the capture shows to begin"`
	refused   bool             // the host refused the player, and has not let the player in since
	told      *HostSays        // HostSays, also of a host that keeps no score
	ShipNamed bool             // the name is the ship's, as it is for most players, because nothing else reveals it

	// Numbers up to the end of the match.
	Kills     int       `json:"kills" page:"=" table:"=" doc:"counted in the capture, up to the end of the match"`
	Deaths    int       `json:"deaths" page:"=" table:"=" doc:"counted in the capture, up to the end of the match"`
	TeamKills int       `json:"team_kills,omitempty" page:"=" table:"team_kills" doc:"kills of players of the same team, which [kills] doesn't count"`
	Score     *int      `json:"score,omitempty" page:"=" table:"=" doc:"the last that the host gave before the end of the match"`
	HostSays  *HostSays `json:"host_says,omitempty" page:"=" table:",inline"`
	Damage    *float64  `json:"damage,omitempty" page:"=" table:"damage_done" digits:"6 0" doc:"done to ships of others (OpenBC)"` // taken from the clients' damage messages
	Shots     int       `json:"shots" page:"=" table:"=" doc:"fired"`
}

// A Visit is the time between a player's coming and leaving.
type Visit struct {
	Joined  *float64       `json:"joined,omitempty" page:"=" doc:"seconds since the first frame"`
	Left    *float64       `json:"left,omitempty" page:"=" doc:"seconds since the first frame"`
	LeftHow string         `json:"left_how,omitempty" page:"="`
	Address netip.AddrPort `json:"address,omitempty" page:"=" doc:"[ip:port]"`
}

// Key returns the key by which players count as one: the name, ignoring case.
func (p *Player) Key() string { return strings.ToLower(p.Name.Raw()) }

// The ways in which players leave without being removed.
const (
	LeftItself    = "disconnect" // the player's client sent a Disconnect
	LeftAnnounced = "host"       // the host told the other players
	LeftClosed    = "closed"     // the host closed the game
	LeftSilent    = "silence"    // the player's client was silent up to the end of the capture
)

// HostSays is the score of a player as the host last sent it.
type HostSays struct {
	Kills  *int `json:"kills,omitempty" page:"=" table:"host_kills" doc:"the host's last word"`
	Deaths *int `json:"deaths,omitempty" page:"=" table:"host_deaths" doc:"the host's last word"`
	Score  *int `json:"score,omitempty"`
	Frame  int  `json:"frame" page:"="`
}

// A Life is one ship of one player from its creation to its end.
type Life struct {
	Player   int            `json:"player+player_name,omitempty" page:"player" table:"=" as:"player" doc:"its player"` // NoPlayer if unknown
	Ship     string         `json:"ship,omitempty" page:"ship" table:"=" doc:"class"`
	Name     wire.Untrusted `json:"ship_name,omitempty" page:"name" table:"=" doc:"name of the ship"`
	Object   wire.ObjectID  `json:"object_id" table:"=" doc:"the ship"`
	Begin    float64        `json:"begin" page:"=" table:"begin_ts+begin_t" doc:"creation, or first sighting"`
	End      float64        `json:"end" page:"=" table:"end_ts+end_t" doc:"end of the ship"`
	EndHow   string         `json:"end_how,omitempty" page:"=" table:"=" doc:"[killed], [destroyed], [left], [removed], [replaced] or [restarted]; absent if it lasts to the end"`
	Frame    int            `json:"frame" page:"=" table:"frame>Object" doc:"of the creation, or of the first sighting"`
	Late     bool           `json:"late,omitempty" page:"=" table:"begins_late" doc:"the creation was not captured"`
	Killer   int            `json:"killer+killer_name,omitempty" page:"killer" table:"killer+killer_name>Updates" as:"player" doc:"the killer"` // NoPlayer if unknown
	MaxSpeed float64        `json:"max_speed" page:"=" table:"=" digits:"6 2" doc:"game units a second"`                                        // taken from the updates
	Updates  int            `json:"updates" table:"=" doc:"ship updates"`                                                                       // ship updates that the track is made of

	Condition []Condition `json:"condition,omitempty"` // changes of hull and shields
	Systems   []System    `json:"systems,omitempty"`   // subsystems that lost condition
	Repairs   []Repair    `json:"repairs,omitempty"`
	Track     []Sample    `json:"track,omitempty" as:"rows"` // thinned: no position is farther than 0.5 units from the line between its neighbours
	Cloaked   bool        // whether the ship is cloaked at the end
}

// A Sample is a ship's position and motion at a moment.
type Sample struct {
	T       float64    `json:"t"`
	At      [3]float32 `json:"at"`
	Forward [3]float32 `json:"forward"`
	Up      [3]float32 `json:"up"`
	Speed   float32    `json:"speed"`
	Cloaked bool       `json:"cloaked"`
}

// A Condition is the state of hull and shields at a moment, as shares of the
// full condition. A negative value means unknown.
type Condition struct {
	T       float64    `json:"t"`
	Hull    float32    `json:"hull,omitempty" as:"share"`
	Shields [6]float32 `json:"shields,omitempty" as:"share"` // front, rear, top, bottom, left, right
}

// A System is the history of one subsystem.
type System struct {
	Name    string  `json:"name"`
	History []Level `json:"history" as:"rows"`
}

// A Level is the condition of a subsystem at a moment, as a share of the full
// condition.
type Level struct {
	T     float64 `json:"t"`
	Value float32 `json:"value" as:"share"`
}

// A Repair is a step in the repair of a subsystem.
type Repair struct {
	T      float64 `json:"t"`
	Frame  int     `json:"frame"`
	System string  `json:"system,omitempty"`
	How    string  `json:"how"` // queued, repaired, lost
}

// A Kill is the loss of a ship, with or without a killer.
type Kill struct {
	T        float64     `json:"t" page:"=" table:"ts+t"`
	Frame    int         `json:"frame" page:"=" table:"=" doc:"frame that shows it"`
	Victim   int         `json:"victim+victim_name,omitempty" page:"victim" table:"=" as:"player" doc:"player of the ship"`
	Killer   int         `json:"killer+killer_name,omitempty" page:"killer" table:"=" as:"player" doc:"absent for a collision or self-destruction"` // NoPlayer if there is none
	Weapon   string      `json:"weapon,omitempty" page:"=" table:"weapon_name,omitempty" doc:"that hit last, [collision] or [self-destruction]"`    // as far as shots reveal it
	Distance *float64    `json:"distance,omitempty" page:"=" table:"=" digits:"3 1" doc:"between the two ships, in game units"`
	Ship     string      `json:"ship,omitempty" page:"=" table:"=" doc:"class of the ship"`
	With     string      `json:"killer_ship,omitempty" page:"with,omitempty" table:"=" doc:"class of the killer's ship"`
	At       *[3]float32 `json:"at,omitempty" page:"=" table:"x+y+z" digits:"3 2" doc:"place of the ship"`
	Life     int         `json:"life,omitempty" page:"=" table:"=" as:"index" doc:"index of the ship in [lives]"` // NoLife if unknown
	After    bool        `json:"after_end,omitempty" page:"=" table:"after_end" doc:"after the end of the match: it counts for nothing"`
	Friendly bool        `json:"team_kill,omitempty" page:"=" table:"team_kill" doc:"of a player of the killer's team"`
	Fire     []Fire      `json:"fire,omitempty" doc:"what was fired at the ship in the last 15 seconds before the loss, and what that did"`
	Falls    []Fall      `json:"subsystems,omitempty" doc:"hull and subsystems that fell in the last 15 seconds"`
	Assists  []Assist    `json:"assists,omitempty" page:"=" table:"assists+assist_scores" doc:"other players in the score change|their scores from then on"`
}

// An Assist is a player's share in a kill.
type Assist struct {
	Player int `json:"player+player_name,omitempty" page:"player" as:"player"`
	Score  int `json:"score" page:"="` // score from then on, as sent by the host
}

// A Score is the score of a player or a team from a moment on.
type Score struct {
	T      float64 `json:"t" table:"ts+t"`
	Frame  int     `json:"frame" table:"=" doc:"frame that shows it"`
	Player int     `json:"player+player_name,omitempty" table:"=" as:"player" doc:"absent for a team"` // NoPlayer for a team's score
	Team   int     `json:"team,omitempty" table:"=" as:"index" doc:"absent for a player"`              // -1 for a player's score
	Kills  *int    `json:"kills,omitempty" table:"=" doc:"kills"`
	Deaths *int    `json:"deaths,omitempty" table:"=" doc:"deaths"`
	Score  *int    `json:"score,omitempty" table:"=" doc:"score"`
	After  bool    `json:"after_end,omitempty" table:"after_end" doc:"after the end of the match: it counts for nothing"`
}

// A Shot is the firing of a weapon.
type Shot struct {
	T        float64  `json:"t" table:"ts+t"`
	End      *float64 `json:"end,omitempty" table:"end_t" doc:"end of a beam"`
	Frame    int      `json:"frame" table:"=" doc:"frame that shows it"`
	Player   int      `json:"player+player_name,omitempty" table:"=" as:"player" doc:"the shooter"`
	Life     int      `json:"life,omitempty" table:"=" as:"index" doc:"index of the ship in [lives]"` // NoLife if unknown
	Weapon   string   `json:"weapon,omitempty" table:"weapon_name>Kind,omitempty" doc:"name of the subsystem"`
	Kind     ShotKind `json:"kind" table:"=" as:"text" doc:"[beam], [torpedo] or [pulse]"`
	Target   int      `json:"target_life,omitempty" table:"=" as:"index" doc:"ship that it is aimed at"` // NoLife if unknown
	Hit      *bool    `json:"hit,omitempty" table:"=" doc:"absent if the traffic does not tell: the shooter's client never sends damage, the shot has no target, or the capture ends too early"`
	Friendly bool     `json:"friendly,omitempty" doc:"aimed at a ship of the same team"`
	After    bool     `json:"after_end,omitempty" doc:"after the end of the match"`
}

// Damage is damage to a ship.
type Damage struct {
	T        float64  `json:"t" table:"ts+t"`
	Frame    int      `json:"frame" table:"=" doc:"frame that shows it"`
	Player   int      `json:"player+player_name,omitempty" table:"=" as:"player" doc:"who did it"`         // NoPlayer if unknown
	Victim   int      `json:"victim+victim_name,omitempty" table:"=" as:"player" doc:"player of the ship"` // NoPlayer if unknown
	Life     int      `json:"life,omitempty" table:"=" as:"index" doc:"index of the ship in [lives]"`
	Shot     int      `json:"shot,omitempty" table:"=" as:"index" doc:"index of the shot in [shots]"` // -1 if unknown
	Weapon   string   `json:"weapon,omitempty" table:"weapon_name,omitempty" doc:"name of the subsystem, or else [beam], [torpedo] or [pulse]"`
	Amount   *float64 `json:"amount,omitempty" table:"damage_done" digits:"3 0" doc:"in the units in which the ship's class has its condition"`
	Hull     *float64 `json:"hull_lost,omitempty" table:"=" digits:"4 3" doc:"share of the hull"`
	Friendly bool     `json:"friendly,omitempty" table:"friendly" doc:"to a ship of the same team"`
	From     string   `json:"from" table:"=" doc:"[message]: the player's client says so; [hull]: the hull in ship updates shows it, where clients send no such messages, and [player] fired last at the ship"`
	After    bool     `json:"after_end,omitempty" table:"after_end" doc:"after the end of the match"`
}

// The sources of damage.
const (
	FromMessage = "message"
	FromHull    = "hull"
)

// ShotKind is the kind of a weapon.
type ShotKind uint8

// The kinds of shots.
const (
	Beam ShotKind = iota
	Torpedo
	Pulse
)

// String returns the kind in lower case.
func (k ShotKind) String() string { return [...]string{"beam", "torpedo", "pulse"}[k] }

// A Talk is one line of chat.
type Talk struct {
	T      float64        `json:"t" page:"=" table:"ts+t"`
	Frame  int            `json:"frame" page:"=" table:"=" doc:"frame that shows it"`
	Player int            `json:"player+player_name,omitempty" page:"player" table:"=" as:"player" doc:"the writer"`
	Text   wire.Untrusted `json:"text" page:"=" table:"=" doc:"the line"`
	Team   bool           `json:"team" page:"team,omitempty" table:"team_only" doc:"to the writer's team"`
}

// An EventKind is the kind of an event.
type EventKind string

// The kinds of events.
const (
	EventJoin    EventKind = "join"
	EventReady   EventKind = "ready"
	EventLeave   EventKind = "leave"
	EventRefused EventKind = "refused"
	EventName    EventKind = "name"
	EventTeam    EventKind = "team"
	EventSpawn   EventKind = "spawn"
	EventKill    EventKind = "kill"
	EventLoss    EventKind = "loss" // loss of a ship without a killer
	EventChat    EventKind = "chat"
	EventCloak   EventKind = "cloak"
	EventDecloak EventKind = "decloak"
	EventMatch   EventKind = "match" // begin, end or restart of a match
	EventSilence EventKind = "silence"
	EventError   EventKind = "error"
)

// An Event is something that happened, in one line of text.
type Event struct {
	T      float64        `json:"t" page:"="`
	Frame  int            `json:"frame,omitempty" page:"frame"`
	Kind   EventKind      `json:"kind" page:"="`
	Player int            `json:"player+player_name,omitempty" page:"player" as:"player"` // NoPlayer if it concerns no player
	Times  int            `json:"times,omitempty"`                                        // how often it happened within a short time. 0 means once.
	Text   wire.Untrusted `json:"text" page:"="`
}

// A Line is the quality of a player's connection.
type Line struct {
	Player    int            `json:"player+player_name,omitempty" page:"player" as:"player"`
	Address   netip.AddrPort `json:"address" page:"address,omitempty"`
	Verdict   string         `json:"verdict" page:"="`                                    // the quality in words
	RTT       time.Duration  `json:"rtt,omitempty" page:"rtt" digits:"6 -1"`              // median, 0 if not measured
	Lost      int64          `json:"lost" page:"="`                                       // messages in both directions that did not arrive at the place of capture
	Resent    int64          `json:"resent" page:"="`                                     // retransmissions in both directions
	Silence   time.Duration  `json:"silence" page:"="`                                    // the player's longest silence
	SilenceAt float64        `json:"silence_at,omitempty" page:"silence_at" if:"Silence"` // when that silence began
	Points    []LinePoint    `json:"points,omitempty"`
}

// A LinePoint is the quality of a connection during several seconds.
type LinePoint struct {
	T       float64 `json:"t"`                        // begin of the seconds
	RTT     float32 `json:"rtt,omitempty" as:"share"` // mean in seconds, negative if not measured
	Lost    int     `json:"lost"`
	Resent  int     `json:"resent"`
	Updates int     `json:"updates"` // ship updates of the player
	Silence float32 `json:"silence"` // the player's longest silence that ended in these seconds, in seconds
}

// A Finding is something unusual, with its numbers. It does not accuse anyone.
type Finding struct {
	T      float64        `json:"t" page:"="`
	Frame  int            `json:"frame" page:"="`
	Player int            `json:"player+player_name,omitempty" page:"player" as:"player"`
	Kind   string         `json:"kind" page:"="` // speed, turn, fire_rate, jump, position, damage, hash, forged, undead
	Text   wire.Untrusted `json:"text" page:"="`
	Value  float64        `json:"value,omitempty" page:"value" if:"Value Limit"`
	Limit  float64        `json:"limit,omitempty" page:"limit" if:"Value Limit"`
	Count  int            `json:"count" page:"="`
}

// Evicted counts the items that were dropped because of limits, by kind.
type Evicted map[string]int

// evictable are the kinds of items with limits.
var evictable = []string{"matches", "players", "lives", "kills", "scores", "shots", "damage", "chat", "events", "samples", "conditions", "findings"}

func (e *Evicted) add(kind string, n int) {
	if *e == nil {
		*e = Evicted{}
	}
	(*e)[kind] += n
}

// Each yields the kinds of which items were dropped, with their numbers.
func (e Evicted) Each(yield func(kind string, n int)) {
	for _, kind := range evictable {
		if n := e[kind]; n > 0 {
			yield(kind, n)
		}
	}
}
