// Package packet holds a datagram as it leaves a capture and enters the
// pipeline, and the interface of its sources. It stands below both.
package packet

import (
	"math"
	"net/netip"
	"time"
)

// A Datagram is one UDP datagram, or what a snap length left of one, together
// with where it stood in its capture.
type Datagram struct {
	Number   int            // frame number in the capture, from 1, as Wireshark counts
	Time     time.Time      // capture time, UTC
	Digits   int8           // decimals of a second that the capture's clock gives, 0 to 9: 6 for microseconds
	Src, Dst netip.AddrPort // unmapped: an IPv4 address is never in IPv6 form
	Payload  []byte         // UDP payload; valid until the source is asked for the next datagram
	Full     int            // payload length on the network; more than len(Payload) if cut short
}

// FullUnknown is the full length of a datagram that was cut short nobody knows
// how far from its end.
const FullUnknown = math.MaxInt

// Truncated reports whether the capture holds less of the datagram than was
// sent.
func (d *Datagram) Truncated() bool { return d.Full > len(d.Payload) }

// A Source yields UDP datagrams in capture order.
type Source interface {
	// Next returns the next datagram. It is valid until the next call. After
	// the last one Next returns [io.EOF] or, if it could not read everything,
	// an error that says why; it goes on returning that.
	Next() (*Datagram, error)
	Close() error
}
