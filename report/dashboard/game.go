package dashboard

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/event"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/names"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// A topic is what an event is about.
type topic uint8

const (
	onChat topic = iota
	onTeam
	onJoin
	onLeave
	onDeath
	onCloak
	onGame
	onError
)

// String returns the topic as it stands in the list of events.
func (t topic) String() string {
	return [...]string{"chat", "team", "join", "leave", "death", "cloak", "game", "error"}[t]
}

// presence is whether a player takes part.
type presence uint8

const (
	unknown presence = iota
	joined
	left
)

// game is what is remembered of the game of a host. Text is escaped.
type game struct {
	members [256]*member // by network id
	ships   map[wire.ObjectID]*cloaking
	order   []wire.ObjectID // of ships, oldest first
	mission string
	rules   string
}

type member struct {
	name  string
	slot  int // -1 if it is not known
	ship  string
	id    wire.ObjectID // of the ship
	state presence
	lost  bool // the ship exploded
	cloak bool
	known bool // the player's own conversation is seen, so that the id is right
}

// cloaking is what is known of a ship's cloak.
type cloaking struct {
	on    bool
	owner bool // its owner's own messages are seen, so that those of others are old
}

// shown returns the ship with what happened to it.
func (m *member) shown() string {
	switch {
	case m.lost:
		return m.ship + " (lost)"
	case m.cloak:
		return m.ship + " (cloaked)"
	}
	return m.ship
}

// member returns what is known of a player, nil if nothing is.
func (s *state) member(host netip.AddrPort, id uint8) *member {
	if g := s.games[host]; g != nil && id != 0 {
		return g.members[id]
	}
	return nil
}

// game returns the game of a record's host.
func (s *state) game(r *dissect.Record) (g *game, host netip.AddrPort) {
	host = hostOf(r)
	g = s.games[host]
	if g != nil {
		return g, host
	}
	if s.games == nil {
		s.games = map[netip.AddrPort]*game{}
	}
	if len(s.order) >= maxGames {
		delete(s.games, s.order[0])
		s.order = slices.Delete(s.order, 0, 1)
	}
	g = &game{ships: map[wire.ObjectID]*cloaking{}}
	s.games[host] = g
	s.order = append(s.order, host)
	return g, host
}

func hostOf(r *dissect.Record) netip.AddrPort {
	switch {
	case r.Datagram == nil:
		return netip.AddrPort{}
	case r.Dir == dissect.FromHost:
		return r.Datagram.Src
	}
	return r.Datagram.Dst
}

// player returns what is remembered of a player of the record's game, with the
// name that is known by now. Id 0 is nobody.
func (g *game) player(r *dissect.Record, id uint8) *member {
	if id == 0 {
		return &member{slot: -1}
	}
	m := g.members[id]
	if m == nil {
		m = &member{slot: -1}
		g.members[id] = m
	}
	if r.Session != nil {
		if p := r.Session.Player(decode.NetworkID, int64(id)); p != nil && p.Name != "" {
			m.name = clean(p.Name, maxName)
		}
	}
	if r.ClientID == id && r.Client != "" {
		m.name, m.known = clean(r.Client, maxName), true
	}
	return g.same(m)
}

// same returns the player of the same name whose id is sure. OpenBC writes
// slots where the game writes ids.
func (g *game) same(m *member) *member {
	if m.known || m.name == "" {
		return m
	}
	for _, other := range g.members {
		if other != nil && other.known && other.name == m.name {
			return other
		}
	}
	return m
}

// called returns what a player is called.
func (g *game) called(r *dissect.Record, id uint8) string {
	if name := g.player(r, id).name; name != "" {
		return name
	}
	return "player " + strconv.Itoa(int(id))
}

// happened finds what the record tells of the game. If it is not wanted, that
// is remembered and not shown.
func (s *state) happened(r *dissect.Record, wanted bool) {
	t := teller{s: s, r: r, wanted: wanted}
	switch {
	case r.Kind == dissect.KindEvicted:
		if r.Err != nil {
			t.faulty(r.Err.Error())
		}
		return
	case r.Kind == dissect.KindGameSpy:
		return
	case r.Status == dissect.StatusMalformed && !r.Cut:
		text := "malformed data"
		if name := nameOf(r); r.Kind != dissect.KindMalformed {
			text = "malformed " + name
		}
		if r.Err != nil {
			text += ": " + r.Err.Error()
		}
		t.faulty(text)
	}
	if r.Message == nil || r.Status == dissect.StatusDuplicate || r.Datagram == nil {
		return
	}
	t.g, t.host = s.game(r)
	if _, ok := r.Opcode(); ok {
		t.message()
	} else {
		t.transport()
	}
}

// A teller tells what a record says.
type teller struct {
	s      *state
	r      *dissect.Record
	g      *game
	host   netip.AddrPort
	wanted bool
}

func (t *teller) transport() {
	r, g := t.r, t.g
	switch m := r.Message.(type) {
	case *transport.Accept:
		p := g.player(r, m.ID)
		*p = member{name: p.name, slot: -1, known: p.known}
		t.tell(onJoin, "%s connects, id %d", r.Datagram.Dst, m.ID)
	case *transport.Identity:
		if r.Dir == dissect.FromHost && m.ID != 0 && len(m.Name) > 0 {
			g.player(r, m.ID) // whose name the session knows by now
		}
	case *transport.Goodbye:
		if m.ID == 1 {
			t.tell(onLeave, "the host closes the game")
			return
		}
		t.leaves(m.ID, "disconnects")
	case *transport.Boot:
		id := m.ID
		if id == 255 {
			id = r.ClientID
		}
		t.leaves(id, "is put out: "+named(names.BootReasons, uint64(m.Reason)))
	}
}

func (t *teller) message() {
	r, g := t.r, t.g
	switch m := r.Message.(type) {
	case *msg.StateUpdate:
		t.update(m)
	case *msg.Chat:
		t.says(onChat, m)
	case *msg.TeamChat:
		t.says(onTeam, &m.Chat)
	case *msg.PlayerAnnounce:
		t.announce(&m.Event)
	case *msg.PlayerDeleted:
		t.deleted(m.Name)
	case *msg.PlayerDeletedOpenBC:
		t.deleted(m.Name)
	case *msg.ObjectCreateTeam:
		t.created(m.Slot, m.Player, m.ID, m.Species, string(m.Name))
	case *msg.ObjectCreateOpenBC:
		t.created(m.Slot, m.Player, m.ID, m.Species, "")
	case *msg.HostEvent:
		if m.Code == event.CodeObjectExploding {
			t.explodes(m)
		}
	case *msg.ScoreChange:
		t.scored(m)
	case *msg.StartCloaking:
		t.cloaked(t.shipOf(m.Dest), true)
	case *msg.StopCloaking:
		t.cloaked(t.shipOf(m.Dest), false)
	case *msg.ShortEvent:
		switch r.Spec.Code {
		case msg.OpStartCloaking:
			t.cloaked(t.shipOf(m.Object), true)
		case msg.OpStopCloaking:
			t.cloaked(t.shipOf(m.Object), false)
		}
	case *msg.Settings:
		if r.ClientID != 0 {
			g.player(r, r.ClientID).slot = int(m.Slot)
		}
		if mission := clean(string(m.Mission), maxText); mission != g.mission {
			g.mission = mission
			t.tell(onGame, "mission %s", mission)
		}
	case *msg.MissionInit:
		rules := "map " + named(names.Systems, uint64(m.System)) + limit(m.PlayerLimit, "players") + limit(m.TimeLimit, "minutes") + limit(m.FragLimit, "kills")
		if rules != g.rules {
			g.rules = rules
			t.tell(onGame, "%s", rules)
		}
	case *msg.EndGame:
		t.tell(onGame, "the game is over: %s", named(names.EndGameReasons, uint64(m.Reason)))
	case *msg.RestartGame:
		t.tell(onGame, "the game begins anew")
	}
}

// says tells a line of chat.
func (t *teller) says(on topic, m *msg.Chat) {
	author := "player " + strconv.Itoa(int(m.Sender))
	if name := t.r.PlayerName(decode.Speaker, int64(m.Sender)); name != "" {
		author = clean(name, maxName)
	}
	text := clean(string(m.Text), maxText)
	t.tellOnce(on, strconv.Itoa(int(m.Sender))+" "+text, author+": "+text)
}

func limit(n uint8, of string) string {
	if n == msg.Unlimited {
		return ""
	}
	if n == 1 {
		of = of[:len(of)-1]
	}
	return fmt.Sprintf(", %d %s", n, of)
}

func named(n decode.Names, v uint64) string {
	if s := n.Name(v); s != "" {
		return s
	}
	return strconv.FormatUint(v, 10)
}

func (t *teller) announce(e *event.Event) {
	p := t.g.player(t.r, e.Player)
	switch {
	case e.Code == event.CodeDeletePlayer:
		t.leaves(e.Player, "leaves")
	case e.Code == event.CodeNewPlayerInGame && p.state != joined:
		p.state = joined
		t.tell(onJoin, "%s joins", t.g.called(t.r, e.Player))
	}
}

// leaves tells that a player is gone, unless that is known.
func (t *teller) leaves(id uint8, how string) {
	p := t.g.player(t.r, id)
	if p.state == left {
		return
	}
	p.state = left
	t.tell(onLeave, "%s %s", t.g.called(t.r, id), how)
}

func (t *teller) deleted(name []byte) {
	for id, p := range t.g.members {
		if p != nil && p.name == clean(string(name), maxName) {
			t.leaves(uint8(id), "leaves")
			return
		}
	}
}

// created takes note of a player's ship. Public documents do not agree about
// the byte after the slot, so the owner is found by what else is known.
func (t *teller) created(slot, player uint8, id wire.ObjectID, species uint8, name string) {
	owner := player
	if t.r.Dir == dissect.ToHost && t.r.ClientID != 0 {
		owner = t.r.ClientID
	} else {
		for id, p := range t.g.members {
			if p != nil && p.slot == int(slot) && p.state != left && (name == "" || p.name == clean(name, maxName)) {
				owner = uint8(id)
			}
		}
	}
	if owner == 0 {
		return
	}
	p := t.g.player(t.r, owner)
	p.slot, p.ship, p.id, p.lost, p.cloak = int(slot), named(names.Species, uint64(species)), id, false, false
	t.ship(id).on = false
}

// update takes what a ship's update tells of its owner and its cloak.
func (t *teller) update(m *msg.StateUpdate) {
	own := t.r.Dir == dissect.ToHost && t.r.ClientID != 0
	if own {
		p := t.g.members[t.r.ClientID]
		if p == nil || p.ship == "" && m.Class != nil || p.state == unknown {
			p = t.g.player(t.r, t.r.ClientID)
			if p.ship == "" && m.Class != nil {
				p.ship, p.id = m.Class.Name, m.Object
			}
			if n, ok := m.Object.Slot(); ok && p.slot < 0 {
				p.slot = n
			}
			if p.state == unknown {
				p.state = joined
			}
		}
	}
	if m.Flags&msg.DirtyCloak == 0 || t.r.Status == dissect.StatusMalformed {
		return
	}
	c := t.ship(m.Object)
	c.owner = c.owner || own
	if own || !c.owner {
		t.cloaked(m.Object, m.Cloak != (t.r.Layout == decode.OpenBC))
	}
}

// ship returns what is known of a ship's cloak.
func (t *teller) ship(id wire.ObjectID) *cloaking {
	g := t.g
	c := g.ships[id]
	if c == nil {
		if len(g.order) >= maxShips {
			delete(g.ships, g.order[0])
			g.order = slices.Delete(g.order, 0, 1)
		}
		c = new(cloaking)
		g.ships[id] = c
		g.order = append(g.order, id)
	}
	return c
}

func (t *teller) cloaked(ship wire.ObjectID, on bool) {
	c := t.ship(ship)
	if c.on == on {
		return
	}
	c.on = on
	if p := t.owner(ship); p != nil {
		p.cloak = on
	}
	if on {
		t.tell(onCloak, "%s cloaks", t.object(ship))
	} else {
		t.tell(onCloak, "%s decloaks", t.object(ship))
	}
}

// owner returns the player whose ship it is, nil if nobody is known.
func (t *teller) owner(ship wire.ObjectID) *member {
	for _, p := range t.g.members {
		if p != nil && p.id == ship && p.id != 0 {
			return p
		}
	}
	return nil
}

func (t *teller) explodes(m *msg.HostEvent) {
	if p := t.owner(m.Dest); p != nil {
		p.lost, p.cloak = true, false
	}
	by := ""
	if m.Class == event.ClassExploding && m.FiringPlayer > 0 && m.FiringPlayer < 256 {
		by = ", shot by " + t.g.called(t.r, uint8(m.FiringPlayer))
	}
	t.tell(onDeath, "%s explodes%s", t.object(m.Dest), by)
}

func (t *teller) scored(m *msg.ScoreChange) {
	victim := t.g.called(t.r, uint8(m.Victim))
	if m.Killer == 0 {
		t.tell(onDeath, "%s dies, for the %s time", victim, ordinal(m.Deaths))
		return
	}
	t.tell(onDeath, "%s is killed by %s: kills %d, score %d", victim, t.g.called(t.r, uint8(m.Killer)), m.Kills, m.Score)
}

func ordinal(n int32) string {
	suffix := "th"
	if tens := n / 10 % 10; tens != 1 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return strconv.Itoa(int(n)) + suffix
}

// shipOf returns the ship that an object is a part of, or the object.
func (t *teller) shipOf(id wire.ObjectID) wire.ObjectID {
	if t.r.Session != nil {
		if ship, ok := t.r.Session.ShipOf(id); ok {
			return ship
		}
	}
	return id
}

// object returns what an object is.
func (t *teller) object(id wire.ObjectID) string {
	if t.r.Session != nil {
		if name := t.r.Session.Object(id); name != "" {
			return clean(name, 2*maxName)
		}
	}
	return fmt.Sprintf("object 0x%08X", uint32(id))
}
