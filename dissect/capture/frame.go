package capture

import "github.com/bcdissect/bcdissect/dissect/packet"

// maxFrame is the maximum size of a frame: the largest snap length of common
// capture programs. A larger length in a pcap file means damage.
const maxFrame = 256 << 10

// A frame is a captured packet. Data is valid until the reader fills the next
// frame. The reader fills in Stamp, Timed and Options for a tap only.
type frame struct {
	Frame
	digits int8    // decimals of a second in the time
	flaw   outcome // reason for missing data, or gaveDatagram

	clear     bool // its section is marked by ClearMark
	anonymous bool // its section is marked by AnonymousMark

	logged *packet.Datagram // datagram of a log, which has no frames: only time, digits and flaw are set as well
}

// ClearMark is the comment of a pcapng section with deciphered datagrams, except
// for those in IP fragments.
const ClearMark = "bcdissect:clear=1"

// AnonymousMark is the comment of a pcapng section with pseudonyms in the place
// of names, addresses and other private values.
const AnonymousMark = "bcdissect:anonymous=1"

// A frameReader reads frames of one file format.
type frameReader interface {
	// next fills f with the next frame. It returns io.EOF at the end of the
	// capture, and a *stop for other errors.
	next(f *frame) error
}
