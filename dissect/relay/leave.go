package relay

import (
	"bytes"
	"slices"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/event"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/relay/arq"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// release frees a peer's slot and objects for others.
func (h *Host) release(p *peer) {
	if p.slot >= 0 {
		h.slots[p.slot] = nil
	}
	p.slot = -1
	p.objects, p.objectB = nil, 0
}

// remove deletes a peer.
func (h *Host) remove(p *peer) {
	if p.gone {
		return
	}
	p.gone = true
	h.release(p)
	list := h.byAddr[p.addr]
	if i := slices.Index(list, p); i >= 0 {
		if list = slices.Delete(list, i, i+1); len(list) == 0 {
			delete(h.byAddr, p.addr)
		} else {
			h.byAddr[p.addr] = list
		}
	}
	h.ids[p.id] = nil
	if i := slices.Index(h.peers, p); i >= 0 {
		h.peers = slices.Delete(h.peers, i, i+1)
		if i < h.sending {
			h.sending--
		}
	}
}

// leave begins the time in which a peer that has left is still answered, and
// tells the others that its ship is gone.
func (h *Host) leave(p *peer) {
	ship, slot := p.shipID(), p.slot
	h.release(p)
	p.phase, p.left = Leaving, h.now
	p.awake = true
	p.link.Close()
	if slot >= 0 && p.known() && !h.down {
		h.tellOfLeave(p, wire.ObjectID(ship), slot)
	}
}

// explosion is how long the ship of a player who has left explodes, in seconds.
// It is as long as for a self-destruction.
const explosion = 9.5

// tellOfLeave tells the others with game messages that a player has left, in
// the form that each understands. The stock host sends the player's name, and
// an explosion of the ship without a killer. OpenBC's clients wait for the end
// of the ship, the end of the player, and the name.
func (h *Host) tellOfLeave(p *peer, ship wire.ObjectID, slot int) {
	var name []byte // names in game messages have one byte per character
	for _, r := range wire.WideText(p.name) {
		if r > 0xFF {
			r = '?'
		}
		name = append(name, byte(r))
	}
	for _, o := range slices.Clone(h.playing()) {
		if o == p {
			continue
		}
		if !o.openBC() && !h.likeOpenBC {
			h.say(o, msg.OpPlayerDeleted, &msg.PlayerDeleted{Name: name})
			if ship != 0 {
				h.say(o, msg.OpHostEvent, &msg.HostEvent{Event: event.Event{
					Class: event.ClassExploding, Code: event.CodeObjectExploding, Dest: ship, Lifetime: wire.FloatBits(explosion),
				}})
			}
			continue
		}
		if ship != 0 {
			h.say(o, msg.OpDestroyObject, &msg.DestroyObject{Object: ship})
		}
		h.say(o, msg.OpPlayerAnnounce, &msg.PlayerAnnounce{Event: event.Event{
			Class: event.ClassPlayer, Code: event.CodeDeletePlayer, Dest: wire.FirstObject(slot), Player: p.id,
		}})
		h.sayAs(o, msg.OpPlayerDeleted, &msg.PlayerDeletedOpenBC{Name: name}, decode.OpenBC)
	}
}

// disconnect takes a client's leave.
func (h *Host) disconnect(p *peer, m *arq.Message) {
	if !p.known() {
		h.remove(p)
		return
	}
	body := []byte{p.id, p.claimed[0], p.claimed[1], p.claimed[2], p.claimed[3]}
	if h.cfg.Public {
		body = []byte{p.id, 0, 0, 0, 0} // see rename
	} else if m.Type == transport.Disconnect && !m.Header.Short && len(m.Body) > 0 {
		switch itself := m.Body[0] == p.id; {
		case itself && (len(m.Body) == len(body) || h.cfg.Captured):
			body = bytes.Clone(m.Body)
		case !itself && h.cfg.Captured:
			body = []byte{h.self(p), 0, 0, 0, 0}
			h.departs(p, &Departure{Guard: GuardLeave, Type: transport.Disconnect, Body: m.Body, Instead: body})
			body = bytes.Clone(m.Body)
		}
	}
	if without := []byte{h.self(p), 0, 0, 0, 0}; h.cfg.Captured && (body[0] == p.id || body[0] == without[0]) && !bytes.Equal(body[1:], without[1:]) {
		h.departs(p, &Departure{Guard: GuardAddress, Type: transport.Disconnect, Body: body, Instead: without})
	}
	h.report(Left, p, "")
	h.leave(p)
	if !h.likeOpenBC { // a host like OpenBC's tells it only with game messages
		h.controlToAll(transport.Disconnect, body, p)
	}
}

// putOut removes a client. It tells the client and the others, and the event
// has the reason.
func (h *Host) putOut(p *peer, kind EventKind, reason uint8, why string) {
	if p.phase == Leaving || p.gone {
		return
	}
	h.report(kind, p, why)
	cause := h.cause
	h.cause = nil // the messages are not charged to a client
	p.link.Abandon()
	h.leave(p)
	body := []byte{reason, p.id}
	if p.known() {
		h.controlToAll(transport.BootPlayer, body, p)
	}
	p.doomed = false
	h.queue(p, arq.Message{Type: transport.BootPlayer, Body: body})
	h.cause = cause
}

// replace drops the session of a client that has begun another one, by, from
// the same address.
func (h *Host) replace(p, by *peer) {
	if p.phase == Leaving || !p.known() {
		h.remove(p)
		return
	}
	h.report(Replaced, p, "")
	h.leave(p)
	h.remove(p)
	h.controlToAll(transport.BootPlayer, []byte{transport.BootTimedOut, p.id}, by)
}
