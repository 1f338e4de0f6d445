package relay

import (
	"bytes"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/event"
	"github.com/bcdissect/bcdissect/decode/gamespy"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/names"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/dissect/internal/session"
	"github.com/bcdissect/bcdissect/dissect/relay/arq"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// checksums are the rounds in which the host asks for the hashes of a client's
// files.
var checksums = [...]msg.ChecksumRequest{
	{Round: 0, Dir: []byte("scripts/"), Filter: []byte("App.pyc")},
	{Round: 1, Dir: []byte("scripts/"), Filter: []byte("Autoexec.pyc")},
	{Round: 2, Dir: []byte("scripts/ships"), Filter: []byte("*.pyc"), Recursive: true},
	{Round: 3, Dir: []byte("scripts/mainmenu"), Filter: []byte("*.pyc")},
	{Round: 0xFF, Dir: []byte("Scripts/Multiplayer"), Filter: []byte("*.pyc"), Recursive: true},
}

// version is the text that clients hash into the first answer.
const version = "60"

// dedicated is the player name of a host without a player.
const dedicated = "Dedicated Server"

// connect takes a request to be let in from an address. It returns the session
// to which the rest of the datagram belongs, or nil.
func (h *Host) connect(from netip.AddrPort, m *transport.Message, size int) *peer {
	req, ok := h.readConnect(m)
	switch {
	case !ok:
		h.drop(DropMalformed)
		return nil
	case h.cfg.Proof && m.Short: // such a client cannot answer challenges
		h.drop(DropConnects)
		return nil
	}
	if p, again := h.connectAgain(from, m, req, size); again {
		return p
	}
	stateless := h.answersStateless(from, m)
	if why, ok := h.connectAllowed(from, m); !ok {
		if stateless = why == DropConnects && h.standIn(from, m); !stateless {
			h.drop(why)
			return nil
		}
	}
	p := h.newPeer(from)
	p.claimed, p.nonce, p.short, p.got = req.Addr, req.Nonce, m.Short, size
	p.judge(session.OfShape(session.Client, &m.Header))
	p.judge(h.shown(p).Dialect, session.Form, "")
	reason := h.denial(from, req)
	switch {
	case reason != 0:
		h.reject(p, reason)
	case stateless:
		h.answerStateless(from)
	case h.connects.lacks(from.Addr()) || !h.admit(p):
		h.drop(DropConnects)
	default:
		return p
	}
	return nil
}

// denial returns the reason to refuse a connect, or 0 to let the client in.
func (h *Host) denial(from netip.AddrPort, req *transport.Request) (reason uint8) {
	switch {
	case h.cfg.Banned != nil && h.cfg.Banned(req.Addr, from.Addr()):
		return transport.BootBanned
	case !h.cfg.Captured && !strings.EqualFold(wire.WideText(req.Password).Raw(), h.cfg.Password):
		return transport.BootPassword
	}
	return 0
}

// A rejection records that connects of an address were refused.
type rejection struct {
	from  netip.AddrPort
	after time.Time // when the next connect is answered
}

// reject tells a client that it is not let in. The connect may be forged while
// the owner of the address is joining. A public host therefore answers only a
// client that asks again, as the game does after a second, and then does not
// answer for a while.
func (h *Host) reject(p *peer, reason uint8) {
	if !h.cfg.Public || h.cfg.Banned != nil && h.cfg.Banned([4]byte{}, p.addr.Addr()) {
		h.refuse(p, reason)
		return
	}
	i := slices.IndexFunc(h.rejected[:], func(r rejection) bool { return r.from == p.addr })
	switch {
	case i < 0 || h.now.Sub(h.rejected[i].after) > rejectEvery: // the first one in a long time
		if i < 0 {
			i, h.rejections = h.rejections, (h.rejections+1)%len(h.rejected)
		}
		h.rejected[i] = rejection{p.addr, h.now.Add(rejectAfter)}
		h.drop(DropConnects)
	case h.now.Before(h.rejected[i].after):
		h.drop(DropConnects)
	default:
		h.rejected[i].after = h.now.Add(rejectEvery)
		h.refuse(p, reason)
	}
}

// readConnect reads a connect. The connects of OpenBC's clients are empty.
func (h *Host) readConnect(m *transport.Message) (req *transport.Request, ok bool) {
	if m.Short {
		return new(transport.Request), true
	}
	res := h.decoder.ReadBody(transport.SpecFor(m), m.Body)
	req, ok = res.Message.(*transport.Request)
	return req, ok && res.Err == nil
}

// connectAgain answers a connect from the address of a session, unless it
// begins another session. The rest of its datagram belongs to p. If p is nil,
// it belongs to no session.
func (h *Host) connectAgain(from netip.AddrPort, m *transport.Message, req *transport.Request, size int) (p *peer, again bool) {
	for _, p := range slices.Clone(h.byAddr[from]) {
		switch {
		case p.phase == Leaving:
			h.remove(p)
		case !h.repeats(p, m, req):
			if h.mayBeForged(p) {
				h.drop(DropStranger)
				return nil, true
			}
			if p.assumed != 0 && !p.proved || h.cfg.Captured {
				h.replace(p, nil)
			}
		case p.proved:
			h.drop(DropStranger) // it may be forged and proves nothing
			return nil, true
		default: // it has not received the accept, or this is an old copy
			p.got += size
			p.awake = true
			p.link.Repeat(h.now, transport.Connect)
			if !h.cfg.Public {
				return p, true
			}
			p.link.Receive(h.now, m, func(*arq.Message) {}) // not charged to the client, since it may be forged
			return nil, true
		}
	}
	return nil, false
}

// mayBeForged reports whether a connect that would end the session of a client
// without a proved id has to wait. The client may still be there and is asked.
// The connect will be repeated.
func (h *Host) mayBeForged(p *peer) bool {
	leave := transport.Message{Header: transport.Header{Type: transport.Leave, Short: true}}
	waits := p.assumed != 0 && !p.proved && p.phase == Playing && h.putsOff(p, &leave)
	if waits {
		p.goodbye.wait = max(p.goodbye.wait, leaveAsked)
	}
	return waits
}

// connectAllowed reports whether a connect may begin a session. If not, it
// returns the reason to drop it.
func (h *Host) connectAllowed(from netip.AddrPort, m *transport.Message) (why Drop, ok bool) {
	switch {
	case h.down:
		return DropConnects, false
	case h.cfg.Captured:
		return 0, true
	case h.crowded(from):
		return DropCrowd, false
	case h.cfg.Public && m.Short && h.unprovedSessions() >= sessionsAtEase:
		return DropConnects, false // such clients are never answered without a session
	}
	return DropConnects, h.connects.take(h.now, from.Addr()) || h.connects.lacks(from.Addr())
}

// repeats reports whether to answer a connect by repeating the accept of a
// session. The game's clients take the id of any accept. Since connects may be
// forged, a public host gives an address one id until it is used. It treats the
// client as one of the game's as soon as a connect has the game's form.
func (h *Host) repeats(p *peer, m *transport.Message, req *transport.Request) bool {
	if p.short == m.Short && p.nonce == req.Nonce && (!m.Short || !p.known()) {
		return true
	}
	switch {
	case !h.cfg.Public || p.phase == Playing || p.proved && !h.suspected(p) || h.away(p):
		return false
	case p.proved && !h.ghost(p), m.Short && !p.known():
		return true
	case p.short || p.known(): // the id may have been used by an attacker
		p.short, p.assumed, p.proved, p.phase, p.round, p.voice = m.Short, 0, false, Checking, 0, session.Voice{}
		p.born, p.moved, p.signed = h.now, h.now, time.Time{}
		h.connectLink(p)
		h.letIn(p)
		h.ask(p)
	}
	p.claimed, p.nonce = req.Addr, req.Nonce
	return true
}

// newPeer returns a client without a session.
func (h *Host) newPeer(from netip.AddrPort) *peer {
	p := &peer{
		addr: from, slot: -1, born: h.now, lastReceived: h.now, moved: h.now, active: h.now, budget: newBudget(&h.cfg.Limits), doubtful: newBudget(&h.cfg.Limits),
		forgery: forgery{began: h.now},
	}
	p.budget.leave(&p.doubtful)
	return p
}

// crowded reports whether a client must wait because slots are scarce and its
// address has enough unfinished joins. A client that gets no answer asks again
// every second. If one of the joins has made no progress for long, it ends.
// Where addresses have a limit of slots, the limit is enough, since connects
// may be forged.
func (h *Host) crowded(from netip.AddrPort) bool {
	if h.free() > h.cfg.Players/2 || h.limited(from.Addr()) {
		return false
	}
	mine, idle := h.unfinished(from)
	if mine < max(1, h.cfg.Players/4) {
		return false
	}
	if idle == nil {
		return true
	}
	h.putOut(idle, TimedOut, transport.BootTimedOut, "it does not get further into the game, and others of its address want to")
	return false
}

// unfinished returns how many clients on other ports of an address are not in
// the game yet. It also returns the one that has made no progress for longest,
// if that is long.
func (h *Host) unfinished(from netip.AddrPort) (n int, idle *peer) {
	for _, p := range h.peers {
		if p.addr.Addr() != from.Addr() || p.addr == from || p.phase > Loading || !p.known() && h.now.Sub(p.born) > forgetAfter {
			continue
		}
		n++
		if p.known() && h.now.Sub(p.moved) >= idleJoin && (idle == nil || p.moved.Before(idle.moved)) {
			idle = p
		}
	}
	return n, idle
}

// proof notes that a client has used its id, so that it receives at its
// address. The client replaces the previous one at the address.
func (h *Host) proof(p *peer) {
	if p.proved || p.phase == Leaving {
		return
	}
	first := p.assumed == 0
	p.proved, p.moved = true, h.now
	p.link.Settle(transport.Connect) // it uses its id, which it knows only from the accept
	h.trust(p)
	if first {
		h.enter(p)
	}
	if p.unasked {
		p.unasked = false
		h.ask(p)
	}
}

// trust lifts the limit on what is sent to a client, since it has used its id
// and got into the game. Joining takes more bytes from the client than from the
// host, so the limit does not slow it down, and a guessed id is of little use.
func (h *Host) trust(p *peer) {
	if p.proved && (p.phase == Playing || h.cfg.Captured) {
		p.trusted = true
		p.credit.left = creditMost
		p.link.SetRoom(0)
	}
}

// assumes reports whether OpenBC's test clients use such an id whatever the
// host gives them. They count players from 2 and keep their number.
func (p *peer) assumes(id uint8) bool {
	if p.assumed != 0 {
		return id == p.assumed
	}
	return id >= firstID && id < firstID+MaxPlayers
}

// assume lets in a client that uses an id that it was not given. It has proved
// nothing, so it is never sent more than a multiple of the bytes that came from
// it.
func (h *Host) assume(p *peer, id uint8) {
	if p.assumed != 0 || p.proved || p.phase == Leaving {
		return
	}
	p.assumed, p.moved = id, h.now
	p.link.Settle(transport.Connect)
	h.enter(p)
}

// enter gives a client a slot, and tells it who is in the game.
func (h *Host) enter(p *peer) {
	for _, o := range slices.Clone(h.byAddr[p.addr]) {
		if o != p {
			p.former = o.id
			h.replace(o, p)
		}
	}
	h.seat(p)
	if p.phase != Leaving && !h.introducedLater(p) {
		h.introduce(p)
	}
}

// seat gives a client its slot. If there is none, the client waits until others
// have shown that they are there, or is refused.
func (h *Host) seat(p *peer) {
	for _, take := range []func(*peer) *peer{h.unproved, h.intruder, h.waiter} {
		if p.slot >= 0 {
			break
		}
		if p.slot = h.freeSlot(p); p.slot >= 0 {
			break
		}
		switch o := take(p); {
		case o == nil:
		case h.mayWait(o):
			p.slot, o.slot = o.slot, -1
		case o.known():
			h.putOut(o, TimedOut, transport.BootTimedOut, "it does not get further into the game, and others want to")
			p.slot = h.freeSlot(p)
		default:
			p.slot, o.slot = o.slot, -1
		}
	}
	if hogs, guessed := h.hogs(p); p.slot >= 0 && guessed != nil {
		h.putOut(guessed, TimedOut, transport.BootTimedOut, "its id may have been guessed, and others of its address want to get in")
	} else if p.slot >= 0 && hogs {
		h.slots[p.slot], p.slot = nil, -1
		h.full(p)
		return
	}
	switch {
	case p.slot >= 0:
		h.slots[p.slot] = p
		if !p.seated {
			h.report(Connected, p, "")
		}
		p.seated = true
	case !h.mayWait(p):
		h.full(p)
	}
}

// waitFor is how long a client without a slot may be silent.
const waitFor = 4 * time.Second

// relieve keeps ids free for new clients by taking them from the clients that have
// proved the least.
func (h *Host) relieve() {
	const spare = 24
	if !h.cfg.Public || len(h.peers) < lastID-firstID-spare {
		return
	}
	if i := slices.IndexFunc(h.peers, func(p *peer) bool { return p.known() && h.yields(p) }); i >= 0 {
		h.yield(h.peers[i])
	}
}

// yields reports whether another client may get a client's id. The client has not
// used it, or has left without having been in the game, or waits for a slot and
// answers nothing.
func (h *Host) yields(p *peer) bool {
	return !p.known() || !p.trusted && p.phase == Leaving || h.mayWait(p) && p.slot < 0 && p.round == 0
}

// yield takes a client's id away and removes the client.
func (h *Host) yield(p *peer) {
	if p.known() {
		h.putOut(p, TimedOut, transport.BootTimedOut, "it waits for a slot, and others need its id")
	}
	h.remove(p)
}

// mayWait reports whether a client does not need a slot yet, since its files are
// not checked.
func (h *Host) mayWait(p *peer) bool { return h.cfg.Public && p.known() && p.phase == Checking }

// waiter returns a client that has to wait for a slot because p has proved more.
// Attackers who guess ids take slots, but they answer no question, make no
// progress, or are detected by their wrong guesses.
func (h *Host) waiter(p *peer) *peer {
	for _, o := range h.peers {
		if o.slot < 0 || o == p || !h.mayWait(o) {
			continue
		}
		silent := o.round == 0 && p.round > 0
		stuck := h.now.Sub(o.moved) >= ghostAfter
		guessed := h.suspected(o) && !h.suspected(p) && h.now.Sub(o.forgery.signed) >= ghostAfter
		if silent || stuck || guessed {
			return o
		}
	}
	return nil
}

// full tells a client that all slots are taken.
func (h *Host) full(p *peer) {
	h.queue(p, arq.Message{Type: transport.BootPlayer, Body: []byte{transport.BootFull, p.id}})
	h.report(Refused, p, names.BootReasons.Name(uint64(transport.BootFull)))
	h.leave(p)
}

// unproved returns the client that has had a reserved slot for longest without
// proving anything.
func (h *Host) unproved(*peer) *peer {
	for _, p := range h.peers {
		if p.slot >= 0 && !p.known() {
			return p
		}
	}
	return nil
}

// hogs reports whether other clients of a client's address have all slots that
// the address may have. If so, the result guessed is a client to remove: its id
// may have been guessed, and it has answered no question, so its connect may be
// forged.
func (h *Host) hogs(p *peer) (yes bool, guessed *peer) {
	if !h.limited(p.addr.Addr()) {
		return false, nil
	}
	n := 0
	for _, o := range h.slots {
		if o == nil || !o.known() || o.addr == p.addr || o.addr.Addr() != p.addr.Addr() {
			continue
		}
		n++
		if o.phase == Checking && o.round == 0 && (o.assumed != 0 || h.suspected(o)) && (guessed == nil || o.born.Before(guessed.born)) {
			guessed = o
		}
	}
	if n < h.cfg.PerAddress(p.addr.Addr()) {
		return false, nil
	}
	return true, guessed
}

// limited reports whether an address may have only a part of the slots.
func (h *Host) limited(a netip.Addr) bool {
	return h.cfg.PerAddress != nil && !h.cfg.Captured && h.cfg.PerAddress(a) < h.cfg.Players
}

// free returns how many slots are not held by clients that are known to be
// there.
func (h *Host) free() (n int) {
	for _, p := range h.slots[:h.cfg.Players] {
		if p == nil || !p.known() {
			n++
		}
	}
	return n
}

// intruder returns a client that takes a slot from others. Its join makes no
// progress, and either its address has too many such joins while slots are
// scarce, or its id may have been guessed, or it is silent for longer than a
// game that loads.
func (h *Host) intruder(*peer) *peer {
	for _, p := range h.peers {
		if p.slot < 0 || !p.known() || p.phase > Loading || h.cfg.Captured {
			continue
		}
		heard := p.lastReceived
		if h.away(p) {
			heard = p.signed // what came since may be an attacker's
		}
		if h.ghost(p) || p.phase == Loading && h.now.Sub(heard) >= loadingSilence {
			return p
		}
		n, idle := h.unfinished(netip.AddrPortFrom(p.addr.Addr(), 0))
		if idle != nil && n > max(1, h.cfg.Players/4) {
			return idle
		}
	}
	return nil
}

// refuse tells a client that it is not let in. It does so each time the client
// asks.
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

// admit gives a client an id and begins to ask for its files. As the stock host
// does, it reserves a slot if one is free. The slot belongs to the client once
// it has used the id. Until then, others may take it. It reports whether there
// was an id.
func (h *Host) admit(p *peer) bool {
	h.makeRoom(p.addr)
	id, ok := h.freeID(p)
	for !ok {
		i := slices.IndexFunc(h.peers, func(o *peer) bool { return !o.known() })
		if i < 0 {
			return false
		}
		h.remove(h.peers[i])
		id, ok = h.freeID(p)
	}
	rival := h.inUse(p.addr)
	h.pauseSilent(p.addr)
	h.begin(p, id)
	h.letIn(p)
	if rival {
		if p.unasked = h.cfg.Public; !p.unasked {
			h.ask(p)
		}
		return true
	}
	hogs, guessed := h.hogs(p)
	hogs = hogs && guessed == nil
	if p.slot = h.freeSlot(p); p.slot >= 0 && !hogs {
		h.slots[p.slot] = p
	}
	if hogs || p.slot < 0 && h.free() == 0 && h.intruder(p) == nil && !slices.ContainsFunc(h.slots[:h.cfg.Players], func(o *peer) bool { return o != nil && h.mayWait(o) }) {
		p.slot = -1
		h.full(p)
		return true
	}
	h.ask(p)
	return true
}

// makeRoom drops the oldest sessions of an address that have not used their id,
// if there are too many.
func (h *Host) makeRoom(addr netip.AddrPort) {
	for {
		list := h.byAddr[addr]
		switch {
		case len(list) > pendingMost && list[0].known():
			h.remove(list[1])
		case len(list) >= pendingMost && !list[0].known():
			h.remove(list[0])
		default:
			return
		}
	}
}

// pauseSilent pauses sending to a silent client whose address begins another
// session. If the client has ended, the new one would take its messages for its
// own.
func (h *Host) pauseSilent(addr netip.AddrPort) {
	for _, o := range h.byAddr[addr] {
		if o.known() && !h.present(o) && o.pause.IsZero() {
			o.pause = h.now.Add(pauseAtMost)
		}
	}
}

// begin begins the session of a client.
func (h *Host) begin(p *peer, id uint8) {
	p.id = id
	h.connectLink(p)
	h.ids[id] = p
	h.byAddr[p.addr] = append(h.byAddr[p.addr], p)
	h.peers = append(h.peers, p)
	h.relieve()
}

// connectLink gives a client a new link.
func (h *Host) connectLink(p *peer) {
	p.link = arq.New(transport.HostPeer, h.cfg.Limits.Link)
	p.link.Adapt(h.cfg.Mode == Playable)
	p.link.Eight(p.short)
}

// letIn tells a client its id.
func (h *Host) letIn(p *peer) { h.queue(p, arq.Message{Type: transport.Connect, Body: []byte{p.id}}) }

// freeSlot returns the free slot that a captured client had, or otherwise the
// lowest free slot. It returns -1 if there is none.
func (h *Host) freeSlot(p *peer) int {
	slots := h.slots[:h.cfg.Players]
	if had := h.shown(p).Slot; had >= 0 && had < len(slots) && slots[had] == nil {
		return had
	}
	return slices.Index(slots, nil)
}

// freeID returns an unused id: the one that a captured client had, if it is
// free. Otherwise it is random, or without randomness, the next one after the
// last id, as with the stock host. On a public host, a client that writes as
// OpenBC's clients do gets no id that these use without being given it, since
// using it would prove nothing.
func (h *Host) freeID(p *peer) (id uint8, ok bool) {
	if id, ok = h.shownID(p); ok {
		return id, true
	}
	if h.cfg.Random != nil {
		h.nextID = firstID + uint8(h.cfg.Random()%(lastID-firstID+1))
	}
	for range lastID {
		id = h.nextID
		if h.nextID++; h.nextID > lastID {
			h.nextID = firstID
		}
		if id != skippedID && h.ids[id] == nil && (!h.cfg.Public || !p.short || !p.assumes(id)) {
			return id, true
		}
	}
	return 0, false
}

// rename takes a client's name and passes it on, unless the name is unchanged
// or changes too often.
func (h *Host) rename(p *peer, m *arq.Message) {
	body := bytes.Clone(m.Body)
	res := h.decoder.ReadBody(transport.SpecFor(&transport.Message{Header: m.Header, Body: body}), body)
	id, ok := res.Message.(*transport.Identity)
	if !ok || res.Err != nil {
		h.complain(Ignored, p, "an unreadable name")
		return
	}
	if h.cfg.Public && p.phase == Playing && !p.sign && len(p.alias) > 0 && !bytes.Equal(id.Name, p.name) && !bytes.Equal(id.Name, p.alias) {
		h.complain(Ignored, p, "another name, which may be forged: the game's clients keep theirs")
		return
	}
	own := transport.Identity{ID: h.self(p), Addr: id.Addr, Name: bytes.Clone(id.Name)}
	if h.guards() {
		own.Addr = [4]byte{} // others do not need the address, and could attack it
	}
	openBC := p.openBC() && (id.ID == 0 || int(id.ID) == p.slot) // as OpenBC's clients write
	if id.ID != own.ID && p.assumed == 0 && !openBC && !h.cfg.Captured {
		h.complain(Corrected, p, fmt.Sprintf("it gives itself a name as id %d", id.ID))
	}
	if p.late { // its connect was not kept
		p.claimed = id.Addr
	}
	wanted := wire.WideText(id.Name).Raw()
	if name := h.nameFor(p, wanted); name != wanted {
		if !h.cfg.Captured {
			h.complain(Corrected, p, fmt.Sprintf("it calls itself %.60q, which is taken or cannot be read; it is known as %q", wanted, name))
		}
		own.Name = wire.AppendWideTextOf(nil, name)
		p.renamed = true
	}
	told, err := decode.AppendFields(nil, "NameChange", &own, decode.Stock)
	if err != nil {
		return
	}
	again := bytes.Equal(told, p.told) || !p.budget.names.take(h.now, 1)
	switch {
	case !h.cfg.Captured && again:
		return
	case !h.cfg.Captured:
		body, id = told, &own
	case again:
		h.departs(p, &Departure{Guard: GuardRename, Type: transport.NameChange, Body: body})
	}
	if p.name, p.naming = bytes.Clone(id.Name), body; !again {
		p.alias, p.told, p.corrected = own.Name, told, GuardName
		if own.ID == id.ID && bytes.Equal(own.Name, id.Name) {
			p.corrected = GuardAddress
		}
		h.departs(p, p.misnamed())
	}
	h.report(Named, p, "")
	if h.likeOpenBC { // that server sends a player's name only to the player, as keepalive
		return
	}
	h.controlToAll(transport.NameChange, body, nil)
}

// introducedLater reports whether a client is sent the others' names only after
// it has answered for its files. By then it has sent enough bytes to be sent as
// many. OpenBC's clients do not acknowledge names, so each name is sent several
// times.
func (h *Host) introducedLater(p *peer) bool { return p.openBC() && !h.cfg.Captured }

// introduce sends a new client the names of the others. Clients that get a name
// later send it to all, so no client is sent a name twice.
func (h *Host) introduce(p *peer) {
	if h.likeOpenBC || p.phase == Leaving || !p.proved {
		return
	}
	for _, o := range h.peers {
		if o != p && o.phase != Leaving && o.naming != nil {
			h.departs(p, o.misnamed())
			h.queue(p, arq.Message{Type: transport.NameChange, Body: o.naming})
		}
	}
}

// ask asks a client for the hashes of the files of its round.
func (h *Host) ask(p *peer) {
	request := checksums[p.round] // a copy, since encoding a message sets its fields, and other hosts encode the same ones
	h.say(p, msg.OpChecksumRequest, &request)
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
	p.moved = h.now
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
	p.round++
	if p.slot < 0 && !h.cfg.Captured {
		h.seat(p)
	}
	if p.round < len(checksums) {
		h.ask(p)
		return
	}
	if p.slot < 0 && !h.cfg.Captured {
		h.putOut(p, Refused, transport.BootFull, names.BootReasons.Name(uint64(transport.BootFull)))
		return
	}
	p.phase = Loading
	if h.introducedLater(p) {
		h.introduce(p)
	}
	h.say(p, msg.OpChecksumComplete, &msg.ChecksumComplete{})
	settings := msg.Settings{
		GameTime: wire.FloatBits(h.gameTime()), Collisions: h.cfg.Collisions, Slot: uint8(p.slot), Mission: []byte(h.cfg.Mission),
	}
	if p.renamed {
		renamed := settings
		renamed.Renamed, renamed.NewName = true, p.alias
		if h.cfg.Captured {
			h.departs(p, &Departure{Guard: GuardName, Type: transport.Standard, Body: h.encode(msg.OpSettings, &settings), Instead: h.encode(msg.OpSettings, &renamed)})
		} else {
			settings = renamed
		}
	}
	h.say(p, msg.OpSettings, &settings)
	h.say(p, msg.OpGameInit, &msg.GameInit{})
	if h.likeOpenBC { // that server does not wait until the client is ready
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
			if !obj.lost {
				h.departs(p, obj.departs)
				h.queue(p, arq.Message{Type: transport.Standard, Reliable: true, Alone: true, Body: obj.body})
			}
		}
	}
}

// ready lets a client into the game.
func (h *Host) ready(p *peer) {
	if p.phase == Checking {
		h.complain(Ignored, p, "it is ready before its files are checked")
		return
	}
	if p.phase == Playing && !h.cfg.Captured && !p.budget.ready.take(h.now, 1) {
		h.complain(Limited, p, "it says too often that it is ready")
		return
	}
	init := msg.MissionInit{
		PlayerLimit: uint8(h.cfg.Players), System: h.cfg.System, TimeLimit: h.cfg.TimeLimit, FragLimit: h.cfg.FragLimit,
	}
	if init.TimeLimit != msg.Unlimited {
		init.EndTime = 60 * int32(init.TimeLimit)
	}
	h.say(p, msg.OpMissionInit, &init)
	if h.likeOpenBC {
		p.phase = Playing
		h.trust(p)
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
	if p.phase != Playing { // clients may send it again
		p.phase = Playing
		h.trust(p)
		h.report(Ready, p, "")
	}
	h.announce(nil, p)
}

// announce tells a client, or all clients in the game, about a player. The
// stock host names its own game object, which clients do not know: each
// replaces it by its own. OpenBC's clients expect the player's first object.
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

// gameTime returns the game clock in seconds.
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
		if p != nil && p.known() {
			g.Count++
			g.Players = append(g.Players, wire.WideText(p.name).Raw())
		}
	}
	return &g
}

// encode encodes a message of the host.
func (h *Host) encode(op decode.Opcode, m decode.Message) []byte {
	return h.encodeAs(op, m, decode.Stock)
}

func (h *Host) encodeAs(op decode.Opcode, m decode.Message, d decode.Dialect) []byte {
	body, err := decode.Append(nil, h.catalog.Lookup(op), m, d)
	if err != nil {
		return nil
	}
	return body
}

// say sends a client a message of the host.
func (h *Host) say(p *peer, op decode.Opcode, m decode.Message) {
	h.sayAs(p, op, m, decode.Stock)
}

func (h *Host) sayAs(p *peer, op decode.Opcode, m decode.Message, d decode.Dialect) {
	if body := h.encodeAs(op, m, d); body != nil {
		h.queue(p, arq.Message{Type: transport.Standard, Reliable: true, Body: body})
	}
}

// toPlaying sends a message of the host to all clients in the game except one.
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
