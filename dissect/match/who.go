package match

import (
	"hash/maphash"
	"net/netip"
	"strconv"
	"unicode/utf8"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
)

func digits(n int) string { return strconv.Itoa(n) }

// clip bounds a text at a character's border.
func clip(s string) string {
	if len(s) <= maxText {
		return s
	}
	n := maxText
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// who tells players apart, and copies from originals.
type who struct {
	clients    map[netip.AddrPort]int
	last       netip.AddrPort // the client that was asked for last
	lastPlayer int
	byID       [256]int
	bySlot     [wire.Slots]int

	seed   maphash.Seed
	copies [64]copied
	oldest int
}

// copied is a message that may be passed on.
type copied struct {
	digest uint64
	at     float64
	links  []netip.AddrPort // sources and destinations
}

func (w *who) init() {
	w.clients = map[netip.AddrPort]int{}
	for i := range w.byID {
		w.byID[i] = NoPlayer
	}
	for i := range w.bySlot {
		w.bySlot[i] = NoPlayer
	}
	w.seed = maphash.MakeSeed()
}

// first reports whether the message is no copy of one that came before.
func (g *game) first(r *dissect.Record) bool {
	w := &g.who
	body := r.Payload
	switch r.Message.(type) {
	case *msg.Chat, *msg.TeamChat: // OpenBC writes another author into it
		body = body[min(5, len(body)):]
	}
	d := maphash.Bytes(w.seed, body) ^ uint64(r.Payload[0])
	_, client := hostOf(r)
	for i := range w.copies {
		c := &w.copies[i]
		if c.digest != d || g.b.now-c.at > 5 {
			continue
		}
		again := false
		for _, l := range c.links {
			again = again || l == client
		}
		if again && r.Dir == dissect.FromHost && c.links[0] != client || again && r.Dir == dissect.ToHost {
			continue
		}
		c.links = append(c.links, client)
		return false
	}
	c := &w.copies[w.oldest]
	w.oldest = (w.oldest + 1) % len(w.copies)
	c.digest, c.at, c.links = d, g.b.now, append(c.links[:0], client)
	return true
}

// add adds a player; NoPlayer if there are too many.
func (g *game) add() int {
	if len(g.m.Players) >= MaxPlayers {
		g.m.Evicted.Players++
		return NoPlayer
	}
	g.m.Players = append(g.m.Players, Player{Slot: -1})
	return len(g.m.Players) - 1
}

// client returns the player whose conversation it is.
func (g *game) client(r *dissect.Record) int {
	_, addr := hostOf(r)
	w := &g.who
	if w.last == addr {
		return w.lastPlayer
	}
	i, ok := w.clients[addr]
	if !ok {
		if r.ClientID != 0 && w.byID[r.ClientID] != NoPlayer && !g.m.Players[w.byID[r.ClientID]].Address.IsValid() {
			i = w.byID[r.ClientID]
		} else if i = g.add(); i == NoPlayer {
			return i
		}
		w.clients[addr] = i
		g.m.Players[i].Address = addr
	}
	p := &g.m.Players[i]
	if r.ClientID != 0 && p.ID == 0 {
		p.ID, w.byID[r.ClientID] = r.ClientID, i
	}
	if r.Client != "" && r.Client != p.Name {
		g.rename(r.Datagram.Number, i, r.Client)
	}
	if r.Client != "" {
		w.last, w.lastPlayer = addr, i
	}
	return i
}

// byID returns the player with a network id.
func (g *game) byID(r *dissect.Record, id int32) int {
	if id <= 0 || id > 255 {
		return NoPlayer
	}
	i := g.who.byID[id]
	if i == NoPlayer {
		if i = g.add(); i == NoPlayer {
			return i
		}
		g.who.byID[id] = i
		g.m.Players[i].ID = uint8(id)
	}
	if r.Session != nil && g.m.Players[i].Name == "" {
		if name := r.Session.Player(uint8(id)); name != "" {
			g.rename(r.Datagram.Number, i, name)
		}
	}
	return i
}

// slot returns the player in a slot.
func (g *game) slot(slot int) int {
	if slot < 0 || slot >= len(g.who.bySlot) {
		return NoPlayer
	}
	return g.who.bySlot[slot]
}

// speaker returns the player who is said to speak.
func (g *game) speaker(r *dissect.Record, n int32) int {
	switch {
	case r.Dir == dissect.ToHost:
		return g.client(r)
	case r.Sender == decode.OpenBC:
		return g.slot(int(n))
	}
	return g.byID(r, n)
}

func (g *game) rename(frame, player int, name string) {
	p := &g.m.Players[player]
	name = clip(name)
	if name == "" || name == p.Name {
		return
	}
	for _, i := range g.events[player] {
		g.m.Events[i].Text = name + g.m.Events[i].Text[len(g.m.NameOf(player)):]
	}
	delete(g.events, player)
	if p.Name != "" {
		g.event(frame, EventName, player, p.Name+" is now called "+name)
	}
	p.Name = name
	if len(p.Names) < 16 {
		p.Names = append(p.Names, name)
	}
}

// setSlot gives a player a slot.
func (g *game) setSlot(player, slot int) {
	if player == NoPlayer || slot < 0 || slot >= wire.Slots {
		return
	}
	g.m.Players[player].Slot, g.who.bySlot[slot] = slot, player
}

func (g *game) setTeam(frame, player, team int) {
	p := &g.m.Players[player]
	if p.Team != nil && *p.Team == team {
		return
	}
	p.Team = &team
	g.event(frame, EventTeam, player, g.m.NameOf(player)+" plays for team "+digits(team+1))
}

// carry takes the players who are there into the next match.
func (g *game) carry(old *Match) {
	at := make([]int, len(old.Players))
	for i := range old.Players {
		p := &old.Players[i]
		at[i] = NoPlayer
		if p.Left != nil {
			continue
		}
		at[i] = len(g.m.Players)
		g.m.Players = append(g.m.Players, Player{
			Name: p.Name, Names: p.Names, ID: p.ID, Slot: p.Slot, Team: p.Team, Address: p.Address, Joined: p.Joined, Ready: p.Ready, Stays: p.Stays,
		})
	}
	w := &g.who
	w.last = netip.AddrPort{}
	for k, i := range w.clients {
		if w.clients[k] = at[i]; at[i] == NoPlayer {
			delete(w.clients, k)
		}
	}
	for i, p := range w.byID {
		if p != NoPlayer {
			w.byID[i] = at[p]
		}
	}
	for i, p := range w.bySlot {
		if p != NoPlayer {
			w.bySlot[i] = at[p]
		}
	}
}
