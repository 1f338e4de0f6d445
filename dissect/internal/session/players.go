package session

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// A Player is a player in a host's game. Later messages may change its
// properties.
type Player struct {
	Index int              // in order of first appearance in the game, from 0
	Name  wire.Untrusted   // as last written by the player, "" if unknown
	Names []wire.Untrusted // all names so far, oldest first, at most maxNames
	ID    uint8            // network id, assigned by the host or else used by the client. 0 if unknown.
	Slot  int              // -1 if unknown
	Team  int              // -1 if unknown
	Addr  netip.AddrPort   // invalid if only the host's messages mention the player

	left bool // the connection has ended, and the player may return
}

// maxNames is the maximum number of stored names of a player.
const maxNames = 16

// Clone returns a copy of the player in its current state, or nil for nil.
func (p *Player) Clone() *Player {
	if p == nil {
		return nil
	}
	c := *p
	c.Names = slices.Clone(p.Names)
	return &c
}

func (p *Player) rename(name wire.Untrusted) {
	if name == "" || name == p.Name {
		return
	}
	p.Name = name
	if len(p.Names) < maxNames {
		p.Names = append(p.Names, name)
	}
}

// A roster has the players of a game.
type roster struct {
	players []*Player
	byID    [256]*Player // current owner of the network id
	bySlot  [wire.Slots]*Player
	limit   int
}

// Player returns the player with a number, or nil if unknown.
func (r *roster) Player(by decode.Number, n int64) *Player {
	switch {
	case by == decode.NetworkID && n > 0 && n < int64(len(r.byID)):
		return r.byID[n]
	case by == decode.Slot && n >= 0 && n < int64(len(r.bySlot)):
		return r.bySlot[n]
	}
	return nil
}

// Players returns all players so far, by index.
func (r *roster) Players() []*Player { return r.players }

// enrol adds a player. It returns nil if there are too many.
func (r *roster) enrol(addr netip.AddrPort) *Player {
	if len(r.players) >= r.limit {
		return nil
	}
	p := &Player{Index: len(r.players), Slot: -1, Team: -1, Addr: addr}
	r.players = append(r.players, p)
	return p
}

// back returns the player of that name who left and now returns from the same
// machine, or nil.
func (r *roster) back(name wire.Untrusted, addr netip.AddrPort) *Player {
	if name == "" {
		return nil
	}
	for _, p := range r.players {
		if p.left && p.Name == name && p.Addr.Addr() == addr.Addr() {
			return p
		}
	}
	return nil
}

// setID gives a player a network id, and takes it from any other.
func (r *roster) setID(p *Player, id uint8) {
	if p.ID != 0 && r.byID[p.ID] == p {
		r.byID[p.ID] = nil
	}
	if p.ID = id; id != 0 {
		r.byID[id] = p
	}
}

// setSlot gives a player a slot.
func (r *roster) setSlot(p *Player, slot int) {
	if slot < 0 || slot >= len(r.bySlot) {
		return
	}
	if p.Slot >= 0 && r.bySlot[p.Slot] == p {
		r.bySlot[p.Slot] = nil
	}
	p.Slot, r.bySlot[slot] = slot, p
}

// Player returns the player of the conversation, or nil until known.
func (c *Conversation) Player() *Player { return c.player }

// Serial is the number of the address pair in the order of first datagrams,
// from 1.
func (c *Conversation) Serial() int { return c.serial }

// Client returns name and peer id of the client's player, or "" and 0 if
// unknown.
func (c *Conversation) Client() (name wire.Untrusted, id uint8) {
	if c.player != nil {
		name = c.player.Name
	}
	return name, c.id
}

// SetPeer records a sender's peer id. The id assigned by the host takes
// precedence over the one used by the client: OpenBC's test clients all use 2.
func (c *Conversation) SetPeer(s Side, id uint8) {
	if s == Host || id == c.id && c.spoke || id == transport.UnassignedPeer {
		return
	}
	c.spoke = true
	switch {
	case !c.given:
		c.id = id
	case id != c.id && !c.warned:
		c.warned = true
		c.table.note("peer", fmt.Sprintf("the client sends as peer %d, but the host gave it id %d", id, c.id))
	}
	if !c.asked { // it joined before the capture began
		c.join("")
	}
}

// accept records the id assigned to the client.
func (c *Conversation) accept(id uint8) {
	c.id, c.given = id, true
	if c.player != nil && c.game != nil {
		c.game.setID(c.player, id)
	}
}

// join makes the client a player of the game, if it is not one yet. A name
// identifies a returning player.
func (c *Conversation) join(name wire.Untrusted) {
	if c.game == nil {
		return
	}
	if c.player == nil {
		addr := c.client()
		if c.player = c.game.back(name, addr); c.player == nil {
			if c.player = c.game.enrol(addr); c.player == nil {
				if !c.turned {
					c.turned = true
					c.table.note("evicted", fmt.Sprintf("a player gets no number: there are more than %d in this game", c.game.limit))
				}
				return
			}
		}
		p := c.player
		p.Addr, p.left = addr, false
		if c.given || c.id != 0 && c.game.byID[c.id] == nil {
			c.game.setID(p, c.id)
		}
		if c.slot >= 0 {
			c.game.setSlot(p, c.slot)
		}
	}
	c.player.rename(name)
}

// leave records that the client has left the game.
func (c *Conversation) leave() {
	if c.player != nil {
		c.player.left = true
	}
}

// client returns the address of the client.
func (c *Conversation) client() netip.AddrPort {
	_, client, _ := c.Addresses()
	return client
}

// seated records the client's slot. Settings are certain evidence. Objects that
// the client creates count only without them.
func (c *Conversation) seated(slot int, sure bool) {
	if c.slot >= 0 && !sure {
		return
	}
	c.slot = slot
	if c.player != nil && (sure || c.game.Player(decode.Slot, int64(slot)) == nil) {
		c.game.setSlot(c.player, slot)
	}
}

// identity learns names. A client's message names the client, whatever its
// number. The stock host repeats all names to all clients. The OpenBC server
// returns each client's own message.
func (c *Conversation) identity(s Side, m *transport.Identity) {
	name := clip(wire.WideText(m.Name))
	if name == "" || c.game == nil {
		return
	}
	if s == Client {
		c.join(name)
		return
	}
	own := c.player
	if own != nil && own.Name == name {
		return // the client's name is sent back
	}
	if c.Dialect(Host) == decode.OpenBC || c.given && m.ID == c.id {
		if own == nil || own.Name == "" {
			c.join(name)
		}
		return
	}
	if m.ID <= transport.HostPeer || !transport.PlausiblePeer(m.ID) {
		return // it is not a player's
	}
	p := c.game.byID[m.ID]
	if p == nil {
		if p = c.game.enrol(netip.AddrPort{}); p == nil {
			return
		}
		c.game.setID(p, m.ID)
	}
	if p.Name == "" || !p.Addr.IsValid() {
		p.rename(name)
	}
}
