package capture

import (
	"encoding/binary"
	"net/netip"
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
