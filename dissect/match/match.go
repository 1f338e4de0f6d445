// Package match tells the story of a capture: which matches were played, by
// which players in which ships, who destroyed whom, how the ships flew, what
// was said, and how good each player's connection was.
//
// A [Builder] folds records into matches; the types here are the result. All
// reports read them: text, JSON, the web page, the flight recording, and the
// dashboard. Every item names the frame that shows it. A value that the capture
// does not give is nil or absent; zero means zero.
//
// Times are seconds since the first frame of the capture. Distances are game
// units. A reference to a player is an index into Match.Players.
package match

import (
	"net/netip"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/wire"
)

// A Match is one match of one host, from its first sign to its end, its
// restart, or the end of the capture.
type Match struct {
	Host    netip.AddrPort
	Dialect decode.Dialect
	Mission string // script module, empty if not known
	Map     string // star system, empty if not known
	Rules   Rules

	Origin  time.Time // of all times in seconds: the first frame of the capture
	Begin   float64
	End     float64
	EndedBy string // reason that the host gave, empty if none was seen
	Late    bool   // the capture begins within the match
	Open    bool   // the capture ends within the match
	Vantage int    // index of the player at whose computer the capture was made, VantageHost or VantageUnknown

	Players []Player
	Lives   []Life
	Kills   []Kill
	Scores  []Score
	Shots   []Shot
	Chat    []Talk
	Events  []Event // all that happened, in order
	Lines   []Line  // one for each conversation of a player
	Unusual []Finding

	Evicted Evicted
}

// Places of capture that are not a player's computer.
const (
	VantageUnknown = -1
	VantageHost    = -2
)

// NoPlayer stands for a player that is not known.
const NoPlayer = -1

// Rules are the settings of a match. Nil is not known or no limit.
type Rules struct {
	PlayerLimit *int
	TimeLimit   *int // minutes
	FragLimit   *int
	NoTimeLimit bool // the host said that there is none
	NoFragLimit bool
	Collisions  *bool
}

// A Player is one person in a match. Several stays of the same name are one
// player.
type Player struct {
	Name    string   // the last one
	Names   []string // all in order, if there were several
	ID      uint8    // network id, 0 if not known
	Slot    int      // -1 if not known
	Team    *int
	Address netip.AddrPort // of the last stay, invalid if not captured
	Joined  *float64
	Ready   *float64 // first ready to play
	Left    *float64
	LeftHow string // disconnect, kicked, silence ...; empty if the player stayed
	Stays   int

	Kills, Deaths int       // as counted here
	Score         *int      // the last that the host gave
	HostSays      *HostSays // the host's last word
	Damage        *float64  // done to others, as the scores tell
}

// HostSays is the standing of a player as the host last sent it.
type HostSays struct {
	Kills, Deaths, Score *int
	Frame                int
}

// A Life is one ship of one player from its creation to its end.
type Life struct {
	Player int
	Ship   string // class, empty if not known
	Name   string // of the ship
	Object wire.ObjectID
	Begin  float64
	End    float64
	EndHow string // killed, destroyed, left, replaced, restarted; empty if it lasts to the end
	Frame  int    // of the creation, or of the first sighting
	Killer int    // NoPlayer if not known

	Track     []Sample    // thinned
	Condition []Condition // hull and shields over time
	Systems   []System    // subsystems that lost condition
	MaxSpeed  float64
	Updates   int
}

// A Sample is where a ship is and how it moves at a moment.
type Sample struct {
	T       float64
	At      [3]float32
	Forward [3]float32
	Up      [3]float32
	Speed   float32
	Cloaked bool
}

// A Condition is the state of hull and shields at a moment, as shares of the
// whole. A negative value is not known.
type Condition struct {
	T       float64
	Hull    float32
	Shields [6]float32 // front, rear, top, bottom, left, right
}

// A System is the history of one subsystem.
type System struct {
	Name    string
	History []Level
}

// A Level is a share of the whole at a moment.
type Level struct {
	T     float64
	Value float32
}

// A Kill is the end of a ship by somebody's doing.
type Kill struct {
	T        float64
	Frame    int
	Victim   int
	Killer   int // NoPlayer for nobody: a collision, self-destruction
	Weapon   string
	Distance *float64
	Ship     string // class of the victim's ship
	With     string // class of the killer's ship
	At       *[3]float32
	Assists  []Assist
}

// An Assist is a player's share in a kill.
type Assist struct {
	Player int
	Score  int
}

// A Score is the standing of a player or a team from a moment on.
type Score struct {
	T             float64
	Frame         int
	Player        int // NoPlayer for a team
	Team          int
	Kills, Deaths *int
	Score         *int
}

// A Shot is a weapon that is fired.
type Shot struct {
	T      float64
	End    *float64 // of a beam
	Frame  int
	Player int
	Life   int    // index into Match.Lives, -1 if not known
	Weapon string // name of the subsystem, empty if not known
	Kind   ShotKind
	Target int   // life that it is aimed at, -1 if not known
	Hit    *bool // nil if the traffic does not tell
}

// ShotKind is the kind of a weapon.
type ShotKind uint8

// The kinds of shots.
const (
	Beam ShotKind = iota
	Torpedo
	Pulse
)

// A Talk is one line of chat.
type Talk struct {
	T      float64
	Frame  int
	Player int
	Text   string
	Team   bool
}

// An EventKind tells what happened.
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
	EventLoss    EventKind = "loss" // of a ship, without a killer
	EventChat    EventKind = "chat"
	EventCloak   EventKind = "cloak"
	EventDecloak EventKind = "decloak"
	EventMatch   EventKind = "match" // begin, end, restart
	EventSilence EventKind = "silence"
	EventError   EventKind = "error"
)

// An Event is something that happened, as one line.
type Event struct {
	T      float64
	Frame  int
	Kind   EventKind
	Player int // NoPlayer if it is about none
	Text   string
}

// A Line is the quality of a player's connection.
type Line struct {
	Player       int
	Conversation int
	Address      netip.AddrPort
	Verdict      string        // in words
	RTT          time.Duration // median, 0 if not measured
	Lost         int64         // messages in both directions that never arrived at the place of capture
	Resent       int64         // retransmissions in both directions
	Silence      time.Duration // the longest
	SilenceAt    float64
	Points       []LinePoint
}

// A LinePoint is the quality of a connection during some seconds.
type LinePoint struct {
	T       float64
	RTT     float32 // seconds, negative if not measured
	Lost    int
	Resent  int
	Updates int     // ship updates of the player
	Silence float32 // longest, seconds
}

// A Finding is something out of the ordinary, with its numbers. It is no
// verdict on a person.
type Finding struct {
	T      float64
	Frame  int
	Player int
	Kind   string // speed, turn, fire_rate, damage, hash, forged
	Text   string
	Value  float64
	Limit  float64
	Count  int
}

// Evicted counts the items that were left out to keep to the limits.
type Evicted struct {
	Matches, Players, Lives, Kills, Shots, Chat, Events, Samples, Findings int
}
