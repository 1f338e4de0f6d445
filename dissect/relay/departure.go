package relay

import (
	"bytes"
	"cmp"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// A Guard is a rule by which the host protects its players from each other. The
// stock host has no guards.
type Guard uint8

// The guards.
const (
	GuardNone    Guard = iota
	GuardSender        // chat and teams have their true sender
	GuardText          // chat contains no control characters
	GuardOwner         // creations have their true owner
	GuardObject        // clients create, update and remove only their own objects
	GuardName          // names are readable and unique, and identify their player
	GuardRename        // names change at most once a second, and repetitions are not passed on
	GuardLeave         // clients announce only that they themselves leave
	GuardAddress       // players are not sent the addresses of others
	GuardFlood         // clients send no more than their budget
	Guards             // number of guards
)

// Rules document the guards.
var Rules = [Guards]*decode.Rule{
	GuardSender:  {Name: "corrects-sender", Text: "puts the true sender into chat and teams that name another; the stock host passes them on as they are"},
	GuardText:    {Name: "cleans-chat", Text: "puts spaces in the place of line breaks and other control characters in chat; the stock host passes them on"},
	GuardOwner:   {Name: "corrects-owner", Text: "puts the true owner into creations that name another; the stock host passes them on as they are"},
	GuardObject:  {Name: "refuses-others-objects", Text: "refuses creations, updates, actions and destructions of the objects of other players; the stock host passes them on"},
	GuardName:    {Name: "corrects-names", Text: "makes names readable and unique by numbers, and puts the true id into them; the stock host passes them on as they are"},
	GuardRename:  {Name: "limits-renames", Text: "passes on no name that the player has already, and one a second at most; the stock host passes all on"},
	GuardLeave:   {Name: "corrects-leave", Text: "puts the true id into a Disconnect that names another; the stock host passes it on as it is"},
	GuardAddress: {Name: "hides-addresses", Text: "puts zeros in the place of the address in names and leaves; the stock host tells every player the others' addresses"},
	GuardFlood:   {Name: "limits-floods", Text: "drops messages of a client beyond its budget; the stock host passes all on"},
}

// A Departure is a message that a host with guards changes or refuses.
type Departure struct {
	Guard   Guard
	Spare   bool // a host with guards sends it, changed or not, and the stock host does not
	Type    transport.Type
	Body    []byte // as the stock host sends it. The bytes are borrowed.
	Instead []byte // as this host sends it, or nil if it does not. The bytes are borrowed.
}

// departs reports a departure of a captured client's message.
func (h *Host) departs(p *peer, d *Departure) {
	if d != nil && h.cfg.Departs != nil {
		h.cfg.Departs(p.addr, *d)
	}
}

// self returns the id that the client uses for itself.
func (h *Host) self(p *peer) uint8 {
	return cmp.Or(h.shown(p).ID, p.id)
}

// shown returns what the capture shows of a client.
func (h *Host) shown(p *peer) Shown {
	if h.cfg.Shown == nil {
		return Shown{Slot: -1}
	}
	return h.cfg.Shown(p.addr)
}

// departure returns how the judged message of a captured client departs from
// its original, or nil if it does not.
func (h *Host) departure(v *verdict, spec *decode.Spec, payload []byte, res *decode.Result) *Departure {
	if v.as == nil && !v.refuse {
		return nil
	}
	return &Departure{Guard: v.guard, Type: transport.Standard, Body: bytes.Clone(payload), Instead: h.identity(v, spec, res)}
}

// excess reports whether a captured client's message is beyond its budget. It
// does not count the datagrams of captured clients, since they are not the ones
// that were captured.
func (h *Host) excess(p *peer, m *transport.Message) bool {
	if h.cfg.Departs == nil || m.Type != transport.Standard {
		return false
	}
	if p.budget.bytes.take(h.now, float64(len(m.Body)+envelope)) {
		if _, ok := h.within(p, m); ok {
			return false
		}
	}
	h.departs(p, &Departure{Guard: GuardFlood, Type: m.Type, Body: m.Body})
	return true
}

// passes reports whether a message is passed on, changed or not.
func (d *Departure) passes() bool { return d == nil || d.Instead != nil }

// misnamed returns how the name that others are sent for a captured client
// differs from the name that it gave, or nil if it does not.
func (p *peer) misnamed() *Departure {
	if bytes.Equal(p.naming, p.told) {
		return nil
	}
	return &Departure{Guard: p.corrected, Type: transport.NameChange, Body: p.naming, Instead: p.told}
}
