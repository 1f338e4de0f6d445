package relay

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/wire"
)

// A verdict is the decision on a message that names its sender.
type verdict struct {
	as     decode.Message // the message as it has to be, nil if it is right
	refuse bool
	why    string
}

// judge looks whether a client speaks for itself. Parsed is nil for messages
// that name no sender.
func (h *Host) judge(p *peer, payload []byte, parsed decode.Message) (v verdict) {
	if id, ok := msg.UpdatedObject(payload); ok {
		if o := h.other(p, id); o != nil && o.owns(id) {
			v.refuse, v.why = true, fmt.Sprintf("an update of the ship of id %d", o.id)
		}
		return v
	}
	switch t := parsed.(type) {
	case *msg.Chat:
		return h.judgeChat(p, t, false)
	case *msg.TeamChat:
		return h.judgeChat(p, &t.Chat, true)
	case *msg.Team:
		if t.Player != int32(p.id) {
			own := *t
			own.Player = int32(p.id)
			v.as, v.why = &own, fmt.Sprintf("a team for id %d", t.Player)
		}
	case *msg.DestroyObject:
		if o := h.other(p, t.Object); o != nil && o.owns(t.Object) {
			v.refuse, v.why = true, fmt.Sprintf("the end of a ship of id %d", o.id)
		}
	case *msg.ObjectCreate:
		own := *t
		own.Slot = uint8(p.slot)
		return h.judgeCreation(p, t.ID, &own, t.Slot != own.Slot, "slot", int(t.Slot))
	case *msg.ObjectCreateTeam:
		own := *t
		own.Slot = uint8(p.slot)
		if t.Player != 0 && (!p.assumed || t.Player != firstID) { // 0 is nobody's
			own.Player = p.id
		}
		if t.Slot == own.Slot && t.Player != own.Player {
			return h.judgeCreation(p, t.ID, &own, true, "id", int(t.Player))
		}
		return h.judgeCreation(p, t.ID, &own, t.Slot != own.Slot, "slot", int(t.Slot))
	case *msg.ObjectCreateOpenBC:
		own := *t
		own.Slot = uint8(p.slot)
		return h.judgeCreation(p, t.ID, &own, t.Slot != own.Slot, "slot", int(t.Slot))
	}
	return v
}

// judgeChat puts the true sender into a line of chat, and spaces in the place of
// characters that could begin another line. OpenBC's clients write their slot.
func (h *Host) judgeChat(p *peer, chat *msg.Chat, team bool) (v verdict) {
	if h.like.openBC {
		return v // that host writes the slot, see openBC
	}
	broken := slices.ContainsFunc(chat.Text, isControl)
	if chat.Sender == int32(p.id) && !broken {
		return v
	}
	own := msg.Chat{Sender: int32(p.id), Text: bytes.Clone(chat.Text)}
	switch {
	case broken:
		for i, c := range own.Text {
			if isControl(c) {
				own.Text[i] = ' '
			}
		}
		v.why = "chat with control characters"
	case !p.openBC() || chat.Sender != int32(p.slot):
		v.why = fmt.Sprintf("chat as id %d", chat.Sender)
	}
	if v.as = decode.Message(&own); team {
		v.as = &msg.TeamChat{Chat: own}
	}
	return v
}

// isControl reports whether a character of one byte is a control character.
func isControl(c byte) bool { return c < ' ' || c == 0x7F }

// judgeCreation refuses creations of other clients' objects, and puts the true
// owner into the rest.
func (h *Host) judgeCreation(p *peer, id wire.ObjectID, own decode.Message, wrong bool, what string, named int) (v verdict) {
	if slot, ok := id.Slot(); ok && slot != p.slot {
		v.refuse, v.why = true, fmt.Sprintf("the creation of object 0x%08X, which is slot %d's to create", uint32(id), slot)
		return v
	}
	if wrong {
		v.as, v.why = own, fmt.Sprintf("a creation for %s %d", what, named)
	}
	return v
}

// other returns the client, other than p, that owns the range of an object.
func (h *Host) other(p *peer, id wire.ObjectID) *peer {
	slot, ok := id.Slot()
	if !ok || slot == p.slot || slot >= len(h.slots) {
		return nil
	}
	return h.slots[slot]
}

// owns reports whether the client has created an object.
func (p *peer) owns(id wire.ObjectID) bool {
	for i := range p.objects {
		if p.objects[i].id == uint32(id) {
			return true
		}
	}
	return false
}

// identified returns a game message as it may be passed on: as it is, or with
// the true sender. It is nil if it is refused.
func (h *Host) identified(p *peer, spec *decode.Spec, payload []byte, res *decode.Result) []byte {
	if h.cfg.Captured {
		return payload
	}
	v := h.judge(p, payload, res.Message)
	switch {
	case v.refuse:
		h.complain(Corrected, p, "refused: "+v.why)
		return nil
	case v.as == nil:
		return payload
	}
	if v.why != "" {
		h.complain(Corrected, p, "sent on as its own: "+v.why)
	}
	if res.Err != nil {
		return nil // nobody knows how the others would read it
	}
	body, err := decode.Append(nil, spec, v.as, res.Dialect)
	if err != nil {
		return nil
	}
	return append(body, res.Rest...)
}
