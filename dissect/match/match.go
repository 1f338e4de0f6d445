// Package match tells the story of a capture: its matches, players, ships,
// kills, tracks and chat, and the quality of each player's connection.
//
// A [Builder] folds records into matches; the types here are the result. All
// reports read them: text, JSON, the web page, the flight recording, and the
// dashboard. Every item names the frame that shows it. A value that the capture
// does not give is nil or absent; zero means zero.
//
// Times are seconds since the first frame of the capture. Distances are game
// units. A reference to a player is an index into Match.Players. Text is from
// the network: escape it before a terminal or a browser sees it.
package match

import (
	"net/netip"
	"strconv"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/wire"
)

// A Match is one match of one host, from its first sign to its restart, to the
// next mission, or to the end of the capture.
type Match struct {
	Host    netip.AddrPort
	Dialect decode.Dialect // of the host, or else of the first client
	Name    string         // of the server, as GameSpy tells
	Mission string         // script module, empty if not known
	Map     string         // star system, empty if not known
	Rules   Rules

	Origin  time.Time // of all times in seconds: the first frame of the capture
	Begin   float64
	End     float64  // the last that is known of the match
	Over    *float64 // the host said that the match is over; play may go on
	EndedBy string   // reason that the host gave, empty if none was seen
	Late    bool     // the capture begins within the match
	Open    bool     // the capture ends within the match
	Vantage int      // index of the player who made the capture, VantageHost or VantageUnknown

	// Leaders are the players with the highest score, or else the most kills,
	// several if they are equal; empty if nobody has any. LeadingTeam is the
	// team that leads, nil without teams and if teams are equal. They won if
	// the match is [Match.Decided].
	Leaders     []int
	LeadingTeam *int

	Players []Player
	Lives   []Life
	Kills   []Kill  // losses of ships, those without a killer too
	Scores  []Score // the host's scores, at each change
	Shots   []Shot
	Chat    []Talk
	Events  []Event // all that happened, in order
	Lines   []Line  // one for each address of a player
	Unusual []Finding

	Evicted Evicted
}

// Places of capture that are not a player's computer.
const (
	VantageUnknown = -1
	VantageHost    = -2
)

// NoPlayer stands for a player that is not known, and NoLife for such a life.
const (
	NoPlayer = -1
	NoLife   = -1
)

// NameOf returns the name of a player, or a description if there is no name.
func (m *Match) NameOf(player int) string {
	if player < 0 || player >= len(m.Players) {
		return "somebody"
	}
	p := &m.Players[player]
	switch {
	case p.Name != "":
		return p.Name
	case p.ID != 0:
		return "player " + strconv.Itoa(int(p.ID))
	case p.Slot >= 0:
		return "slot " + strconv.Itoa(p.Slot)
	case p.Address.IsValid():
		return p.Address.String()
	}
	return "player #" + strconv.Itoa(player+1)
}

// Clock returns the time of day of a time in seconds.
func (m *Match) Clock(t float64) time.Time {
	return m.Origin.Add(time.Duration(t * float64(time.Second)))
}

// Rules are the settings of a match. Nil is not known or no limit.
type Rules struct {
	PlayerLimit *int
	TimeLimit   *int // minutes
	FragLimit   *int
	NoTimeLimit bool // the host said that there is none
	NoFragLimit bool
	Collisions  *bool
}

// A Player is one person in a match. Several stays of the same person are one
// player.
type Player struct {
	Name    string         // the last one
	Names   []string       // all in order, if there were several
	ID      uint8          // network id, 0 if not known
	Slot    int            // -1 if not known
	Team    *int           // from 0
	Address netip.AddrPort // of the last stay, invalid if not captured
	Joined  *float64
	Ready   *float64 // first ready to play
	Left    *float64
	LeftHow string // one of the constants below, or the host's reason to put the player out; empty if the player stayed
	Stays   int    // connections that the capture shows to begin

	Kills, Deaths int       // as counted here
	Score         *int      // the last that the host gave
	HostSays      *HostSays // the host's last word
	Damage        *float64  // done to ships of others, as the clients' damage messages tell (OpenBC)
	Shots         int
}

// The ways in which players leave by themselves.
const (
	LeftItself    = "disconnect" // the player's client said so
	LeftAnnounced = "host"       // the host told the others
	LeftClosed    = "closed"     // the host closed the game
	LeftSilent    = "silence"    // nothing came from the player's client any more up to the end of the capture
)

// HostSays is the standing of a player as the host last sent it.
type HostSays struct {
	Kills, Deaths, Score *int
	Frame                int
}

// A Life is one ship of one player from its creation to its end.
type Life struct {
	Player int    // NoPlayer if not known
	Ship   string // class, empty if not known
	Name   string // of the ship
	Object wire.ObjectID
	Begin  float64
	End    float64
	EndHow string // killed, destroyed, left, removed, replaced, restarted; empty if it lasts to the end
	Frame  int    // of the creation, or of the first sighting
	Late   bool   // the creation was not captured
	Killer int    // NoPlayer if not known

	Track     []Sample    // thinned: no position is further than 0.5 units from the line between its neighbours
	Condition []Condition // hull and shields, when they changed
	Systems   []System    // subsystems that lost condition
	Repairs   []Repair
	Cloaked   bool    // at the end
	MaxSpeed  float64 // as the updates say
	Updates   int     // updates of the ship that made the track
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

// A Repair is a step in the repair of a subsystem.
type Repair struct {
	T      float64
	Frame  int
	System string
	How    string // queued, repaired, lost
}

// A Kill is the loss of a ship, by somebody's doing or nobody's.
type Kill struct {
	T        float64
	Frame    int
	Victim   int
	Killer   int    // NoPlayer for nobody: a collision, self-destruction
	Weapon   string // that hit last, as far as shots tell; collision, self-destruction
	Distance *float64
	Ship     string // class of the victim's ship
	With     string // class of the killer's ship
	At       *[3]float32
	Life     int // of the victim, NoLife if not known
	Assists  []Assist
}

// An Assist is a player's share in a kill.
type Assist struct {
	Player int
	Score  int // the player's score from then on, as the host says
}

// A Score is the standing of a player or a team from a moment on.
type Score struct {
	T             float64
	Frame         int
	Player        int // NoPlayer for a team
	Team          int // -1 for a player
	Kills, Deaths *int
	Score         *int
}

// A Shot is a weapon that is fired.
type Shot struct {
	T      float64
	End    *float64 // of a beam
	Frame  int
	Player int
	Life   int    // index into Match.Lives, NoLife if not known
	Weapon string // name of the subsystem, empty if not known
	Kind   ShotKind
	Target int   // life that it is aimed at, NoLife if not known
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

// String returns the kind in lower case.
func (k ShotKind) String() string { return [...]string{"beam", "torpedo", "pulse"}[k] }

// A Talk is one line of chat.
type Talk struct {
	T      float64
	Frame  int
	Player int
	Text   string
	Team   bool
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
	Times  int // how often it happened within a short time; 0 is once
	Text   string
}

// A Line is the quality of a player's connection.
type Line struct {
	Player    int
	Address   netip.AddrPort
	Verdict   string        // in words
	RTT       time.Duration // median, 0 if not measured
	Lost      int64         // messages in both directions that never arrived at the place of capture
	Resent    int64         // retransmissions in both directions
	Silence   time.Duration // the player's longest
	SilenceAt float64       // when it began
	Points    []LinePoint
}

// A LinePoint is the quality of a connection during some seconds.
type LinePoint struct {
	T       float64 // when they began
	RTT     float32 // mean in seconds, negative if not measured
	Lost    int
	Resent  int
	Updates int     // ship updates of the player
	Silence float32 // the player's longest that ended then, in seconds
}

// A Finding is something out of the ordinary, with its numbers. It is no
// verdict on a person.
type Finding struct {
	T      float64
	Frame  int
	Player int
	Kind   string // speed, turn, fire_rate, jump, position, damage, hash, forged, undead
	Text   string
	Value  float64
	Limit  float64
	Count  int
}

// Evicted counts the items that were left out to keep to the limits.
type Evicted struct {
	Matches, Players, Lives, Kills, Scores, Shots, Chat, Events, Samples, Conditions, Findings int
}

// Each yields the kinds of items that some were left out of, with their number.
func (e *Evicted) Each(yield func(kind string, n int)) {
	for _, k := range []struct {
		kind string
		n    int
	}{
		{"matches", e.Matches},
		{"players", e.Players},
		{"lives", e.Lives},
		{"kills", e.Kills},
		{"scores", e.Scores},
		{"shots", e.Shots},
		{"chat", e.Chat},
		{"events", e.Events},
		{"samples", e.Samples},
		{"conditions", e.Conditions},
		{"findings", e.Findings},
	} {
		if k.n > 0 {
			yield(k.kind, k.n)
		}
	}
}
