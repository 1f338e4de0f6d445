package relay

import (
	"net/netip"
	"slices"
	"time"

	"github.com/bcdissect/bcdissect/dissect/internal/session"
	"github.com/bcdissect/bcdissect/dissect/relay/arq"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// Hear notes that a captured client has sent a datagram.
func (h *Host) Hear(now time.Time, from netip.AddrPort) {
	h.tick(now)
	h.receiveFrom(from)
}

// receiveFrom returns the captured client at an address, or nil if there is none.
func (h *Host) receiveFrom(from netip.AddrPort) *peer {
	p := h.speaker(from, firstID, nil)
	if p != nil {
		p.lastReceived = h.now
	}
	return p
}

// Take takes a message of a captured client, as if it came through a connection
// without delay and loss. The body then belongs to the host. It reports whether
// such a message can be sent at all.
func (h *Host) Take(now time.Time, from netip.AddrPort, m arq.Message) bool {
	h.tick(now)
	if arq.Arrive(&m) != nil {
		return false
	}
	whole := transport.Message{Header: m.Header, Body: m.Body}
	if m.Type == transport.Connect {
		h.connect(from, &whole, len(m.Body))
		return true
	}
	p := h.receiveFrom(from)
	if p == nil {
		return true
	}
	p.judge(session.OfShape(session.Client, &m.Header))
	p.budget.answer(h.now, p.owed)
	p.owed = 0
	if !h.excess(p, &whole) {
		h.cause = p
	}
	h.taken = m
	h.deliver(p, &h.taken)
	h.cause = nil
	h.execute()
	return true
}

// Exploded notes that the captured host's simulation has destroyed the ship of
// a slot. The host no longer sends it to players.
func (h *Host) Exploded(slot int) {
	if slot < len(h.slots) && h.slots[slot] != nil {
		for i := range h.slots[slot].objects {
			o := &h.slots[slot].objects[i]
			o.lost = o.lost || o.ship
		}
	}
}

// Seat notes that the captured host gave a client another slot, and maybe
// another id. A client that has the slot gets the former one. Seat reports
// whether there are the client and the slot.
func (h *Host) Seat(client netip.AddrPort, slot int) bool {
	for _, p := range slices.Backward(h.byAddr[client]) { // the latest
		if id, ok := h.shownID(p); ok {
			h.ids[p.id], h.ids[id], p.id = nil, p, id
		}
		if p.slot < 0 || slot < 0 || slot >= len(h.slots) {
			continue
		}
		o := h.slots[slot]
		if h.slots[p.slot] = o; o != nil {
			o.slot = p.slot
		}
		h.slots[slot], p.slot = p, slot
		return true
	}
	return false
}

// shownID returns the id that a captured client had, if it is free.
func (h *Host) shownID(p *peer) (id uint8, ok bool) {
	if id = h.shown(p).ID; id < firstID || id > lastID {
		return 0, false
	}
	if o := h.ids[id]; o != nil && o.phase == Leaving {
		h.remove(o)
	}
	return id, h.ids[id] == nil
}

// pass passes a message on to the receiver of the messages for captured clients.
func (h *Host) pass(p *peer, m arq.Message) error {
	if err := arq.Arrive(&m); err != nil {
		return err
	}
	p.owed++
	h.cfg.Deliver(p.addr, m)
	return nil
}
