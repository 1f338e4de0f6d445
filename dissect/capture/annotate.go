package capture

import (
	"encoding/binary"
	"net/netip"

	"github.com/google/gopacket/layers"
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

// Extend appends bytes to the frame, after the packet in it.
func (f *Frame) Extend(b []byte) {
	f.Data = append(f.Data, b...)
	f.Full += len(b)
}

// isIP reports whether frames with the link type are IP packets alone.
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
