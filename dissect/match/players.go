package match

import (
	"slices"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/event"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/names"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/measure"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// connection folds a message of the transport layer.
func (g *game) connection(r *dissect.Record) {
	frame := r.Datagram.Number
	switch m := r.Message.(type) {
	case *transport.Request:
		_, client := r.Ends()
		delete(g.who.gone, client)
	case *transport.Accept:
		if _, client := r.Ends(); r.Dir == dissect.FromHost && len(g.who.accepted) < MaxPlayers {
			g.again()
			g.who.accepted[client] = accepted{g.b.now, frame}
			g.meet(r) // the client may have been there before
		}
	case *transport.Identity:
		g.meet(r) // the session knows the player's name
	case *transport.Goodbye:
		switch {
		case r.Dir == dissect.ToHost:
			g.goodbye(r)
		case m.ID == transport.HostPeer:
			g.closes(frame)
		case m.ID != r.ClientID: // otherwise it may be about another client with the same id (OpenBC's tests)
			g.leaves(frame, g.byID(r, int32(m.ID)), LeftItself) // passed on by the host
		}
	case *transport.Boot:
		g.boot(r, m)
	}
}

// goodbye records that a client leaves.
func (g *game) goodbye(r *dissect.Record) {
	if _, client := r.Ends(); len(g.who.gone) < 4*MaxPlayers {
		g.who.gone[client] = true
	}
	g.leaves(r.Datagram.Number, g.meet(r), LeftItself)
}

// closes records that the host closes the game. The host sends this to every
// player.
func (g *game) closes(frame int) {
	if g.closed {
		return
	}
	g.closed = true
	g.event(frame, EventMatch, NoPlayer, "the host closes the game")
	t := g.b.now
	g.end(frame, t, EndClosed)
	for i := range g.m.Players {
		if p := &g.m.Players[i]; p.Left == nil {
			p.Left, p.LeftHow = &t, LeftClosed
			g.endLives(i, t)
		}
	}
	g.endLeft(frame)
}

// boot folds the host's refusal or removal of a player.
func (g *game) boot(r *dissect.Record, m *transport.Boot) {
	reason := named(names.BootReasons, uint64(m.Reason))
	var p int
	if m.ID == transport.UnassignedPeer || m.ID == r.ClientID {
		p = g.meet(r) // nobody yet if the host refuses the client
	} else {
		p = g.byID(r, int32(m.ID))
	}
	if p == NoPlayer || g.m.Players[p].Joined == nil {
		_, client := r.Ends()
		delete(g.who.accepted, client)
		name := wire.Untrusted(client.String())
		if p != NoPlayer {
			name = g.m.NameOf(p)
			g.m.Players[p].refused = true
		}
		g.event(r.Datagram.Number, EventRefused, p, name+" is refused: "+wire.Untrusted(reason))
		return
	}
	g.leaves(r.Datagram.Number, p, reason)
}

// joined records that the host lets a client play.
func (g *game) joined(r *dissect.Record) {
	if i := g.meet(r); i != NoPlayer {
		g.joins(g.b.now, r.Datagram.Number, i)
	}
}

// joins records that a player comes, unless the player is already there.
func (g *game) joins(t float64, frame, i int) {
	p := &g.m.Players[i]
	if p.Joined != nil && p.Left == nil {
		return
	}
	again := p.Left != nil
	if p.Joined == nil {
		p.Joined = &t
	}
	p.Left, p.LeftHow, p.refused, g.empty = nil, "", false, false
	p.Stays++
	if len(p.Visits) < maxVisits {
		p.Visits = append(p.Visits, Visit{Joined: &t, Address: p.Address})
	}
	text := wire.Untrusted(" joins")
	if again {
		text = " comes back"
	}
	g.eventAt(t, frame, EventJoin, i, g.m.NameOf(i)+text)
}

// ready records that a player is ready to play.
func (g *game) ready(r *dissect.Record) {
	if r.Dir != dissect.ToHost {
		return // OpenBC passes it on
	}
	i := g.meet(r)
	if i == NoPlayer || g.m.Players[i].Ready != nil {
		return
	}
	t := g.b.now
	g.m.Players[i].Ready = &t
	g.event(r.Datagram.Number, EventReady, i, g.m.NameOf(i)+" is ready")
}

// announced folds a host's announcement of a player.
func (g *game) announced(r *dissect.Record, e *event.Event) {
	if e.Class != event.ClassPlayer {
		return
	}
	if slot, ok := e.Dest.Slot(); ok && e.Dest == wire.FirstObject(slot) {
		g.link(r, int32(e.Player), slot) // OpenBC sends the player's first object
	}
	i := g.byID(r, int32(e.Player))
	switch {
	case i == NoPlayer:
	case e.Code == event.CodeDeletePlayer:
		g.leaves(r.Datagram.Number, i, LeftAnnounced)
	case e.Code == event.CodeNewPlayerInGame && g.m.Players[i].Left == nil && !g.m.Players[i].Address.IsValid():
		g.joins(g.b.now, r.Datagram.Number, i) // the player's connection is not in the capture
	}
}

// deleted folds the notice that a player left.
func (g *game) deleted(r *dissect.Record, name wire.Untrusted) {
	found := NoPlayer
	for i := range g.m.Players {
		if p := &g.m.Players[i]; p.Name == clip(name) && (p.Left == nil || g.b.now-*p.Left < lateNotice) {
			if found != NoPlayer {
				return // several players have the name
			}
			found = i
		}
	}
	if found != NoPlayer {
		g.leaves(r.Datagram.Number, found, LeftAnnounced)
	}
}

// leaves records that a player has left, unless that is known.
func (g *game) leaves(frame, i int, how string) {
	if i == NoPlayer || g.m.Players[i].Left != nil {
		return
	}
	p := &g.m.Players[i]
	t := g.b.now
	p.Left, p.LeftHow, g.goneIn = &t, how, frame
	if n := len(p.Visits); n > 0 {
		p.Visits[n-1].Left, p.Visits[n-1].LeftHow, p.Visits[n-1].Address = &t, how, p.Address
	}
	g.endLives(i, t)
	text := wire.Untrusted(" leaves")
	switch how {
	case LeftItself, LeftAnnounced:
	default:
		text = " is removed: " + wire.Untrusted(how)
	}
	g.event(frame, EventLeave, i, g.m.NameOf(i)+text)
	g.endLeft(frame)
}

// endLives ends the lives of a player who leaves.
func (g *game) endLives(player int, t float64) {
	for s := range g.state {
		if g.m.Lives[s].Player == player && !g.state[s].over {
			g.endLife(s, t, "left")
		}
	}
}

// silent finds the players who were silent at the end of the capture. A longer
// capture may show that they came back.
func (g *game) silent(links []measure.Link) {
	for i := range links {
		l := &links[i]
		player, ok := g.who.clients[l.Client]
		if !ok || l.Host != g.host || l.Dir != dissect.ToHost || l.Last.IsZero() {
			continue
		}
		p := &g.m.Players[player]
		last := l.Last.Sub(g.b.origin).Seconds()
		if p.Address != l.Client || p.Joined == nil && p.Ready == nil || p.Left != nil || g.m.End-last < goneSeconds || last < g.m.Begin {
			continue
		}
		p.Left, p.LeftHow = &last, LeftSilent
	}
}

// unsilent undoes silent, and the end of the match that silent caused.
func (g *game) unsilent() {
	if g.guessed {
		g.m.Over, g.m.EndedBy, g.guessed = nil, "", false
	}
	for i := range g.m.Players {
		if p := &g.m.Players[i]; p.LeftHow == LeftSilent {
			p.Left, p.LeftHow = nil, ""
		}
	}
}

// says folds a line of chat.
func (g *game) says(r *dissect.Record, m *msg.Chat, team bool) {
	p := g.number(r, decode.Speaker, int64(m.Sender))
	frame := r.Datagram.Number
	text := clip(wire.Text(m.Text))
	if g.room(itemChat) {
		g.m.Chat = append(g.m.Chat, Talk{T: g.b.now, Frame: frame, Player: p, Text: text, Team: team})
	}
	g.event(frame, EventChat, p, g.m.Said(&Talk{Player: p, Text: text, Team: team}))
}

// Said returns a line of chat with its author.
func (m *Match) Said(c *Talk) wire.Untrusted {
	to := wire.Untrusted(": ")
	if c.Team {
		to = " (team): "
	}
	return m.NameOf(c.Player) + to + c.Text
}

// captured returns how many players have a connection in the capture.
func (g *game) captured() (n int) {
	for i := range g.m.Players {
		if g.m.Players[i].Address.IsValid() {
			n++
		}
	}
	return n
}

// findVantage determines where the capture was made. Only the host has
// connections with several players.
func (g *game) findVantage() {
	m := g.m
	m.Vantage = VantageUnknown
	switch n := g.captured(); {
	case n > 1:
		m.Vantage = VantageHost
	case n == 1 && len(m.Players) > 1:
		m.Vantage = slices.IndexFunc(m.Players, func(p Player) bool { return p.Address.IsValid() })
	}
}
