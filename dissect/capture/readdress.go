package capture

import (
	"encoding/binary"
	"slices"

	"github.com/google/gopacket/layers"
)

// Readdress replaces the addresses in the headers of a frame with its payload in
// one piece. The functions change values in place: addresses of hardware, of 4 to 8
// bytes, addresses of IP, of 4 or 16 bytes, and the id of an IPv4 packet, of 2. All
// packets get the same TTL and class of service, which tell of systems and routes.
// Options of IP become padding, and the bytes after the packet zeros. Checksums are
// computed anew, except for a frame that the capture cut.
func (f *Frame) Readdress(hardware, ip, id func(value []byte)) {
	const hops = 64
	if f.Payload < 0 || f.Network < 0 || f.Network > f.Payload {
		return
	}
	for _, a := range linkAddresses(f.Link, f.Data[:f.Network]) {
		hardware(a)
	}
	size := len(f.Datagram.Payload)
	h, payload := f.Data[f.Network:f.Payload], f.Data[f.Payload:f.Payload+size]
	clear(f.Data[f.Payload+size:])
	var pseudo []byte
	switch {
	case len(h) >= ipv4Header+udpHeader && h[0]>>4 == 4:
		h[1], h[8] = 0, hops
		id(h[4:6])
		ip(h[12:16])
		ip(h[16:20])
		const nop = 1
		options := h[ipv4Header:max(ipv4Header, len(h)-udpHeader)]
		for i := range options {
			options[i] = nop
		}
		if sum := h[10:12]; be16(sum) != 0 { // 0 is for the network card to fill in
			clear(sum)
			binary.BigEndian.PutUint16(sum, ^checksum(0, h[:len(h)-udpHeader]))
		}
		pseudo = slices.Clone(h[12:20])
	case len(h) >= ipv6Header+udpHeader && h[0]>>4 == 6:
		binary.BigEndian.PutUint32(h, 6<<28) // without class and flow label
		h[7] = hops
		ip(h[8:24])
		ip(h[24:40])
		blankExtensions(layers.IPProtocol(h[6]), h[ipv6Header:len(h)-udpHeader])
		pseudo = slices.Clone(h[8:40])
	default:
		return
	}
	udp := h[len(h)-udpHeader:]
	sum := udp[6:]
	switch {
	case be16(sum) == 0:
	case f.Datagram.Truncated():
		clear(sum)
	default:
		clear(sum)
		pseudo = append(pseudo, 0, byte(layers.IPProtocolUDP), udp[4], udp[5])
		n := uint64(checksum(0, pseudo)) + uint64(checksum(0, udp)) + uint64(checksum(0, payload))
		putUDPSum(sum, n)
	}
}

// linkAddresses returns the addresses in the header of a link layer.
func linkAddresses(link uint16, h []byte) [][]byte {
	const ethernet, sll, sll2 = 12, 16, 20
	switch {
	case link == linkEthernet && len(h) >= ethernet:
		return [][]byte{h[:6], h[6:12]}
	case link == linkSLL && len(h) >= sll:
		return [][]byte{sllAddress(int(be16(h[4:])), h[6:14])}
	case link == linkSLL2 && len(h) >= sll2:
		return [][]byte{sllAddress(int(h[11]), h[12:20])}
	}
	return nil
}

// sllAddress returns the address in a field, and blanks the rest of the field.
func sllAddress(size int, field []byte) []byte {
	size = min(size, len(field))
	clear(field[size:])
	return field[:size]
}

// blankExtensions makes the content of IPv6 extension headers padding.
func blankExtensions(next layers.IPProtocol, b []byte) {
	for len(b) >= 8 {
		size := 8
		switch next {
		case layers.IPProtocolIPv6HopByHop, layers.IPProtocolIPv6Destination, layers.IPProtocolIPv6Routing:
			size = min(8+8*int(b[1]), len(b))
			clear(b[2:size])
			if next == layers.IPProtocolIPv6Routing {
				break // a type 0 header without addresses to come
			}
			for rest := b[2:size]; len(rest) >= 2; { // options that pad
				n := min(len(rest), 257)
				rest[0], rest[1] = 1, byte(n-2)
				rest = rest[n:]
			}
		default: // the fragment header, of 8 bytes: its id
			clear(b[4:size])
		}
		next, b = layers.IPProtocol(b[0]), b[size:]
	}
}
