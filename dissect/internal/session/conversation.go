package session

import (
	"net/netip"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/ship"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/internal/fragment"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// A Conversation is the traffic between two addresses since the last connect.
type Conversation struct {
	table *Table
	place int            // index in the table
	a, b  netip.AddrPort // in the order of the first datagram's source and destination

	known  bool // whether the host side is known
	hostIs netip.AddrPort
	game   *Game // game of the host, nil until known

	sides [2]side

	serial int       // see Serial
	bit    uint64    // the conversation's bit in its game
	player *Player   // player of the game, nil until known
	id     uint8     // the client's peer id, 0 until known
	given  bool      // id was assigned by the host. Otherwise it is the one that the client uses.
	slot   int       // slot of the client, -1 until known
	spoke  bool      // the client has used its own id
	warned bool      // a note has reported that the client uses another id than the assigned one
	turned bool      // a note has reported that there was no room for another player
	asked  bool      // the connect request was seen
	begun  time.Time // time of the first numbered message
	ready  bool      // the client has sent that it is ready to play
	scored bool      // the client was sent scores
	ended  bool      // the client has left, or the host has removed it
	nonce  uint32    // nonce of the connect request, 0 if there was none
}

// side is the state of one sender in a conversation. It is the environment for
// decoding that sender's messages.
type side struct {
	conv      *Conversation
	voice     Voice // of a client. The game has the voice of the host.
	numbers   transport.Tracker
	fragments *fragment.Table
	tracks    map[wire.ObjectID]*track
	recent    [places]*track // by player slot, to find most objects without the map
}

// A track is a sender's last absolute position of an object.
type track struct {
	id wire.ObjectID
	at wire.Vec3
}

// between reports whether the conversation is between two addresses.
func (c *Conversation) between(a, b netip.AddrPort) bool {
	return c.a == a && c.b == b || c.a == b && c.b == a
}

// Touch makes the conversation the most recently used one.
func (c *Conversation) Touch() {
	c.table.use++
	c.table.used[c.place] = c.table.use
}

func (c *Conversation) reset() {
	for i := range c.sides {
		s := &c.sides[i]
		numbers, tracks := s.numbers, s.tracks
		*s = side{conv: c, voice: Voice{dialect: c.table.forced}}
		// Keep their memory for reuse.
		s.numbers = numbers
		s.numbers.Reset()
		clear(tracks)
		s.tracks = tracks
	}
	c.player, c.id, c.slot, c.nonce, c.begun = nil, 0, -1, 0, time.Time{}
	c.given, c.spoke, c.warned, c.turned, c.asked, c.ready, c.scored, c.ended = false, false, false, false, false, false, false, false
}

// Restart forgets the state of the connection: sequence numbers, fragments, the
// player. It keeps the host.
func (c *Conversation) Restart() {
	c.leave()
	c.reset()
}

// Flush passes the incomplete messages to lost, and forgets them.
func (c *Conversation) Flush(lost func(Side, fragment.Group)) {
	for s := range c.sides {
		if f := c.sides[s].fragments; f != nil {
			for _, g := range f.Flush() {
				lost(Side(s), g)
			}
		}
	}
}

// Addresses returns host and client. The result known is false until the host
// is known.
func (c *Conversation) Addresses() (host, client netip.AddrPort, known bool) {
	if c.hostIs == c.a {
		return c.a, c.b, c.known
	}
	return c.b, c.a, c.known
}

// HostKnown reports whether the host is known.
func (c *Conversation) HostKnown() bool { return c.known }

// SetHost sets the host's address. It returns the host of an evicted game, if
// any.
func (c *Conversation) SetHost(host netip.AddrPort) (gone netip.AddrPort) {
	if c.known {
		return gone
	}
	c.known, c.hostIs = true, host
	c.game, gone = c.table.game(host)
	c.bit = bitOf(c.game.conversations)
	c.game.conversations++
	return gone
}

// SideOf returns the side of an address.
func (c *Conversation) SideOf(src netip.AddrPort) (s Side, known bool) {
	if !c.known {
		return Client, false
	}
	if src == c.hostIs {
		return Host, true
	}
	return Client, true
}

// Env returns the environment for decoding the side's messages.
func (c *Conversation) Env(s Side) decode.Env { return &c.sides[s] }

// Game returns the game of the conversation, or nil until the host is known.
func (c *Conversation) Game() *Game { return c.game }

// connectAgain is the time after which a client repeats a connect request that was
// not accepted (docs/protocol.md). No client begins another connection so soon.
const connectAgain = time.Second

// Connect handles a client's connect request and reports whether it begins a
// new connection. A stock client retries with the same nonce. A client without
// a nonce begins a new connection if it had been admitted. If the connection
// has just begun, the request is a late one or a copy, and does not begin
// another.
func (c *Conversation) Connect(nonce uint32, now time.Time) (restart bool) {
	restart = c.spoke && now.Sub(c.begun) >= connectAgain
	if nonce != 0 && nonce == c.nonce {
		restart = false
	} else if nonce != 0 && c.nonce != 0 {
		restart = true
	}
	return restart
}

// Connected stores the nonce of the request that began the connection.
func (c *Conversation) Connected(nonce uint32) { c.nonce, c.asked, c.ended = nonce, true, false }

// Ended records that the client has left, or that the host has removed it.
func (c *Conversation) Ended() { c.ended = true }

// Ready records that the client is ready to play.
func (c *Conversation) Ready() { c.ready = true }

// seen reports whether the client was seen to join, up to its Settings.
func (c *Conversation) seen() bool { return c.asked && c.slot >= 0 }

// Scored records that the client was sent scores. It reports whether the client
// has its Settings but is not ready to play.
func (c *Conversation) Scored() bool {
	c.scored = true
	return c.seen() && !c.ready
}

// Unscored reports whether the client was seen to join, and was sent no scores.
func (c *Conversation) Unscored() bool { return c.seen() && !c.scored }

// Number tracks the number of a side's message other than an acknowledgement,
// and reports duplicates and missing numbers. The argument single means that
// the message is the only one in its datagram.
func (c *Conversation) Number(s Side, now time.Time, h *transport.Header, message []byte, single bool) transport.Verdict {
	if c.begun.IsZero() {
		c.begun = now
	}
	return c.sides[s].numbers.Take(h, message, now, single)
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

// trackOf returns the position track of an object, or nil.
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

// places is the number of objects found without a map: one for each player
// slot.
const places = 16

// bySlot spreads objects over the places, so that each player's ship has its
// own.
func bySlot(id wire.ObjectID) int { return int(id+1) >> 18 & (places - 1) }

// track stores the first absolute position from a sender for an object.
func (s *side) track(id wire.ObjectID, p wire.Vec3) {
	if len(s.tracks) >= s.conv.table.limits.Tracks {
		return // it is not a player's, and the host's later objects get no position
	}
	if s.tracks == nil {
		s.tracks = map[wire.ObjectID]*track{}
	}
	s.tracks[id] = &track{id, p}
}
