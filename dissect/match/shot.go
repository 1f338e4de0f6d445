package match

import (
	"math"
	"slices"

	"github.com/bcdissect/bcdissect/decode/event"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/ship"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
)

// action folds messages about events: chat, and the actions of ships. Hosts
// pass most of these messages on unchanged.
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

// short folds an event of OpenBC's battle test, which contains only the object.
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

// mayCost records an event that may be the reason why a player loses the ship.
func (g *game) mayCost(player int, how string) {
	if player != NoPlayer {
		g.accidents[player] = accident{g.b.now, how}
	}
}

// collides records a collision of the ships that report it or are named in it.
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
	aim := NoLife
	if target != 0 {
		if life, ok := g.lifeOf(target); ok {
			aim = life
		}
	}
	if i := g.started(life, aim); kind == Pulse && i >= 0 {
		s := &g.m.Shots[i]
		s.Kind, s.Weapon, s.Target, s.End, s.Friendly = Pulse, name, aim, nil, g.friends(player, g.m.pilot(aim))
		if aim != NoLife {
			g.state[aim].lastHit = i
		}
		return i
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
	g.m.Shots = append(g.m.Shots, Shot{
		T: g.b.now, Frame: r.Datagram.Number, Player: player, Life: life, Weapon: name, Kind: kind, Target: aim,
		Friendly: g.friends(player, g.m.pilot(aim)), After: g.m.Over != nil,
	})
	i := len(g.m.Shots) - 1
	if aim != NoLife {
		g.state[aim].lastHit = i
	}
	return i
}

// started returns the shot with which a ship's pulse weapon began to fire, or
// -1 if there is none. Its client sends StartFiring, and then PulseFire for
// each pulse.
func (g *game) started(life, aim int) int {
	if life == NoLife {
		return -1
	}
	const soon = 0.5 // in seconds
	s := g.state[life]
	i := s.firing
	s.firing = -1
	if i < 0 || g.b.now-g.m.Shots[i].T > soon || g.m.Shots[i].Target != NoLife && g.m.Shots[i].Target != aim {
		return -1
	}
	return i
}

// beam begins the fire of a beam system. A shooter usually sends two such
// messages in a row. Tractor beams do not count as weapons.
func (g *game) beam(r *dissect.Record, system, target wire.ObjectID) {
	life, _ := g.part(r, system)
	role := ship.Role(0)
	if life != NoLife {
		s := g.state[life]
		if _, on := s.beams[system]; on {
			return
		}
		if s.class != nil {
			if _, role, _ = s.class.At(uint32(system - g.m.Lives[life].Object)); role == ship.Tractor {
				return
			}
		}
	}
	i := g.shoot(r, system, target, Beam)
	if life == NoLife || i < 0 {
		return
	}
	s := g.state[life]
	if role != ship.Phaser {
		s.firing = i
	}
	if s.beams == nil {
		s.beams = map[wire.ObjectID]int{}
	}
	const most = 64 // fire systems of a ship
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

// hits folds a damage volume. A host sends the volumes of a damaged ship to
// players who join. In OpenBC's dialect, clients send one when a shot of theirs
// hits.
func (g *game) hits(r *dissect.Record, m *msg.Explosion) {
	if r.Dir != dissect.ToHost {
		return
	}
	by := g.client(r)
	target, ok := g.lifeOf(m.Object)
	if by == NoPlayer || !ok {
		return
	}
	if !g.told {
		g.told = true // the damage that updates have shown so far comes again
		g.m.Damage = slices.DeleteFunc(g.m.Damage, func(d Damage) bool { return d.From == FromHull })
	}
	if g.m.Lives[target].Player != by && g.m.Over == nil {
		p := &g.m.Players[by]
		if p.Damage == nil {
			p.Damage = new(float64)
		}
		*p.Damage += float64(m.Damage.Float())
	}
	amount := float64(m.Damage.Float())
	d := Damage{Player: by, Life: target, Shot: g.hitBy(by, target), Amount: &amount, From: FromMessage}
	if !(amount >= 0) || math.IsInf(amount, 0) {
		d.Amount = nil
	}
	g.damaged(r.Datagram.Number, d)
	if d.Shot >= 0 {
		return
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

// flight is the longest flight of a shot in seconds.
const flight = 3

// lookBack is how many of the latest shots or losses are searched for the one
// that a message belongs to. Full games have fewer in that time. It limits the
// work for each message, since a forged file can give all shots the same time.
const lookBack = 512

// hitBy marks the earliest shot of a player at a ship that may have hit it now,
// and returns its index, or -1 if there is none.
func (g *game) hitBy(by, target int) int {
	found := -1
	first := max(0, len(g.m.Shots)-lookBack)
	for i := len(g.m.Shots) - 1; i >= first; i-- {
		s := &g.m.Shots[i]
		if g.b.now-s.T > flight {
			break
		}
		if s.Player == by && s.Target == target && s.Hit == nil {
			found = i
		}
	}
	if found >= 0 {
		yes := true
		g.m.Shots[found].Hit = &yes
	}
	return found
}

// damaged adds damage.
func (g *game) damaged(frame int, d Damage) *Damage {
	if !g.room(itemDamage) {
		return nil
	}
	d.T, d.Frame, d.After = g.b.now, frame, g.m.Over != nil
	d.Victim = g.m.Lives[d.Life].Player
	d.Friendly = g.friends(d.Player, d.Victim)
	if d.Shot >= 0 {
		d.Weapon = g.m.Shots[d.Shot].with()
	}
	g.m.Damage = append(g.m.Damage, d)
	return &g.m.Damage[len(g.m.Damage)-1]
}

// hullLost adds the damage that a ship update shows, unless clients report
// damage. Losses of a ship within a second by one player are one damage.
func (g *game) hullLost(life int, share float64) {
	s := g.state[life]
	if s.over || g.told {
		return
	}
	d := Damage{Player: NoPlayer, Life: life, Shot: -1, From: FromHull}
	if i := s.lastHit; i >= 0 && g.b.now-g.m.Shots[i].T <= flight {
		d.Player, d.Shot = g.m.Shots[i].Player, i
	}
	var at *Damage
	first := max(0, len(g.m.Damage)-lookBack)
	for i := len(g.m.Damage) - 1; i >= first && at == nil && g.b.now-g.m.Damage[i].T <= 1; i-- {
		if o := &g.m.Damage[i]; o.Life == life && o.Player == d.Player {
			at = o
		}
	}
	if at == nil {
		d.Hull = new(float64)
		if at = g.damaged(g.b.frame, d); at == nil {
			return
		}
	}
	*at.Hull += share
	if c := s.class; c != nil && len(c.Subsystems) > 0 && c.Subsystems[0].MaxCondition > 0 {
		amount := *at.Hull * float64(c.Subsystems[0].MaxCondition)
		at.Amount = &amount
	}
}

// misses marks the shots that hit nothing. It applies to players whose clients
// report damage.
func (g *game) misses() {
	m := g.m
	tells := map[int]bool{}
	beams := false
	for i := range m.Damage {
		d := &m.Damage[i]
		if d.From == FromMessage {
			tells[d.Player] = true
			beams = beams || d.Shot >= 0 && m.Shots[d.Shot].Kind == Beam
		}
	}
	no := false
	for i := range m.Shots {
		s := &m.Shots[i]
		if s.Hit == nil && tells[s.Player] && s.Target != NoLife && (s.Kind != Beam || beams) && m.End-s.T > flight {
			s.Hit = &no
		}
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
	part := uint16(m.Index) << 8
	if _, ok := s.values[hostSays(part)]; ok {
		return // the host simulates the ship, so it knows better
	}
	def := &s.class.Subsystems[m.Index]
	if !(def.MaxCondition > 0) {
		return
	}
	share := min(v/def.MaxCondition, 1)
	if def.Role == ship.Hull && m.Index == 0 {
		if share != s.hull {
			if share < s.hull {
				g.hullLost(life, float64(s.hull-share))
			}
			s.hull = share
			g.condition(life)
		}
		return
	}
	g.level(life, part, def.Name, share)
}

// blocks stores the conditions of subsystems in an update.
func (g *game) blocks(i int, dir dissect.Dir, m *msg.StateUpdate) {
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
			if s.repeats(dir, 0, e.Condition) && s.hull >= 0 {
				continue
			}
			if share := float32(e.Condition) / 255; share != s.hull {
				if share < s.hull {
					g.hullLost(i, float64(s.hull-share))
				}
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
		g.byteLevel(i, dir, uint16(e.Index)<<8, def.Name, e.Condition)
		for c, v := range e.Children {
			if c < len(def.Children) {
				g.byteLevel(i, dir, uint16(e.Index)<<8|uint16(c+1), def.Children[c].Name, v)
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

// byteLevel stores the condition of a subsystem given as a byte.
func (g *game) byteLevel(i int, dir dissect.Dir, key uint16, name string, v uint8) {
	if !g.state[i].repeats(dir, key, v) {
		g.level(i, key, name, float32(v)/255)
	}
}

// repeats reports whether an update has no news of a subsystem. A host that
// does not simulate ships always sends full condition, whatever players report.
// A host that simulates ships is believed instead of the owner.
func (s *lifeState) repeats(dir dissect.Dir, part uint16, v uint8) bool {
	key := hostSays(part)
	if dir != dissect.FromHost {
		if _, ok := s.values[key]; ok {
			return true
		}
		key = uint32(part)
	}
	if old, ok := s.values[key]; ok && old == v || !ok && v == 255 {
		return true
	}
	if s.values == nil {
		s.values = map[uint32]uint8{}
	}
	s.values[key] = v
	return false
}

// hostSays is the key in values of a condition sent by the host.
func hostSays(part uint16) uint32 { return 1<<16 | uint32(part) }

// level adds the condition of a subsystem, unless it has always been at full
// condition.
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
