package session

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/ship"
	"github.com/bcdissect/bcdissect/decode/wire"
)

// A guess is the knowledge about a ship without a creation in the capture: the
// species that fit all of its subsystem blocks so far, under each dialect's
// rule.
type guess struct {
	alive  [3]uint64 // indexed by dialect, with a bit for each fitting species
	blocks int       // number of fitting blocks
	starts uint64    // bit set of the start indices seen
	resets int       // how often no species was left
}

// Limits for accepting and abandoning a guess. Blocks of an undamaged ship
// contain little more than lengths, and a single block fits many lists.
const (
	enoughBlocks = 3  // blocks that fit only one list
	enoughStarts = 2  // different start indices
	tooMany      = 64 // blocks after which several lists still fit
	tooOften     = 4  // resets: the ship has an unknown list
	maxGuesses   = 256
)

// species is a bit set of all species with a list.
var species = allSpecies()

func allSpecies() (set uint64) {
	for c := range ship.All() {
		if len(c.Subsystems) > 0 {
			set |= 1 << c.Species
		}
	}
	return set
}

// Infer takes a subsystem block of a ship of unknown class. The function fits
// reports whether a class reads the block to its end in a dialect. When only
// one list is left, Infer sets the class and returns it with the evidence.
func (c *Conversation) Infer(s Side, id wire.ObjectID, start uint8, fits func(*ship.Class, decode.Dialect) bool) (class *ship.Class, why string) {
	if s != Host || c.game == nil {
		return nil, ""
	}
	g := c.game.guess(id)
	if g == nil || g.resets >= tooOften || g.blocks >= tooMany {
		return nil, ""
	}
	dialects := []decode.Dialect{decode.Stock, decode.OpenBC}
	if c.Settled(s) {
		dialects = []decode.Dialect{c.Dialect(s)}
	}
	left := uint64(0)
	for _, d := range dialects {
		for c := range ship.All() {
			if bit := uint64(1) << c.Species; g.alive[d]&bit != 0 && !fits(c, d) {
				g.alive[d] &^= bit
			}
		}
		left |= g.alive[d]
	}
	if left == 0 {
		*g = guess{alive: [3]uint64{0, species, species}, resets: g.resets + 1}
		return nil, ""
	}
	g.blocks++
	g.starts |= 1 << (start & 63)
	if len(dialects) == 2 {
		// A rule that fits no list is not the sender's.
		switch {
		case g.alive[decode.Stock] == 0:
			c.Decide(s, decode.OpenBC, Block)
		case g.alive[decode.OpenBC] == 0:
			c.Decide(s, decode.Stock, Block)
		}
	}
	d := c.Dialect(s)
	if d == decode.Undecided || g.blocks < enoughBlocks || !several(g.starts, enoughStarts) {
		return nil, ""
	}
	class = common(g.alive[d])
	if class == nil {
		return nil, ""
	}
	blocks := g.blocks
	delete(c.game.guesses, id)
	c.game.infer(id, class)
	return class, fmt.Sprintf("the class of ship 0x%08X is inferred: %d subsystem blocks fit %s and no other", uint32(id), blocks, class.Name)
}

// InferByHash gives a ship the class of its client's integrity hash. Hashes are
// learned from ships that were created in the capture.
func (c *Conversation) InferByHash(s Side, id wire.ObjectID, hash uint16, known *ship.Class) (class *ship.Class, why string) {
	if s != Client || c.game == nil {
		return nil, ""
	}
	g := c.game
	have, ok := g.hashes[hash]
	if ok && have == known && known != nil {
		return nil, "" // nothing new
	}
	if !ok {
		for c := range ship.All() {
			if c.Hash != 0 && c.Hash == hash {
				have, ok = c, true
			}
		}
	}
	if known != nil {
		if known.Inferred || len(g.hashes) >= maxGuesses {
			return nil, ""
		}
		if ok && have != known {
			known = nil // several classes have it, so it is no evidence
		}
		if g.hashes == nil {
			g.hashes = map[uint16]*ship.Class{}
		}
		g.hashes[hash] = known
		return nil, ""
	}
	if class = have; class == nil {
		return nil, ""
	}
	class = inferred(class.Name, class)
	g.infer(id, class)
	return class, fmt.Sprintf("the class of ship 0x%08X is inferred: integrity hash 0x%04X is that of %s", uint32(id), hash, class.Name)
}

// Unclassify drops an inferred class that does not fit.
func (g *Game) Unclassify(id wire.ObjectID) {
	o := g.objects[id]
	if o == nil || o.class == nil || !o.class.Inferred {
		return
	}
	o.class = nil
	if n := g.guess(id); n != nil {
		n.resets++
	}
}

func (g *Game) guess(id wire.ObjectID) *guess {
	if n := g.guesses[id]; n != nil {
		return n
	}
	if len(g.guesses) >= maxGuesses {
		return nil
	}
	if g.guesses == nil {
		g.guesses = map[wire.ObjectID]*guess{}
	}
	n := &guess{alive: [3]uint64{0, species, species}}
	g.guesses[id] = n
	return n
}

// infer sets the class of a ship, and its owner if known.
func (g *Game) infer(id wire.ObjectID, class *ship.Class) {
	name, owner := wire.Untrusted(""), (*Player)(nil)
	if o := g.objects[id]; o != nil {
		name, owner = o.name, o.owner
	}
	g.add(id, class, name, owner)
}

func several(set uint64, n int) bool {
	for ; set != 0 && n > 0; n-- {
		set &= set - 1
	}
	return n == 0
}

// common returns the shared class of a set of species if their lists have the
// same shape, or nil otherwise.
func common(set uint64) *ship.Class {
	var all []*ship.Class
	for c := range ship.All() {
		if set&(1<<c.Species) != 0 {
			all = append(all, c)
		}
	}
	if len(all) == 0 {
		return nil
	}
	if playable := slices.DeleteFunc(slices.Clone(all), func(c *ship.Class) bool { return !c.Playable }); len(playable) > 0 {
		all = playable
	}
	for _, c := range all[1:] {
		if !sameShape(all[0], c) {
			return nil
		}
	}
	names := make([]string, len(all))
	for i, c := range all {
		names[i] = c.Name
	}
	return inferred(strings.Join(names, " or "), all...)
}

// inferred returns a class that represents all given ones. Its entries have
// only the names common to all.
func inferred(name string, all ...*ship.Class) *ship.Class {
	c := *all[0]
	c.Name, c.Inferred = name, true
	c.Subsystems = slices.Clone(c.Subsystems)
	for i := range c.Subsystems {
		for _, other := range all[1:] {
			if n := other.Subsystems[i].Name; n != c.Subsystems[i].Name {
				c.Subsystems[i].Name += " or " + n
			}
		}
	}
	return &c
}

// sameShape reports whether the lists of two classes have the same wire format.
func sameShape(a, b *ship.Class) bool {
	if len(a.Subsystems) != len(b.Subsystems) {
		return false
	}
	for i := range a.Subsystems {
		x, y := &a.Subsystems[i], &b.Subsystems[i]
		if x.Kind != y.Kind || (x.Role == ship.Shield) != (y.Role == ship.Shield) || len(x.Children) != len(y.Children) {
			return false
		}
	}
	return true
}
