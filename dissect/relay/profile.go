package relay

import (
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/relay/arq"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// A profile holds the differences of a host of one dialect.
type profile struct {
	// relay are the classes that differ from those of the specs.
	relay map[decode.Opcode]decode.Relay
	// verifyEnter: every creation of a ship makes a VerifyEnterSet.
	verifyEnter bool
	// openBC: the host behaves as the OpenBC server is seen to do.
	openBC bool
}

var (
	stockProfile = profile{verifyEnter: true}
	// openBCProfile follows captures of the OpenBC server, without the messages
	// from that server's own simulation of the ships.
	openBCProfile = profile{
		openBC: true,
		relay: map[decode.Opcode]decode.Relay{
			msg.OpObjectCreate:     decode.RelayForward,
			msg.OpObjectCreateTeam: decode.RelayForward,
			msg.OpHostEvent:        decode.RelayForward,
			msg.OpDestroyObject:    decode.RelayForward,
			msg.OpCollisionEffect:  decode.RelayForward,
			msg.OpStateUpdate:      decode.RelayForward,
			msg.OpExplosion:        decode.RelayForward,
			msg.OpClientReady:      decode.RelayForward,
			msg.OpTeamChat:         decode.RelayEcho,
			msg.OpTeam:             decode.RelayForward,
		},
	}
	// playable are the messages that only the stock host's own simulation
	// sends, and that players need of each other where there is none.
	playable = map[decode.Opcode]decode.Relay{
		msg.OpStateUpdate: decode.RelayForward,
		msg.OpExplosion:   decode.RelayForward,
	}
	// playableOpenBC are the messages that OpenBC's clients expect of each
	// other besides.
	playableOpenBC = map[decode.Opcode]decode.Relay{
		msg.OpDestroyObject:   decode.RelayForward,
		msg.OpCollisionEffect: decode.RelayForward,
		msg.OpStateUpdate:     decode.RelayForward,
		msg.OpExplosion:       decode.RelayForward,
	}
)

func profileOf(d decode.Dialect) *profile {
	if d == decode.OpenBC {
		return &openBCProfile
	}
	return &stockProfile
}

// openBC takes a client's game message as the OpenBC server does: it returns
// the message to forward and its relay class. All copies are
// without priority, ship updates unreliable and all others reliable.
func (h *Host) openBC(p *peer, op decode.Opcode, spec *decode.Spec, class decode.Relay, m arq.Message) (arq.Message, decode.Relay) {
	m.Priority, m.Reliable = false, op != msg.OpStateUpdate
	switch op {
	case msg.OpObjectCreate, msg.OpObjectCreateTeam:
		if slot, ok := h.ownerSlot(spec, m.Body); ok && int(slot) != p.slot { // a creation for somebody else
			class = decode.RelayConsume
		}
	case msg.OpStateUpdate:
		if _, flags, ok := msg.UpdateHead(m.Body); ok && flags == msg.DirtySubsystems && p.shipID() != 0 {
			class = decode.RelayConsume
		}
	case msg.OpTorpedoFire, msg.OpPulseFire:
		if res := h.decoder.ReadAs(spec, m.Body, decode.OpenBC, noShips{}); res.Err != nil {
			class = decode.RelayConsume
		}
	case msg.OpChat, msg.OpTeamChat: // the sender's slot stands in the place of its id
		m.Body = h.spokenBy(spec, m.Body, p.slot)
	case msg.OpRestartGame: // the first player is taken for the host
		if p.slot == 0 {
			class = decode.RelayEcho
		}
	}
	return m, class
}

// ownerSlot returns the slot that a creation says its object belongs to, whatever
// else is in it.
func (h *Host) ownerSlot(spec *decode.Spec, body []byte) (slot uint8, ok bool) {
	res := h.decoder.Read(spec, body, decode.Undecided, noShips{})
	if len(res.Rest)+1 >= len(body) { // not even the slot
		return 0, false
	}
	switch m := res.Message.(type) {
	case *msg.ObjectCreate:
		return m.Slot, true
	case *msg.ObjectCreateTeam:
		return m.Slot, true
	case *msg.ObjectCreateOpenBC:
		return m.Slot, true
	}
	return 0, false
}

// spokenBy returns a line of chat with another author.
func (h *Host) spokenBy(spec *decode.Spec, body []byte, author int) []byte {
	res := h.decoder.Read(spec, body, decode.Undecided, noShips{})
	if !res.Exact() {
		return body
	}
	switch m := res.Message.(type) {
	case *msg.Chat:
		m.Sender = m.Sender&^0xFF | int32(author) // it writes one byte
	case *msg.TeamChat:
		m.Sender = m.Sender&^0xFF | int32(author)
	default:
		return body
	}
	b, err := decode.Append(nil, spec, res.Message, res.Dialect)
	if err != nil {
		return body
	}
	return b
}

// requestOpenBC answers as the OpenBC server does: with the ship of the player
// that owns the object's range, whatever its id, or with the id alone.
func (h *Host) requestOpenBC(p *peer, id wire.ObjectID) {
	if slot, ok := id.Slot(); ok && slot < len(h.slots) && h.slots[slot] != nil {
		for _, o := range h.slots[slot].objects {
			if o.ship {
				h.queue(p, arq.Message{Type: transport.Standard, Reliable: true, Body: o.body})
				return
			}
		}
	}
	h.say(p, msg.OpVerifyEnterSet, &msg.VerifyEnterSet{Object: id})
}
