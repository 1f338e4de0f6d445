// Not part of the library: package tracelog reads logs of the game's traffic
// that instrumented programs write. These are the packet and message traces of
// the stock host, which are text, and the binary traces of OpenBC's battle
// test. docs/logs.md lists the gaps of each.
//
// A record that cannot be read is reported and skipped.
package tracelog

import (
	"bytes"
	"io"
	"net/netip"

	"github.com/bcdissect/bcdissect/dissect/packet"
)

// HostPort is the port of the program that wrote the log, since logs do not
// contain it.
const HostPort = 22101

var (
	own     = netip.AddrPortFrom(netip.IPv4Unspecified(), HostPort)
	unknown = netip.AddrPortFrom(netip.IPv4Unspecified(), 0)
)

// HeadSize is the number of bytes that [New] needs to recognise a log.
const HeadSize = 64

// A Record is one record of a log. Its payload is valid until the next one is
// read.
type Record struct {
	packet.Datagram      // without Number and Capture
	Unsent          bool // sending it failed, so it was never on the network
}

// A Log yields the records of a log.
type Log interface {
	// Next fills in the next record. It returns io.EOF at the end of the log, an
	// error of the reader, or a *DamageError.
	Next(r *Record) error
}

// A DamageError reports that the rest of a log cannot be read.
type DamageError struct {
	Offset int64 // offset in the log
	Reason string
}

func (d *DamageError) Error() string { return d.Reason }

// New returns a reader of the log in r, or nil if first, its first bytes, do
// not belong to a log. It calls remark with its remarks, for example about
// skipped records.
func New(r io.Reader, first []byte, remark func(string)) Log {
	text := bytes.TrimPrefix(first, byteOrderMark)
	switch {
	case bytes.HasPrefix(first, obcMagic):
		return newPayloads(r, remark)
	case bytes.HasPrefix(text, []byte("# STBC Dedicated Server - Packet Trace")):
		return newPackets(r, remark)
	case bytes.HasPrefix(text, []byte("# STBC Message Trace")):
		return newMessages(r, remark)
	}
	var h head
	switch line, _, _ := bytes.Cut(text, []byte("\n")); {
	case !h.begin(line) || !h.timed: // an excerpt has at least a time
	case bytes.HasPrefix(h.rest, []byte("MSG ")):
		return newMessages(r, remark)
	case h.direction():
		return newPackets(r, remark)
	}
	return nil
}

var byteOrderMark = []byte("\ufeff")
