package ndjson

import (
	"encoding/json"
	"io"
	"math"
	"net/netip"
	"reflect"
	"slices"
	"time"

	"github.com/bcdissect/bcdissect/dissect/match"
)

// SessionOptions choose the contents of the JSON of matches.
type SessionOptions struct {
	Captures []string // the files, in order
	Tracks   bool     // the flight of each ship, too
}

// Session writes matches as one object on one line. The league table is nil
// unless several captures were read.
func Session(w io.Writer, all []*match.Match, league []match.Standing, o SessionOptions) error {
	out := session{Schema: Schema, Captures: o.Captures, Matches: make([]sessionMatch, 0, len(all)), League: make([]sessionStanding, 0, len(league))}
	for _, m := range all {
		out.Matches = append(out.Matches, newSessionMatch(m, o.Tracks))
	}
	for _, s := range league {
		out.League = append(out.League, sessionStanding(s))
	}
	return json.NewEncoder(w).Encode(&out)
}

// SessionType is the type of the object that [Session] writes.
var SessionType = reflect.TypeFor[session]()

type session struct {
	Schema   int               `json:"schema"`
	Captures []string          `json:"captures"`
	Matches  []sessionMatch    `json:"matches"`
	League   []sessionStanding `json:"league,omitempty"`
}

type sessionStanding struct {
	Name    string `json:"name"`
	Matches int    `json:"matches"`
	Wins    int    `json:"wins"`
	Kills   int    `json:"kills"`
	Deaths  int    `json:"deaths"`
}

type sessionMatch struct {
	Host    string       `json:"host"`
	Server  string       `json:"server,omitempty"`
	Dialect string       `json:"dialect,omitempty"`
	Mission string       `json:"mission,omitempty"`
	Map     string       `json:"map,omitempty"`
	Rules   sessionRules `json:"rules"`

	Begin   string        `json:"begin"`
	End     string        `json:"end"`
	BeginT  float64       `json:"begin_t"`
	EndT    float64       `json:"end_t"`
	OverT   *float64      `json:"over_t,omitempty"`
	EndedBy string        `json:"ended_by,omitempty"`
	Late    bool          `json:"late,omitempty"`
	Open    bool          `json:"open,omitempty"`
	Vantage *sessionPlace `json:"captured_at,omitempty"`

	Leaders     []int `json:"leaders,omitempty"`
	LeadingTeam *int  `json:"leading_team,omitempty"`

	Players []sessionPlayer  `json:"players"`
	Lives   []sessionLife    `json:"lives"`
	Kills   []sessionKill    `json:"kills"`
	Scores  []sessionScore   `json:"scores"`
	Shots   []sessionShot    `json:"shots"`
	Chat    []sessionTalk    `json:"chat"`
	Events  []sessionEvent   `json:"events"`
	Lines   []sessionLine    `json:"lines"`
	Unusual []sessionFinding `json:"unusual"`
	Evicted map[string]int   `json:"evicted,omitempty"`
}

type sessionRules struct {
	PlayerLimit *int  `json:"player_limit,omitempty"`
	TimeLimit   *int  `json:"time_limit,omitempty"`
	FragLimit   *int  `json:"frag_limit,omitempty"`
	NoTimeLimit bool  `json:"no_time_limit,omitempty"`
	NoFragLimit bool  `json:"no_frag_limit,omitempty"`
	Collisions  *bool `json:"collisions,omitempty"`
}

type sessionPlayer struct {
	Name     string       `json:"name"`
	Names    []string     `json:"names,omitempty"`
	ID       uint8        `json:"id,omitempty"`
	Slot     *int         `json:"slot,omitempty"`
	Team     *int         `json:"team,omitempty"`
	Address  string       `json:"address,omitempty"`
	Joined   *float64     `json:"joined,omitempty"`
	Ready    *float64     `json:"ready,omitempty"`
	Left     *float64     `json:"left,omitempty"`
	LeftHow  string       `json:"left_how,omitempty"`
	Stays    int          `json:"stays"`
	Kills    int          `json:"kills"`
	Deaths   int          `json:"deaths"`
	Score    *int         `json:"score,omitempty"`
	HostSays *sessionSays `json:"host_says,omitempty"`
	Damage   *float64     `json:"damage,omitempty"`
	Shots    int          `json:"shots"`
}

type sessionSays struct {
	Kills  *int `json:"kills,omitempty"`
	Deaths *int `json:"deaths,omitempty"`
	Score  *int `json:"score,omitempty"`
	Frame  int  `json:"frame"`
}

// sessionPlace is where a capture was made: at the host or at a player.
type sessionPlace struct {
	Host bool `json:"host,omitempty"`
	sessionRef
}

// sessionRef is a player: an index and the name.
type sessionRef struct {
	Player *int   `json:"player,omitempty"`
	Name   string `json:"player_name,omitempty"`
}

type sessionLife struct {
	sessionRef
	Ship       string             `json:"ship,omitempty"`
	ShipName   string             `json:"ship_name,omitempty"`
	Object     uint32             `json:"object_id"`
	Begin      float64            `json:"begin"`
	End        float64            `json:"end"`
	EndHow     string             `json:"end_how,omitempty"`
	Frame      int                `json:"frame"`
	Late       bool               `json:"late,omitempty"`
	Killer     *int               `json:"killer,omitempty"`
	KillerName string             `json:"killer_name,omitempty"`
	MaxSpeed   float64            `json:"max_speed"`
	Updates    int                `json:"updates"`
	Condition  []sessionCondition `json:"condition,omitempty"`
	Systems    []sessionSystem    `json:"systems,omitempty"`
	Repairs    []sessionRepair    `json:"repairs,omitempty"`
	Track      [][12]float64      `json:"track,omitempty"`
}

type sessionCondition struct {
	T       float64   `json:"t"`
	Hull    *float64  `json:"hull,omitempty"`
	Shields []float64 `json:"shields,omitempty"`
}

type sessionSystem struct {
	Name    string       `json:"name"`
	History [][2]float64 `json:"history"`
}

type sessionRepair struct {
	T      float64 `json:"t"`
	Frame  int     `json:"frame"`
	System string  `json:"system,omitempty"`
	How    string  `json:"how"`
}

type sessionKill struct {
	T          float64         `json:"t"`
	Frame      int             `json:"frame"`
	Victim     *int            `json:"victim,omitempty"`
	VictimName string          `json:"victim_name,omitempty"`
	Killer     *int            `json:"killer,omitempty"`
	KillerName string          `json:"killer_name,omitempty"`
	Weapon     string          `json:"weapon,omitempty"`
	Distance   *float64        `json:"distance,omitempty"`
	Ship       string          `json:"ship,omitempty"`
	With       string          `json:"killer_ship,omitempty"`
	At         []float64       `json:"at,omitempty"`
	Life       *int            `json:"life,omitempty"`
	Assists    []sessionAssist `json:"assists,omitempty"`
}

type sessionAssist struct {
	sessionRef
	Score int `json:"score"`
}

type sessionScore struct {
	T     float64 `json:"t"`
	Frame int     `json:"frame"`
	sessionRef
	Team   *int `json:"team,omitempty"`
	Kills  *int `json:"kills,omitempty"`
	Deaths *int `json:"deaths,omitempty"`
	Score  *int `json:"score,omitempty"`
}

type sessionShot struct {
	T     float64  `json:"t"`
	End   *float64 `json:"end,omitempty"`
	Frame int      `json:"frame"`
	sessionRef
	Life   *int   `json:"life,omitempty"`
	Weapon string `json:"weapon,omitempty"`
	Kind   string `json:"kind"`
	Target *int   `json:"target_life,omitempty"`
	Hit    *bool  `json:"hit,omitempty"`
}

type sessionTalk struct {
	T     float64 `json:"t"`
	Frame int     `json:"frame"`
	sessionRef
	Text string `json:"text"`
	Team bool   `json:"team"`
}

type sessionEvent struct {
	T     float64 `json:"t"`
	Frame int     `json:"frame,omitempty"`
	Kind  string  `json:"kind"`
	sessionRef
	Times int    `json:"times,omitempty"`
	Text  string `json:"text"`
}

type sessionLine struct {
	sessionRef
	Address   string             `json:"address"`
	Verdict   string             `json:"verdict"`
	RTT       *float64           `json:"rtt,omitempty"`
	Lost      int64              `json:"lost"`
	Resent    int64              `json:"resent"`
	Silence   float64            `json:"silence"`
	SilenceAt *float64           `json:"silence_at,omitempty"`
	Points    []sessionLinePoint `json:"points,omitempty"`
}

type sessionLinePoint struct {
	T       float64  `json:"t"`
	RTT     *float64 `json:"rtt,omitempty"`
	Lost    int      `json:"lost"`
	Resent  int      `json:"resent"`
	Updates int      `json:"updates"`
	Silence float64  `json:"silence"`
}

type sessionFinding struct {
	T     float64 `json:"t"`
	Frame int     `json:"frame"`
	sessionRef
	Kind  string   `json:"kind"`
	Text  string   `json:"text"`
	Value *float64 `json:"value,omitempty"`
	Limit *float64 `json:"limit,omitempty"`
	Count int      `json:"count"`
}

// round6 rounds to microseconds, or as much of anything else.
func round6(x float64) float64 { return math.Round(x*1e6) / 1e6 }

func round6p(x *float64) *float64 {
	if x == nil {
		return nil
	}
	y := round6(*x)
	return &y
}

// round3 rounds the coordinates and shares of a 32-bit float.
func round3(x float32) float64 { return math.Round(float64(x)*1e3) / 1e3 }

// share returns a share that is known.
func share(x float32) *float64 {
	if x < 0 {
		return nil
	}
	y := math.Round(float64(x)*1e4) / 1e4
	return &y
}

// known returns an index that is one, or nil.
func known(i int) *int {
	if i < 0 {
		return nil
	}
	return &i
}

func address(a netip.AddrPort) string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

// ref returns a reference to a player.
func ref(m *match.Match, player int) sessionRef {
	if player < 0 {
		return sessionRef{}
	}
	return sessionRef{&player, m.Players[player].Name}
}

func newSessionMatch(m *match.Match, tracks bool) sessionMatch {
	out := sessionMatch{
		Host: address(m.Host), Server: m.Name, Mission: m.Mission, Map: m.Map, Rules: sessionRules(m.Rules),
		Begin: stamp(m.Clock(m.Begin)), End: stamp(m.Clock(m.End)), BeginT: round6(m.Begin), EndT: round6(m.End), OverT: round6p(m.Over),
		EndedBy: m.EndedBy, Late: m.Late, Open: m.Open, Leaders: m.Leaders, LeadingTeam: m.LeadingTeam,
		Players: []sessionPlayer{}, Lives: []sessionLife{}, Kills: []sessionKill{}, Scores: []sessionScore{}, Shots: make([]sessionShot, 0, len(m.Shots)),
		Chat: []sessionTalk{}, Events: make([]sessionEvent, 0, len(m.Events)), Lines: []sessionLine{}, Unusual: []sessionFinding{},
		Evicted: evicted(&m.Evicted),
	}
	out.Dialect = m.Dialect.String()
	switch {
	case m.Vantage == match.VantageHost:
		out.Vantage = &sessionPlace{Host: true}
	case m.Vantage >= 0:
		out.Vantage = &sessionPlace{sessionRef: ref(m, m.Vantage)}
	}
	for i := range m.Players {
		out.Players = append(out.Players, newSessionPlayer(&m.Players[i]))
	}
	for i := range m.Lives {
		out.Lives = append(out.Lives, newSessionLife(m, &m.Lives[i], tracks))
	}
	for i := range m.Kills {
		out.Kills = append(out.Kills, newSessionKill(m, &m.Kills[i]))
	}
	for i := range m.Scores {
		s := &m.Scores[i]
		out.Scores = append(out.Scores, sessionScore{round6(s.T), s.Frame, ref(m, s.Player), known(s.Team), s.Kills, s.Deaths, s.Score})
	}
	for i := range m.Shots {
		s := &m.Shots[i]
		out.Shots = append(out.Shots, sessionShot{
			round6(s.T), round6p(s.End), s.Frame, ref(m, s.Player), known(s.Life), s.Weapon, s.Kind.String(), known(s.Target), s.Hit,
		})
	}
	for i := range m.Chat {
		c := &m.Chat[i]
		out.Chat = append(out.Chat, sessionTalk{round6(c.T), c.Frame, ref(m, c.Player), c.Text, c.Team})
	}
	for i := range m.Events {
		e := &m.Events[i]
		out.Events = append(out.Events, sessionEvent{round6(e.T), e.Frame, string(e.Kind), ref(m, e.Player), e.Times, e.Text})
	}
	for i := range m.Lines {
		out.Lines = append(out.Lines, newSessionLine(m, &m.Lines[i]))
	}
	for i := range m.Unusual {
		f := &m.Unusual[i]
		s := sessionFinding{T: round6(f.T), Frame: f.Frame, sessionRef: ref(m, f.Player), Kind: f.Kind, Text: f.Text, Count: f.Count}
		if f.Value != 0 || f.Limit != 0 {
			s.Value, s.Limit = round6p(&f.Value), round6p(&f.Limit)
		}
		out.Unusual = append(out.Unusual, s)
	}
	return out
}

func evicted(e *match.Evicted) map[string]int {
	out := map[string]int{}
	e.Each(func(kind string, n int) { out[kind] = n })
	return out
}

func newSessionPlayer(p *match.Player) sessionPlayer {
	out := sessionPlayer{
		Name: p.Name, ID: p.ID, Slot: known(p.Slot), Team: p.Team, Address: address(p.Address),
		Joined: round6p(p.Joined), Ready: round6p(p.Ready), Left: round6p(p.Left), LeftHow: p.LeftHow, Stays: p.Stays,
		Kills: p.Kills, Deaths: p.Deaths, Score: p.Score, Damage: round6p(p.Damage), Shots: p.Shots,
	}
	if len(p.Names) > 1 {
		out.Names = p.Names
	}
	if h := p.HostSays; h != nil {
		out.HostSays = &sessionSays{h.Kills, h.Deaths, h.Score, h.Frame}
	}
	return out
}

func newSessionLife(m *match.Match, l *match.Life, tracks bool) sessionLife {
	killer := ref(m, l.Killer)
	out := sessionLife{
		sessionRef: ref(m, l.Player), Ship: l.Ship, ShipName: l.Name, Object: uint32(l.Object), Begin: round6(l.Begin), End: round6(l.End),
		EndHow: l.EndHow, Frame: l.Frame, Late: l.Late, Killer: killer.Player, KillerName: killer.Name, MaxSpeed: round6(l.MaxSpeed), Updates: l.Updates,
	}
	for i := range l.Condition {
		c := &l.Condition[i]
		s := sessionCondition{T: round6(c.T), Hull: share(c.Hull)}
		if !slices.ContainsFunc(c.Shields[:], func(f float32) bool { return f < 0 }) {
			for _, f := range c.Shields {
				s.Shields = append(s.Shields, *share(f))
			}
		}
		out.Condition = append(out.Condition, s)
	}
	for i := range l.Systems {
		s := sessionSystem{Name: l.Systems[i].Name}
		for _, h := range l.Systems[i].History {
			s.History = append(s.History, [2]float64{round6(h.T), *share(max(h.Value, 0))})
		}
		out.Systems = append(out.Systems, s)
	}
	for _, r := range l.Repairs {
		out.Repairs = append(out.Repairs, sessionRepair{round6(r.T), r.Frame, r.System, r.How})
	}
	if tracks {
		out.Track = make([][12]float64, len(l.Track))
		for i := range l.Track {
			s := &l.Track[i]
			t := &out.Track[i]
			t[0], t[10] = round6(s.T), round3(s.Speed)
			for k := range s.At {
				t[1+k], t[4+k], t[7+k] = round3(s.At[k]), round3(s.Forward[k]), round3(s.Up[k])
			}
			if s.Cloaked {
				t[11] = 1
			}
		}
	}
	return out
}

func newSessionKill(m *match.Match, k *match.Kill) sessionKill {
	victim, killer := ref(m, k.Victim), ref(m, k.Killer)
	out := sessionKill{
		T: round6(k.T), Frame: k.Frame, Victim: victim.Player, VictimName: victim.Name, Killer: killer.Player, KillerName: killer.Name,
		Weapon: k.Weapon, Ship: k.Ship, With: k.With, Life: known(k.Life),
	}
	if k.Distance != nil {
		d := math.Round(*k.Distance*1e3) / 1e3
		out.Distance = &d
	}
	if k.At != nil {
		for _, x := range k.At {
			out.At = append(out.At, round3(x))
		}
	}
	for _, a := range k.Assists {
		out.Assists = append(out.Assists, sessionAssist{ref(m, a.Player), a.Score})
	}
	return out
}

func newSessionLine(m *match.Match, l *match.Line) sessionLine {
	out := sessionLine{
		sessionRef: ref(m, l.Player), Address: address(l.Address), Verdict: l.Verdict, Lost: l.Lost, Resent: l.Resent, Silence: round6(l.Silence.Seconds()),
	}
	if l.RTT > 0 {
		rtt := round6(l.RTT.Seconds())
		out.RTT = &rtt
	}
	if l.Silence > 0 {
		out.SilenceAt = round6p(&l.SilenceAt)
	}
	for _, p := range l.Points {
		out.Points = append(out.Points, sessionLinePoint{round6(p.T), share(p.RTT), p.Lost, p.Resent, p.Updates, round3(p.Silence)})
	}
	return out
}
