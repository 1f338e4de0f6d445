package suite

import (
	"net/netip"
	"time"

	"github.com/bcdissect/bcdissect/dissect/relay"
)

// A Driver carries datagrams between the clients of the suite and the tested
// host, and has the clock.
type Driver interface {
	Now() time.Time
	// Host returns the address of the host.
	Host() netip.AddrPort
	// Open opens a socket and returns its address.
	Open() (netip.AddrPort, error)
	// Listen opens a socket at a local address, which receives datagrams from any
	// sender.
	Listen(local netip.AddrPort) error
	// Close closes a socket.
	Close(local netip.AddrPort)
	// Send sends a datagram, which is borrowed until the call returns.
	Send(local netip.AddrPort, datagram []byte) error
	// Receive waits for the next datagram of the host, or of any sender if Listen
	// opened the socket, at most until the given time. The datagram belongs to the
	// caller.
	Receive(until time.Time) (a relay.Arrival, ok bool)
	// Refused returns the system's error since the last datagram came, for example
	// that no program listens there. It returns nil if there is none.
	Refused() error
}

// A Frame is a datagram of a run.
type Frame struct {
	Number   int // number of the frame, from 1
	At       time.Time
	From, To netip.AddrPort
	Datagram []byte // datagram as on the network
	Cases    []string
}

// The bounds of a recording.
const (
	mostFrames = 400_000
	mostBytes  = 96 << 20
)

// A recording has the datagrams of a run.
type recording struct {
	frames []Frame
	bytes  int
	lost   int
}

// add stores a copy of a datagram and returns its number.
func (r *recording) add(at time.Time, from, to netip.AddrPort, datagram []byte, c *Case) int {
	n := len(r.frames) + r.lost + 1
	if len(r.frames) >= mostFrames || r.bytes+len(datagram) > mostBytes {
		r.lost++
		return n
	}
	r.bytes += len(datagram)
	f := Frame{Number: n, At: at, From: from, To: to, Datagram: append([]byte(nil), datagram...)}
	if c != nil {
		f.Cases = []string{c.ID}
	}
	r.frames = append(r.frames, f)
	return n
}

// next returns the number of the next frame.
func (r *recording) next() int { return len(r.frames) + r.lost + 1 }
