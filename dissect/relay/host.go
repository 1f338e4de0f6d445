package relay

import (
	"bytes"
	"iter"
	"net/netip"
	"slices"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/gamespy"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/dissect/relay/arq"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// firstID and lastID are the peer ids that clients can have; skippedID is a
// backslash, which begins GameSpy text.
const (
	firstID   = 2
	lastID    = 126
	skippedID = '\\'
)

// A Host is the host of one game.
type Host struct {
	cfg     Config
	like    *profile
	catalog *decode.Catalog
	decoder *decode.Decoder

	now   time.Time
	start time.Time
	down  bool // shut down: nobody is let in

	byAddr map[netip.AddrPort]*peer
	peers  []*peer // in the order in which they came
	slots  [MaxPlayers]*peer
	ids    [lastID + 1]*peer
	nextID uint8
	scores []uint8 // ids of players that have a score, in the order in which they came

	sending int // index in peers of the next to send to
	direct  []outgoing
	plain   []byte
	wire    []byte
	group   []*peer

	connects rates
	browsers rates
	all      bucket
	queries  int

	stats Stats
}

// An outgoing datagram is one that no link sends.
type outgoing struct {
	to       netip.AddrPort
	datagram []byte
}

// directLimit bounds the datagrams that no link sends and nobody has fetched.
const directLimit = 256

// A peer is a client.
type peer struct {
	addr    netip.AddrPort
	claimed [4]byte
	id      uint8
	slot    int // -1 for none
	phase   Phase
	round   int // of checksums, that is asked for
	nonce   uint32
	short   bool // it connected with an 8-bit length, without nonce
	proved  bool // it receives what is sent to its address
	got     int  // bytes, as long as it is not proved
	gave    int
	awake   bool      // the link may have something to send
	tried   time.Time // when it had nothing that could be sent
	gone    bool

	link    *arq.Endpoint
	born    time.Time
	heard   time.Time
	left    time.Time
	name    []byte // UTF-16 little-endian
	naming  []byte // body of its last NameChange
	team    uint8
	hasTeam bool
	rate    bucket
	bytes   bucket
	games   bucket
	said    int // complaints

	objects []object
	objectB int
}

// An object is what a client created.
type object struct {
	id   uint32
	ship bool
	body []byte
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
	return &Host{
		cfg: cfg, like: profileOf(cfg.Like), catalog: cfg.Catalog, decoder: decode.NewDecoder(),
		byAddr: map[netip.AddrPort]*peer{}, nextID: firstID,
		connects: newRates(cfg.Limits.ConnectRate, cfg.Limits.Addresses),
		browsers: newRates(cfg.Limits.BrowserRate, cfg.Limits.Addresses),
		all:      bucket{rate: cfg.Limits.AllBrowserRate},
	}
}

// Stats returns the counts so far.
func (h *Host) Stats() Stats { return h.stats }

// Peers returns the clients, in the order in which they came. Names belong to
// the host.
func (h *Host) Peers() iter.Seq[PeerInfo] {
	return func(yield func(PeerInfo) bool) {
		for _, p := range h.peers {
			if !yield(PeerInfo{
				Addr: p.addr, ID: p.id, Slot: p.slot, Name: p.name, Phase: p.phase, Since: p.born, Heard: p.heard,
				Proved: p.proved, OpenBC: p.short, Objects: len(p.objects), Link: p.link.Stats(),
			}) {
				return
			}
		}
	}
}

// tick takes the time. It never runs backwards.
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

// complain reports what a client can cause at will, but not too often.
func (h *Host) complain(kind EventKind, p *peer, text string) {
	if p.said++; p.said > complaints {
		return
	}
	if p.said == complaints {
		text += " (the last report of this kind)"
	}
	h.report(kind, p, text)
}

// Receive takes a datagram as it came from the network. It is borrowed until
// the call returns.
func (h *Host) Receive(now time.Time, from netip.AddrPort, datagram []byte) {
	h.tick(now)
	h.stats.Received++
	if len(datagram) == 0 {
		h.drop(DropMalformed)
		return
	}
	h.stats.BytesIn += int64(len(datagram))
	if datagram[0] == '\\' {
		h.gameSpy(from, datagram)
		return
	}
	p := h.byAddr[from]
	if p == nil && datagram[0] != transport.UnassignedPeer {
		h.drop(DropStranger)
		return
	}
	if p != nil && (!p.rate.take(h.now, 1) || !p.bytes.take(h.now, float64(len(datagram)))) {
		h.drop(DropDatagrams)
		h.complain(Limited, p, "a datagram is dropped: it sends more than allowed")
		return
	}
	h.plain = cipher.Decrypt(h.plain[:0], datagram)
	split, err := transport.Split(h.plain)
	if err != nil {
		h.drop(DropMalformed)
		return
	}
	for first := true; ; first = false {
		m, ok, err := split.Next()
		if err != nil {
			h.drop(DropMalformed) // the messages before stand, as in the game
			return
		}
		if !ok {
			return
		}
		if first && m.Type == transport.Connect {
			if p = h.connect(p, from, &m); p == nil {
				return
			}
			p.got += len(datagram)
		} else if p == nil {
			h.drop(DropStranger)
			return
		} else if first && split.Peer == transport.UnassignedPeer && m.Type != transport.Disconnect {
			// The game listens to nobody who does not use an id. It has not heard
			// the accept, so it gets it again.
			h.drop(DropStranger)
			p.got += len(datagram)
			p.awake = true
			p.link.Repeat(h.now, transport.Connect)
			return
		} else if first && !p.proved {
			p.proved = true
			p.link.SetRoom(0)
			p.link.Settle(transport.Connect) // it uses its id, which it can only know from the accept
			h.introduce(p)
		}
		p.heard, p.awake = h.now, true
		if m.Type == transport.Standard && !p.games.take(h.now, 1) {
			// The others would get them all. Reliable ones come again, since
			// they are not acknowledged.
			h.drop(DropGame)
			h.complain(Limited, p, "a game message is dropped: it sends more than allowed")
			return
		}
		p.link.Receive(h.now, &m, func(lm *arq.Message) { h.deliver(p, lm) })
		if p.gone {
			return
		}
	}
}

// deliver takes a message whose turn has come.
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

// patience is how long what cannot be sent waits for another try.
const patience = time.Second / 4

// Advance lets time pass. The host wants to be called again at next at the
// latest; the zero time stands for never, unless something is received.
func (h *Host) Advance(now time.Time) (next time.Time) {
	h.tick(now)
	sooner := func(t time.Time) {
		if !t.IsZero() && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	for _, p := range slices.Clone(h.peers) {
		deadline := p.deadline(&h.cfg.Limits)
		if !deadline.After(h.now) && !p.gone {
			h.late(p)
		}
		if p.gone {
			continue
		}
		sooner(p.deadline(&h.cfg.Limits))
		if !p.proved && h.room(p) < smallest {
			continue
		}
		if due := p.link.Next(); !due.IsZero() {
			if !due.After(p.tried) { // there was no room for it; it may not be asked for at once
				due = p.tried.Add(patience)
			}
			if !due.After(h.now) {
				p.awake = true
			}
			sooner(due)
		}
	}
	return next
}

// deadline returns when the peer is given up.
func (p *peer) deadline(l *Limits) time.Time {
	switch {
	case p.phase == Leaving && !p.proved: // its id is wanted
		return p.left.Add(crowded)
	case p.phase == Leaving:
		return p.left.Add(arq.Linger)
	case !p.proved:
		return p.born.Add(l.Unproved)
	}
	return p.heard.Add(arq.SilenceLimit)
}

// late gives up a peer whose time has come.
func (h *Host) late(p *peer) {
	if p.phase == Leaving {
		h.remove(p)
		return
	}
	h.report(TimedOut, p, "nothing was heard of it for too long")
	h.release(p)
	h.remove(p)
	h.announceGone(p)
}

// announceGone tells the other players that one has gone without a word.
func (h *Host) announceGone(p *peer) {
	h.controlToAll(transport.BootPlayer, []byte{transport.BootTimedOut, p.id}, p)
}

// release takes from a peer what others can have: its slot and its objects.
func (h *Host) release(p *peer) {
	if p.slot >= 0 {
		h.slots[p.slot] = nil
	}
	p.slot = -1
	p.objects, p.objectB = nil, 0
}

// remove forgets a peer.
func (h *Host) remove(p *peer) {
	p.gone = true
	delete(h.byAddr, p.addr)
	h.ids[p.id] = nil
	if i := slices.Index(h.peers, p); i >= 0 {
		h.peers = slices.Delete(h.peers, i, i+1)
		if i < h.sending {
			h.sending--
		}
	}
}

// leave begins the time in which a peer that has left is still answered.
func (h *Host) leave(p *peer) {
	h.release(p)
	p.phase, p.left = Leaving, h.now
	p.awake = true
	p.link.Close()
}

func (h *Host) disconnect(p *peer, m *arq.Message) {
	body := []byte{p.id, p.claimed[0], p.claimed[1], p.claimed[2], p.claimed[3]}
	if m.Type == transport.Disconnect && !m.Header.Short && len(m.Body) > 0 && m.Body[0] == p.id {
		body = bytes.Clone(m.Body) // unless it speaks for somebody else
	}
	h.report(Left, p, "")
	h.leave(p)
	if !h.like.openBC { // that tells of it with game messages
		h.controlToAll(transport.Disconnect, body, p)
	}
}

// putOut puts a client out: it and the others are told, and the event says why.
func (h *Host) putOut(p *peer, kind EventKind, reason uint8, why string) {
	h.report(kind, p, why)
	h.controlToAll(transport.BootPlayer, []byte{reason, p.id}, nil)
	h.leave(p)
}

// Shutdown tells all clients that the host leaves, and lets nobody in any more.
func (h *Host) Shutdown(now time.Time) {
	h.tick(now)
	if h.down {
		return
	}
	h.down = true
	h.controlToAll(transport.Disconnect, []byte{transport.HostPeer, 0, 0, 0, 0}, nil)
	for _, p := range slices.Clone(h.peers) {
		if p.phase != Leaving {
			h.leave(p)
		}
	}
}

// Idle reports whether no client has anything left to acknowledge or to get.
func (h *Host) Idle() bool {
	return len(h.direct) == 0 && !slices.ContainsFunc(h.peers, func(p *peer) bool { return p.proved && !p.link.Idle() })
}

// sent counts a datagram.
func (h *Host) sent(datagram []byte) {
	h.stats.Sent++
	h.stats.BytesOut += int64(len(datagram))
}

// drop counts what is not taken.
func (h *Host) drop(why Drop) {
	h.stats.Dropped[why]++
	switch why {
	case DropMalformed:
		h.stats.Malformed++
	case DropStranger, DropWrongID:
		h.stats.Strangers++
	default:
		h.stats.Limited++
	}
}

// smallest is what a datagram with one acknowledgement takes.
const smallest = 2 + 4

// room returns how many bytes may be sent to a peer that has proved nothing.
func (h *Host) room(p *peer) int { return h.cfg.Limits.Factor*p.got - p.gave }

// Send returns the next datagram to be sent, as it goes to the network. It is
// called after Receive and Advance until ok is false; the datagram is valid
// until the next call.
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
		if !p.awake {
			continue
		}
		if !p.proved {
			room := h.room(p)
			if room < smallest {
				p.awake = false
				continue
			}
			p.link.SetRoom(room)
		}
		h.plain, ok = p.link.Datagram(h.now, h.plain[:0])
		if !ok {
			p.awake, p.tried = false, h.now
			continue
		}
		p.gave += len(h.plain)
		h.wire = cipher.Encrypt(h.wire[:0], h.plain)
		h.sent(h.wire)
		return p.addr, h.wire, true
	}
	h.sending = 0
	return netip.AddrPort{}, nil, false
}

// queue queues a message for a peer; one for which too much waits is given up.
func (h *Host) queue(p *peer, m arq.Message) {
	if p.gone || p.phase == Leaving && m.Type == transport.Standard {
		return
	}
	p.awake = true
	if p.link.Queue(h.now, m) == nil || p.phase == Leaving {
		return
	}
	h.report(Overloaded, p, "too much waits for it to be acknowledged")
	h.leave(p)
	h.announceGone(p)
}

// controlToAll queues a control message for every client that has not left,
// but one.
func (h *Host) controlToAll(t transport.Type, body []byte, but *peer) {
	for _, p := range slices.Clone(h.peers) {
		if p != but && p.phase != Leaving && p.proved {
			h.queue(p, arq.Message{Type: t, Body: body})
		}
	}
}

// sendDirect sends a datagram to somebody who has no link.
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
