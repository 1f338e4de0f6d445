// Not part of the library: package device captures packets from this machine's
// network interfaces, without cgo on any system: with packet sockets on Linux,
// /dev/bpf on macOS and the BSDs, and Npcap on Windows. The build tag libpcap,
// with cgo, uses libpcap instead, except on Windows.
//
// It returns packets without decoding them. The bytes of a packet belong to the
// device and are valid until the next read. A device must be used by one
// goroutine. The package starts no others.
package device

import (
	"errors"
	"time"

	"golang.org/x/net/bpf"
)

// The kinds of errors. Errors that wrap these name the interface and the
// remedy, in complete sentences for people.
var (
	ErrPermission  = errors.New("no permission to capture")
	ErrNoInterface = errors.New("no such interface")
	ErrDown        = errors.New("the interface went down")
	ErrUnavailable = errors.New("no live capture") // not on this system, or not now
)

// MaxSnapLen is the maximum snap length.
const MaxSnapLen = 256 << 10

// Options configure a capture.
type Options struct {
	// Interface is a name, or a number in the list of [Interfaces], from 1. On
	// Linux, "any" stands for all interfaces.
	Interface string
	// Filter returns the filter program for a link type (a LINKTYPE number as in
	// capture files). If Filter or the program is nil, all packets are captured.
	Filter func(link uint16) ([]bpf.RawInstruction, error)
	// SnapLen is the snap length, 0 for MaxSnapLen.
	SnapLen int
	// Promiscuous also captures packets addressed to other machines.
	Promiscuous bool
	// Buffer is the size in bytes of the system's packet buffer, 0 for one that
	// lasts for seconds of a busy game. The system may grant less.
	Buffer int
}

// A packet is a captured packet.
type packet struct {
	time time.Time // UTC
	data []byte    // valid until the next read
	full int       // length on the network, not less than len(data)
}

// Counters are the numbers of packets since the device was opened.
type Counters struct {
	Received uint64 // on Linux and Windows after the filter, elsewhere before it
	Dropped  uint64 // passed the filter, but lost because the buffer was full
}
