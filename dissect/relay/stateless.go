package relay

import (
	"net/netip"
	"time"

	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/dissect/relay/arq"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// Connects with forged addresses could use up the ids, so that a client's
// session is dropped before the client uses its id. When many sessions have
// proved nothing, the host answers further connects without a session: the id
// is derived from the address, and the session begins when the id is used.
const (
	sessionsAtEase = 32               // how many sessions that have proved nothing are normal
	answersLast    = 30 * time.Second // how long an id is valid after the last answer without a session
)

// answersStateless reports whether to answer a connect without a session,
// because there are many sessions.
func (h *Host) answersStateless(from netip.AddrPort, m *transport.Message) bool {
	return h.standIn(from, m) && (h.connects.lacks(from.Addr()) || h.unprovedSessions() >= sessionsAtEase)
}

// standIn reports whether an answer without a session is possible for a
// connect.
func (h *Host) standIn(from netip.AddrPort, m *transport.Message) bool {
	return h.cfg.Public && !h.down && !m.Short && len(h.byAddr[from]) == 0
}

// unprovedSessions counts the sessions that have proved nothing.
func (h *Host) unprovedSessions() (n int) {
	for _, p := range h.peers {
		if !p.known() {
			n++
		}
	}
	return n
}

// idFor returns the id that an address gets without a session, if there is one. It
// does not change while clients that prove nothing come and go.
func (h *Host) idFor(addr netip.AddrPort) (id uint8, ok bool) {
	first := h.hash(addr)
	const ids = lastID - firstID + 1
	for i := range uint64(ids) {
		id = firstID + uint8((first+i)%ids)
		if id != skippedID && (h.ids[id] == nil || h.yields(h.ids[id])) {
			return id, true
		}
	}
	return 0, false
}

// answerStateless lets a client in without a session. The answer is smaller
// than the connect.
func (h *Host) answerStateless(from netip.AddrPort) {
	id, ok := h.idFor(from)
	if !ok {
		h.drop(DropConnects)
		return
	}
	h.stateless = h.now
	if plain, ok := accept(h.now, arq.New(transport.HostPeer, h.cfg.Limits.Link), id); ok {
		h.stats.Stateless++
		h.sendDirect(from, cipher.Encrypt(nil, plain))
	}
}

// accept returns the datagram in which a link lets a client in.
func accept(now time.Time, link *arq.Endpoint, id uint8) (plain []byte, ok bool) {
	if link.Queue(now, arq.Message{Type: transport.Connect, Body: []byte{id}}) != nil {
		return nil, false
	}
	return link.Datagram(now, nil)
}

// beginLate begins the session of a client that was let in without one and now
// uses its id. It returns nil if its address was given another id.
func (h *Host) beginLate(from netip.AddrPort, id uint8) *peer {
	if h.stateless.IsZero() || h.now.Sub(h.stateless) > answersLast || h.down || h.inUse(from) {
		return nil
	}
	if own, ok := h.idFor(from); !ok || own != id {
		return nil
	}
	if o := h.ids[id]; o != nil {
		h.yield(o)
	}
	p := h.newPeer(from)
	p.late = true
	h.begin(p, id)
	accept(h.now, p.link, id)
	connect := transport.Message{Header: transport.Header{Type: transport.Connect, HasSeq: true, Priority: true}}
	p.link.Receive(h.now, &connect, func(*arq.Message) {})
	h.ask(p)
	return p
}
