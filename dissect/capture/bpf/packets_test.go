package bpf

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"syscall"
)

// Ethernet types, which some other link types also use.
const (
	typeIPv4 = 0x0800
	typeIPv6 = 0x86dd
	typeARP  = 0x0806
	typeRARP = 0x8035
	typeVLAN = 0x8100
)

// A packet is a packet without its link layer.
type packet struct {
	name string
	kind uint16
	data []byte
}

// onLink adds the header of a link type. It reports whether the link can carry
// the packet.
func (p packet) onLink(link int) ([]byte, bool) {
	family := map[uint16]uint32{typeIPv4: syscall.AF_INET, typeIPv6: syscall.AF_INET6}[p.kind]
	var head []byte
	switch link {
	case 0:
		head = binary.NativeEndian.AppendUint32(nil, family)
	case 108:
		head = binary.BigEndian.AppendUint32(nil, family)
	case 1:
		head = binary.BigEndian.AppendUint16(make([]byte, 12), p.kind)
	case 113:
		head = binary.BigEndian.AppendUint16(make([]byte, 14), p.kind)
	case 276:
		head = append(binary.BigEndian.AppendUint16(nil, p.kind), make([]byte, 18)...)
	case 101:
		return p.data, p.kind == typeIPv4 || p.kind == typeIPv6
	case 228:
		return p.data, p.kind == typeIPv4
	case 229:
		return p.data, p.kind == typeIPv6
	}
	return append(head, p.data...), family != 0 || len(head) > 4
}

// transport returns a header that begins with ports, and a payload.
func transport(src, dst uint16) []byte {
	b := binary.BigEndian.AppendUint16(nil, src)
	b = binary.BigEndian.AppendUint16(b, dst)
	return append(b, 0, 12, 0, 0, 'g', 'a', 'm', 'e')
}

// ipv4 returns a packet with the given number of option words and fragment
// field.
func ipv4(number byte, src, dst string, options int, fragment uint16, body []byte) []byte {
	b := make([]byte, 20, 80)
	b[0] = 0x45 + byte(options)
	binary.BigEndian.PutUint16(b[2:], uint16(20+4*options+len(body)))
	binary.BigEndian.PutUint16(b[6:], fragment)
	b[8], b[9] = 64, number
	copy(b[12:], netip.MustParseAddr(src).AsSlice())
	copy(b[16:], netip.MustParseAddr(dst).AsSlice())
	for range options {
		b = append(b, 1, 1, 1, 1)
	}
	return append(b, body...)
}

func ipv6(number byte, src, dst string, body []byte) []byte {
	b := make([]byte, 40, 80)
	b[0] = 0x60
	binary.BigEndian.PutUint16(b[4:], uint16(len(body)))
	b[6], b[7] = number, 64
	copy(b[8:], netip.MustParseAddr(src).AsSlice())
	copy(b[24:], netip.MustParseAddr(dst).AsSlice())
	return append(b, body...)
}

// arp returns the ARP and RARP body for IPv4 on Ethernet.
func arp(src, dst string) []byte {
	b := make([]byte, 28)
	copy(b, []byte{0, 1, 8, 0, 6, 4, 0, 1})
	copy(b[14:], netip.MustParseAddr(src).AsSlice())
	copy(b[24:], netip.MustParseAddr(dst).AsSlice())
	return b
}

// packets covers everything that filters distinguish.
func packets() []packet {
	const a, b, c, d = "10.0.0.1", "10.0.0.2", "192.168.1.20", "10.1.2.3"
	const a6, b6, c6 = "2001:db8::1", "2001:db8:0:1::2", "fe80::2"
	game, back, dns := transport(22101, 6500), transport(6500, 22101), transport(40000, 53)
	tag := append([]byte{0, 5, 8, 0}, ipv4(17, a, b, 0, 0, game)...)
	return []packet{
		{"udp", typeIPv4, ipv4(17, a, b, 0, 0, game)},
		{"udp back", typeIPv4, ipv4(17, b, a, 0, 0, back)},
		{"udp dns", typeIPv4, ipv4(17, c, d, 0, 0, dns)},
		{"udp both ports", typeIPv4, ipv4(17, a, c, 0, 0, transport(22101, 22101))},
		{"udp options", typeIPv4, ipv4(17, a, b, 3, 0, game)},
		{"udp all options", typeIPv4, ipv4(17, a, b, 10, 0, game)},
		{"udp first fragment", typeIPv4, ipv4(17, a, b, 0, 0x2000, game)},
		{"udp later fragment", typeIPv4, ipv4(17, a, b, 0, 0x2001, game)},
		{"udp last fragment", typeIPv4, ipv4(17, a, b, 0, 0x1fff, game)},
		{"udp whole", typeIPv4, ipv4(17, a, b, 0, 0x4000, game)},
		{"tcp", typeIPv4, ipv4(6, a, d, 0, 0, game)},
		{"tcp options", typeIPv4, ipv4(6, d, a, 1, 0, back)},
		{"sctp", typeIPv4, ipv4(132, c, a, 0, 0, game)},
		{"icmp", typeIPv4, ipv4(1, a, b, 0, 0, game)},
		{"same address", typeIPv4, ipv4(17, a, a, 0, 0, dns)},
		{"zero address", typeIPv4, ipv4(17, "0.0.0.0", "255.255.255.255", 0, 0, transport(68, 67))},
		{"udp6", typeIPv6, ipv6(17, a6, b6, game)},
		{"udp6 back", typeIPv6, ipv6(17, b6, a6, back)},
		{"udp6 loopback", typeIPv6, ipv6(17, "::1", "::1", transport(22101, 22101))},
		{"tcp6", typeIPv6, ipv6(6, c6, a6, game)},
		{"sctp6", typeIPv6, ipv6(132, c6, b6, dns)},
		{"icmp6", typeIPv6, ipv6(58, c6, b6, game)},
		{"udp6 fragment", typeIPv6, ipv6(44, a6, b6, append([]byte{17, 0, 0, 1, 0, 0, 0, 9}, game...))},
		{"tcp6 fragment", typeIPv6, ipv6(44, a6, c6, append([]byte{6, 0, 0, 0, 0, 0, 0, 9}, game...))},
		{"udp6 options", typeIPv6, ipv6(0, a6, b6, append([]byte{17, 0, 1, 4, 0, 0, 0, 0}, game...))},
		{"arp", typeARP, arp(a, c)},
		{"arp back", typeARP, arp(c, a)},
		{"rarp", typeRARP, arp(d, d)},
		{"vlan", typeVLAN, tag},
		{"other", 0x88cc, bytes.Repeat([]byte{0x42}, 60)},
	}
}
