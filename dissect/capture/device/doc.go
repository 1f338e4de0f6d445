// Package device captures packets from the network interfaces of this machine,
// without cgo on any system: by packet sockets on Linux, by /dev/bpf on macOS
// and the BSDs, by Npcap on Windows. The build tag libpcap, with cgo, goes
// through libpcap instead, except on Windows.
//
// It hands out packets as they are and knows nothing of what is in them. The
// bytes of a packet belong to the device and are valid until it is asked for
// the next one. A device is for one goroutine; nothing here starts another.
package device

import (
	"errors"
	"time"

	"golang.org/x/net/bpf"
)

// What callers tell apart. Errors that wrap these name the interface and say
// what to do; they are complete sentences for people.
var (
	ErrPermission  = errors.New("no permission to capture")
	ErrNoInterface = errors.New("no such interface")
	ErrDown        = errors.New("the interface went down")
	ErrUnavailable = errors.New("no live capture") // neither here nor now
)

// MaxSnapLen is the most bytes of a packet that can be kept.
const MaxSnapLen = 256 << 10

// Options tell what to capture.
type Options struct {
	// Interface is its name, or its number in the list of [Interfaces] from 1.
	// On Linux, "any" is all of them at once.
	Interface string
	// Filter returns the program that chooses packets of a link type, which
	// is a LINKTYPE number as in capture files. If Filter is nil, all are
	// chosen, and so they are if the program is.
	Filter func(link uint16) ([]bpf.RawInstruction, error)
	// SnapLen is how many bytes of a packet to keep, 0 for MaxSnapLen.
	SnapLen int
	// Promiscuous asks for packets that are for other machines as well.
	Promiscuous bool
	// Buffer is how many bytes of packets the system is to keep until they
	// are read, 0 for a size that lasts for seconds of a busy game. The system
	// may grant less.
	Buffer int
}

// A Packet is what was captured of a packet.
type Packet struct {
	Time time.Time // UTC
	Data []byte    // valid until the device is asked for the next packet
	Full int       // length on the network, not less than len(Data)
}

// Counters tell what became of the packets since the device was opened.
type Counters struct {
	Received uint64 // on Linux and Windows those that passed the filter, elsewhere all
	Dropped  uint64 // passed the filter, and the system had no room for them
}
