// Package packet defines datagrams on their way from a capture to the pipeline,
// and the interface of their sources. It stands below both.
package packet

import (
	"math"
	"net/netip"
	"time"
)

// A Datagram is one UDP datagram, possibly truncated by a snap length, with its
// place in the capture.
type Datagram struct {
	Number   int            // frame number in the capture, from 1, as Wireshark counts
	Time     time.Time      // capture time, UTC
	After    time.Duration  // since the frame before, 0 for the first
	Digits   int8           // precision of the capture's clock in decimals of a second, 0 to 9: 6 for microseconds
	Src, Dst netip.AddrPort // unmapped: an IPv4 address is never in IPv6 form
	Payload  []byte         // UDP payload; valid until the next datagram is read
	Full     int            // payload length on the network; more than len(Payload) if truncated
	WireLen  int            // length of the frame on the network, of the last one if there were fragments; 0 if unknown
	Capture  string         // name of the file, if several are read as one stream
	Form     Form           // of Payload
	Damaged  bool           // the checksum of the IP header is wrong, so that Src and Dst may be, too
	IPID     uint16         // identification in the IPv4 header; 0 if unset or unknown, as in IPv6 and logs
}

// A Form is the form in which a source has the game's traffic.
type Form uint8

// The forms. All but the first are deciphered.
const (
	Wire       Form = iota // datagrams, as on the network
	Clear                  // datagrams, deciphered, in a capture that is marked so
	Message                // a transport message without its datagram, with an unknown sender
	FromClient             // a game message of a client without its transport message
	FromHost               // the same of a host
)

// NotesMark begins and ends the trailer of an annotated frame, whose datagram is
// deciphered. Programs that copy frames keep it; a snap length may leave its
// beginning only.
const NotesMark = "bcnotes1"

// Whole reports whether the source has whole datagrams.
func (f Form) Whole() bool { return f <= Clear }

// FullUnknown is the full length of a truncated datagram of unknown length.
const FullUnknown = math.MaxInt

// Truncated reports whether the capture lacks the end of the datagram.
func (d *Datagram) Truncated() bool { return d.Full > len(d.Payload) }

// A Source yields UDP datagrams in capture order.
type Source interface {
	// Next returns the next datagram, which is valid until the next call. After
	// the last one Next returns [io.EOF] or, if it could not read everything, the
	// reason, and keeps returning it.
	Next() (*Datagram, error)
	Close() error
}
