package conform

import (
	"slices"
	"time"

	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/conform/result"
	"github.com/bcdissect/bcdissect/dissect/packet"
)

// A Client is one client of the captured host, from its connect to its end. One
// that connects again is another client.
type Client struct {
	result.Player
	Joining bool // adopted before it was in the game

	index     int
	listed    bool   // it is in the report
	openBC    bool   // it connected as OpenBC's clients do
	short     bool   // connected with an 8-bit length
	body      []byte // of its connect
	answers   int    // messages besides connects that came from it
	datagrams int    // from and to it
	told      int    // those to it
	left      time.Time
	gone      bool
	putOut    bool      // by the host's word
	cut       bool      // the capture cut short a datagram to it
	admitted  bool      // the host has let it in
	given     uint8     // the id in the host's accept
	spoke     bool      // it has used that id
	ready     bool      // its ClientReady has been played
	entered   time.Time // when it was let in, or said that it is ready
	playing   bool      // it counts as being in the game: it is ready, or was adopted
	asked     int       // ChecksumRequests to it
	settled   bool      // it got its Settings
	settledAt int       // frame of these
	answered  int       // rounds of the checksums that are answered
	readyBy   int64     // a ClientReady with a lower number is late: it was made up
	made      int       // made-up answers, since the capture lacks them
	objects   []wire.ObjectID
	restored  []wire.ObjectID // those of them with made-up creations

	streams   [2]stream // of the host's messages to it, and of its own
	shown     int       // frame of its latest message that the host has acknowledged
	spokeAt   int       // frame of its latest datagram
	dismissed moment    // when the host told others that it has gone
	pieces    pieces
	turns     [2]turns
	leave     *Event // that the host has not acted on
	quit      int    // frame of this
	ended     int    // frame at which it was gone
	receipts  [2]*receipts
	sent      [2]holes // in its messages
	got       [2]holes // in those of the host to it

	seen   time.Time // last datagram of it
	heard  moment    // last datagram of the host to it
	taken  moment    // last acknowledgement of a message of it
	spoken moment    // last message of it
	after  int       // messages with a number since taken

	to     *destination     // of the host's messages to it, nil before the first
	entry  *source          // with which it entered the game, or the last step to it
	unseen map[int64]uint64 // numbers that the capture does not hold, with the keys of their copies
	exit   *source          // with which it left
	said   said             // messages of it that the host passes on
}

// A moment is a time and its frame.
type moment struct {
	time    time.Time
	frame   int
	skipped time.Duration // of the time before that does not count
}

// since returns the time since an earlier moment, with all that does not count.
func (m moment) since(o moment) time.Duration {
	return packet.Sum(m.time.Sub(o.time), m.skipped-o.skipped)
}

// bit is the client's slot as one of those that a message names, 0 if it is not known.
func (c *Client) bit() uint16 {
	if c.Slot < 0 || c.Slot >= wire.Slots {
		return 0
	}
	return 1 << c.Slot
}

// proved reports whether the host knows that the client gets its messages: it has
// used the id that it was given, or the host has acknowledged one of it.
func (c *Client) proved() bool { return c.given == 0 || c.spoke || c.answers > 0 && c.taken.frame > 0 }

// guessed reports whether the capture shows how the client came, but lacks the
// id that the host gave it.
func (c *Client) guessed() bool { return c.admitted && !c.Adopted && c.given == 0 }

// maxObjects bounds the objects that are remembered of a client.
const maxObjects = 64

// begin says when the client's numbers begin, and those of the host's messages
// to it.
func (c *Client) begin() {
	for k := range c.sent {
		c.sent[k].begin()
		c.got[k].begin()
	}
	c.turns[1].begin(0)
}

// created notes an object of the client's. It reports whether it is new.
func (c *Client) created(id wire.ObjectID, r *result.Reached) bool {
	if slices.Contains(c.objects, id) {
		return false
	}
	if len(c.objects) == maxObjects {
		c.objects = slices.Delete(c.objects, 0, 1)
		r[result.LimitMemory]++
	}
	c.objects = append(c.objects, id)
	return true
}

// receipt returns the receipt of a numbered message of the client.
func (c *Client) receipt(r *dissect.Record) *receipt {
	h := &r.Transport
	k := class(h)
	if c.receipts[k] == nil {
		c.receipts[k] = new(receipts)
	}
	return c.receipts[k].sent(r.Number, h.Fragment, h.Index)
}
