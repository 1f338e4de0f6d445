package conform

import (
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/event"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// hostMade tells whether a message that no client's message explains is one
// that a host sends by itself, and why it cannot be compared.
func (c *comparer) hostMade(d *destination, g *got) (why string, ok bool) {
	const simulated = "the host's own simulation decides"
	if !g.standard() {
		switch g.Type {
		case transport.BootPlayer:
			return "the host decides about kicks", true
		case transport.Disconnect:
			if m, ok := c.t.bodies.control(g.Type, g.Body).(*transport.Goodbye); ok && (m.ID == transport.HostPeer || m.ID == d.client.Peer) {
				return "the host ends the game", true
			}
		case transport.NameChange:
			if d.names[g.key] {
				return "the client has been told the name before", true
			}
			name := c.t.bodies.name(g.Body)
			if c.sender != decode.Stock && (len(g.Body) == 0 || d.client.Name == "" || name == d.client.Name) {
				if d.client.Name == "" {
					d.client.Name = name
				}
				return "OpenBC sends a player its own name as keepalive", true
			}
		case transport.Acknowledge, transport.DoNothing, transport.Connect, transport.Leave, transport.Standard:
		}
		return c.ofUnseen(g)
	}
	const leave = "hosts tell of a leave in different ways"
	switch c.t.bodies.specOf(g.Event).Made {
	case decode.MadeBySimulation:
		return simulated, true
	case decode.MadeByStock:
		switch {
		case c.sender == decode.OpenBC && !g.simulated():
		case g.Op == msg.OpStateUpdate:
			return "ship updates are the host's simulation", true
		default:
			return simulated, true
		}
	case decode.MadeByScores:
		return "scores are the host's", true
	case decode.MadeByLeave:
		return leave, true
	case decode.MadeByState:
		switch code, peer, ok := c.t.announced(g.Event); {
		case ok && code == event.CodeDeletePlayer:
			return leave, true
		case ok && c.t.guessed(peer):
			return whyGuessed, true
		case c.t.late():
			return "the capture starts late", true
		}
	case decode.MadeByOptions:
		return "the host changes an option", true
	case decode.MadeByFiles:
		return "the host compares files", true
	case decode.MadeUnknown, decode.MadeNever:
	}
	return c.ofUnseen(g)
}

// ofUnseen reports whether a message can be a copy from a client without
// captured traffic.
func (c *comparer) ofUnseen(g *got) (why string, ok bool) {
	known, some := c.t.seenSlots(), c.t.strange(g.Time)
	const text = "it comes from a player without captured traffic"
	switch {
	case g.Slots&^known != 0 && (some || c.t.late()):
		return text, true
	case g.Slots == 0 && some:
		return text, true
	case bearsAuthor(c.t.bodies.specOf(g.Event)):
		peer, ok := author(c.t.bodies.game(g.Body))
		if ok && some && peer < 256 && c.t.byPeer(uint8(peer)) == nil {
			return text, true
		}
	case !g.standard() && g.Type == transport.NameChange && some:
		return text, true
	}
	return "", false
}
