package session

import (
	"maps"
	"slices"
	"unsafe"

	"github.com/bcdissect/bcdissect/decode/wire"
)

// Clone returns an independent copy of the table, without Note. The two share
// only constant data.
func (t *Table) Clone() *Table {
	c := *t
	c.Note, c.recycled = nil, nil
	k := cloner{
		table: &c, convs: map[*Conversation]*Conversation{nil: nil}, games: map[*Game]*Game{nil: nil}, players: map[*Player]*Player{nil: nil},
	}
	c.all, c.used = make([]*Conversation, len(t.all)), slices.Clone(t.used)
	c.convs = make(map[pair]*Conversation, len(t.convs))
	for i, conv := range t.all {
		c.all[i] = k.conversation(conv)
		c.convs[pairOf(conv.a, conv.b)] = c.all[i]
	}
	for i, conv := range t.recent {
		c.recent[i] = k.convs[conv]
	}
	c.games = maps.Clone(t.games)
	for host, g := range c.games {
		c.games[host] = k.game(g)
	}
	c.gameOrder = make([]*Game, len(t.gameOrder))
	for i, g := range t.gameOrder {
		c.gameOrder[i] = k.game(g)
	}
	c.others = maps.Clone(t.others)
	return &c
}

// Memory returns the approximate size of a copy of the table in bytes.
func (t *Table) Memory() (n int) {
	for _, c := range t.all {
		n += int(unsafe.Sizeof(*c))
		for i := range c.sides {
			s := &c.sides[i]
			n += s.numbers.Memory() + len(s.tracks)*memoryOfTrack
			if s.fragments != nil {
				_, payload := s.fragments.Held()
				n += payload
			}
		}
	}
	for _, g := range t.gameOrder {
		originals := len(g.updates.all) + len(g.creations.all) + len(g.others.all)
		n += int(unsafe.Sizeof(*g)) + originals*memoryOfOriginal + len(g.objects)*memoryOfObject + len(g.players)*memoryOfPlayer
	}
	return n
}

// Estimates that include the maps and slices around a value, in bytes.
const (
	memoryOfTrack    = 64
	memoryOfOriginal = 64
	memoryOfObject   = 160
	memoryOfPlayer   = 512
)

// A cloner copies the parts of a table. It maps each to its copy.
type cloner struct {
	table   *Table // the copy
	convs   map[*Conversation]*Conversation
	games   map[*Game]*Game
	players map[*Player]*Player
}

func (k *cloner) conversation(c *Conversation) *Conversation {
	d := *c
	d.table, d.game, d.player = k.table, k.game(c.game), k.player(c.player)
	for i := range d.sides {
		s := &d.sides[i]
		s.conv, s.numbers, s.fragments = &d, s.numbers.Clone(), s.fragments.Clone()
		copies := map[*track]*track{nil: nil}
		for _, t := range s.tracks {
			other := *t
			copies[t] = &other
		}
		s.tracks = maps.Clone(s.tracks)
		for id, t := range s.tracks {
			s.tracks[id] = copies[t]
		}
		for j, t := range s.recent {
			s.recent[j] = copies[t]
		}
	}
	k.convs[c] = &d
	return &d
}

func (k *cloner) player(p *Player) *Player {
	c, ok := k.players[p]
	if !ok {
		c = p.Clone()
		k.players[p] = c
	}
	return c
}

func (k *cloner) game(g *Game) *Game {
	if c, ok := k.games[g]; ok {
		return c
	}
	c := *g
	k.games[g] = &c
	k.roster(&c.roster)
	for _, o := range []*originals{&c.updates, &c.creations, &c.others} {
		k.originals(o, &c.original)
	}
	copies := map[*object]*object{nil: nil}
	c.objects = make(map[wire.ObjectID]*object, len(g.objects))
	for id, o := range g.objects {
		other := *o
		other.owner = k.player(o.owner)
		copies[o], c.objects[id] = &other, &other
	}
	for i, o := range c.recent {
		c.recent[i] = copies[o]
	}
	c.order = slices.Clone(g.order)
	c.guesses, c.hashes = maps.Clone(g.guesses), maps.Clone(g.hashes)
	for id, n := range c.guesses {
		other := *n
		c.guesses[id] = &other
	}
	return &c
}

func (k *cloner) roster(r *roster) {
	r.players = slices.Clone(r.players)
	for i, p := range r.players {
		r.players[i] = k.player(p)
	}
	for i, p := range r.byID {
		r.byID[i] = k.player(p)
	}
	for i, p := range r.bySlot {
		r.bySlot[i] = k.player(p)
	}
}

// originals copies a table of originals. The argument last is a pointer into
// one of them.
func (k *cloner) originals(o *originals, last **original) {
	all := o.all
	o.all, o.digests, o.next = slices.Clone(all), slices.Clone(o.digests), slices.Clone(o.next)
	for i := range all {
		o.all[i].author = k.player(all[i].author)
		if *last == &all[i] {
			*last = &o.all[i]
		}
	}
}
