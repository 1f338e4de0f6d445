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
	as     decode.Message // the message as the host sends it, nil if it is correct
	refuse bool
	why    string
	guard  Guard
}

// judge checks whether a client truly names itself as sender. The argument
// parsed is nil for messages that do not name their sender.
func (h *Host) judge(p *peer, payload []byte, parsed decode.Message) (v verdict) {
	if id, ok := msg.UpdatedObject(payload); ok {
		if o := h.other(p, id); o != nil && o.owns(id) {
			v.refuse, v.guard, v.why = true, GuardObject, fmt.Sprintf("an update of the ship of id %d", o.id)
		}
		return v
	}
	if a, ok := parsed.(msg.Actor); ok && h.guards() {
		return h.judgeActor(p, a)
	}
	switch t := parsed.(type) {
	case *msg.Chat:
		return h.judgeChat(p, t, false)
	case *msg.TeamChat:
		return h.judgeChat(p, &t.Chat, true)
	case *msg.Team:
		if self := int32(h.self(p)); t.Player != self {
			own := *t
			own.Player = self
			v.as, v.guard, v.why = &own, GuardSender, fmt.Sprintf("a team for id %d", t.Player)
		}
	case *msg.DestroyObject:
		if o := h.other(p, t.Object); o != nil && o.owns(t.Object) {
			v.refuse, v.guard, v.why = true, GuardObject, fmt.Sprintf("the end of a ship of id %d", o.id)
		}
	case *msg.ObjectCreate:
		own := *t
		own.Slot = uint8(p.slot)
		return h.judgeCreation(p, t.ID, &own, t.Slot != own.Slot, "slot", int(t.Slot))
	case *msg.ObjectCreateTeam:
		own := *t
		own.Slot = uint8(p.slot)
		if t.Player != 0 && t.Player != p.assumed { // player 0 means no player
			own.Player = h.self(p)
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

// judgeChat puts the true sender into a line of chat. It replaces characters
// that could begin another line by spaces. OpenBC's clients send their slot.
func (h *Host) judgeChat(p *peer, chat *msg.Chat, team bool) (v verdict) {
	if h.likeOpenBC {
		return v // that host sends the slot: see asOpenBC
	}
	broken := slices.ContainsFunc(chat.Text, isControl)
	self := int32(h.self(p))
	if chat.Sender == self && !broken {
		return v
	}
	own := msg.Chat{Sender: self, Text: bytes.Clone(chat.Text)}
	v.guard = GuardSender
	switch {
	case broken:
		for i, c := range own.Text {
			if isControl(c) {
				own.Text[i] = ' '
			}
		}
		v.guard, v.why = GuardText, "chat with control characters"
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
// owner into the others.
func (h *Host) judgeCreation(p *peer, id wire.ObjectID, own decode.Message, wrong bool, what string, named int) (v verdict) {
	switch slot, ok := id.Slot(); {
	case ok && slot != p.slot:
		v.refuse, v.guard, v.why = true, GuardObject, fmt.Sprintf("the creation of object 0x%08X, which is slot %d's to create", uint32(id), slot)
		return v
	case !ok && h.cfg.Public:
		v.refuse, v.guard, v.why = true, GuardObject, fmt.Sprintf("the creation of object 0x%08X, which is the host's to create", uint32(id))
		return v
	}
	if wrong {
		v.as, v.guard, v.why = own, GuardOwner, fmt.Sprintf("a creation for %s %d", what, named)
	}
	return v
}

// guards reports whether the host has the guards of a public host, or reports
// where such a host departs from the captured one.
func (h *Host) guards() bool { return h.cfg.Public || h.cfg.Captured && h.cfg.Departs != nil }

// acts reports whether messages of this kind are passed on only for the
// sender's objects. These are the messages that each client sends about its
// ship.
func (h *Host) acts(spec *decode.Spec) bool {
	return h.guards() && spec != nil && (spec.Relay == decode.RelayForward || spec.Code == msg.OpExplosion)
}

// judgeActor refuses messages in which the object of another client acts, and
// those that name another shooter.
func (h *Host) judgeActor(p *peer, a msg.Actor) (v verdict) {
	id := a.Actor()
	slot, ok := id.Slot()
	_, damage := a.(*msg.Explosion)
	if o := h.other(p, id); o != nil || damage && (!ok || slot != p.slot) {
		v.refuse, v.guard, v.why = true, GuardObject, fmt.Sprintf("it acts for object 0x%08X, which is not its own", uint32(id))
		return v
	}
	if p.openBC() { // OpenBC's clients do not send the shooter's id
		return v
	}
	var named uint8
	switch t := a.(type) {
	case *msg.TorpedoFire:
		own := *t
		named, own.FiringPlayer = t.FiringPlayer, p.id
		v.as = &own
	case *msg.PulseFire:
		own := *t
		named, own.FiringPlayer = t.FiringPlayer, p.id
		v.as = &own
	}
	if named == p.id || named > lastID || h.ids[named] == nil {
		v.as = nil
		return v
	}
	v.guard, v.why = GuardSender, fmt.Sprintf("a shot of id %d", named)
	return v
}

// endsEarly reports whether a message ends before the object that acts. The
// game would read an object from what follows in its memory, while OpenBC's
// clients take such messages.
func (h *Host) endsEarly(p *peer, res *decode.Result) bool {
	a, ok := res.Message.(msg.Actor)
	if !ok || !h.cfg.Public || res.Err == nil || a.Actor() != 0 {
		return false
	}
	h.complain(Corrected, p, "not passed on to the game's clients: it ends before the object that acts")
	return true
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

// identified returns a game message as it may be passed on: unchanged, or with
// the true sender. It returns nil if the message is refused. A captured
// client's message is passed on unchanged, and the departure tells what a host
// with guards would do.
func (h *Host) identified(p *peer, spec *decode.Spec, payload []byte, res *decode.Result) (body []byte, d *Departure) {
	if h.cfg.Captured && h.cfg.Departs == nil {
		return payload, nil
	}
	v := h.judge(p, payload, res.Message)
	if h.cfg.Captured {
		d = h.departure(&v, spec, payload, res)
		h.departs(p, d)
		return payload, d
	}
	switch {
	case v.refuse:
		h.complain(Corrected, p, "refused: "+v.why)
		return nil, nil
	case v.as == nil:
		return payload, nil
	}
	if v.why != "" {
		h.complain(Corrected, p, "sent on as its own: "+v.why)
	}
	return h.identity(&v, spec, res), nil
}

// identity returns the judged message as it must be, or nil if it is refused.
func (h *Host) identity(v *verdict, spec *decode.Spec, res *decode.Result) []byte {
	if v.refuse || res.Err != nil { // other clients may decode it in an unpredictable way
		return nil
	}
	body, err := decode.Append(nil, spec, v.as, res.Dialect)
	if err != nil {
		return nil
	}
	return append(body, res.Rest...)
}
