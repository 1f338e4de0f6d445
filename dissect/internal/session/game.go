package session

import (
	"net/netip"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/ship"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// A Game is the state of a host's game, from all of its conversations.
type Game struct {
	host          netip.AddrPort
	voice         Voice
	used          uint64
	most          int // limit of objects
	conversations int // number of conversations so far

	updates, creations, others originals // messages that may come back as copies
	original                   *original // original of the last message that came from a client or is a copy

	objects map[wire.ObjectID]*object
	recent  [places]*object // by player slot, to find most objects without the map
	order   []wire.ObjectID // ids of objects, oldest first
	roster
	slots   [wire.Slots]slot
	system  uint8
	mission wire.Untrusted
	guesses map[wire.ObjectID]*guess
	hashes  map[uint16]*ship.Class // indexed by integrity hash, nil if several classes share it

	Evicted int // evicted objects
}

// An object is a ship, station or torpedo known from a message.
type object struct {
	id    wire.ObjectID
	class *ship.Class // nil unless it is a ship with a known list
	other *ship.Class // class in an earlier message with the same id
	name  wire.Untrusted
	owner *Player // nil if unknown
}

// A slot holds the ships of a player, newest last, to resolve subsystem ids.
type slot struct {
	ships [4]wire.ObjectID
	n     int
}

// maxName limits the stored names in bytes. The game's names are much shorter.
const maxName = 64

func newGame(host netip.AddrPort, l *Limits) *Game {
	return &Game{host: host, most: l.Objects, roster: roster{limit: l.Players}, objects: map[wire.ObjectID]*object{}}
}

// Mission returns the mission's script module and the star system, or "" and 0
// if unknown.
func (g *Game) Mission() (script wire.Untrusted, system uint8) { return g.mission, g.system }

// object returns a known object, or nil.
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

// known is object without updating the cache.
func (g *Game) known(id wire.ObjectID) *object {
	if o := g.recent[bySlot(id)]; o != nil && o.id == id {
		return o
	}
	return g.objects[id]
}

// Other returns a ship's class from an earlier message if a later one
// contradicted it, or nil.
func (g *Game) Other(id wire.ObjectID) *ship.Class {
	if o := g.objects[id]; o != nil {
		return o.other
	}
	return nil
}

// Reclassify changes the class of a ship with contradictory messages.
func (g *Game) Reclassify(id wire.ObjectID, class *ship.Class) {
	if o := g.objects[id]; o != nil && o.class != class {
		o.class, o.other = class, o.class
	}
}

// Object describes an object, for example "Akira (Cady2)" for a ship and "Akira
// (Cady2) / Torpedoes" for a part of it.
func (g *Game) Object(id wire.ObjectID) wire.Untrusted {
	return wire.Untrusted(g.AppendObject(nil, id))
}

// AppendObject appends the result of Object.
func (g *Game) AppendObject(dst []byte, id wire.ObjectID) []byte {
	if o := g.known(id); o != nil {
		return g.describe(dst, o)
	}
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

// ShipOf returns the ship that has the id or contains the subsystem with the
// id.
func (g *Game) ShipOf(id wire.ObjectID) (at wire.ObjectID, ok bool) {
	at, _, ok = g.find(id)
	return at, ok
}

// find returns the object of an id, and the name of the part or "" for the
// object itself. The id of a part lies between those of its ship and of the
// player's next ship.
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
	dst = append(append(dst, " ("...), name.Raw()...)
	return append(dst, ')')
}

func (g *Game) create(m *msg.Object, owner *Player) (gone wire.ObjectID) {
	return g.add(m.ID, m.Ship, clip(wire.Text(m.Name)), owner)
}

// add stores an object. It returns the id of the oldest object if that was
// evicted, or 0.
func (g *Game) add(id wire.ObjectID, class *ship.Class, name wire.Untrusted, owner *Player) (gone wire.ObjectID) {
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

// Learn stores the facts in a decoded message that later messages need. It
// returns the id of an evicted object, or 0.
func (c *Conversation) Learn(s Side, m decode.Message) (gone wire.ObjectID) {
	switch m := m.(type) {
	case *msg.StateUpdate:
		c.Updated(s, m)
	case *transport.Identity:
		c.identity(s, m)
	case *transport.Accept:
		if s == Host {
			c.accept(m.ID)
		}
	case *transport.Goodbye:
		if s == Client {
			c.leave()
		}
	case *transport.Boot:
		if s == Host && (m.ID == transport.UnassignedPeer || m.ID == c.id) {
			c.leave()
		}
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

// Updated works as Learn for a ship update.
func (c *Conversation) Updated(s Side, m *msg.StateUpdate) {
	if s == Client {
		c.Owns(m.Object)
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

// Owns records the client as the owner of a ship that it sends updates of.
func (c *Conversation) Owns(id wire.ObjectID) {
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

// meant returns the player behind a number in a side's message.
func (c *Conversation) meant(s Side, who decode.Who, n int64) *Player {
	by := who.In(c.Dialect(s), s == Client)
	if by == decode.Self {
		return c.player
	}
	return c.game.Player(by, n)
}

// owner returns the player of a newly created ship. Clients create their own
// ships.
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

// clip shortens a name at a character boundary.
func clip(s wire.Untrusted) wire.Untrusted {
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
