package relay

import (
	"errors"
	"iter"
	"math"
	"net/netip"
	"slices"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/gamespy"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/dissect/internal/session"
	"github.com/bcdissect/bcdissect/dissect/relay/arq"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// firstID and lastID are the peer ids that clients can have. skippedID is a
// backslash, with which GameSpy text begins.
const (
	firstID   = 2
	lastID    = 126
	skippedID = '\\'
)

// A Host is the host of one game.
type Host struct {
	cfg        Config
	likeOpenBC bool // the host behaves like the OpenBC server in captures, without that server's simulation
	catalog    *decode.Catalog
	decoder    *decode.Decoder

	now   time.Time
	start time.Time
	down  bool      // shut down: no client is let in
	bade  time.Time // when all clients were last told of the shutdown

	byAddr map[netip.AddrPort][]*peer // at most one that others know, and those that have not proved their address
	peers  []*peer                    // in the order of arrival
	slots  [MaxPlayers]*peer
	ids    [lastID + 1]*peer
	nextID uint8
	scores []uint8 // ids of players that have a score, in the order of arrival

	sending int // index in peers of the next one to send to
	direct  []outgoing
	plain   []byte
	wire    []byte
	wrong   []byte // a deciphered datagram with a wrong id
	group   []*peer
	walk    []*peer

	bogus      int     // number of acknowledgements of messages never sent in the current datagram
	cause      *peer   // sender of the current message
	doomed     []*peer // peers to be removed
	connects   rates
	browsers   rates
	all        bucket
	queries    int
	quotas     []quota // nil until the first query to a public host
	allBytes   bucket  // budget of all answers
	fullAnswer int     // size of an answer to all possible questions in bytes

	rejected   [64]rejection // recent wrong passwords and banned addresses
	rejections int           // index of the next one to be replaced

	secret    []byte    // key from which the ids of addresses without a session are derived
	stateless time.Time // when such an id was last given

	taken arq.Message // message of a captured client that is being delivered
	stats Stats
}

// An outgoing is a datagram that was not made by a link.
type outgoing struct {
	to       netip.AddrPort
	datagram []byte
}

// judge records evidence of the client's dialect.
func (p *peer) judge(d decode.Dialect, by session.Strength, _ string) {
	if d != decode.Undecided {
		p.voice.Decide(d, by)
	}
}

// openBC reports whether the client is one of OpenBC's clients.
func (p *peer) openBC() bool { return p.voice.Dialect() == decode.OpenBC }

// directLimit is the maximum number of waiting datagrams that were not made by
// a link.
const directLimit = 256

// A peer is a client, or a candidate for one.
type peer struct {
	addr    netip.AddrPort
	claimed [4]byte
	id      uint8
	slot    int // -1 if it has none
	phase   Phase
	round   int // round of checksums that the host asks for
	nonce   uint32
	short   bool // it connected with an 8-bit length and without nonce
	voice   session.Voice
	late    bool  // it was let in without a session
	seated  bool  // it has had a slot
	former  uint8 // id of the session that it replaced
	// The host asks for the client's files only once the client uses its id. As
	// long as the address belongs to another client, the connect may be forged.
	// The question has number 0, which a client that is far on would take for a
	// future number.
	unasked bool
	forgery forgery
	signed  time.Time // when it last answered a challenge
	// When it last answered one after a silence: see away.
	returned time.Time
	sign     bool // its current datagram has a sign
	// Its current datagram has no sign, although nearly all of its datagrams have
	// one.
	unsigned bool
	goodbye  farewell
	proved   bool  // it has used its id, so it receives at its address
	trusted  bool  // it has also got into the game, so it is sent messages without limit
	assumed  uint8 // id that it uses whatever id it was given, as OpenBC's test clients do, or 0
	credit   credit
	got      int // bytes that it was sent while it was not trusted
	gave     int
	awake    bool      // the link may have something to send
	tried    time.Time // when the link last had nothing that could be sent
	pause    time.Time // nothing is sent to it before this time: see rival
	doomed   bool      // it is going to be removed
	gone     bool

	link         *arq.Endpoint
	born         time.Time
	lastReceived time.Time
	lastDoubted  time.Time     // when the last datagram came that may be the client's, or an attacker's
	active       time.Time     // when it last sent more than acknowledgements
	pace         time.Duration // time between the last two such times
	left         time.Time
	moved        time.Time // when its join last made progress
	name         []byte    // UTF-16 little-endian
	naming       []byte    // body of its last NameChange
	told         []byte    // the NameChange that others are sent, which differs from naming only for a captured client
	corrected    Guard     // guard because of which it differs
	alias        []byte    // name that others know
	renamed      bool      // others know it by another name than the one it wanted
	team         uint8
	hasTeam      bool
	said         [EventKinds]int // number of complaints of each kind
	bogus        int             // number of acknowledgements that are paid for
	owed         int             // number of messages it was sent whose acknowledgements have not yet been added to its budget
	budget       budget
	doubtful     budget // for datagrams without a sign: see unsigned

	objects []object
	objectB int
}

// known reports whether the other clients know the client: it has a slot, or
// had one.
func (p *peer) known() bool { return p.proved || p.assumed != 0 }

// An object is an object that a client created.
type object struct {
	id      uint32
	ship    bool
	body    []byte
	spare   bool       // a refused object has replaced it
	departs *Departure // departure of a captured client's creation, if any
	lost    bool       // the captured host's simulation has destroyed it
}

// NewHost returns a host without clients.
func NewHost(cfg Config) *Host {
	if cfg.Catalog == nil {
		cfg.Catalog = msg.Catalog()
	}
	if cfg.Players <= 0 {
		cfg.Players = 8
	}
	cfg.Players = min(cfg.Players, MaxPlayers)
	cfg.Limits = cfg.Limits.orDefault()
	cfg.Public = cfg.Public && cfg.Random != nil && !cfg.Captured
	cfg.Proof = cfg.Proof && cfg.Public
	if cfg.Public && cfg.Limits.Link.Ahead == 0 {
		cfg.Limits.Link.Ahead = aheadMost
	}
	return &Host{
		cfg: cfg, likeOpenBC: cfg.Like == decode.OpenBC, catalog: cfg.Catalog, decoder: decode.NewDecoder(),
		byAddr: map[netip.AddrPort][]*peer{}, nextID: firstID,
		connects: newRates(cfg.Limits.ConnectRate, cfg.Limits.Addresses),
		browsers: newRates(cfg.Limits.BrowserRate, cfg.Limits.Addresses),
		all:      bucket{rate: cfg.Limits.AllBrowserRate},
		allBytes: bucket{rate: cfg.Limits.AllBrowserBytes},
	}
}

// Stats returns the counts so far.
func (h *Host) Stats() Stats { return h.stats }

// Peers returns the clients in the order of arrival. The names belong to the
// host.
func (h *Host) Peers() iter.Seq[PeerInfo] {
	return func(yield func(PeerInfo) bool) {
		for _, p := range h.peers {
			if !yield(PeerInfo{
				Addr: p.addr, ID: p.id, Slot: p.slot, Name: p.name, Phase: p.phase, Since: p.born, Heard: p.lastReceived,
				Proved: p.proved, Assumed: p.assumed != 0, OpenBC: p.openBC(), Objects: len(p.objects), Link: p.link.Stats(),
			}) {
				return
			}
		}
	}
}

// tick sets the time. The host's time never goes back.
func (h *Host) tick(now time.Time) {
	if h.start.IsZero() {
		h.start, h.now = now, now
	}
	if now.After(h.now) {
		h.now = now
	}
}

func (h *Host) report(kind EventKind, p *peer, text string) {
	h.stats.Events[kind]++
	if h.cfg.Report == nil {
		return
	}
	h.cfg.Report(Event{Time: h.now, Kind: kind, Addr: p.addr, Peer: p.id, Slot: p.slot, Name: p.name, Text: text})
}

// complain reports an event that a client can cause at will. It limits how
// often.
func (h *Host) complain(kind EventKind, p *peer, text string) {
	p.said[kind]++
	switch n := p.said[kind]; {
	case n > complaints:
		h.stats.Events[kind]++
		return
	case n == complaints:
		text += " (the last report of this kind)"
	}
	h.report(kind, p, text)
}

// Receive takes a datagram from the network. It is borrowed until the call
// returns.
func (h *Host) Receive(now time.Time, from netip.AddrPort, datagram []byte) {
	h.tick(now)
	h.stats.Received++
	h.stats.BytesIn += int64(len(datagram))
	if len(datagram) == 0 {
		h.drop(DropMalformed)
		return
	}
	if datagram[0] == '\\' {
		h.gameSpy(from, datagram)
		return
	}
	var p *peer
	if datagram[0] != transport.UnassignedPeer {
		if p = h.speaker(from, datagram[0], datagram); p == nil {
			return
		}
	}
	h.plain, h.bogus = cipher.Decrypt(h.plain[:0], datagram), 0
	if p == nil {
		h.takeUnassigned(from, h.plain)
		return
	}
	except := h.doubted(p, h.plain)
	if !h.datagramAllowed(p, len(datagram)) {
		return
	}
	before := p.link.Stats().Contradicted
	h.takeAll(p, h.plain, except)
	if p.link.Stats().Contradicted > before && !p.gone {
		h.contradicted(p)
	}
}

// takeUnassigned takes a deciphered datagram without an id.
func (h *Host) takeUnassigned(from netip.AddrPort, plain []byte) {
	split, err := transport.Split(plain)
	if err != nil {
		h.drop(DropMalformed)
		return
	}
	m, ok, err := split.Next()
	for ok && m.Type == transport.Acknowledge { // a game begun again acknowledges what is sent to the one before, also with its connect
		next, more, bad := split.Next()
		if err = bad; err != nil || !more {
			break
		}
		m = next
	}
	switch {
	case err != nil:
		h.drop(DropMalformed)
	case ok:
		if p := h.unassigned(from, &m, len(plain)); p != nil && h.take(p, &m) {
			h.takeRest(p, &split, 0)
		}
	}
}

// takeAll takes the messages of a client's deciphered datagram, except for some
// kinds.
func (h *Host) takeAll(p *peer, plain []byte, except kinds) {
	split, err := transport.Split(plain)
	if err != nil {
		h.drop(DropMalformed)
		return
	}
	h.takeRest(p, &split, except)
}

// takeRest takes the remaining messages. A datagram counts as forged if all of
// them are rejected.
func (h *Host) takeRest(p *peer, split *transport.Splitter, except kinds) {
	taken := except == 0
	for {
		m, ok, err := split.Next()
		switch {
		case err != nil:
			h.drop(DropMalformed) // the messages before it count, as in the game
			return
		case !ok:
			if !taken {
				h.drop(DropForged)
			}
			return
		case kindOf(m.Type)&except != 0:
			p.lastDoubted = h.now
			if m.Type == transport.Acknowledge && !h.mustSign(p) {
				p.link.Doubt(h.now, &m.Header)
			}
			continue
		}
		taken = true
		if !h.take(p, &m) {
			return
		}
	}
}

// take takes a message of a client, and reports whether the client still
// exists.
func (h *Host) take(p *peer, m *transport.Message) bool {
	p.lastReceived, p.awake, p.pause = h.now, true, time.Time{}
	if !h.messageAllowed(p, m) || h.putsOff(p, m) {
		return true
	}
	p.judge(session.OfShape(session.Client, &m.Header))
	if !h.cfg.Captured || !h.excess(p, m) {
		h.cause = p
	}
	p.link.Receive(h.now, m, func(lm *arq.Message) { h.deliver(p, lm) })
	h.cause = nil
	h.execute()
	if !p.gone && m.Type == transport.Acknowledge {
		h.acknowledged(p)
	}
	return !p.gone
}

// speaker returns the sender of a datagram by its address and id, or nil. A
// client that uses the id sent to its address has proved that it receives there.
func (h *Host) speaker(from netip.AddrPort, id uint8, datagram []byte) *peer {
	p, assumes := h.sessionOf(from, id)
	switch {
	case p == nil && len(h.byAddr[from]) == 0:
		h.drop(DropStranger)
		return nil
	case p == nil:
		h.drop(DropWrongID)
		for _, p := range h.byAddr[from] {
			h.suspect(p, id, datagram)
		}
		return nil
	case !p.proved && h.occupied(p, datagram):
		p.born = h.now // it may be the player's game, begun again, which asks more and more rarely
		h.drop(DropWrongID)
		return nil
	}
	p.got += len(datagram)
	if assumes {
		h.assume(p, id)
	} else {
		h.proof(p)
	}
	if p.gone {
		return nil
	}
	return p
}

// sessionOf returns the session at an address with an id, or nil. The result
// assumes means that one of OpenBC's clients uses an id that it was not given.
func (h *Host) sessionOf(from netip.AddrPort, id uint8) (p *peer, assumes bool) {
	var short *peer
	for _, p := range h.byAddr[from] {
		switch {
		case p.id == id || h.cfg.Captured:
			return p, false
		case p.short && !p.proved && p.assumes(id):
			short = p
		}
	}
	if short != nil && !h.awaited(from) {
		return short, true
	}
	return h.beginLate(from, id), false
}

// awaited reports whether a client of the game has asked to be let in and has
// not used its id yet. An attacker that sends messages of OpenBC's clients must
// not replace it.
func (h *Host) awaited(from netip.AddrPort) bool {
	return h.cfg.Public && slices.ContainsFunc(h.byAddr[from], func(p *peer) bool { return !p.short && !p.known() })
}

// inUse reports whether the others know a client at an address.
func (h *Host) inUse(from netip.AddrPort) bool {
	return slices.ContainsFunc(h.byAddr[from], (*peer).known)
}

// unassigned takes the first message of a datagram without an id. It returns
// the sender of the rest, or nil if there is nothing more to do.
func (h *Host) unassigned(from netip.AddrPort, m *transport.Message, size int) *peer {
	switch m.Type {
	case transport.Connect:
		return h.connect(from, m, size)
	case transport.Disconnect, transport.Leave: // it cancels its join
		// This message may be forged, so a public host ignores it.
		if list := h.byAddr[from]; !h.cfg.Public && len(list) > 0 && !list[len(list)-1].known() {
			return list[len(list)-1]
		}
	case transport.NameChange, transport.Acknowledge, transport.DoNothing, transport.BootPlayer, transport.Standard:
		// The game ignores clients that do not use an id. This client has not
		// received the accept, so send it again.
		if list := h.byAddr[from]; len(list) > 0 && !list[len(list)-1].proved {
			p := list[len(list)-1]
			p.got += size
			p.awake = true
			p.link.Repeat(h.now, transport.Connect)
		}
	}
	h.drop(DropStranger)
	return nil
}

// acknowledged removes a client that acknowledges messages never sent, since a
// client that receives its messages does not. A single datagram with many such
// acknowledgements may be an attacker's guess.
func (h *Host) acknowledged(p *peer) {
	n := p.link.Stats().Bogus
	for ; p.bogus < n; p.bogus++ {
		if h.cfg.Public {
			if h.bogus == bogusMost {
				continue
			}
			h.bogus++
		}
		if !h.cfg.Captured && p.phase != Leaving && !h.suspected(p) && !p.unsigned && !p.budget.bogus.take(h.now, 1) {
			h.putOut(p, Kicked, transport.BootKicked, "it acknowledges messages that were never sent")
		}
	}
}

// deliver takes the next message in order.
func (h *Host) deliver(p *peer, m *arq.Message) {
	if p.phase == Leaving {
		return
	}
	switch m.Type {
	case transport.Standard:
		if len(m.Body) > 0 {
			h.game(p, m)
		}
	case transport.NameChange:
		if !m.Header.Short {
			h.rename(p, m)
		}
	case transport.Disconnect, transport.Leave:
		h.disconnect(p, m)
	case transport.Connect, transport.BootPlayer, transport.Acknowledge, transport.DoNothing:
	}
}

// retryDelay is the delay before unsent datagrams are tried again.
const retryDelay = time.Second / 4

// Advance lets time pass. Call the host again at the time next, or earlier. The
// zero time means that this is not necessary until something is received.
func (h *Host) Advance(now time.Time) (next time.Time) {
	h.tick(now)
	h.execute()
	sooner := func(t time.Time) {
		if !t.IsZero() && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	sooner(h.bid())
	h.walk = append(h.walk[:0], h.peers...) // a copy, since peers may be removed in the loop
	defer func() { clear(h.walk) }()
	for _, p := range h.walk {
		if due := p.goodbye.due(); !due.IsZero() && !due.After(h.now) {
			h.part(p)
		}
		if !p.gone && !p.deadline(&h.cfg).After(h.now) {
			h.late(p)
		}
		if p.gone {
			continue
		}
		sooner(h.lend(p))
		sooner(p.goodbye.due())
		sooner(h.inquire(p))
		sooner(h.challenge(p))
		if why := h.deaf(p); why != "" {
			h.putOut(p, Overloaded, transport.BootTimedOut, why)
		}
		sooner(p.deadline(&h.cfg))
		if !p.trusted && h.room(p) < smallest {
			continue
		}
		if due := p.link.Next(); !due.IsZero() {
			if !due.After(p.tried) { // there was no room for it, so do not try again at once
				due = p.tried.Add(retryDelay)
			}
			if due.Before(p.pause) {
				due = p.pause
			}
			if !due.After(h.now) {
				p.awake = true
			}
			sooner(due)
		}
	}
	return next
}

// lastHeard returns when the last datagram came with the client's address and
// id. A client that answers no challenges must not seem gone while an attacker
// makes the host reject what it sends.
func (p *peer) lastHeard() time.Time {
	if p.lastDoubted.After(p.lastReceived) {
		return p.lastDoubted
	}
	return p.lastReceived
}

// deadline returns when the host gives up the peer.
func (p *peer) deadline(cfg *Config) time.Time {
	silent := p.lastHeard().Add(arq.SilenceLimit)
	switch {
	case p.phase == Leaving && (!p.known() || cfg.Public && !p.seated): // its id is needed for others
		return p.left.Add(forgetAfter)
	case p.phase == Leaving:
		return p.left.Add(arq.Linger)
	case !p.known():
		return p.born.Add(cfg.Limits.Unproved)
	case p.slot < 0 && p.phase == Checking && cfg.Public:
		return p.moved.Add(waitFor)
	case p.phase == Playing && cfg.Captured: // the captured host decides
		return p.lastReceived.Add(math.MaxInt64)
	case p.phase != Playing && !cfg.Captured:
		if limit := p.born.Add(cfg.Limits.Joining); limit.Before(silent) {
			return limit
		}
	}
	return silent
}

// late gives up a peer whose deadline has passed.
func (h *Host) late(p *peer) {
	switch {
	case p.phase == Leaving:
		h.remove(p)
	case !p.known():
		h.report(Refused, p, "it has not used the id that it was given")
		h.remove(p)
	case p.slot < 0:
		h.putOut(p, TimedOut, transport.BootTimedOut, "it waits for a slot and answers nothing")
	case h.now.Sub(p.lastHeard()) >= arq.SilenceLimit:
		h.putOut(p, TimedOut, transport.BootTimedOut, "it was silent for too long")
	default:
		h.putOut(p, TimedOut, transport.BootTimedOut, "it has not got into the game for too long")
	}
}

// deaf returns why to remove a client that acknowledges nothing although it
// should, or "" to keep it.
func (h *Host) deaf(p *peer) string {
	if h.cfg.Captured || p.phase == Leaving || !p.known() {
		return ""
	}
	switch d := min(p.link.Stalled(h.now), h.now.Sub(p.returned)); {
	case d >= deafFor && h.now.Sub(p.lastHeard()) < quietFor && !h.away(p):
		return "it sends, but acknowledges nothing"
	case d >= deafAndFull && p.link.Stats().Waiting > muchWaiting:
		return "it acknowledges nothing, and too much waits for it"
	}
	return ""
}

// Shutdown tells all clients that the host leaves, and lets no client in any
// more.
func (h *Host) Shutdown(now time.Time) {
	h.tick(now)
	if h.down {
		return
	}
	h.down, h.bade = true, h.now
	h.controlToAll(transport.Disconnect, []byte{transport.HostPeer, 0, 0, 0, 0}, nil)
	for _, p := range slices.Clone(h.peers) {
		if p.phase != Leaving {
			h.leave(p)
		}
	}
}

// goodbyeEvery is how often the host repeats that it leaves. It is short, so
// that the host can stop soon.
const goodbyeEvery = 200 * time.Millisecond

// bid repeats that the host leaves, to all clients that have not acknowledged
// it. It returns when it will do so again, or zero for never.
func (h *Host) bid() (next time.Time) {
	if !h.down || h.Idle() {
		return next
	}
	if h.now.Sub(h.bade) >= goodbyeEvery {
		h.bade = h.now
		for _, p := range h.peers {
			p.link.Repeat(h.now, transport.Disconnect)
			p.awake = true
		}
	}
	return h.bade.Add(goodbyeEvery)
}

// Idle reports whether all clients have received and acknowledged everything.
func (h *Host) Idle() bool {
	return len(h.direct) == 0 && !slices.ContainsFunc(h.peers, func(p *peer) bool { return p.known() && !p.link.Idle() })
}

// sent counts a datagram.
func (h *Host) sent(datagram []byte) {
	h.stats.Sent++
	h.stats.BytesOut += int64(len(datagram))
}

// drop counts a dropped datagram or message.
func (h *Host) drop(why Drop) {
	h.stats.Dropped[why]++
	switch why {
	case DropMalformed:
		h.stats.Malformed++
	case DropStranger, DropWrongID, DropForged:
		h.stats.Strangers++
	default:
		h.stats.Limited++
	}
}

// smallest is the size of a datagram with one acknowledgement.
const smallest = 2 + 4

// room returns how many bytes may still be sent to a peer that is not trusted.
func (h *Host) room(p *peer) int {
	room := h.cfg.Limits.Factor*p.got - p.gave
	if p.proved {
		room += allowance
	}
	return room
}

// Send returns the next datagram to be sent, in its form on the network. Call
// it after Receive and Advance until ok is false. The datagram is valid until
// the next call.
func (h *Host) Send() (to netip.AddrPort, datagram []byte, ok bool) {
	if len(h.direct) > 0 {
		d := h.direct[0]
		h.direct = h.direct[1:]
		h.sent(d.datagram)
		return d.to, d.datagram, true
	}
	h.direct = nil
	for ; h.sending < len(h.peers); h.sending++ {
		p := h.peers[h.sending]
		if !p.awake || p.pause.After(h.now) {
			continue
		}
		if !p.trusted {
			room := h.room(p)
			if room < smallest {
				p.awake = false
				continue
			}
			p.link.SetRoom(room)
		}
		before, challenged := p.link.Messages(), p.link.Stats().Challenged
		h.plain, ok = p.link.Datagram(h.now, h.plain[:0])
		if !ok {
			p.awake, p.tried = false, h.now
			continue
		}
		p.budget.answer(h.now, p.link.Messages()-before)
		p.doubtful.answer(h.now, p.link.Messages()-before)
		p.gave += len(h.plain)
		p.credit.left -= len(h.plain) - challengeBytes*(p.link.Stats().Challenged-challenged) // these end by themselves
		h.wire = cipher.Encrypt(h.wire[:0], h.plain)
		h.sent(h.wire)
		return p.addr, h.wire, true
	}
	h.sending = 0
	return netip.AddrPort{}, nil, false
}

// challengeBytes is the size of one of the two messages of a challenge.
const challengeBytes = 5

// envelope is what a message costs in addition to its body, in bytes.
const envelope = 8

// queue queues a message for a peer and charges it to the client that caused
// it. A peer with too many waiting messages is removed.
func (h *Host) queue(p *peer, m arq.Message) {
	if p.gone || p.doomed || p.phase == Leaving && m.Type == transport.Standard {
		return
	}
	if h.cause != nil {
		h.cause.purse().fanOut.charge(h.now, float64(len(m.Body)+envelope))
	}
	p.awake = true
	var err error
	if h.cfg.Deliver != nil {
		err = h.pass(p, m)
	} else {
		err = p.link.Queue(h.now, m)
	}
	switch {
	case err == nil, p.phase == Leaving:
		return
	case errors.Is(err, arq.ErrLong):
		if h.cause != nil {
			h.complain(Limited, h.cause, "a message is too long to be passed on")
		}
		return
	}
	p.doomed = true // not removed yet, since the message may still be sent to others
	h.doomed = append(h.doomed, p)
}

// execute removes the peers with too many waiting messages.
func (h *Host) execute() {
	for len(h.doomed) > 0 {
		p := h.doomed[0]
		h.doomed = h.doomed[1:]
		p.doomed = false
		h.putOut(p, Overloaded, transport.BootTimedOut, "too much waits for it to be acknowledged")
	}
}

// outdated reports whether to skip an unreliable message, because its receiver
// is silent or has not received the ones before.
func (h *Host) outdated(p *peer) bool {
	if h.cfg.Captured {
		return false
	}
	if p.trusted && h.cfg.Public && p.credit.left <= 0 || p.link.Congested() {
		return true
	}
	waiting := p.link.Stats().Waiting
	return waiting > muchWaiting || !p.trusted && waiting > someWaiting || h.now.Sub(p.lastReceived) > quietFor
}

// controlToAll queues a control message for every client that has not left,
// except one.
func (h *Host) controlToAll(t transport.Type, body []byte, but *peer) {
	for _, p := range slices.Clone(h.peers) {
		if p != but && p.phase != Leaving && p.known() {
			h.queue(p, arq.Message{Type: t, Body: body})
		}
	}
}

// sendDirect sends a datagram to an address without a link.
func (h *Host) sendDirect(to netip.AddrPort, datagram []byte) {
	if len(h.direct) >= directLimit {
		h.drop(DropSend)
		return
	}
	h.direct = append(h.direct, outgoing{to, datagram})
}

// gameSpy answers a server browser.
func (h *Host) gameSpy(from netip.AddrPort, text []byte) {
	query := gamespy.Parse(text)
	if !query.Query() {
		return
	}
	if h.cfg.Public && !from.Addr().IsLoopback() { // only this computer can send from its loopback address
		h.answerPublic(from, query, len(text))
		return
	}
	if !h.browsers.take(h.now, from.Addr()) || !h.all.take(h.now, 1) {
		h.drop(DropQueries)
		return
	}
	h.stats.Queries++
	h.queries++
	for _, d := range gamespy.Answer(query, h.gameInfo(), h.queries) {
		h.sendDirect(from, d)
	}
}
