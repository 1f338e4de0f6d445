package relay

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/ship"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/internal/session"
	"github.com/bcdissect/bcdissect/dissect/relay/arq"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// relayOf returns the relay class of a client's message. A playable host also
// passes on the messages that players need from each other.
func (h *Host) relayOf(p *peer, spec *decode.Spec) decode.Relay {
	if spec == nil {
		return decode.RelayConsume
	}
	if h.likeOpenBC {
		if d := spec.Deviation(decode.OpenBC); d != nil {
			return d.Relay
		}
	}
	if h.cfg.Mode == Playable && (spec.Need == decode.NeedAll || spec.Need == decode.NeedOpenBC && p.openBC()) {
		return decode.RelayForward
	}
	return spec.Relay
}

// game takes a client's game message.
func (h *Host) game(p *peer, m *arq.Message) {
	op := decode.Opcode(m.Body[0])
	spec := h.catalog.Lookup(op)
	class := h.relayOf(p, spec)
	if p.phase == Checking && !h.joins(spec) {
		h.complain(Ignored, p, fmt.Sprintf("%v before its files are checked", op))
		return
	}
	if p.unsigned && spec != nil && spec.Reliable && !m.Reliable { // a number would show that it is forged
		h.drop(DropForged)
		return
	}
	var res decode.Result
	switch op {
	case msg.OpObjectCreate, msg.OpObjectCreateTeam, msg.OpChecksumResponse, msg.OpRequestObject, msg.OpDestroyObject,
		msg.OpTeam, msg.OpChat, msg.OpTeamChat:
		res = h.decoder.Read(spec, m.Body, decode.Undecided, noShips{})
		p.judge(session.OfForm(&res))
		if res.Err != nil && op == msg.OpChecksumResponse {
			h.complain(Ignored, p, "unreadable hashes")
			return
		}
	}
	if res.Message == nil && h.acts(spec) {
		res = h.decoder.Read(spec, m.Body, decode.Undecided, noShips{})
	}
	parsed, endsEarly := res.Message, h.endsEarly(p, &res)
	body, departs := h.identified(p, spec, m.Body, &res)
	if body == nil {
		return
	}
	var copied []byte // one copy for all receivers
	if h.cfg.Deliver != nil {
		copied = body // the copy belongs to the host
	}
	clone := func() []byte {
		if copied == nil {
			copied = bytes.Clone(body)
		}
		return copied
	}
	switch t := parsed.(type) {
	case *msg.ChecksumResponse:
		h.answer(p, t)
	case *msg.RequestObject:
		h.request(p, uint32(t.Object))
	case *msg.DestroyObject:
		if !h.likeOpenBC {
			p.forget(func(o *object) bool { return o.id == uint32(t.Object) })
		}
	case *msg.Team:
		p.team, p.hasTeam = t.Team, true
	case msg.Creation:
		id, slot := t.Created()
		h.store(p, slot, object{id: uint32(id), ship: op == msg.OpObjectCreateTeam, body: clone(), departs: departs})
	}
	if op == msg.OpClientReady {
		h.ready(p)
	}
	out := *m
	out.Body = body
	if h.likeOpenBC {
		if out, class = h.asOpenBC(p, spec, class, out); !bytes.Equal(out.Body, body) {
			copied = out.Body
		}
	}
	h.stats.Messages[class]++
	copyTo := func(to *peer) {
		if !out.Reliable && h.outdated(to) || endsEarly && !to.openBC() {
			return
		}
		h.stats.Copies++
		h.queue(to, arq.Message{Type: transport.Standard, Reliable: out.Reliable, Priority: out.Priority, Body: clone()})
	}
	switch class {
	case decode.RelaySlots:
		for _, o := range h.slots {
			if o != nil && o != p && o.known() {
				copyTo(o)
			}
		}
	case decode.RelayForward:
		for _, o := range h.playing() {
			if o != p {
				copyTo(o)
			}
		}
	case decode.RelayEcho:
		for _, o := range h.playing() {
			copyTo(o)
		}
	case decode.RelayTeam:
		for _, o := range h.playing() {
			if o == p || !p.hasTeam || o.hasTeam && o.team == p.team {
				copyTo(o)
			}
		}
	case decode.RelayNone, decode.RelayConsume, decode.RelayAnswer:
	}
	if op == msg.OpObjectCreateTeam && !h.likeOpenBC && parsed != nil {
		if id := p.shipID(); id != 0 {
			entered := &msg.VerifyEnterSet{Object: wire.ObjectID(id)}
			if !departs.passes() {
				h.departs(p, &Departure{Guard: GuardObject, Type: transport.Standard, Body: h.encode(msg.OpVerifyEnterSet, entered)})
			}
			h.toPlaying(nil, msg.OpVerifyEnterSet, entered)
		}
	}
}

// joins reports whether a client may send a message before its files are checked.
func (h *Host) joins(spec *decode.Spec) bool {
	return spec != nil && (spec.Step == decode.StepAnswer || spec.Step == decode.StepReady && !h.likeOpenBC)
}

// playing returns the clients in the game: the members of the stock host's
// groups. OpenBC also counts the clients that are loading. queue skips clients
// that are removed in the meantime.
func (h *Host) playing() []*peer {
	h.group = h.group[:0]
	for _, p := range h.peers {
		if p.phase == Playing || h.likeOpenBC && p.phase == Loading {
			h.group = append(h.group, p)
		}
	}
	return h.group
}

// store keeps the creation of an object for those who join later. A new ship
// replaces the client's previous ship. Beyond the limits, the oldest object is
// dropped. OpenBC drops a creation for another slot.
func (h *Host) store(p *peer, slot uint8, o object) {
	if o.id == 0 || h.likeOpenBC && int(slot) != p.slot {
		return
	}
	if o.ship && !o.departs.passes() {
		p.spare()
	}
	p.forget(func(old *object) bool {
		return old.id == o.id || o.ship && (old.ship || old.spare && o.departs.passes())
	})
	l := &h.cfg.Limits
	if len(o.body) > l.ObjectBytes {
		h.complain(Limited, p, "an object is too large to be kept for those who join later")
		return
	}
	for len(p.objects) >= l.Objects || p.objectB+len(o.body) > l.ObjectBytes {
		oldest := p.objects[0].id
		p.forget(func(old *object) bool { return old.id == oldest })
		h.complain(Limited, p, fmt.Sprintf("object 0x%08X is not kept for those who join later: it has created too many", oldest))
	}
	p.objects = append(p.objects, o)
	p.objectB += len(o.body)
}

// spare keeps the ship of a captured client after a host with guards refuses a
// new one: such a host still has the ship.
func (p *peer) spare() {
	for i := range p.objects {
		if o := &p.objects[i]; o.ship && o.departs.passes() {
			o.ship, o.spare = false, true
			d := Departure{Spare: true, Type: transport.Standard, Body: o.body}
			if o.departs != nil { // the creation was changed by guards
				d.Guard, d.Instead = o.departs.Guard, o.departs.Instead
			}
			o.departs = &d
		}
	}
}

// forget drops the objects for which the function returns true.
func (p *peer) forget(which func(*object) bool) {
	p.objects = slices.DeleteFunc(p.objects, func(o object) bool {
		if !which(&o) {
			return false
		}
		p.objectB -= len(o.body)
		return true
	})
}

// shipID returns the object id of the client's ship, or 0 if it has none.
func (p *peer) shipID() uint32 {
	for _, o := range p.objects {
		if o.ship {
			return o.id
		}
	}
	return 0
}

// request sends a client the creation of an object that it lacks.
func (h *Host) request(p *peer, id uint32) {
	if h.likeOpenBC {
		h.requestOpenBC(p, wire.ObjectID(id))
		return
	}
	for _, o := range h.peers {
		for _, obj := range o.objects {
			if obj.id == id {
				h.departs(p, obj.departs)
				h.queue(p, arq.Message{Type: transport.Standard, Reliable: true, Body: obj.body})
				return
			}
		}
	}
}

// noShips is an Env without ships' subsystems, since the host reads no message
// that needs them.
type noShips struct{}

// Ship implements [decode.Env].
func (noShips) Ship(wire.ObjectID) *ship.Class { return nil }

// Base implements [decode.Env].
func (noShips) Base(wire.ObjectID) (p wire.Vec3, ok bool) { return p, false }
