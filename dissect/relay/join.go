package relay

import (
	"bytes"
	"net/netip"
	"slices"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/event"
	"github.com/bcdissect/bcdissect/decode/gamespy"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/names"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/dissect/relay/arq"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// checksums are the rounds in which a client's files are asked for.
var checksums = [...]msg.ChecksumRequest{
	{Round: 0, Dir: []byte("scripts/"), Filter: []byte("App.pyc")},
	{Round: 1, Dir: []byte("scripts/"), Filter: []byte("Autoexec.pyc")},
	{Round: 2, Dir: []byte("scripts/ships"), Filter: []byte("*.pyc"), Recursive: true},
	{Round: 3, Dir: []byte("scripts/mainmenu"), Filter: []byte("*.pyc")},
	{Round: 0xFF, Dir: []byte("Scripts/Multiplayer"), Filter: []byte("*.pyc"), Recursive: true},
}

// version is what clients hash into the first answer.
const version = "60"

// dedicated is how a host without a player of its own calls itself.
const dedicated = "Dedicated Server"

// connect takes a client's wish to be let in; p is the peer at its address, if
// there is one. It returns the peer that goes on, or nil.
func (h *Host) connect(p *peer, from netip.AddrPort, m *transport.Message) *peer {
	var req transport.Request
	if !m.Short {
		res := h.decoder.ReadBody(transport.SpecFor(m), m.Body)
		q, ok := res.Message.(*transport.Request)
		if !ok || res.Err != nil {
			h.drop(DropMalformed)
			return p
		}
		req = *q
	}
	if p != nil {
		same := p.short == m.Short && p.nonce == req.Nonce && p.phase != Leaving && (!m.Short || !p.proved)
		if same {
			p.link.Repeat(h.now, transport.Connect) // it has not heard the accept
			p.awake = true
			return p
		}
		h.replace(p)
	}
	if h.down || !h.connects.take(h.now, from.Addr()) {
		h.drop(DropConnects)
		return nil
	}
	p = &peer{addr: from, claimed: req.Addr, slot: -1, nonce: req.Nonce, short: m.Short, born: h.now, heard: h.now}
	p.rate.rate, p.bytes.rate, p.games.rate = h.cfg.Limits.PeerRate, h.cfg.Limits.PeerBytes, h.cfg.Limits.GameRate
	switch {
	case h.cfg.Banned != nil && h.cfg.Banned(req.Addr, from.Addr()):
		h.refuse(p, transport.BootBanned)
		return nil
	case !bytes.Equal(req.Password, wire.AppendWideTextOf(nil, h.cfg.Password)):
		h.refuse(p, transport.BootPassword)
		return nil
	case !h.admit(p):
		h.drop(DropConnects)
		return nil
	}
	return p
}

// replace forgets the session that a client had before it connected anew.
func (h *Host) replace(p *peer) {
	if p.phase != Leaving {
		h.report(Replaced, p, "")
		h.release(p)
		h.remove(p)
		h.announceGone(p)
		return
	}
	h.remove(p)
}

// refuse tells a client that it is not let in. It is told again when it asks
// again.
func (h *Host) refuse(p *peer, reason uint8) {
	h.report(Refused, p, names.BootReasons.Name(uint64(reason)))
	l := arq.New(transport.HostPeer, h.cfg.Limits.Link)
	if err := l.Queue(h.now, arq.Message{Type: transport.BootPlayer, Body: []byte{reason, transport.UnassignedPeer}}); err != nil {
		return
	}
	if plain, ok := l.Datagram(h.now, nil); ok {
		h.sendDirect(p.addr, cipher.Encrypt(nil, plain))
	}
}

// admit gives a client an id, and a slot if there is one. It reports whether
// there was an id.
func (h *Host) admit(p *peer) bool {
	id, ok := h.freeID()
	if !ok {
		return false
	}
	p.id = id
	p.link = arq.New(transport.HostPeer, h.cfg.Limits.Link)
	p.link.Adapt(h.cfg.Mode == Playable)
	if p.short {
		p.link.Eight(true)
	}
	h.ids[id], h.byAddr[p.addr] = p, p
	h.peers = append(h.peers, p)
	h.queue(p, arq.Message{Type: transport.Connect, Body: []byte{id}})
	if p.slot = h.freeSlot(); p.slot < 0 {
		h.crowd()
		p.slot = h.freeSlot()
	}
	if p.slot < 0 {
		h.queue(p, arq.Message{Type: transport.BootPlayer, Body: []byte{transport.BootFull, id}})
		h.report(Refused, p, names.BootReasons.Name(uint64(transport.BootFull)))
		h.leave(p)
		return true
	}
	h.slots[p.slot] = p
	h.report(Connected, p, "")
	h.ask(p)
	return true
}

// freeSlot returns the lowest free slot, -1 if there is none.
func (h *Host) freeSlot() int { return slices.Index(h.slots[:h.cfg.Players], nil) }

// crowd takes the slot from the client that has proved nothing for longest.
func (h *Host) crowd() {
	for _, p := range h.peers {
		if !p.proved && p.slot >= 0 && h.now.Sub(p.born) >= crowded {
			h.late(p)
			return
		}
	}
}

// freeID returns an id that nobody has: a random one or, without randomness, the
// next from where the last one was found, as the stock host does.
func (h *Host) freeID() (id uint8, ok bool) {
	if h.cfg.Random != nil {
		h.nextID = firstID + uint8(h.cfg.Random()%(lastID-firstID+1))
	}
	for range lastID {
		id = h.nextID
		if h.nextID++; h.nextID > lastID {
			h.nextID = firstID
		}
		if id != skippedID && h.ids[id] == nil {
			return id, true
		}
	}
	return 0, false
}

// rename takes a client's name and passes it on.
func (h *Host) rename(p *peer, m *arq.Message) {
	body := bytes.Clone(m.Body)
	res := h.decoder.ReadBody(transport.SpecFor(&transport.Message{Header: m.Header, Body: body}), body)
	id, ok := res.Message.(*transport.Identity)
	if !ok || res.Err != nil {
		h.complain(Ignored, p, "a name that does not read")
		return
	}
	p.name, p.naming = bytes.Clone(id.Name), body
	h.report(Named, p, "")
	if h.like.openBC { // it sends a player's name to the player alone, as keepalive
		return
	}
	h.controlToAll(transport.NameChange, body, nil)
}

// introduce tells a newcomer the names of the others. Those that get a name
// later tell it to all, so that nobody is told a name twice.
func (h *Host) introduce(p *peer) {
	if h.like.openBC || p.phase == Leaving {
		return
	}
	for _, o := range h.peers {
		if o != p && o.phase != Leaving && o.naming != nil {
			h.queue(p, arq.Message{Type: transport.NameChange, Body: o.naming})
		}
	}
}

// ask asks a client for the files of its round.
func (h *Host) ask(p *peer) {
	h.say(p, msg.OpChecksumRequest, &checksums[p.round])
}

// answer takes the hashes of a client's files.
func (h *Host) answer(p *peer, m *msg.ChecksumResponse) {
	switch {
	case p.phase != Checking:
		h.complain(Ignored, p, "hashes that were not asked for")
		return
	case m.Round != checksums[p.round].Round:
		h.complain(Ignored, p, "hashes of another round than asked for")
		return
	}
	if h.cfg.Check != nil {
		if m.Round == 0 && m.VersionHash != names.Hash(version) {
			h.say(p, msg.OpVersionDifferent, &msg.VersionDifferent{Text: []byte(version)})
			h.report(Refused, p, "another version of the game")
			return
		}
		if file := h.cfg.Check(m); file != "" {
			h.say(p, msg.OpChecksumFailed, &msg.ChecksumFailed{Text: []byte(file)})
			h.report(Refused, p, "its file "+file+" differs")
			return
		}
	}
	if p.round++; p.round < len(checksums) {
		h.ask(p)
		return
	}
	p.phase = Loading
	h.say(p, msg.OpChecksumComplete, &msg.ChecksumComplete{})
	h.say(p, msg.OpSettings, &msg.Settings{
		GameTime: wire.FloatBits(h.gameTime()), Collisions: h.cfg.Collisions, Slot: uint8(p.slot), Mission: []byte(h.cfg.Mission),
	})
	h.say(p, msg.OpGameInit, &msg.GameInit{})
	if h.like.openBC { // it does not wait until the client is ready
		for _, o := range h.peers {
			if o.phase == Loading || o.phase == Playing {
				h.say(p, msg.OpScore, &msg.Score{Player: int32(o.id)})
			}
		}
		h.replicate(p)
	}
}

// replicate sends a client all objects of the others.
func (h *Host) replicate(p *peer) {
	for _, o := range h.peers {
		if o == p {
			continue
		}
		for _, obj := range o.objects {
			h.queue(p, arq.Message{Type: transport.Standard, Reliable: true, Alone: true, Body: obj.body})
		}
	}
}

// ready lets a client into the game.
func (h *Host) ready(p *peer) {
	if p.phase == Checking {
		h.complain(Ignored, p, "it is ready before its files are checked")
		return
	}
	init := msg.MissionInit{
		PlayerLimit: uint8(h.cfg.Players), System: h.cfg.System, TimeLimit: h.cfg.TimeLimit, FragLimit: h.cfg.FragLimit,
	}
	if init.TimeLimit != msg.Unlimited {
		init.EndTime = 60 * int32(init.TimeLimit)
	}
	h.say(p, msg.OpMissionInit, &init)
	if h.like.openBC {
		p.phase = Playing
		h.report(Ready, p, "")
		h.announce(nil, p)
		for _, o := range h.peers {
			if o != p && o.phase == Playing {
				h.announce(p, o)
			}
		}
		return
	}
	known := false
	for _, id := range h.scores {
		if id == p.id {
			known = true
			continue
		}
		h.say(p, msg.OpScore, &msg.Score{Player: int32(id)})
	}
	if !known {
		h.scores = append(h.scores, p.id)
	}
	h.replicate(p)
	if p.phase != Playing { // clients may say it again
		p.phase = Playing
		h.report(Ready, p, "")
	}
	h.announce(nil, p)
}

// announce tells a client, or everybody in the game, of a player. The stock host
// names its own game object, whose id no client has: each puts its own in.
// OpenBC's clients want the player's first object.
func (h *Host) announce(to, player *peer) {
	m := &msg.PlayerAnnounce{Event: event.Event{
		Class: event.ClassPlayer, Code: event.CodeNewPlayerInGame, Dest: wire.FirstObject(player.slot), Player: player.id,
	}}
	if to != nil {
		h.say(to, msg.OpPlayerAnnounce, m)
		return
	}
	h.toPlaying(nil, msg.OpPlayerAnnounce, m)
}

// gameTime returns the seconds of the game clock.
func (h *Host) gameTime() float32 { return float32(h.now.Sub(h.start).Seconds()) }

// gameInfo describes the game to server browsers.
func (h *Host) gameInfo() *gamespy.Game {
	g := gamespy.Game{
		Version: version, Location: "1",
		Name: h.cfg.Name, Mission: h.cfg.Mission, Map: h.cfg.Map, Limit: h.cfg.Players,
		TimeLimit: gamespy.NoTimeLimit, FragLimit: gamespy.NoFragLimit,
		System: names.Systems.Name(uint64(h.cfg.System)), Password: h.cfg.Password != "",
		Players: []string{dedicated},
	}
	g.Playing = true
	if h.cfg.TimeLimit != msg.Unlimited {
		g.TimeLimit = int(h.cfg.TimeLimit)
	}
	if h.cfg.FragLimit != msg.Unlimited {
		g.FragLimit = int(h.cfg.FragLimit)
	}
	for _, p := range h.slots {
		if p != nil {
			g.Count++
			g.Players = append(g.Players, wire.WideText(p.name))
		}
	}
	return &g
}

// encode writes one of the host's own messages.
func (h *Host) encode(op decode.Opcode, m decode.Message) []byte {
	body, err := decode.Append(nil, h.catalog.Lookup(op), m, decode.Stock)
	if err != nil {
		return nil
	}
	return body
}

// say sends a client one of the host's own messages.
func (h *Host) say(p *peer, op decode.Opcode, m decode.Message) {
	if body := h.encode(op, m); body != nil {
		h.queue(p, arq.Message{Type: transport.Standard, Reliable: true, Body: body})
	}
}

// toPlaying sends everybody in the game but one a message of the host's.
func (h *Host) toPlaying(but *peer, op decode.Opcode, m decode.Message) {
	body := h.encode(op, m)
	if body == nil {
		return
	}
	for _, p := range h.playing() {
		if p != but {
			h.queue(p, arq.Message{Type: transport.Standard, Reliable: true, Body: body})
		}
	}
}
