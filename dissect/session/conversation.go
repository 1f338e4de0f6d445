package session

import (
	"net/netip"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/ship"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/fragment"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// A Conversation is what two addresses said to each other since the last
// connect.
type Conversation struct {
	table *Table
	place int            // in the table
	a, b  netip.AddrPort // in the order of the first datagram

	known  bool // whether the host side is known
	hostIs netip.AddrPort
	game   *Game // of the host, nil until it is known

	sides [2]side

	serial int     // see Serial
	bit    uint64  // stands for the conversation among those of its game
	player *Player // of the game; nil until it is known
	id     uint8   // the client's peer id, 0 until it is known
	given  bool    // by the host; else it is the one that the client uses
	slot   int     // the client's slot, -1 until it is known
	spoke  bool    // the client has used an id of its own
	warned bool    // the client uses another id than it was given, and a note says so
	turned bool    // there was no room for another player, and a note says so
	asked  bool    // the connect request was seen
	ready  bool    // the client has said that it is ready to play
	nonce  uint32  // of the connect request, 0 if there was none
}

// side is what is remembered of one sender in a conversation. It answers what
// decoding that sender's messages needs to know.
type side struct {
	conv      *Conversation
	voice     voice // of a client; a host's is kept with its game
	numbers   transport.Tracker
	fragments *fragment.Table
	tracks    map[wire.ObjectID]*track
	recent    [places]*track // of the objects of each player slot, to find most of them without the map
}

// A track is the last absolute position that a sender gave for an object.
type track struct {
	id wire.ObjectID
	at wire.Vec3
}

// between reports whether the conversation is that of two addresses.
func (c *Conversation) between(a, b netip.AddrPort) bool {
	return c.a == a && c.b == b || c.a == b && c.b == a
}

func (c *Conversation) reset() {
	for i := range c.sides {
		s := &c.sides[i]
		numbers, tracks := s.numbers, s.tracks
		*s = side{conv: c, voice: voice{dialect: c.table.forced}}
		// Their memory is used again.
		s.numbers = numbers
		s.numbers.Reset()
		clear(tracks)
		s.tracks = tracks
	}
	c.player, c.id, c.slot, c.nonce = nil, 0, -1, 0
	c.given, c.spoke, c.warned, c.turned, c.asked, c.ready = false, false, false, false, false, false
}

// Restart forgets what belongs to the connection: sequence numbers,
// fragments, the player. The host stays who it is.
func (c *Conversation) Restart() {
	c.leave()
	c.reset()
}

// Flush gives the fragments that never became whole to lost, and forgets them.
func (c *Conversation) Flush(lost func(Side, fragment.Group)) {
	for s := range c.sides {
		if f := c.sides[s].fragments; f != nil {
			for _, g := range f.Flush() {
				lost(Side(s), g)
			}
		}
	}
}

// Addresses returns host and client; known is false while it is not clear
// which is which.
func (c *Conversation) Addresses() (host, client netip.AddrPort, known bool) {
	if c.hostIs == c.a {
		return c.a, c.b, c.known
	}
	return c.b, c.a, c.known
}

// HostKnown reports whether it is clear which address is the host.
func (c *Conversation) HostKnown() bool { return c.known }

// SetHost settles which address is the host. It returns the host of the game
// that was given up to keep to the limit, if one was.
func (c *Conversation) SetHost(host netip.AddrPort) (gone netip.AddrPort) {
	if c.known {
		return gone
	}
	c.known, c.hostIs = true, host
	c.game, gone = c.table.game(host)
	c.bit = bitOf(c.game.heard)
	c.game.heard++
	return gone
}

// SideOf returns the side that an address is on.
func (c *Conversation) SideOf(src netip.AddrPort) (s Side, known bool) {
	if !c.known {
		return Client, false
	}
	if src == c.hostIs {
		return Host, true
	}
	return Client, true
}

// Env returns what decoding the side's messages may ask.
func (c *Conversation) Env(s Side) decode.Env { return &c.sides[s] }

// Game returns the game of the conversation, nil while the host is not known.
func (c *Conversation) Game() *Game { return c.game }

// Connect takes note of a client's connect request and reports whether it
// begins a new connection. A stock client that tries again uses its nonce
// again; a client that sends none begins anew once it had been let in.
func (c *Conversation) Connect(nonce uint32) (restart bool) {
	restart = c.spoke
	if nonce != 0 && nonce == c.nonce {
		restart = false
	} else if nonce != 0 && c.nonce != 0 {
		restart = true
	}
	return restart
}

// Connected remembers the nonce of the request that began the connection.
func (c *Conversation) Connected(nonce uint32) { c.nonce, c.asked = nonce, true }

// Ready takes note that the client is ready to play.
func (c *Conversation) Ready() { c.ready = true }

// Joining reports whether the client is known not to be ready to play yet.
func (c *Conversation) Joining() bool { return c.asked && !c.ready }

// Number returns what the number of a side's message tells, which is no
// acknowledgement: whether it repeats an earlier one, and what is missing before
// it. Alone tells that nothing else is in its datagram.
func (c *Conversation) Number(s Side, now time.Time, h *transport.Header, message []byte, alone bool) transport.Verdict {
	return c.sides[s].numbers.Take(h, message, now, alone)
}

// Fragments returns the fragment table of a side.
func (c *Conversation) Fragments(s Side) *fragment.Table {
	f := &c.sides[s].fragments
	if *f == nil {
		*f = fragment.New(c.table.limits.Fragments)
	}
	return *f
}

// Ship implements [decode.Env].
func (s *side) Ship(id wire.ObjectID) *ship.Class {
	if s.conv.game != nil {
		if o := s.conv.game.object(id); o != nil {
			return o.class
		}
	}
	return s.conv.table.ships
}

// Base implements [decode.Env].
func (s *side) Base(id wire.ObjectID) (wire.Vec3, bool) {
	if t := s.trackOf(id); t != nil {
		return t.at, true
	}
	return wire.Vec3{}, false
}

// trackOf returns what is known of an object's position, nil if nothing is.
func (s *side) trackOf(id wire.ObjectID) *track {
	recent := &s.recent[bySlot(id)]
	if t := *recent; t != nil && t.id == id {
		return t
	}
	t := s.tracks[id]
	if t != nil {
		*recent = t
	}
	return t
}

// places is how many objects are found without a map: one for each player slot.
const places = 16

// bySlot spreads objects over the places, so that the ships of a game's players
// have one each.
func bySlot(id wire.ObjectID) int { return int(id+1) >> 18 & (places - 1) }

// track remembers the absolute position that a sender gave for an object of
// which there was none.
func (s *side) track(id wire.ObjectID, p wire.Vec3) {
	if len(s.tracks) >= s.conv.table.limits.Tracks {
		return // a sender with so many objects is not a player; its later ones go without
	}
	if s.tracks == nil {
		s.tracks = map[wire.ObjectID]*track{}
	}
	s.tracks[id] = &track{id, p}
}
