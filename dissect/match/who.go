package match

import (
	"maps"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
)

func digits(n int) string { return strconv.Itoa(n) }

// clip limits the length of a text without splitting a character.
func clip[T ~string](s T) T {
	if len(s) <= maxText {
		return s
	}
	n := maxText
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// who identifies players in the same way as the session.
type who struct {
	players  map[*dissect.Player]int
	recent   [wire.Slots]met // the last player of each slot
	clients  map[netip.AddrPort]int
	accepted map[netip.AddrPort]accepted // clients that were let in and have not sent anything since
	gone     map[netip.AddrPort]bool     // clients that have left and not come back
	former   map[*dissect.Player]bool    // players who left before the match began
	// Players of whom only a number is known.
	strangers map[stranger]int
}

// met is a player of the session, with the index in the match.
type met struct {
	player *dissect.Player
	at     int
}

type stranger struct {
	by decode.Number
	n  int64
}

// accepted is the time and the frame in which a host let a client in.
type accepted struct {
	t     float64
	frame int
}

func (w *who) init() {
	w.players, w.clients, w.strangers = map[*dissect.Player]int{}, map[netip.AddrPort]int{}, map[stranger]int{}
	w.accepted, w.gone = map[netip.AddrPort]accepted{}, map[netip.AddrPort]bool{}
	w.former = map[*dissect.Player]bool{}
}

// first reports whether the message is not a copy passed on by a host.
func first(r *dissect.Record) bool { return r.CopyOf == 0 }

// add adds a player. It returns NoPlayer if there are too many.
func (g *game) add() int {
	if len(g.m.Players) >= MaxPlayers {
		g.m.Evicted.add("players", 1)
		return NoPlayer
	}
	g.m.Players = append(g.m.Players, Player{Slot: -1})
	return len(g.m.Players) - 1
}

// client returns the player of the conversation, or NoPlayer while unknown.
func (g *game) client(r *dissect.Record) int {
	if r.Player == nil {
		return NoPlayer
	}
	if m := &g.who.recent[uint(r.Player.Slot)%wire.Slots]; m.player == r.Player {
		return m.at
	}
	return g.meet(r)
}

// meet is client for players who are not in recent. It copies the session's
// present facts about the player.
func (g *game) meet(r *dissect.Record) int {
	if r.Player == nil {
		return NoPlayer
	}
	w := &g.who
	i := g.known(r, r.Player)
	if i == NoPlayer {
		return i
	}
	_, addr := r.Ends()
	if at, ok := w.clients[addr]; !ok || at != i {
		if len(w.clients) < 4*MaxPlayers {
			w.clients[addr] = i
		}
		if !addr.Addr().IsUnspecified() { // unspecified in logs, which lack the address
			g.m.Players[i].Address = addr
		}
	}
	if a, ok := w.accepted[addr]; ok {
		delete(w.accepted, addr)
		g.joins(a.t, a.frame, i)
	}
	w.recent[uint(r.Player.Slot)%wire.Slots] = met{r.Player, i}
	return i
}

// known returns the index of a player of the session.
func (g *game) known(r *dissect.Record, p *dissect.Player) int {
	w := &g.who
	i, ok := w.players[p]
	if !ok {
		if i = g.strange(p); i == NoPlayer {
			if i = g.add(); i == NoPlayer {
				return i
			}
		}
		w.players[p] = i
		delete(w.former, p)
	}
	if other := g.strange(p); other != NoPlayer && other != i {
		i = g.unite(i, other)
	}
	m := &g.m.Players[i]
	m.ID, m.Slot = p.ID, p.Slot
	if p.Name != m.Name {
		g.rename(r.Datagram.Number, i, p.Name)
	}
	if p.Team >= 0 && p.Team < noTeam {
		g.setTeam(r.Datagram.Number, i, p.Team)
	}
	return i
}

// strange returns the player of whom only a number was known until now. The host
// gives the number of one who has left to another.
func (g *game) strange(p *dissect.Player) int {
	for _, s := range [2]stranger{{decode.NetworkID, int64(p.ID)}, {decode.Slot, int64(p.Slot)}} {
		if i, ok := g.who.strangers[s]; ok {
			delete(g.who.strangers, s)
			if g.m.Players[i].Left == nil {
				return i
			}
		}
	}
	return NoPlayer
}

// number returns the player that a number in a message refers to.
func (g *game) number(r *dissect.Record, who decode.Who, n int64) int {
	return g.numbered(r, who.In(r.Sender, r.Dir == dissect.ToHost), n)
}

func (g *game) numbered(r *dissect.Record, by decode.Number, n int64) int {
	switch {
	case by == decode.Self:
		return g.meet(r)
	case by == decode.NoNumber, by == decode.NetworkID && (n <= 0 || n > 255), by == decode.Slot && (n < 0 || n >= wire.Slots):
		return NoPlayer
	}
	if r.Session != nil {
		if p := r.Session.Player(by, n); p != nil {
			return g.known(r, p)
		}
	}
	for i := range g.m.Players { // there is no session
		if r.Session == nil && by == decode.NetworkID && g.m.Players[i].ID == uint8(n) {
			return i
		}
	}
	s := stranger{by, n}
	i, ok := g.who.strangers[s]
	if ok {
		return i
	}
	if i = g.add(); i == NoPlayer {
		return i
	}
	g.who.strangers[s] = i
	if by == decode.Slot {
		g.m.Players[i].Slot = int(n)
	} else {
		g.m.Players[i].ID = uint8(n)
	}
	return i
}

// link records that a network id and a slot belong to one player, if the
// session knows at most one of them.
func (g *game) link(r *dissect.Record, id int32, slot int) {
	if id <= 0 || id > 255 {
		return
	}
	both := [2]stranger{{decode.NetworkID, int64(id)}, {decode.Slot, int64(slot)}}
	found := NoPlayer
	for _, s := range both {
		i, ok := g.who.strangers[s]
		if r.Session != nil {
			if p := r.Session.Player(s.by, s.n); p != nil {
				i, ok = g.known(r, p), true
			}
		}
		switch {
		case !ok:
		case found == NoPlayer:
			found = i
		case found == i:
			return
		default:
			p, q := &g.m.Players[found], &g.m.Players[i]
			if p.Slot >= 0 || q.ID > 0 || p.Address.IsValid() || q.Address.IsValid() {
				return // they are known to be two players
			}
			p.Slot, q.ID = slot, uint8(id)
			g.unite(found, i)
			return
		}
	}
	if found == NoPlayer {
		if found = g.add(); found == NoPlayer {
			return
		}
	}
	p := &g.m.Players[found]
	if p.ID == 0 {
		p.ID = uint8(id)
	}
	if p.Slot < 0 {
		p.Slot = slot
	}
	for _, s := range both {
		if _, ok := g.who.strangers[s]; !ok {
			g.who.strangers[s] = found
		}
	}
}

// byID returns the player with a network id.
func (g *game) byID(r *dissect.Record, id int32) int { return g.number(r, decode.ByID, int64(id)) }

func (g *game) rename(frame, player int, name wire.Untrusted) {
	p := &g.m.Players[player]
	name = clip(name)
	if name == "" || name == p.Name {
		return
	}
	if p.Name != "" {
		g.event(frame, EventName, player, p.Name+" is now called "+name)
	}
	p.Name, p.ShipNamed = name, false
	g.name(player)
	for i := range g.kills {
		if k := &g.m.Kills[i]; k.Victim == player || k.Killer == player {
			g.retell(k, &g.kills[i])
		}
	}
	if len(p.Names) < 16 {
		p.Names = append(p.Names, name)
	}
}

// name inserts the name of a player into events from before it was known.
func (g *game) name(player int) {
	name := g.m.Players[player].Name
	if name == "" {
		return
	}
	for _, e := range g.nameless[player] {
		e.Text = name + e.Text[e.described:]
	}
	delete(g.nameless, player)
}

func (g *game) setTeam(frame, player, team int) {
	p := &g.m.Players[player]
	if p.Team != nil && *p.Team == team {
		return
	}
	p.Team = &team
	g.event(frame, EventTeam, player, g.m.NameOf(player)+wire.Untrusted(" plays for team "+digits(team+1)))
}

// unite makes one player of two who turn out to be the same person. The session
// may learn late that a number belongs to a known player. It returns the index
// of the player.
func (g *game) unite(a, b int) int {
	a, b = min(a, b), max(a, b)
	m := g.m
	p, q := &m.Players[a], &m.Players[b]
	if p.Name == "" || p.ShipNamed && q.Name != "" {
		p.Name, p.Names, p.ShipNamed = q.Name, q.Names, q.ShipNamed
	}
	if p.ID == 0 {
		p.ID = q.ID
	}
	if p.Slot < 0 {
		p.Slot = q.Slot
	}
	if p.Team == nil {
		p.Team = q.Team
	}
	if !p.Address.IsValid() {
		p.Address = q.Address
	}
	p.Joined, p.Ready = earlier(p.Joined, q.Joined), earlier(p.Ready, q.Ready)
	if p.Left == nil || q.Left == nil {
		p.Left, p.LeftHow = nil, ""
	}
	p.Stays = max(p.Stays, q.Stays)
	p.Kills, p.Deaths, p.TeamKills, p.Shots = p.Kills+q.Kills, p.Deaths+q.Deaths, p.TeamKills+q.TeamKills, p.Shots+q.Shots
	if h := q.told; h != nil && (p.told == nil || p.told.Frame < h.Frame) {
		p.told, p.HostSays, p.Score = h, q.HostSays, q.Score
	}
	if p.Damage == nil {
		p.Damage = q.Damage
	} else if q.Damage != nil {
		*p.Damage += *q.Damage
	}
	g.nameless[a] = append(g.nameless[a], g.nameless[b]...)
	delete(g.nameless, b)
	g.name(a)
	m.Players = slices.Delete(m.Players, b, b+1)
	at := func(player *int) {
		switch {
		case *player == b:
			*player = a
		case *player > b:
			*player--
		}
	}
	g.each(at)
	return a
}

// rejoin unites players of the same name if the second one came after the first
// one had left, or had fallen silent and was removed later. Two who were there at
// the same time are two people. A silence can end until the match is final, and
// uniting cannot be undone.
func (g *game) rejoin() {
	rows := map[string][]int{}
	for i := 0; i < len(g.m.Players); i++ {
		key := g.m.Players[i].Key()
		if key == "" {
			continue
		}
		if before := slices.IndexFunc(rows[key], func(j int) bool { return g.back(j, i) }); before < 0 {
			rows[key] = append(rows[key], i)
		} else {
			i-- // the rows after it move up
		}
	}
}

// back unites two players of one name, unless they were there at the same time.
func (g *game) back(i, j int) bool {
	q, p := g.m.Players[i], g.m.Players[j]
	switch {
	case p.Joined == nil || q.Joined == nil:
		return false
	case *p.Joined < *q.Joined:
		p, q = q, p // q came first
	}
	if q.Left == nil || q.LeftHow == LeftSilent && !g.final || *q.Left > *p.Joined && g.heard(&q) > *p.Joined {
		return false
	}
	one := &g.m.Players[g.unite(i, j)]
	one.ID, one.Slot, one.Address, one.Left, one.LeftHow, one.Name = p.ID, p.Slot, p.Address, p.Left, p.LeftHow, p.Name
	one.Stays, one.Visits = q.Stays+p.Stays, append(slices.Clone(q.Visits), p.Visits...)
	if n := len(q.Visits); n > 0 && one.Visits[n-1].Left == nil { // the player fell silent
		v := &one.Visits[n-1]
		v.Left, v.LeftHow, v.Address = q.Left, q.LeftHow, q.Address
	}
	if p.told != nil { // a host that still counts for the first one counts for two
		one.told, one.HostSays, one.Score = p.told, p.HostSays, p.Score
	}
	return true
}

// heard returns when the last datagram of a player came.
func (g *game) heard(p *Player) float64 {
	last := math.Inf(1) // unknown
	for _, l := range g.b.meter.Links() {
		if l.Client == p.Address && l.Host == g.host && l.Dir == dissect.ToHost {
			last = l.Last.Sub(g.b.origin).Seconds()
		}
	}
	return last
}

func earlier(a, b *float64) *float64 {
	if a == nil || b != nil && *b < *a {
		return b
	}
	return a
}

// each calls a function that may change every reference to a player.
func (g *game) each(at func(player *int)) {
	m := g.m
	for i := range m.Lives {
		at(&m.Lives[i].Player)
		at(&m.Lives[i].Killer)
		at(&g.state[i].feed.client)
		at(&g.state[i].block.client)
	}
	for i := range m.Kills {
		k := &m.Kills[i]
		at(&k.Victim)
		at(&k.Killer)
		for n := range k.Assists {
			at(&k.Assists[n].Player)
		}
	}
	for i := range m.Scores {
		at(&m.Scores[i].Player)
	}
	for i := range m.Shots {
		at(&m.Shots[i].Player)
	}
	for i := range m.Damage {
		at(&m.Damage[i].Player)
		at(&m.Damage[i].Victim)
	}
	for i := range m.Chat {
		at(&m.Chat[i].Player)
	}
	for _, e := range g.log {
		at(&e.Player)
	}
	for i := range m.Unusual {
		at(&m.Unusual[i].Player)
	}
	at(&m.Result.Winner)
	for _, list := range [][]int{m.Result.Winners, m.Leaders} {
		for i := range list {
			at(&list[i])
		}
	}
	for class, h := range g.hashes {
		at(&h.player)
		g.hashes[class] = h
	}
	w := &g.who
	w.recent = [wire.Slots]met{}
	renumber(w.players, at)
	renumber(w.clients, at)
	renumber(w.strangers, at)
	g.nameless, g.accidents, g.unarmed, g.later = keys(g.nameless, at), keys(g.accidents, at), keys(g.unarmed, at), keys(g.later, at)
	g.indexOdd()
}

// renumber changes the players that are values of a map, and deletes those that
// become NoPlayer.
func renumber[K comparable](of map[K]int, at func(*int)) {
	for k, i := range of {
		if at(&i); i == NoPlayer {
			delete(of, k)
		} else {
			of[k] = i
		}
	}
}

// keys returns a map with changed players as keys. If two become one, the value
// of the first one stays.
func keys[V any](of map[int]V, at func(*int)) map[int]V {
	out := make(map[int]V, len(of))
	for _, i := range slices.Backward(slices.Sorted(maps.Keys(of))) {
		v := of[i]
		at(&i)
		out[i] = v
	}
	return out
}

// carry moves the players who are there into the next match, if there are any.
func (g *game) carry(old *Match, present bool) {
	at := make([]int, len(old.Players))
	for i := range old.Players {
		p := &old.Players[i]
		at[i] = NoPlayer
		if p.Left != nil || !present {
			continue
		}
		at[i] = len(g.m.Players)
		g.m.Players = append(g.m.Players, Player{
			Name: p.Name, Names: p.Names, ID: p.ID, Slot: p.Slot, Team: p.Team, Address: p.Address, Joined: p.Joined, Ready: p.Ready, Stays: p.Stays, Visits: slices.Clone(p.Visits[max(0, len(p.Visits)-1):]),
		})
	}
	w := &g.who
	w.recent = [wire.Slots]met{}
	for p, i := range w.players {
		if at[i] == NoPlayer && len(w.former) < 4*MaxPlayers {
			w.former[p] = true
		}
	}
	to := func(player *int) { *player = at[*player] }
	renumber(w.players, to)
	renumber(w.clients, to)
	renumber(w.strangers, to)
}
