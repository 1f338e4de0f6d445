package bots

import (
	"bytes"
	"math"
	"sync"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/event"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/ship"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/internal/chance"
)

// updateEvery is the time between two updates of a ship. The game also sends
// ten a second.
const updateEvery = 100 * time.Millisecond

// partsOfShip is more than the number of subsystems and their parts of any
// ship. Each has an object id above the ship's id.
const partsOfShip = 64

// recent is how many updates of a ship are remembered, to recognise copies.
const recent = 256

// A craft is a ship that a bot flies, or has flown.
type craft struct {
	id    wire.ObjectID
	class *ship.Class
	owner *bot
	born  time.Time
	alive bool

	next   time.Time      // when the next update is due
	last   int            // number of the last update, from 1
	lastAt time.Time      // when it was sent
	bodies [recent][]byte // bodies of the last updates, by number
	copies map[string]int // numbers of the last updates, by body
	base   wire.Vec3      // last absolute position that was sent
}

// update returns the number of a recent update of the ship, or 0 if the body
// belongs to none. A host that simulates ships sends other updates.
func (s *craft) update(body []byte) int { return s.copies[string(body)] }

// sends records the body of an update.
func (s *craft) sends(now time.Time, body []byte) {
	s.last++
	s.lastAt = now
	old := &s.bodies[s.last%recent]
	delete(s.copies, string(*old))
	*old = bytes.Clone(body)
	s.copies[string(body)] = s.last
}

// fleet returns the classes that bots fly: all classes for players whose
// subsystems are known.
var fleet = sync.OnceValue(func() (all []*ship.Class) {
	for c := range ship.All() {
		if c.Playable && c.Subsystems != nil && !c.Uncertain {
			all = append(all, c)
		}
	}
	return all
})

// The path of a ship is a circle that rises and falls. All circles overlap, so that ships meet.
const (
	speed  = 6.2 // in game units per second, as for ships at half impulse
	radius = 60  // in game units
	apart  = 40  // game units between the centres of two ships' circles
	rises  = 15  // in game units
)

// path returns position and directions of a ship after some seconds.
func (b *bot) path(seconds float64) (at, forward, up wire.Vec3) {
	turn := speed/radius*seconds + 2*math.Pi*chance.Share(b.run.o.Seed, uint64(b.index), 'p')
	centre := float64(b.index) * apart
	at = wire.Vec3{float32(centre + radius*math.Cos(turn)), float32(radius * math.Sin(turn)), float32(rises * math.Sin(turn/2))}
	climb := rises / 2.0 / radius * math.Cos(turn/2)
	forward = wire.Vec3{float32(-math.Sin(turn)), float32(math.Cos(turn)), float32(climb)}
	up = wire.Vec3{float32(climb * math.Sin(turn)), float32(-climb * math.Cos(turn)), 1}
	return at, forward, up
}

// creates makes the bot create a ship. Each ship of a session has different
// ids.
func (b *bot) creates(now time.Time) {
	class := fleet()[chance.Below(len(fleet()), b.run.o.Seed, uint64(b.index), 's', uint64(b.counts.Ships))]
	s := &craft{
		id: wire.FirstObject(b.client.Slot) + wire.ObjectID(b.flown*partsOfShip), class: class, owner: b,
		born: now, alive: true, next: now, copies: map[string]int{},
	}
	b.flown++
	b.counts.Ships++
	b.craft = s
	b.run.ships[s.id] = s
	at, forward, up := b.path(0)
	slot, place, upright := uint8(b.client.Slot), vec3(at), [4]wire.F32{wire.FloatBits(1)}
	whole := make([]wire.F32, len(class.Subsystems))
	for i := range whole {
		whole[i] = wire.FloatBits(class.Subsystems[i].MaxCondition)
	}
	b.client.Know(s.id)
	b.tells(now, msg.OpObjectCreateTeam, &msg.ObjectCreateTeam{
		Slot: slot, Player: b.client.ID, Object: msg.Object{
			Class: msg.ClassShip, ID: s.id, Species: class.Species, Position: place, Orientation: upright,
			Name: wire.Chars(b.client.Name), Set: wire.Chars("Multi1"), Ship: class, Snapshot: undamaged(class), Fits: true,
		},
	}, &msg.ObjectCreateOpenBC{
		Slot: slot, ID: s.id, Species: class.Species, Position: place, Orientation: upright,
		Forward: vec3(forward), Up: vec3(up), Speed: wire.FloatBits(speed), Hull: whole[0], Subsystems: whole,
	})
}

// tells sends a message in the form of the stock game or of OpenBC's clients.
func (b *bot) tells(now time.Time, op decode.Opcode, stock, openBC decode.Message) {
	if b.client.OpenBC {
		b.client.SayAs(now, op, openBC, decode.OpenBC)
	} else {
		b.client.Say(now, op, stock)
	}
}

func vec3(v wire.Vec3) [3]wire.F32 {
	return [3]wire.F32{wire.FloatBits(v[0]), wire.FloatBits(v[1]), wire.FloatBits(v[2])}
}

// undamaged returns the snapshot of an undamaged ship.
func undamaged(c *ship.Class) (all []msg.Part) {
	const full, facings, power = 255, 6, 100
	for i := range c.Subsystems {
		all = append(all, msg.Part{
			Index: uint8(i), Condition: full, Children: bytes.Repeat([]byte{full}, len(c.Subsystems[i].Children)),
			Power: power, Main: full, Backup: full, Facings: bytes.Repeat([]byte{full}, facings),
		})
	}
	return all
}

// flies sends the update of the bot's ship that is due. Like a client of the game it sends an
// absolute position every second, offsets from that in between, and the rest as it changes.
func (b *bot) flies(now time.Time) {
	s := b.craft
	n := s.last + 1
	seconds := now.Sub(s.born).Seconds()
	at, forward, up := b.path(seconds)
	m := &msg.StateUpdate{
		Object: s.id, GameTime: wire.FloatBits(float32(now.Sub(b.run.began).Seconds())), Class: s.class,
		Position: vec3(at), Speed: wire.CF16Of(speed),
	}
	m.Forward, _ = wire.NewDir3(forward)
	m.Up, _ = wire.NewDir3(up)
	const absolute, offset = 10, 3 // one in so many updates has a position. One in offset has the ship's up direction.
	switch {
	case b.client.OpenBC && n%7 == 0:
		m.Flags = msg.DirtyPosition
	case b.client.OpenBC:
		m.Flags = msg.DirtyPosition | msg.DirtyForward | msg.DirtyUp
	case n%absolute == 1:
		m.Flags = msg.DirtyPosition | msg.DirtyForward | msg.DirtyUp | msg.DirtySpeed
		m.HasHash, m.Hash, s.base = s.class.Hash != 0, s.class.Hash, at
	default:
		m.Flags = msg.DirtyDelta | msg.DirtyForward
		m.Delta = wire.NewVec4h(at.Add(s.base.Scale(-1)))
		if n%offset == 0 {
			m.Flags |= msg.DirtyUp
		}
		if n%absolute == absolute/2 {
			m.Flags |= msg.DirtyPower
			const full = 204
			m.Power = []msg.Setting{{Index: uint8(n / absolute % len(s.class.Subsystems)), Value: full}}
		}
	}
	dialect := decode.Stock
	if b.client.OpenBC {
		dialect = decode.OpenBC
	}
	body, err := decode.Append(nil, msg.Catalog().Lookup(msg.OpStateUpdate), m, dialect)
	if err != nil {
		b.client.Err = err // a test creates all kinds of ships
		return
	}
	b.client.SendBody(now, false, body)
	s.sends(now, body)
	b.counts.Updates++
}

// part returns the object id of a part of the ship with a role, or 0 if there
// is none.
func (s *craft) part(role ship.Role) wire.ObjectID {
	for i := range s.class.Subsystems {
		system := &s.class.Subsystems[i]
		if system.Role == role {
			return s.id + wire.ObjectID(system.Offset)
		}
		for _, child := range system.Children {
			if child.Role == role {
				return s.id + wire.ObjectID(child.Offset)
			}
		}
	}
	return 0
}

// fires fires one of the ship's weapons.
func (b *bot) fires(now time.Time, target wire.ObjectID) {
	b.counts.Shots++
	s := b.craft
	tube, cannon := s.part(ship.TorpedoTube), s.part(ship.PulseWeapon)
	_, forward, _ := b.path(now.Sub(s.born).Seconds())
	ahead, _ := wire.NewDir3(forward)
	// Flags for whether there is a target, in each form.
	torpedo, aimed, pulse := msg.TorpedoNoTarget, msg.TorpedoFlags(0), msg.PulseSound
	if target != 0 {
		torpedo, aimed, pulse = 0, msg.TorpedoBit1, msg.PulseSound|msg.PulseTarget
	}
	switch kind := b.counts.Shots % 3; {
	case kind == 1 && tube != 0:
		b.tells(now, msg.OpTorpedoFire,
			&msg.TorpedoFire{Tube: tube, FiringPlayer: b.client.ID, Flags: torpedo, Direction: ahead, Target: target},
			&msg.TorpedoFireOpenBC{Tube: tube, Flags: aimed, Direction: ahead, Target: target})
	case kind == 2 && cannon != 0:
		m := &msg.PulseFire{Weapon: cannon, FiringPlayer: b.client.ID, Direction: ahead, Flags: pulse, Target: target}
		b.tells(now, msg.OpPulseFire, m, m)
	default:
		b.tells(now, msg.OpStartFiring, &msg.StartFiring{Event: event.Event{
			Class: event.ClassFiring, Code: event.CodeStartFiringNotify, Dest: s.part(ship.Phaser), Target: target,
		}}, &msg.ShortEvent{Object: s.id})
		b.ceases = now.Add(beam)
	}
}

// beam is how long a bot fires its phasers.
const beam = 700 * time.Millisecond

// stops stops firing the phasers.
func (b *bot) stops(now time.Time) {
	b.ceases = time.Time{}
	b.tells(now, msg.OpStopFiring, &msg.StopFiring{Event: event.Event{
		Class: event.ClassPlain, Code: event.CodeStopFiringNotify, Dest: b.craft.part(ship.Phaser),
	}}, &msg.ShortEvent{Object: b.craft.id})
}

// hits fires, and reports damage as clients do. OpenBC's clients report the
// damage to their target. Stock clients report a collision of their ship, since
// the host determines all other damage.
func (b *bot) hits(now time.Time, target wire.ObjectID) {
	b.fires(now, target)
	b.counts.Hits++
	if b.client.OpenBC && target != 0 {
		const damage, size = 250, 15
		b.client.SayAs(now, msg.OpExplosion, &msg.Explosion{Object: target, Radius: wire.CF16Of(size), Damage: wire.CF16Of(damage)}, decode.OpenBC)
		return
	}
	m := &msg.CollisionEffect{Event: event.Event{
		Class: event.ClassCollision, Code: event.CodeObjectCollision, Source: target, Dest: b.craft.id,
		Contacts: []wire.Vec4b{{Dir: wire.Dir3{0, 127, 0}, Len: 200}}, Force: wire.FloatBits(500),
	}}
	b.tells(now, msg.OpCollisionEffect, m, m)
}

// dies gives up the ship. A stock client asks the host to destroy it, and an
// OpenBC client destroys it.
func (b *bot) dies(now time.Time) {
	b.counts.Deaths++
	if b.client.OpenBC {
		b.client.SayAs(now, msg.OpDestroyObject, &msg.DestroyObject{Object: b.craft.id}, decode.OpenBC)
	} else {
		b.client.Say(now, msg.OpSelfDestructRequest, new(msg.SelfDestructRequest))
	}
	b.loses()
}

// loses ends the bot's ship.
func (b *bot) loses() {
	if b.craft != nil {
		b.craft.alive = false
	}
	b.craft, b.ceases = nil, time.Time{}
}
