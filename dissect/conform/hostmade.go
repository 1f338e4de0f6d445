package conform

import (
	"slices"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/event"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

const (
	whySimulated = "the host's own simulation decides"
	whyKick      = "the host decides about kicks"
	whyUnseen    = "it comes from a player without captured traffic"
)

// madeWhy are the reasons why hosts send messages unasked, by opcode.
var madeWhy = [256]string{
	decode.MadeBySimulation: whySimulated,
	decode.MadeByStock:      whySimulated,
	decode.MadeByScores:     "scores are the host's",
	decode.MadeByLeave:      whyLeave,
	decode.MadeByOptions:    "the host changes an option",
	decode.MadeByFiles:      "the host compares files",
}

// hostMade returns why a message without a cause cannot be compared, if it is
// one that hosts send unasked.
func (c *comparer) hostMade(d *destination, g *got) (why string) {
	switch made := c.t.bodies.specOf(g.Event).Made; {
	case !g.standard():
		why = c.controlMade(d, g)
	case c.t.sender == decode.OpenBC && g.Op == msg.OpUnused04: // BootPlayer
		why = whyKick
	case made == decode.MadeByState:
		why = c.stateMade(g)
	case made != decode.MadeByStock || c.t.sender != decode.OpenBC || g.simulated():
		why = madeWhy[made]
	}
	some := len(c.t.strangers) > 0
	if why == "" && (g.Slots == 0 && some || g.Slots&^c.t.seenSlots() != 0 && (some || c.t.late())) { // it names an object of such a player, or nothing that tells its author
		why = whyUnseen
	}
	return why
}

// controlMade returns the reason for a message of the transport layer, or "" if
// there is none.
func (c *comparer) controlMade(d *destination, g *got) string {
	switch g.Type {
	case transport.BootPlayer:
		return whyKick
	case transport.Disconnect:
		switch m, ok := c.t.bodies.control(g.Type, g.Body).(*transport.Goodbye); {
		case !ok:
		case m.ID == transport.HostPeer || m.ID == d.client.Peer:
			return "the host ends the game"
		case !slices.ContainsFunc(c.t.order, func(o *Client) bool { return o.Peer == m.ID }):
			return whyUnseen
		}
	case transport.NameChange:
		if d.names[g.key] {
			return "the client has been told the name before"
		}
		name := c.t.bodies.name(g.Body)
		if d.client.Name == "" && c.t.sender != decode.Stock {
			d.client.Name = name
		}
		if c.t.sender != decode.Stock && (len(g.Body) == 0 || name == d.client.Name) {
			return "OpenBC sends a player its own name as keepalive"
		}
	case transport.Acknowledge, transport.DoNothing, transport.Connect, transport.Leave, transport.Standard:
	}
	return ""
}

// stateMade returns the reason for a message about the players, or "" if there
// is none.
func (c *comparer) stateMade(g *got) string {
	switch code, peer, ok := c.t.announced(g.Event); {
	case ok && code == event.CodeDeletePlayer:
		return whyLeave
	case ok && slices.ContainsFunc(c.t.order, func(o *Client) bool { return o.Peer == peer && o.entry != nil && o.entry.uncertain() }):
		return whyCrossed // others may have been ready before
	case c.t.late():
		return whyLate
	}
	return ""
}
