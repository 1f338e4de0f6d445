package match

import (
	"math"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/names"
	"github.com/bcdissect/bcdissect/decode/ship"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
)

// lifeState is the state of a life while it lasts.
type lifeState struct {
	class      *ship.Class
	over       bool
	wreck      float64  // until this time, updates may be those of a wreck
	lostAtHost bool     // the host reported the loss
	own        bool     // the capture has updates that the owner itself sent
	feed       feed     // source of positions, unless own
	block      feed     // source of subsystems
	track      *thinner // nil without samples, and after the end
	last       Sample   // of the track
	at         [3]float32
	seen       float64 // time of at
	have       bool    // at is valid
	speed      float32
	cloak      bool

	updated    float64 // time of the last update
	moved      float64 // time of the last speed
	steadyFrom float64 // updates before this time may be late, since they follow a gap

	hull    float32
	shields [6]float32
	levels  map[uint16]int   // index in Systems of each subsystem
	values  map[uint32]uint8 // last condition of a subsystem by its key and its sender
	beams   map[wire.ObjectID]int
	jump    jump
	speeds  steady
	turn    turn
	hashed  int // 1 + the integrity hash that was last compared
	lastHit int // index of the last shot fired at it, or -1
	firing  int // index of the beam that may turn out to be a pulse weapon, or -1
}

// A feed selects whose updates of a ship to believe, where a host sends them to
// several players.
type feed struct {
	client int // player of the conversation
	at     float64
}

// feedSilence is how many seconds a feed must be silent before another one
// replaces it.
const feedSilence = 2

// takes reports whether the feed is the player's.
func (f *feed) takes(player int, now float64) bool {
	if f.at != 0 && f.client != player && now-f.at < feedSilence {
		return false
	}
	f.client, f.at = player, now
	return true
}

// recent finds the lives of most objects faster than a map.
type recent struct {
	id   wire.ObjectID
	life int
}

// lifeOf returns the latest life of an object.
func (g *game) lifeOf(id wire.ObjectID) (life int, ok bool) {
	slot, in := id.Slot()
	if in {
		if c := &g.recent[slot]; c.id == id {
			return c.life, true
		}
	}
	life, ok = g.ships[id]
	if ok && in {
		g.recent[slot] = recent{id, life}
	}
	return life, ok
}

// openBCObject returns the object of a creation in the form of OpenBC's battle
// test.
func openBCObject(m *msg.ObjectCreateOpenBC) *msg.Object {
	return &msg.Object{
		Class: msg.ClassShip, ID: m.ID, Species: m.Species, Ship: ship.BySpecies(m.Species), Position: m.Position, Orientation: m.Orientation,
	}
}

// created folds the creation of a player's ship. Copies, and a host's answers
// to requests for a ship, have no new information.
func (g *game) created(r *dissect.Record, slot, id uint8, o *msg.Object) {
	fromOwner := r.Dir == dissect.ToHost
	if old, ok := g.lifeOf(o.ID); ok && (!fromOwner || !g.state[old].over) {
		g.describe(old, o)
		if fromOwner { // updates may come before a creation that was lost and resent
			g.m.Lives[old].Late = false
		}
		return
	}
	delete(g.former, o.ID)
	owner := g.owner(r, slot, id)
	if owner != NoPlayer {
		p := &g.m.Players[owner]
		if name := clip(wire.Text(o.Name)); p.Name == "" && name != "" && !p.Address.IsValid() {
			g.rename(r.Datagram.Number, owner, name)
			p.ShipNamed = true
		}
		if r.Sender == decode.OpenBC && g.teams && id <= 1 && p.Team == nil {
			g.setTeam(r.Datagram.Number, owner, int(id))
		}
	}
	for i := range g.state { // a player has only one ship at a time
		if owner != NoPlayer && g.m.Lives[i].Player == owner && !g.state[i].over {
			g.endLife(i, g.b.now, "replaced")
		}
	}
	i := g.born(r, o.ID, owner)
	if i == NoLife {
		return
	}
	g.describe(i, o)
	g.place(i, o)
	class := g.m.Lives[i].Ship
	if class == "" {
		class = "a ship"
	}
	g.event(r.Datagram.Number, EventSpawn, owner, g.m.NameOf(owner)+" enters in "+withArticle(wire.Untrusted(class)))
}

// born begins a life. It returns NoLife if there are too many.
func (g *game) born(r *dissect.Record, id wire.ObjectID, owner int) int {
	if !g.room(itemLives) {
		return NoLife
	}
	i := len(g.m.Lives)
	g.m.Lives = append(g.m.Lives, Life{Player: owner, Object: id, Begin: g.b.now, End: g.b.now, Frame: r.Datagram.Number, Killer: NoPlayer})
	s := &lifeState{hull: -1, lastHit: -1, firing: -1}
	for j := range s.shields {
		s.shields[j] = -1
	}
	g.state = append(g.state, s)
	g.ships[id] = i
	if slot, ok := id.Slot(); ok {
		g.recent[slot] = recent{id, i}
	}
	return i
}

// describe stores a creation's facts about a ship.
func (g *game) describe(i int, o *msg.Object) {
	l, s := &g.m.Lives[i], g.state[i]
	if o.Ship != nil {
		s.class = o.Ship
	}
	if name := names.Species.Name(uint64(o.Species)); name != "" {
		l.Ship = name
	} else if l.Ship == "" {
		l.Ship = "species " + digits(int(o.Species))
	}
	if o.Ship != nil && o.Ship.Name != "" {
		l.Ship = o.Ship.Name
	}
	if l.Name == "" {
		l.Name = clip(wire.Text(o.Name))
	}
}

// place begins the track with the place of creation.
func (g *game) place(i int, o *msg.Object) {
	at, ok := position(o.Position)
	if !ok {
		return
	}
	s := g.state[i]
	forward, up := axes(o.Orientation)
	s.at, s.seen, s.have = at, g.b.now, true
	g.push(i, &Sample{T: g.b.now, At: at, Forward: forward, Up: up})
}

// axes returns the ship's forward and up directions: the second and third axes
// of the rotation.
func axes(q [4]wire.F32) (forward, up [3]float32) {
	w, x, y, z := float64(q[0].Float()), float64(q[1].Float()), float64(q[2].Float()), float64(q[3].Float())
	if n := w*w + x*x + y*y + z*z; !(n > 0.5 && n < 2) {
		return [3]float32{0, 1, 0}, [3]float32{0, 0, 1}
	}
	forward = [3]float32{float32(2 * (x*y - w*z)), float32(1 - 2*(x*x+z*z)), float32(2 * (y*z + w*x))}
	up = [3]float32{float32(2 * (x*z + w*y)), float32(2 * (y*z - w*x)), float32(1 - 2*(x*x+y*y))}
	return forward, up
}

// maxCoordinate limits believable positions. No set is that large.
const maxCoordinate = 1e6

// position returns a position and whether it is believable.
func position(p [3]wire.F32) (at [3]float32, ok bool) {
	at = [3]float32{p[0].Float(), p[1].Float(), p[2].Float()}
	return at, believed(at)
}

func believed(at [3]float32) bool {
	for _, v := range at {
		if !(v > -maxCoordinate && v < maxCoordinate) {
			return false
		}
	}
	return true
}

// owner returns the player of a created ship.
func (g *game) owner(r *dissect.Record, slot, id uint8) int {
	if r.Dir == dissect.ToHost {
		return g.meet(r)
	}
	if r.Session != nil && r.Session.Player(decode.Slot, int64(slot)) == nil {
		if p := g.number(r, decode.ByIDStock, int64(id)); p != NoPlayer {
			return p
		}
	}
	return g.numbered(r, decode.Slot, int64(slot))
}

// late begins the life of a ship whose creation was not captured.
func (g *game) late(r *dissect.Record, id wire.ObjectID) int {
	slot, ok := id.Slot()
	if _, old := g.former[id]; !ok || old && g.b.now-g.m.Begin < hearSeconds {
		return NoLife // the ship is not a player's, or its owner has not heard of the restart
	}
	owner := g.meet(r)
	if r.Dir == dissect.FromHost {
		owner = g.numbered(r, decode.Slot, int64(slot))
	}
	i := g.born(r, id, owner)
	if i != NoLife {
		g.m.Lives[i].Late = true
	}
	return i
}

// current returns the latest life of a player.
func (g *game) current(player int) int {
	for i := len(g.m.Lives) - 1; i >= 0 && player != NoPlayer; i-- {
		if g.m.Lives[i].Player == player {
			return i
		}
	}
	return NoLife
}

// endLife ends a life, unless it has already ended.
func (g *game) endLife(i int, t float64, how string) {
	s := g.state[i]
	if s.over {
		return
	}
	g.flushTrack(i)
	s.track = nil
	s.over, s.wreck = true, math.Inf(1)
	l := &g.m.Lives[i]
	l.End, l.EndHow = t, how
}

// update folds a ship update.
func (g *game) update(r *dissect.Record, m *msg.StateUpdate) {
	i, ok := g.lifeOf(m.Object)
	if !ok {
		if i = g.late(r, m.Object); i == NoLife {
			return
		}
	}
	s, l := g.state[i], &g.m.Lives[i]
	if c := m.Class; c != nil && c != s.class && (s.class == nil || s.class.Inferred || !c.Inferred) {
		s.class, l.Ship = c, c.Name // the updates may contradict the creation
	}
	from := g.client(r)
	if g.b.now-s.updated > rateGap {
		s.steadyFrom = g.b.now + rateRest
	}
	s.updated = g.b.now
	if s.over && !g.flies(i, r, from) {
		return
	}
	if m.Flags&msg.DirtySubsystems != 0 && s.block.takes(from, g.b.now) {
		g.blocks(i, r.Dir, m)
	}
	switch {
	case r.Dir == dissect.ToHost && l.Player == NoPlayer:
		l.Player, s.own = from, true
	case r.Dir == dissect.ToHost && from != l.Player:
		g.found(r.Datagram.Number, from, "forged", "sends updates of a ship of "+g.m.NameOf(l.Player), 0, 0)
		return
	case r.Dir == dissect.ToHost:
		s.own = true
	case s.own || !s.feed.takes(from, g.b.now):
		return
	}
	if m.HasHash && m.Flags&msg.DirtyPosition != 0 && r.Dir == dissect.ToHost {
		g.hash(r.Datagram.Number, i, m.Hash)
	}
	g.move(i, r, m)
}

// flies reports whether a ship that was reported lost still exists: its owner
// sends updates at a time when even its wreck must be gone.
func (g *game) flies(i int, r *dissect.Record, from int) bool {
	s, l := g.state[i], &g.m.Lives[i]
	if g.b.now < s.wreck || r.Dir != dissect.ToHost || from != l.Player {
		return false
	}
	if l.EndHow != "killed" && l.EndHow != "destroyed" {
		return false
	}
	by := "another player"
	if s.lostAtHost {
		by = "the host"
	}
	g.found(r.Datagram.Number, l.Player, "undead", wire.Untrusted("goes on flying a ship after "+by+" reported its loss, in seconds"), g.b.now-l.End, 0)
	s.over, s.jump, s.turn.begun = false, jump{}, false
	l.EndHow = ""
	return true
}

// move takes position and motion from an update.
func (g *game) move(i int, r *dissect.Record, m *msg.StateUpdate) {
	s, l := g.state[i], &g.m.Lives[i]
	l.Updates++
	if m.Flags&msg.DirtySpeed != 0 {
		s.speed = m.Speed.Float()
		v := math.Abs(float64(s.speed))
		if v > l.MaxSpeed {
			l.MaxSpeed = v
		}
		if gap := g.b.now - s.moved; gap < turnGap {
			s.speeds.sum += gap
		}
		s.moved = g.b.now
		g.steadily(&s.speeds, r.Datagram.Number, v)
	}
	if m.Flags&msg.DirtyCloak != 0 {
		g.cloaks(r.Datagram.Number, i, m.Cloak != (r.Layout == decode.OpenBC))
	}
	last := &s.last
	next := Sample{T: g.b.now, At: s.at, Forward: last.Forward, Up: last.Up, Speed: s.speed, Cloaked: s.cloak}
	if m.Flags&msg.DirtyForward != 0 {
		next.Forward = m.Forward.Vec()
		g.turns(r.Datagram.Number, i, next.Forward, float64(m.GameTime.Float()))
	}
	if m.Flags&msg.DirtyUp != 0 {
		next.Up = m.Up.Vec()
	}
	if at, ok := m.AbsolutePosition(); ok {
		if !believed(at) {
			g.found(r.Datagram.Number, l.Player, "position", "sends an impossible position", 0, maxCoordinate)
			return
		}
		if m.Flags&msg.DirtyPosition != 0 {
			g.jumps(r.Datagram.Number, i, at, m.GameTime.Float())
		}
		next.At = at
		s.at, s.seen, s.have = at, g.b.now, true
	}
	if s.have {
		g.push(i, &next)
	}
}

// cloaks records that a ship cloaks or decloaks.
func (g *game) cloaks(frame, i int, on bool) {
	s := g.state[i]
	if s.cloak == on {
		return
	}
	s.cloak = on
	g.m.Lives[i].Cloaked = on
	kind, text := EventDecloak, wire.Untrusted(" decloaks")
	if on {
		kind, text = EventCloak, " cloaks"
	}
	p := g.m.Lives[i].Player
	g.event(frame, kind, p, g.m.NameOf(p)+text)
}

// withArticle puts an indefinite article before a noun.
func withArticle(s wire.Untrusted) wire.Untrusted {
	switch {
	case s == "a ship":
		return s
	case len(s) > 0 && (s[0] == 'A' || s[0] == 'E' || s[0] == 'I' || s[0] == 'O'):
		return "an " + s
	}
	return "a " + s
}
