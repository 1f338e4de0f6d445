package capture

import (
	"encoding/binary"
	"math"
	"net/netip"
	"slices"
	"time"

	"github.com/bcdissect/bcdissect/dissect/packet"
)

// A Tap sees all that capture files hold while a [Series] makes datagrams of it.
// Everything it is given is valid during the call. Numbers in options and blocks
// are little-endian.
type Tap interface {
	// File says which file the following calls are about. Files are counted from 0
	// in the order in which they are opened.
	File(n int)
	// Section begins the file, or a further section of a pcapng file.
	Section(options []byte)
	// Interface describes the next interface of the section.
	Interface(i *Interface)
	// Frame is called before Next returns the frame's datagram, if it has one.
	Frame(f *Frame)
	// Block gives any other block of a pcapng file. Its body is nil if it is too
	// large.
	Block(kind uint32, body []byte)
}

// An Interface is the interface of frames, as their file describes it.
type Interface struct {
	Link    uint16 // LINKTYPE number
	SnapLen uint32 // 0 for no limit
	Options []byte // as in pcapng, among them the resolution of times
}

// A Frame is a frame with all that its file says about it.
type Frame struct {
	Number    int // from 1, over all files
	Interface int // index in the section
	Time      time.Time
	Stamp     uint64 // Time in the resolution of the interface
	Timed     bool   // the file has a time for it
	Data      []byte // nil if Lacking
	Full      int    // length on the network
	Options   []byte // as in pcapng
	Lacking   bool   // Data is too large, or no interface is described for it

	Datagram *packet.Datagram // nil if the frame completes none
	Payload  int              // offset of the datagram's payload in Data, -1 if it comes from several frames
	Link     uint16           // LINKTYPE number
	Network  int              // offset of the IP header in Data, if Payload is not -1
	Pieces   []int            // the numbers of these frames, without this one

	of written // its interface in a copy that holds the frame
}

// A tapper shows frames to a tap.
type tapper struct{ Tap } // may be nil

// show gives the current frame of a decoder to the tap.
func (p *tapper) show(n *frame, from *decoder, hasDatagram bool) {
	t := &n.Frame
	t.Number, t.Lacking, t.Datagram, t.Payload, t.Pieces = from.tally.Frames, n.flaw == oversized || n.flaw == noInterface, nil, -1, nil
	if n.logged != nil {
		t.Stamp, t.Timed = milliseconds(n.logged.Time), true
		t.Link = linkRaw
		t.Data, t.Full = from.ofLog(n)
		t.Lacking = t.Data == nil
	}
	if hasDatagram {
		d := &from.datagram
		t.Datagram = d
		if t.Pieces = from.pieces; t.Pieces == nil && !t.Lacking {
			// Both slices end where their array ends.
			t.Payload = cap(t.Data) - cap(d.Payload)
			t.Network = cap(t.Data) - from.header
		}
	}
	p.Frame(t)
}

// ofLog makes an IPv4 packet of a log's datagram, or none of what is none.
func (d *decoder) ofLog(f *frame) (data []byte, full int) {
	l := f.logged
	src, dst := l.Src.Addr(), l.Dst.Addr()
	if l.Form != packet.Wire || !src.Is4() || !dst.Is4() || f.flaw != gaveDatagram {
		return nil, 0
	}
	b := appendIPv4(d.log[:0], netip.AddrPortFrom(src, l.Src.Port()), netip.AddrPortFrom(dst, l.Dst.Port()), udpHeader+l.Full)
	sealIPv4(b)
	b = append(b, l.Payload...)
	d.log, d.header = b, cap(b)
	d.datagram.Payload = b[ipv4Header+udpHeader:]
	return b, ipv4Header + udpHeader + l.Full
}

// milliseconds returns the time since 1970 in milliseconds.
func milliseconds(t time.Time) uint64 { return uint64(max(t.UnixMilli(), 0)) }

// checksum adds up 16-bit numbers as the Internet's protocols do.
func checksum(sum uint64, b []byte) uint16 {
	for ; len(b) >= 4; b = b[4:] {
		sum += uint64(binary.BigEndian.Uint32(b))
	}
	for i, c := range b {
		sum += uint64(c) << (24 - 8*i)
	}
	for sum > math.MaxUint16 {
		sum = sum>>16 + sum&math.MaxUint16
	}
	return uint16(sum)
}

// putUDPSum writes the checksum of a UDP datagram whose parts add up to sum.
func putUDPSum(to []byte, sum uint64) {
	fixed := ^checksum(sum, nil)
	if fixed == 0 {
		fixed = math.MaxUint16 // 0 means that the datagram has no checksum
	}
	binary.BigEndian.PutUint16(to, fixed)
}

// resolutionOption is the option of an interface for times with this many
// decimals.
func resolutionOption(digits uint8) []byte {
	return []byte{ngResolution, 0, 1, 0, digits, 0, 0, 0, 0, 0, 0, 0}
}

// Blocks with counters, in addition to the blocks above.
const (
	ngNames   = 4 // addresses and their names
	ngSecrets = 10
	ngCustom  = 0x00000bad
	ngNoCopy  = 0x40000bad // a custom block that is not to be copied
)

// turn returns a big-endian block's body in little-endian byte order.
func (p *pcapngReader) turn(kind uint32, body []byte) []byte {
	b := slices.Clone(body)
	numbers := func(n int) []byte { // turns 32-bit numbers and returns the rest
		for ; n > 0 && len(b) >= 4; n-- {
			slices.Reverse(b[:4])
			b = b[4:]
		}
		return b
	}
	all := b
	switch kind {
	case ngStatistics:
		return p.withOptions(kind, all, numbers(3))
	case ngNames:
		for len(b) >= 4 {
			size := int(p.Uint16(b[2:]))
			end := p.Uint16(b) == 0
			slices.Reverse(b[:2])
			slices.Reverse(b[2:4])
			b = b[min(4+(size+3)&^3, len(b)):]
			if end {
				return p.withOptions(kind, all, b)
			}
		}
	case ngSecrets:
		numbers(2)
	case ngCustom, ngNoCopy:
		numbers(1)
	}
	return all
}

// withOptions turns the options at the end of a block's body.
func (p *pcapngReader) withOptions(kind uint32, body, options []byte) []byte {
	if len(options) == 0 {
		return body
	}
	turned := p.options(kind, options)
	return append(append(body[:len(body)-len(options)], turned...), ngEndOfOptions, 0, 0, 0)
}

// options returns options in little-endian byte order. They end with the end of
// options or before the first damaged one.
func (p *pcapngReader) options(kind uint32, b []byte) []byte {
	if p.ByteOrder == binary.BigEndian {
		b = p.turnOptions(kind, slices.Clone(b))
	}
	n := 0
	for code, value := range eachOption(b) {
		if code == ngEndOfOptions {
			break
		}
		n += 4 + (len(value)+3)&^3
	}
	return b[:n:n]
}

// turnOptions turns big-endian options, up to the first damaged one.
func (p *pcapngReader) turnOptions(kind uint32, b []byte) []byte {
	for o := b; len(o) >= 4; {
		code, size := p.Uint16(o), int(p.Uint16(o[2:]))
		slices.Reverse(o[:2])
		slices.Reverse(o[2:4])
		value := o[4:min(4+size, len(o))]
		for width := numberIn(kind, code); width > 0 && len(value) >= width; value = value[width:] {
			slices.Reverse(value[:width])
		}
		o = o[min(4+(size+3)&^3, len(o)):]
	}
	return b
}

// numberIn returns the width in bytes of the numbers in an option, 0 for none.
func numberIn(kind uint32, code uint16) int {
	switch {
	case kind == ngInterface && (code == 8 || code == 14 || code == 16 || code == 17):
		return 8
	case kind == ngInterface && code == 10:
		return 4
	case kind == ngEnhanced && (code == 2 || code == 6):
		return 4
	case kind == ngEnhanced && (code == 4 || code == 5):
		return 8
	case kind == ngStatistics && (code == ngStart || code == ngEnd):
		return 4
	case kind == ngStatistics && code >= ngReceived && code <= 8:
		return 8
	}
	return 0
}
