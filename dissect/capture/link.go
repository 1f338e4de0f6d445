package capture

import (
	"encoding/binary"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/bcdissect/bcdissect/dissect/packet"
)

// LINKTYPE numbers, as in capture files. They have 16 bits, and layers.LinkType
// has 8, so that it takes 276 for 20.
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

const (
	ethernetHeader = 14
	sll2Header     = 20
)

// Numbers that gopacket does not know.
const (
	etherOldQinQ      = 0x9100 // from before there was a standard
	familyIPv6Windows = 23     // Npcap's loopback adapter

	cisco    = 0x0f // first byte of Cisco's HDLC, where PPP has ff
	ciscoAll = 0x8f
)

// headers are gopacket's decoders of headers. They are used again for each
// frame. Only DecodeFromBytes is called: NextLayerType would take a game on port
// 53 for DNS. What a decoder says about truncation is ignored, since the lengths
// say more.
//
// The other headers are ours. gopacket's LinuxSLL panics if the header claims a
// long address, and SLL2 and Cisco's HDLC are missing. PPP, PPPoE, MPLS and the
// fragment header of IPv6 have no DecodeFromBytes. What gopacket has for the
// first three panics where a frame ends early, or reads beyond its end.
type headers struct {
	ethernet  layers.Ethernet
	tag       layers.Dot1Q
	loopback  layers.Loopback
	ipv4      layers.IPv4
	ipv6      layers.IPv6
	extension layers.IPv6ExtensionSkipper
	udp       layers.UDP
}

// A decoder decodes frames. It is independent of files, so it also handles live
// packets. It owns the resulting datagram.
type decoder struct {
	tally    tally
	joiner   joiner
	datagram packet.Datagram
	headers  headers

	every     bool   // sources stop at any frame, not only at datagrams
	ancillary [1]any // ancillary data of a packet for gopacket: its LinkType
	log       []byte // packet made of a log's datagram, reused

	header int   // capacity of the current frame's data from its IP header on
	cut    bool  // the capture lacks the end of the current frame
	pieces []int // frames of the IP fragments before the one that completed the datagram, nil if it came in one piece
}

// decode decodes f and reports whether d.datagram holds its datagram.
func (d *decoder) decode(f *frame) bool {
	d.datagram.After = d.tally.saw(f.Time)
	d.datagram.Number, d.datagram.Time, d.datagram.Digits = d.tally.Frames, f.Time, f.digits
	d.datagram.WireLen = f.Full
	d.cut, d.pieces = f.Full > len(f.Data), nil
	o := f.flaw
	d.datagram.Form, d.datagram.Damaged, d.datagram.IPID = packet.Wire, false, 0
	switch {
	case o != gaveDatagram:
	case f.logged != nil:
		l := f.logged
		d.datagram.WireLen = 0
		d.datagram.Src, d.datagram.Dst, d.datagram.Payload, d.datagram.Full, d.datagram.Form = l.Src, l.Dst, l.Payload, l.Full, l.Form
	default:
		o = d.frame(f.Link, f.Data)
	}
	if o != gaveDatagram {
		d.tally.counts[o]++
		return false
	}
	if d.pieces == nil && f.logged == nil && (f.clear || annotated(f, &d.datagram)) {
		d.datagram.Form = packet.Clear
	}
	d.tally.counts[gaveDatagram]++
	d.tally.Anonymous = d.tally.Anonymous || f.anonymous
	return true
}

// frame strips the link layer.
func (d *decoder) frame(link uint16, b []byte) outcome {
	switch link {
	case linkEthernet:
		if len(b) >= ethernetHeader && layers.EthernetType(be16(b[12:])) == layers.EthernetTypeIPv4 {
			return d.ipv4(b[ethernetHeader:]) // most packets. gopacket's decoder takes 12 ns, since it copies what it has just written.
		}
		h := &d.headers.ethernet
		if h.DecodeFromBytes(b, gopacket.NilDecodeFeedback) != nil {
			return d.short()
		}
		return d.network(h.EthernetType, h.Payload)
	case linkSLL:
		return d.typed(b, 14, 16)
	case linkSLL2:
		return d.typed(b, 0, sll2Header)
	case linkRaw, linkIPv4, linkIPv6, linkRawBSD, linkRawOpen:
		return d.raw(b)
	case linkNull, linkLoop:
		return d.family(b)
	case linkPPP:
		return d.ppp(b)
	case linkPPPHDLC:
		if len(b) > 0 && (b[0] == cisco || b[0] == ciscoAll) {
			return d.typed(b, 2, 4)
		}
		return d.ppp(b)
	case linkPPPoE:
		return d.pppoe(b)
	}
	d.tally.sawLink(link)
	return unknownLink
}

// typed strips a header of a size, with the Ethernet type at an offset.
func (d *decoder) typed(b []byte, at, size int) outcome {
	if len(b) < size {
		return d.short()
	}
	return d.network(layers.EthernetType(be16(b[at:])), b[size:])
}

// knownLink reports whether frame supports the link type.
func knownLink(link uint16) bool { return new(decoder).frame(link, nil) != unknownLink }

// network dispatches on the Ethernet type, below any tags.
func (d *decoder) network(kind layers.EthernetType, b []byte) outcome {
	for {
		switch kind {
		case layers.EthernetTypeIPv4:
			return d.ipv4(b)
		case layers.EthernetTypeIPv6:
			return d.ipv6(b)
		case layers.EthernetTypeDot1Q, layers.EthernetTypeQinQ, etherOldQinQ:
			h := &d.headers.tag
			if h.DecodeFromBytes(b, gopacket.NilDecodeFeedback) != nil {
				return d.short()
			}
			kind, b = h.Type, h.Payload
		case layers.EthernetTypePPPoESession:
			return d.pppoe(b)
		case layers.EthernetTypeMPLSUnicast, layers.EthernetTypeMPLSMulticast:
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
// everywhere, but AF_INET6 differs.
func (d *decoder) family(b []byte) outcome {
	if len(b) < 4 {
		return d.short()
	}
	// The file does not state the byte order reliably. The decoder guesses it, since
	// the numbers are small, and refuses others.
	h := &d.headers.loopback
	if h.DecodeFromBytes(b, gopacket.NilDecodeFeedback) != nil {
		return malformed
	}
	switch h.Family {
	case layers.ProtocolFamilyIPv4:
		return d.ipv4(h.Payload)
	case layers.ProtocolFamilyIPv6BSD, layers.ProtocolFamilyIPv6FreeBSD, layers.ProtocolFamilyIPv6Darwin,
		layers.ProtocolFamilyIPv6Linux, familyIPv6Windows:
		return d.ipv6(h.Payload)
	}
	return notIP
}

// pppoe strips the header of a PPPoE session. Its length excludes padding.
func (d *decoder) pppoe(b []byte) outcome {
	if len(b) < 6 {
		return d.short()
	}
	if layers.PPPoECode(b[1]) != layers.PPPoECodeSession {
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
	kind, size := layers.PPPType(b[0]), 1
	if b[0]&1 == 0 {
		if len(b) < 2 {
			return d.short()
		}
		kind, size = layers.PPPType(be16(b)), 2
	}
	switch kind {
	case layers.PPPTypeIPv4:
		return d.ipv4(b[size:])
	case layers.PPPTypeIPv6:
		return d.ipv6(b[size:])
	case layers.PPPTypeMPLSUnicast, layers.PPPTypeMPLSMulticast:
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
