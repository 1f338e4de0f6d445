package capture

import (
	"encoding/binary"
	"net/netip"
)

const (
	ipv4Header = 20
	ipv6Header = 40
	udpHeader  = 8
)

const (
	protoHopByHop    = 0
	protoTCP         = 6
	protoUDP         = 17
	protoRouting     = 43
	protoFragment    = 44
	protoDestination = 60
)

// ipv4 decodes an IPv4 packet with optional padding.
func (d *decoder) ipv4(b []byte) outcome {
	d.header = cap(b)
	if len(b) < ipv4Header {
		return d.short()
	}
	header, total := int(b[0]&0xf)*4, int(be16(b[2:]))
	if total == 0 {
		total = len(b) // the network card fills it in
	}
	if b[0]>>4 != 4 || header < ipv4Header || total < header {
		return malformed
	}
	if b[9] != protoUDP {
		return instead(b[9])
	}
	if len(b) < header {
		return d.short()
	}
	// A checksum of 0 is left to the network card.
	d.datagram.Damaged = be16(b[10:]) != 0 && damaged(b[:header])
	src, dst := netip.AddrFrom4([4]byte(b[12:16])), netip.AddrFrom4([4]byte(b[16:20]))
	payload, full := b[header:min(total, len(b))], total-header
	const moreFlag, offsetMask = 0x2000, 0x1fff
	if place := be16(b[6:]); place&(moreFlag|offsetMask) != 0 {
		p := piece{
			key:    pieceKey{src: src, dst: dst, id: uint32(be16(b[4:])), protocol: protoUDP},
			next:   protoUDP,
			offset: int(place&offsetMask) * 8,
			more:   place&moreFlag != 0,
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
	h, payload, full, o := d.udp(payload, full)
	if o == gaveDatagram {
		d.give(src, dst, h, payload, full)
	}
	return o
}

// damaged reports whether the checksum of an IPv4 header is wrong.
func damaged(header []byte) bool {
	sum := uint64(0)
	for ; len(header) >= 4; header = header[4:] {
		sum += uint64(binary.BigEndian.Uint32(header))
	}
	sum = sum>>32 + sum&0xffffffff
	sum = sum>>16 + sum&0xffff
	sum = sum>>16 + sum&0xffff
	sum = sum>>16 + sum&0xffff
	return sum != 0xffff
}

// ipv6 decodes an IPv6 packet with optional padding.
func (d *decoder) ipv6(b []byte) outcome {
	d.header = cap(b)
	if len(b) < ipv6Header {
		return d.short()
	}
	if b[0]>>4 != 6 {
		return malformed
	}
	full := int(be16(b[4:]))
	if full == 0 {
		full = len(b) - ipv6Header // a jumbogram, or the network card fills it in
	}
	next := b[6]
	// A packet that crossed from IPv4 may say so in its addresses.
	src, dst := netip.AddrFrom16([16]byte(b[8:24])).Unmap(), netip.AddrFrom16([16]byte(b[24:40])).Unmap()
	b = b[ipv6Header:]
	b = b[:min(full, len(b))]
	for {
		switch next {
		case protoUDP:
			h, payload, full, o := d.udp(b, full)
			if o == gaveDatagram {
				d.give(src, dst, h, payload, full)
			}
			return o
		case protoHopByHop, protoRouting, protoDestination:
			if len(b) < 2 || len(b) < 8+8*int(b[1]) {
				return d.short()
			}
			size := 8 + 8*int(b[1])
			next, b, full = b[0], b[size:], full-size
		case protoFragment:
			if len(b) < 8 {
				return d.short()
			}
			place := be16(b[2:])
			p := piece{
				key:    pieceKey{src: src, dst: dst, id: binary.BigEndian.Uint32(b[4:])},
				next:   b[0],
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
func instead(protocol uint8) outcome {
	if protocol == protoTCP {
		return isTCP
	}
	return notUDP
}

// leadsToUDP reports whether the header after a fragment header is UDP, or one
// that may precede it. A second fragment header is invalid.
func leadsToUDP(next uint8) bool {
	return next == protoUDP || next == protoDestination || next == protoRouting || next == protoHopByHop
}

// udp takes the captured bytes of a UDP datagram and its length on the network
// according to the IP header. It returns both for the payload.
func (d *decoder) udp(b []byte, full int) (h *[udpHeader]byte, payload []byte, size int, o outcome) {
	if full < udpHeader {
		return nil, nil, 0, malformed
	}
	if len(b) < udpHeader {
		return nil, nil, 0, d.short()
	}
	// A length beyond the packet is accepted: the rest counts as cut off. A length
	// of zero means more than 16 bits can hold.
	h = (*[udpHeader]byte)(b)
	if size = int(be16(h[4:])); size == 0 {
		size = full
	} else if size < udpHeader {
		return nil, nil, 0, malformed
	}
	return h, b[udpHeader:min(size, len(b))], size - udpHeader, gaveDatagram
}

// give makes the datagram from the results of udp.
func (d *decoder) give(src, dst netip.Addr, h *[udpHeader]byte, payload []byte, full int) {
	d.datagram.Src, d.datagram.Dst = netip.AddrPortFrom(src, be16(h[0:])), netip.AddrPortFrom(dst, be16(h[2:]))
	d.datagram.Payload, d.datagram.Full = payload, full
}
