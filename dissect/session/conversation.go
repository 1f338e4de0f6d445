package session

import (
	"hash/maphash"
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

	name     string // of the client's player
	id       uint8  // the client's peer id, 0 until it is known
	slot     int    // the client's slot, -1 until it is known
	accepted bool   // the client has used an id of its own
	asked    bool   // the connect request was seen
	ready    bool   // the client has said that it is ready to play
	nonce    uint32 // of the connect request, 0 if there was none
}

// side is what is remembered of one sender in a conversation. It answers what
// decoding that sender's messages needs to know.
type side struct {
	conv      *Conversation
	voice     voice // of a client; a host's is kept with its game
	windows   [2]window
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
		windows, tracks := s.windows, s.tracks
		*s = side{conv: c, voice: voice{dialect: c.table.forced}}
		// Their memory is used again.
		for i := range windows {
			clear(windows[i].seen)
			s.windows[i] = window{seen: windows[i].seen, order: windows[i].order[:0]}
		}
		clear(tracks)
		s.tracks = tracks
	}
	c.name, c.id, c.slot, c.nonce = "", 0, -1, 0
	c.accepted, c.asked, c.ready = false, false, false
}

// Restart forgets what belongs to the connection: sequence numbers,
// fragments, the player. The host stays who it is.
func (c *Conversation) Restart() { c.reset() }

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

// Client returns name and peer id of the client's player: empty and 0 if they
// are not known.
func (c *Conversation) Client() (name string, id uint8) {
	if c.name != "" || c.game == nil {
		return c.name, c.id
	}
	return c.game.Player(c.id), c.id
}

// Heard takes note of a sender's peer id.
func (c *Conversation) Heard(s Side, id uint8) {
	if s == Client && id != transport.UnassignedPeer && id != c.id {
		c.id, c.accepted = id, true
	}
}

// Connect takes note of a client's connect request and reports whether it
// begins a new connection. A stock client that tries again uses its nonce
// again; a client that sends none begins anew once it had been let in.
func (c *Conversation) Connect(nonce uint32) (restart bool) {
	restart = c.accepted
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

// A window remembers the reliable messages of one sequence space that can
// still be repeated. A number alone does not tell: senders that keep 8 bits of
// it use the same one again within seconds.
type window struct {
	seen  map[uint64]int64 // digest of a message to when it was last seen, in nanoseconds
	order []uint64         // digests in the order of their first sighting
	first int              // index of the oldest; those before it are forgotten
	next  uint16           // the number that follows the highest seen
	any   bool
}

// Arrive takes note of a reliable message. Repeated tells that it was there
// before; missing is how many numbers before this one have been passed over
// just now.
func (c *Conversation) Arrive(s Side, now time.Time, h *transport.Header, message []byte) (repeated bool, missing int) {
	class := 1
	if h.Control() {
		class = 0
	}
	w := &c.sides[s].windows[class]
	// The digest covers the header, and with it the number.
	if w.sight(maphash.Bytes(c.table.seed, message), now.UnixNano(), c.table.limits.Repeat.Nanoseconds(), c.table.limits.Repeatable) {
		return true, 0
	}
	return false, w.advance(h.Seq)
}

// sight reports whether a message was seen before within the time, and
// remembers it. What cannot be repeated any more goes; beyond the limit, so
// does the oldest.
func (w *window) sight(digest uint64, at, within int64, limit int) bool {
	if w.seen == nil {
		w.seen = map[uint64]int64{}
	}
	before, known := w.seen[digest]
	w.seen[digest] = at
	if known {
		return at-before <= within && before-at <= within
	}
	w.order = append(w.order, digest)
	for oldest := w.order[w.first]; len(w.order)-w.first > limit || at-w.seen[oldest] > within; oldest = w.order[w.first] {
		delete(w.seen, oldest)
		w.first++
	}
	if w.first > len(w.order)/2 { // the part in front is free: use it again
		w.order = w.order[:copy(w.order, w.order[w.first:])]
		w.first = 0
	}
	return false
}

// Fragment takes note of the number of a fragment, whose repetitions the
// fragment table knows.
func (c *Conversation) Fragment(s Side, seq uint16) (missing int) {
	return c.sides[s].windows[1].advance(seq)
}

// advance returns how many numbers lie between the highest seen so far and
// seq. Senders that keep 8 bits of the number go from 255 to 0.
func (w *window) advance(seq uint16) (missing int) {
	if !w.any {
		w.any, w.next = true, seq+1
		return 0
	}
	d := int16(seq - w.next)
	if d < 0 {
		if w.next == 256 && seq < 128 { // 255 was the last one before
			w.next = seq + 1
			return int(seq)
		}
		return 0
	}
	w.next = seq + 1
	return int(d)
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
