package capture

import (
	"bytes"
	"encoding/binary"
	"net/netip"

	"github.com/google/gopacket/layers"

	"github.com/bcdissect/bcdissect/dissect/packet"
)

// Name writes the name of an address, which Wireshark shows in its place.
func (c *Copy) Name(addr netip.Addr, name string) {
	if c.opts.Pcap || !c.begun || c.w.err != nil {
		return
	}
	const ipv4, ipv6 = 1, 2
	kind := uint16(ipv6)
	if addr = addr.WithZone(""); addr.Is4() {
		kind = ipv4
	}
	value := append(append(addr.AsSlice(), name...), 0)
	body := binary.LittleEndian.AppendUint16(nil, kind)
	body = binary.LittleEndian.AppendUint16(body, uint16(len(value)))
	body = append(append(body, value...), make([]byte, -len(value)&3)...)
	c.Block(ngNames, append(body, 0, 0, 0, 0))
}

// Sizes of what follows the packet in a frame, in bytes.
const (
	maxPadding = 64 // after the packet and before a trailer: Ethernet's padding and checksum
	minTrailer = 48 // the shortest trailer that can be an annotation: shorter ones are padding
)

// annotated reports whether a frame with a datagram ends with a trailer of its
// fields, which means that the datagram is deciphered. Its mark follows the
// packet, or a snap length cut it off and the frame was longer than the packet
// by a trailer.
func annotated(f *frame, d *packet.Datagram) bool {
	end := cap(f.Data) - cap(d.Payload) + d.Full
	switch {
	case d.Full == packet.FullUnknown || end > f.Full-minTrailer:
		return false
	case end+len(packet.NotesMark) > len(f.Data):
		return f.Full > len(f.Data)
	}
	rest := f.Data[end:]
	return bytes.Contains(rest[:min(len(rest), maxPadding)], []byte(packet.NotesMark))
}

// Extend appends bytes to the frame, after the packet in it.
func (f *Frame) Extend(b []byte) {
	f.Data = append(f.Data, b...)
	f.Full += len(b)
}

// isIP reports whether frames with the link type are IP packets without a link
// header.
func isIP(link uint16) bool {
	switch link {
	case linkRaw, linkIPv4, linkIPv6, linkRawBSD, linkRawOpen:
		return true
	}
	return false
}

// withHeader returns an IP packet as a frame of a loopback interface, valid until
// the next call.
func (c *Copy) withHeader(f *Frame) *Frame {
	family := layers.ProtocolFamilyIPv4
	if len(f.Data) > 0 && f.Data[0]>>4 == 6 {
		family = layers.ProtocolFamilyIPv6Darwin
	}
	c.headed = append(binary.LittleEndian.AppendUint32(c.headed[:0], uint32(family)), f.Data...)
	headed := *f
	size := len(c.headed) - len(f.Data)
	headed.Data, headed.Full, headed.Link = c.headed, f.Full+size, linkNull
	if f.Payload >= 0 {
		headed.Payload += size
		headed.Network += size
	}
	return &headed
}
