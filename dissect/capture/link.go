package capture

import (
	"encoding/binary"
	"math"

	"github.com/bcdissect/bcdissect/dissect/packet"
)

// LINKTYPE numbers, as in capture files.
const (
	linkNull     = 0 // BSD loopback, family in the byte order of the capturing machine
	linkEthernet = 1
	linkPPP      = 9
	linkRawBSD   = 12 // raw IP, as some systems number it
	linkRawOpen  = 14
	linkPPPHDLC  = 50
	linkPPPoE    = 51
	linkRaw      = 101
	linkLoop     = 108 // OpenBSD loopback, family in network byte order
	linkSLL      = 113 // Linux "any"
	linkIPv4     = 228
	linkIPv6     = 229
	linkSLL2     = 276 // Linux "any", today
)

// Numbers of the next header.
const (
	etherIPv4    = 0x0800
	etherIPv6    = 0x86dd
	etherVLAN    = 0x8100
	etherQinQ    = 0x88a8
	etherOldQinQ = 0x9100 // from before there was a standard
	etherSession = 0x8864 // of PPPoE
	etherMPLS    = 0x8847
	etherMPLSall = 0x8848 // to several receivers

	pppIPv4    = 0x0021
	pppIPv6    = 0x0057
	pppMPLS    = 0x0281
	pppMPLSall = 0x0283

	familyIPv4        = 2
	familyIPv6BSD     = 24
	familyIPv6FreeBSD = 28
	familyIPv6Darwin  = 30
	familyIPv6Linux   = 10
	familyIPv6Windows = 23 // Npcap's loopback adapter

	cisco    = 0x0f // first byte of Cisco's HDLC, where PPP has ff
	ciscoAll = 0x8f
)

// A decoder decodes frames. It is independent of files, so it also handles live
// packets. It owns the resulting datagram.
type decoder struct {
	tally    tally
	joiner   joiner
	datagram packet.Datagram

	header int   // capacity of the current frame's data from its IP header on
	cut    bool  // the capture lacks the end of the current frame
	pieces []int // frames of the IP fragments before the one that completed the datagram; nil if it came in one piece
}

// decode decodes f and reports whether d.datagram holds its datagram.
func (d *decoder) decode(f *frame) bool {
	d.datagram.After = d.tally.saw(momentOf(f.time))
	d.datagram.Number, d.datagram.Time, d.datagram.Digits = d.tally.frames, f.time, f.digits
	d.datagram.WireLen = f.full
	d.cut, d.pieces = f.full > len(f.data), nil
	o := f.flaw
	d.datagram.Form, d.datagram.Damaged = packet.Wire, false
	switch {
	case o != gaveDatagram:
	case f.logged != nil:
		l := f.logged
		d.datagram.WireLen = 0
		d.datagram.Src, d.datagram.Dst, d.datagram.Payload, d.datagram.Full, d.datagram.Form = l.Src, l.Dst, l.Payload, l.Full, l.Form
	default:
		const header = 14 // of Ethernet, without tags
		if b := f.data; f.link == linkEthernet && len(b) > header && be16(b[12:]) == etherIPv4 {
			o = d.ipv4(b[header:]) // a direct call for the most common type
		} else {
			o = d.frame(f.link, b)
		}
	}
	if o != gaveDatagram {
		d.tally.counts[o]++
		return false
	}
	if f.clear && d.pieces == nil && f.logged == nil {
		d.datagram.Form = packet.Clear
	}
	d.tally.counts[gaveDatagram]++
	d.tally.anonymous = d.tally.anonymous || f.anonymous
	return true
}

// frame strips the link layer.
func (d *decoder) frame(link uint16, b []byte) outcome {
	switch link {
	case linkEthernet:
		if len(b) < 14 {
			return d.short()
		}
		return d.network(be16(b[12:]), b[14:])
	case linkSLL:
		if len(b) < 16 {
			return d.short()
		}
		return d.network(be16(b[14:]), b[16:])
	case linkSLL2:
		if len(b) < 20 {
			return d.short()
		}
		return d.network(be16(b), b[20:])
	case linkRaw, linkIPv4, linkIPv6, linkRawBSD, linkRawOpen:
		return d.raw(b)
	case linkNull, linkLoop:
		return d.family(b)
	case linkPPP:
		return d.ppp(b)
	case linkPPPHDLC:
		if len(b) > 0 && (b[0] == cisco || b[0] == ciscoAll) {
			if len(b) < 4 {
				return d.short()
			}
			return d.network(be16(b[2:]), b[4:])
		}
		return d.ppp(b)
	case linkPPPoE:
		return d.pppoe(b)
	}
	d.tally.sawLink(link)
	return unknownLink
}

// knownLink reports whether frame supports the link type.
func knownLink(link uint16) bool {
	switch link {
	case linkNull, linkEthernet, linkPPP, linkRawBSD, linkRawOpen, linkPPPHDLC, linkPPPoE, linkRaw, linkLoop,
		linkSLL, linkIPv4, linkIPv6, linkSLL2:
		return true
	}
	return false
}

// network dispatches on the Ethernet type, below any tags.
func (d *decoder) network(kind uint16, b []byte) outcome {
	for {
		switch kind {
		case etherIPv4:
			return d.ipv4(b)
		case etherIPv6:
			return d.ipv6(b)
		case etherVLAN, etherQinQ, etherOldQinQ:
			if len(b) < 4 {
				return d.short()
			}
			kind, b = be16(b[2:]), b[4:]
		case etherSession:
			return d.pppoe(b)
		case etherMPLS, etherMPLSall:
			return d.mpls(b)
		default:
			return notIP
		}
	}
}

// raw detects the IP version from the first byte.
func (d *decoder) raw(b []byte) outcome {
	switch {
	case len(b) == 0:
		return d.short()
	case b[0]>>4 == 4:
		return d.ipv4(b)
	case b[0]>>4 == 6:
		return d.ipv6(b)
	}
	return notIP
}

// family dispatches on the capturing system's address family. AF_INET is 2
// everywhere; AF_INET6 differs.
func (d *decoder) family(b []byte) outcome {
	if len(b) < 4 {
		return d.short()
	}
	// The file does not state the byte order reliably, but the numbers are small.
	kind := binary.LittleEndian.Uint32(b)
	if b[0] == 0 && b[1] == 0 {
		kind = binary.BigEndian.Uint32(b)
	}
	if kind > math.MaxUint8 {
		return malformed
	}
	switch kind {
	case familyIPv4:
		return d.ipv4(b[4:])
	case familyIPv6BSD, familyIPv6FreeBSD, familyIPv6Darwin, familyIPv6Linux, familyIPv6Windows:
		return d.ipv6(b[4:])
	}
	return notIP
}

// pppoe strips the header of a PPPoE session; its length excludes padding.
func (d *decoder) pppoe(b []byte) outcome {
	if len(b) < 6 {
		return d.short()
	}
	const session = 0 // of the codes
	if b[1] != session {
		return notIP
	}
	size := int(be16(b[4:]))
	b = b[6:]
	return d.ppp(b[:min(size, len(b))])
}

// ppp strips a PPP header. The peers may have agreed to omit either half.
func (d *decoder) ppp(b []byte) outcome {
	if len(b) > 0 && b[0] == 0xff {
		b = b[min(2, len(b)):] // address and control
	}
	if len(b) == 0 {
		return d.short()
	}
	kind, size := uint16(b[0]), 1
	if b[0]&1 == 0 {
		if len(b) < 2 {
			return d.short()
		}
		kind, size = be16(b), 2
	}
	switch kind {
	case pppIPv4:
		return d.ipv4(b[size:])
	case pppIPv6:
		return d.ipv6(b[size:])
	case pppMPLS, pppMPLSall:
		return d.mpls(b[size:])
	}
	return notIP
}

// mpls strips the labels. They do not name the protocol below, so its first
// bits decide whether it is IP.
func (d *decoder) mpls(b []byte) outcome {
	for len(b) >= 4 {
		bottom := b[2]&1 != 0
		b = b[4:]
		if bottom {
			return d.raw(b)
		}
	}
	return d.short()
}

// short returns the outcome of a frame that ends inside a header.
func (d *decoder) short() outcome {
	if d.cut {
		return cutShort
	}
	return malformed
}

func be16(b []byte) uint16 { return binary.BigEndian.Uint16(b) }
