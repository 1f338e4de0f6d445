package bpf

import (
	"encoding/binary"
	"net/netip"
	"syscall"

	"golang.org/x/net/bpf"
)

// An expr is a condition. It adds its tests to the graph, which lead to yes if
// it is true and to no if not, and returns the first test. The order of tests
// is tcpdump's. It matters for short packets, since a test beyond the end of a
// packet rejects it.
type expr func(g *graph, yes, no *node) *node

func conj(a, b expr) expr {
	return func(g *graph, yes, no *node) *node { return a(g, b(g, yes, no), no) }
}

func disj(a, b expr) expr {
	return func(g *graph, yes, no *node) *node { return a(g, yes, b(g, yes, no)) }
}

func neg(a expr) expr {
	return func(g *graph, yes, no *node) *node { return a(g, no, yes) }
}

func always(_ *graph, yes, _ *node) *node { return yes }
func never(_ *graph, _, no *node) *node   { return no }

// A match is a condition on a field's value.
type match func(f field) expr

func is(v uint32) match { return func(f field) expr { return check(test{f, bpf.JumpEqual, v}) } }

func within(low, high uint32) match {
	return func(f field) expr {
		return conj(check(test{f, bpf.JumpGreaterOrEqual, low}), neg(check(test{f, bpf.JumpGreaterThan, high})))
	}
}

func check(t test) expr {
	return func(g *graph, yes, no *node) *node { return g.test(t, yes, no) }
}

// A link describes a link type: the offset of the network layer, and the test
// for each protocol. Protocols that it cannot carry never match.
type link struct {
	size                  uint32
	ipv4, ipv6, arp, rarp expr
}

// links are the supported link types.
var links = map[int]link{
	0:   family(binary.NativeEndian),
	1:   etherType(14, 12),
	101: {0, check(version(0x40)), check(version(0x60)), never, never},
	108: family(binary.BigEndian),
	113: etherType(16, 14),
	228: {0, always, never, never, never},
	229: {0, never, always, never, never},
	276: etherType(20, 0),
}

func etherType(size, off uint32) link {
	kind := func(v uint32) expr { return is(v)(field{off: off, size: 2, mask: allBits}) }
	return link{size, kind(0x0800), kind(0x86dd), kind(0x0806), kind(0x8035)}
}

// family returns a link with an address family in front, in this system's
// numbers.
func family(order binary.ByteOrder) link {
	kind := func(v uint32) expr {
		var b [4]byte
		order.PutUint32(b[:], v)
		return is(binary.BigEndian.Uint32(b[:]))(field{off: 0, size: 4, mask: allBits})
	}
	return link{4, kind(syscall.AF_INET), kind(syscall.AF_INET6), never, never}
}

func version(v uint32) test {
	return test{field{off: 0, size: 1, mask: 0xf0}, bpf.JumpEqual, v}
}

// at returns a field of the network layer.
func (l link) at(off uint32, size int) field {
	return field{off: l.size + off, size: size, mask: allBits}
}

// Numbers of protocols.
const (
	protoTCP      = 6
	protoUDP      = 17
	protoFragment = 44
	protoSCTP     = 132
)

// proto returns the condition for a protocol.
func (l link) proto(p proto) expr {
	var number match
	switch p {
	case ip:
		return l.ipv4
	case ip6:
		return l.ipv6
	case tcp:
		number = is(protoTCP)
	case udp:
		number = is(protoUDP)
	}
	return disj(
		conj(l.ipv4, number(l.at(9, 1))),
		conj(l.ipv6, disj(
			number(l.at(6, 1)),
			conj(is(protoFragment)(l.at(6, 1)), number(l.at(40, 1))))))
}

// sided returns a condition on a field of the sender, of the receiver or of
// both.
func sided(s sides, sender, receiver expr) expr {
	switch s {
	case src:
		return sender
	case dst:
		return receiver
	case both:
		return conj(sender, receiver)
	default:
		return disj(sender, receiver)
	}
}

// ports returns a condition on ports.
func (l link) ports(p proto, s sides, m match) expr {
	var protocols []uint32
	switch p {
	case tcp:
		protocols = []uint32{protoTCP}
	case udp:
		protocols = []uint32{protoUDP}
	default:
		protocols = []uint32{protoSCTP, protoTCP, protoUDP}
	}
	v4, v6 := expr(never), expr(never)
	for _, n := range protocols {
		behind := func(off uint32) field { // after an IPv4 header, which may have options
			f := l.at(off, 2)
			f.behind = true
			return f
		}
		first := neg(check(test{l.at(6, 2), bpf.JumpBitsSet, 0x1fff}))
		v4 = disj(v4, conj(conj(is(n)(l.at(9, 1)), first), sided(s, m(behind(0)), m(behind(2)))))
		v6 = disj(v6, conj(is(n)(l.at(6, 1)), sided(s, m(l.at(40, 2)), m(l.at(42, 2)))))
	}
	return disj(conj(l.ipv6, v6), conj(l.ipv4, v4))
}

// net4 returns a condition on IPv4 addresses.
func (l link) net4(p proto, s sides, net netip.Prefix) expr {
	in := func(kind expr, sender, receiver uint32) expr {
		addr := net.Addr().As4()
		return conj(kind, sided(s, l.inNet(sender, addr[:], net.Bits()), l.inNet(receiver, addr[:], net.Bits())))
	}
	packet := in(l.ipv4, 12, 16)
	if p == ip {
		return packet
	}
	return disj(disj(packet, in(l.arp, 14, 24)), in(l.rarp, 14, 24))
}

// net6 returns a condition on IPv6 addresses.
func (l link) net6(s sides, net netip.Prefix) expr {
	addr := net.Addr().As16()
	return conj(l.ipv6, sided(s, l.inNet(8, addr[:], net.Bits()), l.inNet(24, addr[:], net.Bits())))
}

// inNet is the condition that the first bits of an address equal the bits of
// addr, which consists of whole words.
func (l link) inNet(off uint32, addr []byte, bits int) expr {
	e := expr(always)
	for i := 0; i < len(addr) && bits > 0; i, bits = i+4, bits-32 {
		f := l.at(off+uint32(i), 4)
		if bits < 32 {
			f.mask = allBits << (32 - bits)
		}
		e = conj(e, is(binary.BigEndian.Uint32(addr[i:]))(f))
	}
	return e
}
