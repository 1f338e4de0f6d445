package match

import (
	"iter"
	"slices"
	"strconv"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/event"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
)

// Three kinds of messages report the loss of a ship: the host's exploding
// event, the host's score change, which comes with it, and a client's
// DestroyObject (OpenBC). Reports are about the same loss if they name the same
// player, come soon after each other, and no new ship of that player was
// created between them.
const (
	sameLoss  = 3.0  // longest time between two reports of a loss
	samePair  = 15.0 // longest time between an exploding event and the score change that belongs to it
	wreckTime = 15.0 // how long after a loss updates may be those of a wreck
	lastShot  = 10.0 // how long before a loss the weapon may have been fired
	selfTime  = 3.0  // longest time between the request to self-destruct, or a collision, and the loss
)

// A source is the kind of message that reports a loss.
type source uint8

const (
	exploding source = 1 << iota
	scoring
	destroying
)

// killState is the state of a kill while reports may come.
type killState struct {
	life    int
	sources source
	event   *Event // nil if there was no room for it
	told    bool   // OnKill was called
}

// An ended is a ship that the host deleted.
type ended struct {
	life, frame int
	t           float64
}

// lose handles a report of a loss. Killer is NoPlayer if the report names none.
func (g *game) lose(frame, victim, life, killer int, from source) *Kill {
	if k, s := g.report(victim, life, from); k != nil {
		s.sources |= from
		if life != NoLife && from != destroying {
			g.state[life].lostAtHost = true
		}
		if k.Killer == NoPlayer && killer != NoPlayer {
			g.credit(k, killer)
			g.retell(k, s)
		}
		return k
	}
	if !g.room(itemKills) {
		return nil
	}
	k := Kill{T: g.b.now, Frame: frame, Victim: victim, Killer: NoPlayer, Life: life, After: g.m.Over != nil}
	if life != NoLife {
		l, s := &g.m.Lives[life], g.state[life]
		k.Ship = l.Ship
		if s.have {
			at := s.at
			k.At = &at
		}
		if !s.over || l.EndHow == "killed" || l.EndHow == "destroyed" {
			g.endLife(life, g.b.now, "destroyed")
			l.End, s.wreck, s.lostAtHost = g.b.now, g.b.now+wreckTime, from != destroying
		}
	}
	if victim != NoPlayer && !k.After {
		g.m.Players[victim].Deaths++
	}
	g.m.Kills = append(g.m.Kills, k)
	kept := &g.m.Kills[len(g.m.Kills)-1]
	g.kills = append(g.kills, killState{life: life, sources: from})
	if killer != NoPlayer {
		g.credit(kept, killer)
	} else if a := g.accidents[victim]; g.b.now-a.t <= selfTime {
		kept.Weapon = a.how
	}
	if g.b.OnKill != nil {
		g.unsettled = append(g.unsettled, len(g.kills)-1)
	}
	s := &g.kills[len(g.kills)-1]
	s.event = g.event(frame, EventLoss, victim, g.m.Tell(kept))
	g.retell(kept, s)
	return kept
}

// report returns the loss that a report belongs to, or nil if the loss is new.
func (g *game) report(victim, life int, from source) (*Kill, *killState) {
	for i := len(g.m.Kills) - 1; i >= 0; i-- {
		k, s := &g.m.Kills[i], &g.kills[i]
		if g.b.now-k.T > samePair {
			break
		}
		if k.Victim != victim || s.life != life {
			continue
		}
		pair := (exploding|scoring)&^s.sources == from && from != destroying
		if g.b.now-k.T <= sameLoss || pair {
			return k, s
		}
		break
	}
	return nil, nil
}

// settleKills calls OnKill for the kills that no further report can be about.
func (g *game) settleKills(now float64) {
	for len(g.unsettled) > 0 {
		i := g.unsettled[0]
		k, s := &g.m.Kills[i], &g.kills[i]
		wait := samePair
		if s.sources&destroying != 0 {
			wait = sameLoss
		}
		if !s.told && now-k.T <= wait {
			return
		}
		g.unsettled = g.unsettled[1:]
		g.settled(i)
	}
}

// settled calls OnKill for a kill.
func (g *game) settled(i int) {
	if s := &g.kills[i]; !s.told && g.b.OnKill != nil {
		s.told = true
		g.b.OnKill(g.m, &g.m.Kills[i])
	}
}

// credit attributes a kill to a player.
func (g *game) credit(k *Kill, killer int) {
	k.Killer = killer
	k.Friendly = g.friends(killer, k.Victim)
	switch p := &g.m.Players[killer]; {
	case g.m.Over != nil || killer == k.Victim: // after the end of the match, a kill has no effect
	case k.Friendly:
		p.TeamKills++
	default:
		p.Kills++
	}
	own := g.current(killer)
	if own != NoLife {
		k.With = g.m.Lives[own].Ship
	}
	if killer != k.Victim {
		k.Distance = g.distance(k.Life, own)
	}
	if k.Life != NoLife {
		l := &g.m.Lives[k.Life]
		l.Killer = killer
		if l.EndHow == "destroyed" {
			l.EndHow = "killed"
		}
	}
	k.Weapon = g.weapon(k.Life, killer)
}

// weapon returns the name of the weapon that a player last fired at a ship. A
// shot without a target counts if no other shot is aimed at the ship.
func (g *game) weapon(life, by int) (name string) {
	for s := range g.shots(lastShot) {
		aimed := s.Target == life && life != NoLife
		if s.Player != by || !aimed && (s.Target != NoLife || name != "") {
			continue
		}
		name = s.with()
		if aimed || life == NoLife {
			break
		}
	}
	return name
}

// shots yields the shots of the given number of seconds, the latest first.
func (g *game) shots(seconds float64) iter.Seq[*Shot] {
	return func(yield func(*Shot) bool) {
		for i := len(g.m.Shots) - 1; i >= 0; i-- {
			if s := &g.m.Shots[i]; g.b.now-s.T > seconds || !yield(s) {
				return
			}
		}
	}
}

// accident is the last event that may explain why a player lost the ship.
type accident struct {
	t   float64
	how string
}

// retell writes the text of a kill's event.
func (g *game) retell(k *Kill, s *killState) {
	if s.event == nil {
		return
	}
	s.event.Text = g.m.Tell(k)
	if k.Killer != NoPlayer {
		s.event.Kind = EventKill
	}
}

// Tell returns a kill in words.
func (m *Match) Tell(k *Kill) wire.Untrusted {
	ship, weapon := wire.Untrusted(""), wire.Untrusted(k.Weapon)
	if k.Ship != "" {
		ship = wire.Untrusted("'s " + k.Ship)
	}
	victim := m.NameOf(k.Victim)
	if k.Killer == NoPlayer {
		text := victim + " loses " + withArticle(wire.Untrusted(k.Ship))
		if k.Ship == "" {
			text = victim + " loses the ship"
		}
		if weapon != "" {
			text += ": " + weapon
		}
		return text
	}
	text := m.NameOf(k.Killer) + " destroys " + victim + ship
	if k.Killer == k.Victim {
		text = victim + " destroys their own ship"
	}
	if weapon != "" {
		text += " with " + weapon
	}
	if k.Distance != nil {
		text += wire.Untrusted(" at " + strconv.FormatFloat(*k.Distance, 'f', 0, 64) + " units")
	}
	return text
}

// hostEvent folds an event of the host.
func (g *game) hostEvent(r *dissect.Record, e *event.Event) {
	switch e.Code { //nolint:exhaustive // the others tell nothing of ships
	case event.CodeObjectExploding:
		life, ok := g.lifeOf(e.Dest)
		switch {
		case !ok:
			return // a station, or another object that no player flies
		case r.Dir != dissect.FromHost:
			g.found(r.Datagram.Number, g.client(r), "forged", "sends an explosion, which only a host does", 0, 0)
			return
		}
		killer := NoPlayer
		if e.Class == event.ClassExploding {
			killer = g.byID(r, e.FiringPlayer)
		}
		if killer == NoPlayer && g.m.Lives[life].EndHow == "left" {
			return // the host ends the ship of a player who has left
		}
		g.lose(r.Datagram.Number, g.m.Lives[life].Player, life, killer, exploding)
	case event.CodeAddToRepairList:
		g.repair(r, e.Source, "queued")
	case event.CodeRepairCompleted:
		g.repair(r, e.Object, "repaired")
	case event.CodeRepairCannotBeCompleted:
		g.repair(r, e.Object, "lost")
	}
}

// repair records a step of a repair.
func (g *game) repair(r *dissect.Record, part wire.ObjectID, how string) {
	life, name := g.part(r, part)
	if life == NoLife || !g.room(itemConditions) {
		return
	}
	l := &g.m.Lives[life]
	l.Repairs = append(l.Repairs, Repair{T: g.b.now, Frame: r.Datagram.Number, System: name, How: how})
}

// part returns the life and the name of a subsystem.
func (g *game) part(r *dissect.Record, id wire.ObjectID) (life int, name string) {
	if life, ok := g.lifeOf(id); ok {
		return life, ""
	}
	if r.Session == nil {
		return NoLife, ""
	}
	at, ok := r.Session.ShipOf(id)
	if !ok {
		return NoLife, ""
	}
	if life, ok = g.lifeOf(at); !ok {
		return NoLife, ""
	}
	if c := g.state[life].class; c != nil {
		name, _, _ = c.At(uint32(id - at))
	}
	return life, name
}

// scoreChange folds the scores that change with a loss.
func (g *game) scoreChange(r *dissect.Record, m *msg.ScoreChange) {
	frame := r.Datagram.Number
	if n := len(g.m.Kills); n > 0 && g.kills[n-1].sources == exploding && g.m.Kills[n-1].Frame == frame {
		if v := g.m.Kills[n-1].Victim; v != NoPlayer && g.m.Players[v].ID == 0 && g.m.Players[v].Slot >= 0 {
			g.link(r, m.Victim, g.m.Players[v].Slot) // the explosion names the ship, and the score change names the player
		}
	}
	victim, killer := g.byID(r, m.Victim), g.byID(r, m.Killer)
	if victim == NoPlayer {
		g.event(frame, EventError, NoPlayer, "a score change names no player who lost a ship")
		return
	}
	k := g.lose(frame, victim, g.current(victim), killer, scoring)
	g.score(frame, victim, nil, &m.Deaths, nil)
	if killer != NoPlayer {
		g.score(frame, killer, &m.Kills, nil, &m.Score)
	}
	for i := range m.Updates {
		u := &m.Updates[i]
		p := g.byID(r, u.Player)
		if p == NoPlayer {
			continue
		}
		g.score(frame, p, nil, nil, &u.Score)
		if k != nil && p != killer {
			k.Assists = append(k.Assists, Assist{Player: p, Score: int(u.Score)})
		}
	}
	for i := len(g.m.Kills) - 1; i >= 0 && k != nil; i-- { // it is usually the last kill
		if &g.m.Kills[i] == k {
			g.settled(i)
			return
		}
	}
}

// hostSays folds the score of a player in the form that a host sends to joining
// clients.
func (g *game) hostSays(r *dissect.Record, id int32, kills, deaths, score *int32) int {
	if r.Session != nil && g.who.former[r.Session.Player(decode.NetworkID, int64(id))] {
		return NoPlayer // hosts tell of all who ever were there
	}
	p := g.byID(r, id)
	if p != NoPlayer {
		g.score(r.Datagram.Number, p, kills, deaths, score)
	}
	return p
}

// score stores the host's score of a player.
func (g *game) score(frame, player int, kills, deaths, score *int32) {
	p, after := &g.m.Players[player], g.m.Over != nil
	h := p.told
	if after {
		if h = g.later[player]; h == nil {
			h = &HostSays{}
			if p.told != nil {
				*h = *p.told
			}
			g.later[player] = h
		}
	} else if h == nil {
		h = &HostSays{}
		p.told = h
	}
	changed := set(&h.Kills, kills)
	changed = set(&h.Deaths, deaths) || changed
	changed = set(&h.Score, score) || changed
	if !changed {
		return
	}
	h.Frame = frame
	if !after {
		p.HostSays, p.Score = h, h.Score
	}
	if g.room(itemScores) {
		g.m.Scores = append(g.m.Scores, Score{
			T: g.b.now, Frame: frame, Player: player, Team: -1, Kills: h.Kills, Deaths: h.Deaths, Score: h.Score, After: after,
		})
	}
}

// keepsScore reports whether the host counts. A host that has sent nothing but zeros although
// ships were lost doesn't, such as relay.
func (g *game) keepsScore() bool {
	lost := slices.ContainsFunc(g.m.Kills, func(k Kill) bool { return k.Victim != NoPlayer && !k.After })
	return !lost || slices.ContainsFunc(g.m.Scores, func(s Score) bool { return value(s.Kills) != 0 || value(s.Deaths) != 0 || value(s.Score) != 0 })
}

// heed shows what the host says of the players, if it keeps score.
func (g *game) heed(keeps bool) {
	for i := range g.m.Players {
		p := &g.m.Players[i]
		p.HostSays, p.Score = nil, nil
		if keeps && p.told != nil {
			p.HostSays, p.Score = p.told, p.told.Score
		}
	}
}

// set stores a reported number, and reports whether it has changed.
func set(place **int, told *int32) bool {
	if told == nil || *place != nil && **place == int(*told) {
		return false
	}
	*place = number(int(*told))
	return true
}

// teamScore folds the score of a team.
func (g *game) teamScore(r *dissect.Record, m *msg.TeamScore) {
	g.teams = true
	if m.Team >= noTeam {
		return
	}
	team, after := int(m.Team), g.m.Over != nil
	g.scored = g.scored || !after
	for i := len(g.m.Scores) - 1; i >= 0; i-- {
		if s := &g.m.Scores[i]; s.Player == NoPlayer && s.Team == team {
			if *s.Kills == int(m.Kills) && *s.Score == int(m.Score) {
				return
			}
			break
		}
	}
	if g.room(itemScores) {
		g.m.Scores = append(g.m.Scores, Score{
			T: g.b.now, Frame: r.Datagram.Number, Player: NoPlayer, Team: team, Kills: number(int(m.Kills)), Score: number(int(m.Score)), After: after,
		})
	}
}

// destroyed folds the deletion of an object. A client sends it for a ship that
// it destroyed (OpenBC), and a host sends it for the ships of players who
// leave.
func (g *game) destroyed(r *dissect.Record, id wire.ObjectID) {
	life, ok := g.lifeOf(id)
	if !ok {
		return
	}
	frame, victim := r.Datagram.Number, g.m.Lives[life].Player
	if r.Dir == dissect.ToHost {
		killer := g.client(r)
		if killer == victim {
			killer = NoPlayer
		}
		g.lose(frame, victim, life, killer, destroying)
		return
	}
	if !g.state[life].over {
		g.ends = append(g.ends, ended{life, frame, g.b.now})
	}
}

// settleEnds decides about the ships that a host deleted if no notice came that
// the player left. A capture of several clients would also have a client's
// report of a loss, so such a ship was removed. In a capture of one client,
// another client may have reported the loss.
func (g *game) settleEnds(now float64) {
	for len(g.ends) > 0 && now-g.ends[0].t > noticeSeconds {
		e := g.ends[0]
		g.ends = g.ends[1:]
		if g.state[e.life].over {
			continue
		}
		if g.captured() > 1 {
			g.endLife(e.life, e.t, "removed")
			continue
		}
		at := g.b.now
		g.b.now = e.t
		g.lose(e.frame, g.m.Lives[e.life].Player, e.life, NoPlayer, destroying)
		g.b.now = at
	}
}
