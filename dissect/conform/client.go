package conform

import (
	"time"

	"github.com/bcdissect/bcdissect/dissect/conform/result"
	"github.com/bcdissect/bcdissect/dissect/measure"
	"github.com/bcdissect/bcdissect/dissect/packet"
)

// A Client is a client of the captured host, from its connect to its end. If it
// connects again, that is another Client.
type Client struct {
	result.Player

	openBC   bool   // it connected as OpenBC's clients do: with an 8-bit length
	body     []byte // body of its connect
	gone     bool
	cut      bool  // the capture truncated a datagram to it
	admitted bool  // the host has admitted the client
	given    uint8 // id in the host's accept
	spoke    bool  // the client has used that id
	playing  bool  // it counts as in the game: it is ready, or was adopted
	settled  int   // frame of its Settings, 0 before that
	answered int   // number of answered rounds of checksums, in order

	sent      [2]track // its numbered messages, by class
	got       [2]track // the host's numbered messages to it
	shown     int      // frame of its latest message that the host acknowledged
	dismissed moment   // when the host told others that it has left
	leave     *Event   // its leave, as long as the host has not acted on it
	quit      int      // frame of the leave
	ended     moment   // when the client was gone
	quiet     bool     // it counts as gone only because the host was silent

	seen         moment         // when it sent its latest datagram
	lastFromHost moment         // when the host last sent it a datagram
	taken        moment         // when the host last acknowledged one of its messages
	spoken       moment         // when it last sent a numbered message
	after        int            // number of its numbered messages since taken
	still        int            // number of its messages since it was dismissed
	signs        int            // number of signs that what it sends reaches the host
	held         int            // after the host sent it something again, so that it may wait with other messages: number of signs that end this
	served       int            // frame of the latest datagram of the host to it, while it was not held
	heard        measure.Trials // its messages without numbers that the host passes on. They fail if nobody got a copy.

	to    *destination // the host's messages to it, nil before the first
	entry *source      // message with which it entered the game, or the last step before that
	exit  *source      // message with which it left
	said  []*source    // its messages that the host passes on, in the order of their numbers
}

// A moment is a time and the frame at that time.
type moment struct {
	time    time.Time
	frame   int
	skipped time.Duration // part of the time before it that does not count
}

// since returns the time since an earlier moment, including what does not
// count.
func (m moment) since(o moment) time.Duration {
	return packet.Sum(m.time.Sub(o.time), m.skipped-o.skipped)
}

// bit returns the client's bit in a set of slots, or 0 if its slot is unknown.
func (c *Client) bit() uint16 {
	return 1 << uint(c.Slot) //nolint:gosec // an unknown slot shifts all out
}

// proved reports whether the host knows that the client receives its messages:
// the client has used the id that it was given, or the host has acknowledged
// one of its messages after the connect.
func (c *Client) proved() bool { return c.given == 0 || c.spoke || c.shown > c.First }

// isReady reports whether the client has entered the game with a ClientReady.
func (c *Client) isReady() bool { return c.entry != nil && c.entry.Kind == Input }

// spokeSince reports whether the client has sent messages long after the host's
// last sign, at least two of which the host has not acknowledged.
func (c *Client) spokeSince(sign moment) bool {
	return c.after > 1 && c.spoken.time.Sub(sign.time) > silent
}

// letIn reports whether the capture shows that the client came into the game.
func (c *Client) letIn() bool { return c.settled > 0 || c.playing }
