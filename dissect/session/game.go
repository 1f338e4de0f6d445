package session

import (
	"net/netip"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/ship"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// A Game is what is known of the game that a host runs, from all of its
// conversations.
type Game struct {
	host  netip.AddrPort
	voice voice
	used  uint64
	most  int // objects
	heard int // conversations so far

	updates, creations, others originals // messages that may come again as copies

	objects map[wire.ObjectID]*object
	recent  [places]*object // of each player slot, to find most of them without the map
	order   []wire.ObjectID // of objects, oldest first
	roster
	slots   [wire.Slots]slot
	system  uint8
	mission string
	guesses map[wire.ObjectID]*guess
	hashes  map[uint16]*ship.Class // what integrity hashes stand for; nil for more than one class

	Evicted int // objects given up to keep to the limit
}

// An object is a ship, station or torpedo that a message told of.
type object struct {
	id    wire.ObjectID
	class *ship.Class // nil if it is not a ship with a known list
	other *ship.Class // what another message said of the same id before
	name  string
	owner *Player // nil if not known
}

// A slot remembers the ships of a player, the newest last, so that ids of
// subsystems can be resolved.
type slot struct {
	ships [4]wire.ObjectID
	n     int
}

// maxName bounds the names that are kept; the game's are much shorter.
const maxName = 64

func newGame(host netip.AddrPort, l *Limits) *Game {
	return &Game{host: host, most: l.Objects, roster: roster{limit: l.Players}, objects: map[wire.ObjectID]*object{}}
}

// Mission returns the mission's script module and the star system, empty and
// 0 if no message told.
func (g *Game) Mission() (script string, system uint8) { return g.mission, g.system }

// object returns what is known of an object, nil if nothing is.
func (g *Game) object(id wire.ObjectID) *object {
	recent := &g.recent[bySlot(id)]
	if o := *recent; o != nil && o.id == id {
		return o
	}
	o := g.objects[id]
	if o != nil {
		*recent = o
	}
	return o
}

// known is object for who only looks.
func (g *Game) known(id wire.ObjectID) *object {
	if o := g.recent[bySlot(id)]; o != nil && o.id == id {
		return o
	}
	return g.objects[id]
}

// Other returns the class that an earlier message gave to a ship which a later
// one called something else, or nil.
func (g *Game) Other(id wire.ObjectID) *ship.Class {
	if o := g.objects[id]; o != nil {
		return o.other
	}
	return nil
}

// Reclassify changes the class of a ship that messages disagree on.
func (g *Game) Reclassify(id wire.ObjectID, class *ship.Class) {
	if o := g.objects[id]; o != nil && o.class != class {
		o.class, o.other = class, o.class
	}
}

// Object returns what an object is, such as "Akira (Cady2)" for a ship and
// "Akira (Cady2) / Torpedoes" for a part of it.
func (g *Game) Object(id wire.ObjectID) string { return string(g.AppendObject(nil, id)) }

// AppendObject appends what Object returns.
func (g *Game) AppendObject(dst []byte, id wire.ObjectID) []byte {
	at, part, ok := g.find(id)
	if !ok {
		return dst
	}
	dst = g.describe(dst, g.known(at))
	if part != "" {
		dst = append(append(dst, " / "...), part...)
	}
	return dst
}

// ShipOf returns the ship that an object is or is a part of.
func (g *Game) ShipOf(id wire.ObjectID) (at wire.ObjectID, ok bool) {
	at, _, ok = g.find(id)
	return at, ok
}

// find returns the object that an id belongs to, and the name of the part
// that it is, empty for the object itself. A part has an id between that of its
// ship and that of the player's next one.
func (g *Game) find(id wire.ObjectID) (object wire.ObjectID, part string, ok bool) {
	if g.known(id) != nil {
		return id, "", true
	}
	n, ok := id.Slot()
	if !ok {
		return 0, "", false
	}
	s := &g.slots[n]
	for i := s.n - 1; i >= 0; i-- {
		at := s.ships[i]
		if at > id {
			continue
		}
		o := g.objects[at]
		if o == nil || o.class == nil {
			continue
		}
		if part, _, ok := o.class.At(uint32(id - at)); ok {
			return at, part, true
		}
	}
	return 0, "", false
}

func (g *Game) describe(dst []byte, o *object) []byte {
	if o.class != nil {
		dst = append(dst, o.class.Name...)
	} else {
		dst = append(dst, "object"...)
	}
	name := o.name
	if name == "" && o.owner != nil {
		name = o.owner.Name
	}
	if name == "" {
		return dst
	}
	dst = append(append(dst, " ("...), name...)
	return append(dst, ')')
}

func (g *Game) create(m *msg.Object, owner *Player) (gone wire.ObjectID) {
	return g.add(m.ID, m.Ship, clip(wire.Text(m.Name)), owner)
}

// add remembers an object. To keep to the limit the oldest one may have to go;
// gone is its id, or else 0.
func (g *Game) add(id wire.ObjectID, class *ship.Class, name string, owner *Player) (gone wire.ObjectID) {
	o := g.objects[id]
	if o == nil {
		if len(g.objects) >= g.most {
			gone = g.order[0]
			if recent := &g.recent[bySlot(gone)]; *recent == g.objects[gone] {
				*recent = nil
			}
			delete(g.objects, gone)
			g.order = g.order[1:]
			g.Evicted++
		}
		o = &object{id: id}
		g.objects[id] = o
		g.order = append(g.order, id)
	} else if o.class != class {
		o.other = o.class
	}
	o.class, o.name, o.owner = class, name, owner
	if class == nil {
		return gone
	}
	if n, ok := id.Slot(); ok {
		g.slots[n].push(id)
	}
	return gone
}

func (s *slot) push(id wire.ObjectID) {
	for _, have := range s.ships[:s.n] {
		if have == id {
			return
		}
	}
	if s.n == len(s.ships) {
		copy(s.ships[:], s.ships[1:])
		s.n--
	}
	s.ships[s.n] = id
	s.n++
}

// Learn takes from a decoded message what later ones need. Gone is the id of an
// object that had to be given up for it, or else 0.
func (c *Conversation) Learn(s Side, m decode.Message) (gone wire.ObjectID) {
	switch m := m.(type) {
	case *msg.StateUpdate:
		c.Updated(s, m)
		return 0
	case *transport.Identity:
		c.identity(s, m)
		return 0
	case *transport.Accept:
		if s == Host {
			c.accept(m.ID)
		}
		return 0
	case *transport.Goodbye:
		if s == Client {
			c.leave()
		}
		return 0
	case *transport.Boot:
		if s == Host && (m.ID == transport.UnassignedPeer || m.ID == c.id) {
			c.leave()
		}
		return 0
	}
	if c.game == nil {
		return 0
	}
	switch m := m.(type) {
	case *msg.ObjectCreateTeam:
		gone = c.game.create(&m.Object, c.owner(s, m.Slot, m.Player))
	case *msg.ObjectCreate:
		gone = c.game.create(&m.Object, nil)
	case *msg.ObjectCreateOpenBC:
		gone = c.game.create(&msg.Object{ID: m.ID, Ship: ship.BySpecies(m.Species)}, c.owner(s, m.Slot, 0))
	case *msg.Team:
		if p := c.meant(s, decode.Itself, int64(m.Player)); p != nil {
			p.Team = int(m.Team)
		}
	case *msg.Settings:
		if s == Host {
			c.join("")
			c.seated(int(m.Slot), true)
			c.game.mission = clip(wire.Text(m.Mission))
		}
	case *msg.MissionInit:
		if s == Host {
			c.game.system = m.System
		}
	}
	return gone
}

// Updated is Learn for a ship update.
func (c *Conversation) Updated(s Side, m *msg.StateUpdate) {
	if s == Client {
		c.owns(m.Object)
	}
	if m.Flags&msg.DirtyPosition != 0 {
		at := wire.Vec3{m.Position[0].Float(), m.Position[1].Float(), m.Position[2].Float()}
		side := &c.sides[s]
		if t := side.trackOf(m.Object); t != nil {
			t.at = at
		} else {
			side.track(m.Object, at)
		}
	}
}

// owns takes note that a client sends the updates of a ship: it is its own.
func (c *Conversation) owns(id wire.ObjectID) {
	if c.game == nil || c.player == nil {
		return
	}
	if n, ok := id.Slot(); ok && c.slot < 0 {
		c.seated(n, false)
	}
	if o := c.game.object(id); o != nil && o.owner == nil {
		o.owner = c.player
	}
}

// meant returns the player that a number means in a message of a side.
func (c *Conversation) meant(s Side, who decode.Who, n int64) *Player {
	by := who.In(c.Dialect(s), s == Client)
	if by == decode.Self {
		return c.player
	}
	return c.game.Player(by, n)
}

// owner returns the player whose ship comes into being. Clients create ships of
// their own.
func (c *Conversation) owner(s Side, slot, id uint8) *Player {
	if s == Client && c.player != nil {
		c.seated(int(slot), false)
	}
	if p := c.game.Player(decode.Slot, int64(slot)); p != nil {
		return p
	}
	if s == Client {
		return c.player
	}
	return c.meant(s, decode.ByIDStock, int64(id))
}

// clip bounds a name, at a character's border.
func clip(s string) string {
	if len(s) <= maxName {
		return s
	}
	n := 0
	for i := range s {
		if i > maxName {
			break
		}
		n = i
	}
	return s[:n]
}
