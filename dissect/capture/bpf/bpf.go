// Not part of the library: package bpf compiles capture filters to programs for
// the operating system's packet filter.
//
// The language is the subset of tcpdump's that is useful to select games:
//
//	ip  ip6  udp  tcp                     the protocol
//	host 10.0.0.5      ip6 host ::1       either address
//	net 10.0.0.0/8     net 10    net fe80::/10
//	port 22101         udp port 22101     either port, of UDP, TCP and SCTP
//	portrange 22101-22110
//	src host …  dst net …  src port …  dst portrange …
//	src or dst port …  src and dst net …
//	and  or  not                          also && || !
//	( … )
//
// It has tcpdump's semantics, including the surprising parts. The words and and
// or have the same precedence and associate to the left, so that "udp or tcp
// and port 5" is "(udp or tcp) and port 5". A bare value inherits the
// qualifiers of the previous one: "udp port 1 or 2", "host 10.0.0.5 or
// 10.0.0.6". Without ip, an IPv4 address also matches ARP and RARP. Ports are
// those of IPv4 packets and first fragments, and of IPv6 packets without
// extension headers. Frames with a VLAN tag are neither ip nor ip6. A packet
// that ends before a tested field never matches, not even "not port 5".
//
// Everything else is an error: names of hosts and services, which would require
// look-ups, link-layer addresses, lengths, bytes at an offset, and likely
// mistakes such as "host 10.1", which is a network to tcpdump.
package bpf

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"golang.org/x/net/bpf"
)

// Limits on filters.
const (
	MaxLength       = 4096 // length of an expression in bytes
	MaxDepth        = 100  // nested parentheses and negations
	MaxInstructions = 4096 // instructions in a program. Systems accept no more.
)

// maxSnap is tcpdump's default snap length.
const maxSnap = 256 << 10

// ErrLink reports a link type without support for capture filters.
var ErrLink = errors.New("capture filters cannot be used on this kind of network")

// Compile compiles a filter for packets of a LINKTYPE. The program returns
// snap, or 256 KiB if snap is 0, for matching packets and 0 for others. The
// empty expression matches every packet of any link type.
//
// A mistake in the expression gives an [*Error], as does an expression that no
// packet can match. The supported link types are Ethernet (1), Linux "cooked"
// (113 and 276), BSD loopback (0 and 108, with this system's address families)
// and IP (101, 228, 229). Others give an [ErrLink].
func Compile(expr string, link int, snap uint32) ([]bpf.Instruction, error) {
	if snap == 0 {
		snap = maxSnap
	}
	if len(expr) > MaxLength {
		at := MaxLength
		for !utf8.RuneStart(expr[at]) && at > MaxLength-utf8.UTFMax {
			at--
		}
		return nil, fault(expr, at, len(expr), fmt.Sprintf("the filter has %d bytes; the limit is %d", len(expr), MaxLength))
	}
	tokens, err := lex(expr)
	if err != nil {
		return nil, err
	}
	if tokens[0].kind == end {
		return []bpf.Instruction{bpf.RetConstant{Val: snap}}, nil
	}
	l, ok := links[link]
	if !ok {
		return nil, fmt.Errorf("%w: link type %d", ErrLink, link)
	}
	p := parser{expr: expr, tokens: tokens, link: l}
	root, err := p.parse()
	if err != nil {
		return nil, err
	}
	g := newGraph()
	start := g.simplify(root(g, g.accept, g.reject))
	first, last := tokens[0], tokens[len(tokens)-2]
	if start == g.reject {
		return nil, fault(expr, first.pos, last.end, "no packet on this kind of network can match")
	}
	prog := newEmitter(g, start, l.size, snap).program()
	if len(prog) > MaxInstructions {
		return nil, fault(expr, first.pos, last.end, fmt.Sprintf("too long: it takes %d instructions, and a system's packet filter has room for %d", len(prog), MaxInstructions))
	}
	return prog, nil
}

// Program returns a function that compiles and encodes an expression once the
// link type is known. An empty expression needs no program.
func Program(expr string, snap uint32) func(link uint16) ([]bpf.RawInstruction, error) {
	return func(link uint16) ([]bpf.RawInstruction, error) {
		if expr == "" {
			return nil, nil
		}
		prog, err := Compile(expr, int(link), snap)
		if err != nil {
			return nil, err
		}
		return bpf.Assemble(prog)
	}
}
