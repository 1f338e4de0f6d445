package match

import (
	"github.com/bcdissect/bcdissect/decode/event"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/ship"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
)

// action folds what happens once: chat, and the actions of ships. Hosts pass most of these messages on unchanged.
func (g *game) action(r *dissect.Record) {
	switch m := r.Message.(type) {
	case *msg.Chat:
		g.says(r, m, false)
	case *msg.TeamChat:
		g.says(r, &m.Chat, true)
	case *msg.DestroyObject:
		g.destroyed(r, m.Object)
	case *msg.HostEvent:
		g.hostEvent(r, &m.Event)
	case *msg.StartFiring:
		g.beam(r, m.Dest, m.Target)
	case *msg.StopFiring:
		g.beamEnds(r, m.Dest)
	case *msg.TorpedoFire:
		g.shoot(r, m.Tube, m.Target, Torpedo)
	case *msg.TorpedoFireOpenBC:
		g.shoot(r, m.Tube, m.Target, Torpedo)
	case *msg.PulseFire:
		g.shoot(r, m.Weapon, m.Target, Pulse)
	case *msg.Explosion:
		g.hits(r, m)
	case *msg.StartCloaking:
		g.cloakEvent(r, m.Dest, true)
	case *msg.StopCloaking:
		g.cloakEvent(r, m.Dest, false)
	case *msg.ShortEvent:
		g.short(r, m.Object)
	case *msg.SubsystemStatusOpenBC:
		g.subsystem(m)
	case *msg.SelfDestructRequest:
		g.mayCost(g.client(r), "self-destruction")
	case *msg.CollisionEffect:
		g.collides(&m.Event)
	}
}

// short folds an event of OpenBC's battle test, which names nothing but the
// object.
func (g *game) short(r *dissect.Record, id wire.ObjectID) {
	switch r.Spec.Code {
	case msg.OpStartFiring:
		g.beam(r, id, 0)
	case msg.OpStopFiring:
		g.beamEnds(r, id)
	case msg.OpStartCloaking:
		g.cloakEvent(r, id, true)
	case msg.OpStopCloaking:
		g.cloakEvent(r, id, false)
	}
}

// cloakEvent folds an order to cloak or to decloak.
func (g *game) cloakEvent(r *dissect.Record, id wire.ObjectID, on bool) {
	if life, _ := g.part(r, id); life != NoLife {
		g.cloaks(r.Datagram.Number, life, on)
	}
}

// mayCost notes an event that may cost a player the ship.
func (g *game) mayCost(player int, how string) {
	if player != NoPlayer {
		g.accidents[player] = accident{g.b.now, how}
	}
}

// collides notes a collision of the ships that report it or are named in it.
func (g *game) collides(e *event.Event) {
	for _, id := range [2]wire.ObjectID{e.Dest, e.Source} {
		if life, ok := g.lifeOf(id); ok {
			g.mayCost(g.m.Lives[life].Player, "collision")
		}
	}
}

// shoot adds a shot.
func (g *game) shoot(r *dissect.Record, weapon, target wire.ObjectID, kind ShotKind) int {
	life, name := g.part(r, weapon)
	player := NoPlayer
	if life != NoLife {
		player = g.m.Lives[life].Player
	}
	if r.Dir == dissect.ToHost {
		from := g.client(r)
		if player != NoPlayer && player != from && !g.state[life].over {
			g.found(r.Datagram.Number, from, "forged", "fires a weapon of "+g.m.NameOf(player), 0, 0)
		}
		player = from
	}
	if player != NoPlayer {
		if g.m.Over == nil {
			g.m.Players[player].Shots++
		}
		g.rate(r.Datagram.Number, life, kind)
	}
	if !g.room(itemShots) {
		return -1
	}
	aim := NoLife
	if target != 0 {
		if life, ok := g.lifeOf(target); ok {
			aim = life
		}
	}
	g.m.Shots = append(g.m.Shots, Shot{
		T: g.b.now, Frame: r.Datagram.Number, Player: player, Life: life, Weapon: name, Kind: kind, Target: aim,
	})
	i := len(g.m.Shots) - 1
	if aim != NoLife {
		g.state[aim].lastHit = i
	}
	return i
}

// beam begins the fire of a beam system. A shooter usually sends two of these
// in a row. Tractor beams are no weapons.
func (g *game) beam(r *dissect.Record, system, target wire.ObjectID) {
	life, _ := g.part(r, system)
	if life != NoLife {
		s := g.state[life]
		if _, on := s.beams[system]; on {
			return
		}
		if s.class != nil {
			if _, role, _ := s.class.At(uint32(system - g.m.Lives[life].Object)); role == ship.Tractor {
				return
			}
		}
	}
	i := g.shoot(r, system, target, Beam)
	if life == NoLife || i < 0 {
		return
	}
	s := g.state[life]
	if s.beams == nil {
		s.beams = map[wire.ObjectID]int{}
	}
	const most = 64 // systems of a ship
	if len(s.beams) < most {
		s.beams[system] = i
	}
}

// beamEnds ends the fire of a beam system.
func (g *game) beamEnds(r *dissect.Record, system wire.ObjectID) {
	life, _ := g.part(r, system)
	if life == NoLife {
		return
	}
	s := g.state[life]
	if i, on := s.beams[system]; on {
		t := g.b.now
		g.m.Shots[i].End = &t
		delete(s.beams, system)
	}
}

// hits folds a damage volume. A host sends those of a damaged ship to players
// who join; in OpenBC's dialect clients send it when a shot of theirs hits.
func (g *game) hits(r *dissect.Record, m *msg.Explosion) {
	if r.Dir != dissect.ToHost {
		return
	}
	by := g.client(r)
	target, ok := g.lifeOf(m.Object)
	if by == NoPlayer || !ok {
		return
	}
	if g.m.Lives[target].Player != by && g.m.Over == nil {
		p := &g.m.Players[by]
		if p.Damage == nil {
			p.Damage = new(float64)
		}
		*p.Damage += float64(m.Damage.Float())
	}
	const flight = 3 // seconds
	yes := true
	for s := range g.shots(flight) {
		if s.Player == by && s.Target == target {
			s.Hit = &yes
			return
		}
	}
	if g.m.Players[by].Shots == 0 && g.m.Lives[target].Player != by {
		u := g.unarmed[by]
		if u == nil {
			u = &unarmed{t: g.b.now, frame: r.Datagram.Number}
			g.unarmed[by] = u
		}
		u.times++
		u.most = max(u.most, float64(m.Damage.Float()))
	}
}

// subsystem folds the condition of a subsystem as OpenBC's battle test sends
// it, in the units of the class.
func (g *game) subsystem(m *msg.SubsystemStatusOpenBC) {
	life, ok := g.lifeOf(m.Object)
	if !ok {
		return
	}
	s := g.state[life]
	v := m.Condition.Float()
	if !(v >= 0) || s.class == nil || int(m.Index) >= len(s.class.Subsystems) {
		return
	}
	def := &s.class.Subsystems[m.Index]
	if !(def.MaxCondition > 0) {
		return
	}
	share := min(v/def.MaxCondition, 1)
	if def.Role == ship.Hull && m.Index == 0 {
		if share != s.hull {
			s.hull = share
			g.condition(life)
		}
		return
	}
	g.level(life, uint16(m.Index)<<8, def.Name, share)
}

// blocks takes the conditions of subsystems from an update.
func (g *game) blocks(i int, m *msg.StateUpdate) {
	s := g.state[i]
	if m.Class == nil {
		return
	}
	changed := false
	for n := range m.Entries {
		e := &m.Entries[n]
		if int(e.Index) >= len(m.Class.Subsystems) {
			continue
		}
		def := &m.Class.Subsystems[e.Index]
		switch {
		case e.Index == 0 && def.Role == ship.Hull:
			if share := float32(e.Condition) / 255; share != s.hull {
				s.hull, changed = share, true
			}
			continue
		case def.Role == ship.Shield && len(e.Facings) == len(s.shields):
			for k, f := range e.Facings {
				if share := float32(f) / 255; share != s.shields[k] {
					s.shields[k], changed = share, true
				}
			}
		}
		g.byteLevel(i, uint16(e.Index)<<8, def.Name, e.Condition)
		for c, v := range e.Children {
			if c < len(def.Children) {
				g.byteLevel(i, uint16(e.Index)<<8|uint16(c+1), def.Children[c].Name, v)
			}
		}
	}
	if changed {
		g.condition(i)
	}
}

// condition adds the state of hull and shields.
func (g *game) condition(i int) {
	s, l := g.state[i], &g.m.Lives[i]
	if n := len(l.Condition); n > 0 && l.Condition[n-1].T == g.b.now {
		l.Condition[n-1].Hull, l.Condition[n-1].Shields = s.hull, s.shields
		return
	}
	if g.room(itemConditions) {
		l.Condition = append(l.Condition, Condition{T: g.b.now, Hull: s.hull, Shields: s.shields})
	}
}

// byteLevel takes the condition of a subsystem as a byte.
func (g *game) byteLevel(i int, key uint16, name string, v uint8) {
	s := g.state[i]
	if old, ok := s.values[key]; ok && old == v || !ok && v == 255 {
		return
	}
	if s.values == nil {
		s.values = map[uint16]uint8{}
	}
	s.values[key] = v
	g.level(i, key, name, float32(v)/255)
}

// level adds the condition of a subsystem that is not whole, or was not.
func (g *game) level(i int, key uint16, name string, share float32) {
	s, l := g.state[i], &g.m.Lives[i]
	at, ok := s.levels[key]
	if !ok {
		if share == 1 {
			return
		}
		if s.levels == nil {
			s.levels = map[uint16]int{}
		}
		at = len(l.Systems)
		s.levels[key] = at
		l.Systems = append(l.Systems, System{Name: name})
	}
	h := &l.Systems[at].History
	if n := len(*h); n > 0 && (*h)[n-1].Value == share {
		return
	}
	if g.room(itemConditions) {
		*h = append(*h, Level{g.b.now, share})
	}
}
