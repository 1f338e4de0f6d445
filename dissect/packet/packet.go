// Package packet defines datagrams on their way from a capture to the pipeline,
// and the interface of their sources. Capture and pipeline import it, and it
// imports neither.
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
	Time     time.Time      // capture time in UTC
	After    time.Duration  // time since the frame before, 0 for the first frame
	Digits   int8           // precision of the capture's clock in decimals of a second, 0 to 9. For example, 6 means microseconds.
	Src, Dst netip.AddrPort // unmapped: IPv4 addresses are never in IPv6 form
	Payload  []byte         // UDP payload, valid until the next datagram is read
	Full     int            // payload length on the network, which is more than len(Payload) if the capture truncated it
	WireLen  int            // length of the frame on the network, or of the last frame if there were fragments. It is 0 if unknown.
	Capture  string         // file name, if several files are read as one stream
	Form     Form           // form of Payload
	Damaged  bool           // the checksum of the IP header is wrong, so that Src and Dst may also be wrong
	IPID     uint16         // identification in the IPv4 header. It is 0 if unset or unknown, as in IPv6 and logs.
}

// A Form is the form in which a source has the game's traffic.
type Form uint8

// The forms. All but the first are deciphered.
const (
	Wire       Form = iota // datagrams as on the network
	Clear                  // deciphered datagrams, in a capture marked as deciphered
	Message                // a transport message without its datagram, with an unknown sender
	FromClient             // a game message of a client without its transport message
	FromHost               // a game message of a host without its transport message
)

// NotesMark begins and ends the trailer of an annotated frame, whose datagram
// is deciphered. Programs that copy frames keep the trailer. A snap length may
// cut off its end.
const NotesMark = "bcnotes1"

// Whole reports whether the source has complete datagrams.
func (f Form) Whole() bool { return f <= Clear }

// FullUnknown is the full length of a truncated datagram of unknown length.
const FullUnknown = math.MaxInt

// Truncated reports whether the capture lacks the end of the datagram.
func (d *Datagram) Truncated() bool { return d.Full > len(d.Payload) }

// A Source yields UDP datagrams in capture order.
type Source interface {
	// Next returns the next datagram, which is valid until the next call. After
	// the last datagram, Next always returns [io.EOF]. If it could not read
	// everything, it always returns the reason instead.
	Next() (*Datagram, error)
	Close() error
}
