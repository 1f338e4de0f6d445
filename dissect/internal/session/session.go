// Package session has the state for decoding: conversations with their host
// side, the dialect of each sender, the messages seen so far, and the objects,
// players and positions known from messages.
//
// [Limits] bound all of it. Evictions take the least recently used entry first
// and are counted.
package session

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/ship"
	"github.com/bcdissect/bcdissect/dissect/internal/fragment"
)

// A Side is one end of a conversation.
type Side uint8

// The sides.
const (
	Client Side = iota
	Host
)

// String returns the side as named in notes.
func (s Side) String() string {
	if s == Host {
		return "host"
	}
	return "client"
}

// Limits bound the state.
type Limits struct {
	Conversations int             // address pairs
	Games         int             // hosts
	Objects       int             // per game
	Players       int             // per game
	Tracks        int             // objects with a base position, per side of a conversation
	Fragments     fragment.Limits // per side of a conversation
}

// DefaultLimits returns limits that exceed any real session.
func DefaultLimits() Limits {
	return Limits{
		Conversations: 256,
		Games:         64,
		Objects:       4096,
		Players:       1024,
		Tracks:        1024,
		Fragments:     fragment.DefaultLimits(),
	}
}

// A Table holds the conversations of a capture.
type Table struct {
	limits Limits
	forced decode.Dialect
	ships  *ship.Class // default class of unknown objects

	convs    map[pair]*Conversation
	recycled *Conversation // most recently evicted one, for reuse
	// Conversations by port, to find most of them without the map.
	recent [256]*Conversation
	all    []*Conversation
	used   []uint64 // last use of each of all, as a count of uses

	games     map[netip.AddrPort]*Game
	gameOrder []*Game // least recently used first
	use       uint64  // counts uses

	// Note, if set, receives notes about the current datagram.
	Note func(code, text string)

	Evicted int // evicted conversations

	others map[pair]int // numbers of conversations outside the game
	opened int          // conversations so far
}

// pair is an address pair, independent of the direction.
type pair struct{ low, high netip.AddrPort }

func pairOf(a, b netip.AddrPort) pair {
	if less(b, a) {
		a, b = b, a
	}
	return pair{a, b}
}

func less(a, b netip.AddrPort) bool {
	if c := a.Addr().Compare(b.Addr()); c != 0 {
		return c < 0
	}
	return cmp.Less(a.Port(), b.Port())
}

// NewTable returns an empty table. A forced dialect other than Undecided
// applies to every sender.
func NewTable(l Limits, forced decode.Dialect) *Table {
	return &Table{
		limits: l,
		forced: forced,
		convs:  map[pair]*Conversation{},
		games:  map[netip.AddrPort]*Game{},
		others: map[pair]int{},
	}
}

// AssumeShips sets the default class of unknown objects.
func (t *Table) AssumeShips(class *ship.Class) { t.ships = class }

func (t *Table) note(code, text string) {
	if t.Note != nil {
		t.Note(code, text)
	}
}

// Number returns the number of the conversation between two addresses, which
// need not belong to the game.
func (t *Table) Number(a, b netip.AddrPort) int {
	if c := t.Lookup(a, b); c != nil {
		return c.serial
	}
	p := pairOf(a, b)
	n, ok := t.others[p]
	if !ok {
		if len(t.others) >= t.limits.Conversations {
			clear(t.others) // remaining pairs get new numbers
		}
		n = t.claim(p)
		t.others[p] = n
	}
	return n
}

// claim returns the number of a pair that becomes a conversation of the game.
func (t *Table) claim(p pair) int {
	if n, ok := t.others[p]; ok {
		delete(t.others, p)
		return n
	}
	t.opened++
	return t.opened
}

// Lookup returns the conversation between two addresses, or nil.
func (t *Table) Lookup(a, b netip.AddrPort) *Conversation {
	recent := t.recentOf(a, b)
	c := *recent
	if c == nil || !c.between(a, b) {
		if c = t.convs[pairOf(a, b)]; c == nil {
			return nil
		}
		*recent = c
	}
	return c
}

// recentOf returns the cache slot for two addresses.
func (t *Table) recentOf(a, b netip.AddrPort) **Conversation {
	const golden = 40503 // spreads ports that differ in few bits
	return &t.recent[(a.Port()^b.Port())*golden>>8]
}

// Rest frees memory of conversations at rest.
func (t *Table) Rest(now time.Time) {
	for _, c := range t.all {
		for i := range c.sides {
			c.sides[i].numbers.Rest(now, c.ended)
		}
	}
}

// Open starts the conversation between two addresses. It may evict another one,
// which is returned and stays valid until the next call.
func (t *Table) Open(a, b netip.AddrPort) (c, evicted *Conversation) {
	at := len(t.all)
	if at >= t.limits.Conversations && at > 0 {
		at = slices.Index(t.used, slices.Min(t.used))
		evicted = t.all[at]
		evicted.leave()
		delete(t.convs, pairOf(evicted.a, evicted.b))
		if recent := t.recentOf(evicted.a, evicted.b); *recent == evicted {
			*recent = nil
		}
		t.Evicted++
	}
	if c = t.recycled; c == nil {
		c = new(Conversation)
	}
	t.recycled = evicted
	*c = Conversation{table: t, serial: t.claim(pairOf(a, b)), place: at, a: a, b: b, sides: c.sides}
	c.reset()
	t.convs[pairOf(a, b)] = c
	t.use++
	if evicted == nil {
		t.all, t.used = append(t.all, c), append(t.used, t.use)
	} else {
		t.all[at], t.used[at] = c, t.use
	}
	return c, evicted
}

// All calls f for every conversation, most recently used first.
func (t *Table) All(f func(*Conversation)) {
	order := slices.Clone(t.all)
	slices.SortFunc(order, func(a, b *Conversation) int { return cmp.Compare(t.used[b.place], t.used[a.place]) })
	for _, c := range order {
		f(c)
	}
}

// game returns the game of a host, and the host of an evicted game, if any.
func (t *Table) game(host netip.AddrPort) (g *Game, gone netip.AddrPort) {
	t.use++
	if g := t.games[host]; g != nil {
		g.used = t.use
		return g, gone
	}
	if len(t.games) >= t.limits.Games {
		oldest := t.gameOrder[0]
		for _, g := range t.gameOrder {
			if g.used < oldest.used {
				oldest = g
			}
		}
		gone = oldest.host
		delete(t.games, gone)
		for i, g := range t.gameOrder {
			if g == oldest {
				t.gameOrder = append(t.gameOrder[:i], t.gameOrder[i+1:]...)
				break
			}
		}
	}
	g = newGame(host, &t.limits)
	g.used = t.use
	g.voice.dialect = t.forced
	t.games[host] = g
	t.gameOrder = append(t.gameOrder, g)
	return g, gone
}

// IsHost reports whether an address is known to host a game.
func (t *Table) IsHost(a netip.AddrPort) bool { return t.games[a] != nil }
