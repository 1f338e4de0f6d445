package relay

import (
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/relay/arq"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// asOpenBC handles a client's game message as the OpenBC server does. It
// returns the message to forward and its relay class. No copies have priority.
// Ship updates are unreliable and all others reliable.
func (h *Host) asOpenBC(p *peer, spec *decode.Spec, class decode.Relay, m arq.Message) (arq.Message, decode.Relay) {
	m.Priority, m.Reliable = false, true
	if spec == nil {
		return m, class
	}
	m.Reliable = spec.Reliable
	if d := spec.Deviation(decode.OpenBC); d != nil && !h.holds(p, d.Only, spec, m.Body) {
		class = decode.RelayConsume
	}
	if spec.Topic == decode.TopicTalk { // the sender's slot replaces its id
		m.Body = h.spokenBy(spec, m.Body, p.slot)
	}
	return m, class
}

// holds reports whether the condition of an OpenBC host for relaying a client's
// message is true.
func (h *Host) holds(p *peer, only decode.Only, spec *decode.Spec, body []byte) bool {
	switch only {
	case decode.OnlyOwn:
		slot, ok := h.ownerSlot(spec, body)
		return !ok || int(slot) == p.slot
	case decode.OnlyMoving:
		_, flags, ok := msg.UpdateHead(body)
		return !ok || flags != msg.DirtySubsystems || p.shipID() == 0
	case decode.OnlyReadable:
		return h.decoder.ReadAs(spec, body, decode.OpenBC, noShips{}).Err == nil
	case decode.OnlyFirst: // the server takes the first player for the host
		return p.slot == 0
	case decode.OnlyAlways, decode.OnlyAllowed: // there is no simulation to forbid it
	}
	return true
}

// ownerSlot returns the slot of a creation's owner, even if the rest is
// malformed.
func (h *Host) ownerSlot(spec *decode.Spec, body []byte) (slot uint8, ok bool) {
	res := h.decoder.Read(spec, body, decode.Undecided, noShips{})
	if len(res.Rest)+1 >= len(body) { // even the slot is missing
		return 0, false
	}
	m, ok := res.Message.(msg.Creation)
	if ok {
		_, slot = m.Created()
	}
	return slot, ok
}

// spokenBy returns a line of chat with another author.
func (h *Host) spokenBy(spec *decode.Spec, body []byte, author int) []byte {
	res := h.decoder.Read(spec, body, decode.Undecided, noShips{})
	if !res.Exact() {
		return body
	}
	switch m := res.Message.(type) {
	case *msg.Chat:
		m.Sender = m.Sender&^0xFF | int32(author) // OpenBC's server writes only one byte
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

// requestOpenBC answers a request for an object as the OpenBC server does. It
// sends the ship of the player to whose range the id belongs, or a message with
// only the id.
func (h *Host) requestOpenBC(p *peer, id wire.ObjectID) {
	if slot, ok := id.Slot(); ok && slot < len(h.slots) && h.slots[slot] != nil {
		for _, o := range h.slots[slot].objects {
			if o.ship && !o.lost {
				h.queue(p, arq.Message{Type: transport.Standard, Reliable: true, Body: o.body})
				return
			}
		}
	}
	h.say(p, msg.OpVerifyEnterSet, &msg.VerifyEnterSet{Object: id})
}
