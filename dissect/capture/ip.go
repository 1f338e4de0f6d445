package capture

import (
	"encoding/binary"
	"net/netip"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
)

const (
	ipv4Header = 20
	ipv6Header = 40
	udpHeader  = 8
)

// ipv4 decodes an IPv4 packet with optional padding. Of gopacket's results only
// the fields count: it refuses odd options, which change nothing, does not look
// at the version, and for a packet without a length takes the lower 16 bits of
// the frame's.
func (d *decoder) ipv4(b []byte) outcome {
	d.header = cap(b)
	if len(b) < ipv4Header {
		return d.short()
	}
	h := &d.headers.ipv4
	_ = h.DecodeFromBytes(b, gopacket.NilDecodeFeedback) // sets the fields in any case. They are checked here.
	header, total := int(h.IHL)*4, int(h.Length)
	if be16(b[2:]) == 0 {
		total = len(b) // the network card fills it in
	}
	if h.Version != 4 || header < ipv4Header || total < header {
		return malformed
	}
	if h.Protocol != layers.IPProtocolUDP {
		return instead(h.Protocol)
	}
	if len(b) < header {
		return d.short()
	}
	// A checksum of 0 is left to the network card.
	d.datagram.Damaged = h.Checksum != 0 && checksum(0, b[:header]) != 0xffff
	d.datagram.IPID = h.Id
	src, dst := netip.AddrFrom4([4]byte(h.SrcIP)), netip.AddrFrom4([4]byte(h.DstIP))
	payload, full := b[header:min(total, len(b))], total-header
	if more := h.Flags&layers.IPv4MoreFragments != 0; more || h.FragOffset != 0 {
		p := piece{
			key:    pieceKey{src: src, dst: dst, id: uint32(h.Id), protocol: h.Protocol},
			next:   h.Protocol,
			offset: int(h.FragOffset) * 8,
			more:   more,
			data:   payload,
			full:   full,
			frame:  d.datagram.Number,
		}
		w, o := d.joiner.add(d.datagram.Time, &p)
		if o != gaveDatagram {
			return o
		}
		payload, full, d.pieces = w.data, w.full, w.frames
	}
	return d.udp(src, dst, payload, full)
}

// ipv6 decodes an IPv6 packet with optional padding. gopacket gets only the fixed
// header: if a hop-by-hop header follows, it allocates memory for each option, and
// the payload would end too late by the size of that header.
func (d *decoder) ipv6(b []byte) outcome {
	d.header = cap(b)
	if len(b) < ipv6Header {
		return d.short()
	}
	h := &d.headers.ipv6
	_ = h.DecodeFromBytes(b[:ipv6Header], gopacket.NilDecodeFeedback) // as above
	if h.Version != 6 {
		return malformed
	}
	full := int(h.Length)
	if full == 0 {
		full = len(b) - ipv6Header // a jumbogram, or the network card fills it in
	}
	next := h.NextHeader
	// A packet that was translated from IPv4 may have IPv4-mapped addresses.
	src, dst := netip.AddrFrom16([16]byte(h.SrcIP)).Unmap(), netip.AddrFrom16([16]byte(h.DstIP)).Unmap()
	b = b[ipv6Header:]
	b = b[:min(full, len(b))]
	for {
		switch next {
		case layers.IPProtocolUDP:
			return d.udp(src, dst, b, full)
		case layers.IPProtocolIPv6HopByHop, layers.IPProtocolIPv6Routing, layers.IPProtocolIPv6Destination:
			h := &d.headers.extension
			if h.DecodeFromBytes(b, gopacket.NilDecodeFeedback) != nil {
				return d.short()
			}
			next, b, full = h.NextHeader, h.Payload, full-len(h.Contents)
		case layers.IPProtocolIPv6Fragment:
			if len(b) < 8 {
				return d.short()
			}
			place := be16(b[2:])
			p := piece{
				key:    pieceKey{src: src, dst: dst, id: binary.BigEndian.Uint32(b[4:])},
				next:   layers.IPProtocol(b[0]),
				offset: int(place &^ 7),
				more:   place&1 != 0,
				data:   b[8:],
				full:   full - 8,
				frame:  d.datagram.Number,
			}
			next, b, full = p.next, p.data, p.full
			if p.offset == 0 && !p.more {
				continue // complete after all
			}
			if !leadsToUDP(next) {
				return instead(next)
			}
			w, o := d.joiner.add(d.datagram.Time, &p)
			if o != gaveDatagram {
				return o
			}
			next, b, full, d.pieces = w.next, w.data, w.full, w.frames
		default:
			return instead(next)
		}
	}
}

// instead returns the outcome of a packet with a protocol other than UDP.
func instead(protocol layers.IPProtocol) outcome {
	if protocol == layers.IPProtocolTCP {
		return isTCP
	}
	return notUDP
}

// leadsToUDP reports whether the header after a fragment header is UDP, or one
// that may precede it. A second fragment header is invalid.
func leadsToUDP(next layers.IPProtocol) bool {
	switch next {
	case layers.IPProtocolUDP, layers.IPProtocolIPv6Destination, layers.IPProtocolIPv6Routing, layers.IPProtocolIPv6HopByHop:
		return true
	default:
		return false
	}
}

// udp makes the datagram from the captured bytes of a UDP datagram and its length
// on the network according to the IP header.
func (d *decoder) udp(src, dst netip.Addr, b []byte, full int) outcome {
	if full < udpHeader {
		return malformed
	}
	if len(b) < udpHeader {
		return d.short()
	}
	h := &d.headers.udp
	if h.DecodeFromBytes(b, gopacket.NilDecodeFeedback) != nil {
		return malformed
	}
	// A length beyond the packet is accepted: the rest counts as cut off. A length
	// of zero means more than 16 bits can hold.
	if h.Length != 0 {
		full = int(h.Length)
	}
	d.datagram.Src, d.datagram.Dst = netip.AddrPortFrom(src, uint16(h.SrcPort)), netip.AddrPortFrom(dst, uint16(h.DstPort))
	d.datagram.Payload, d.datagram.Full = h.Payload, full-udpHeader
	return gaveDatagram
}
