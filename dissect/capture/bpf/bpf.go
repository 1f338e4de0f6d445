// Package bpf compiles capture filters to programs for the packet filter of the
// operating system.
//
// The language is the part of tcpdump's that telling games apart takes:
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
// It means what it means to tcpdump, which may surprise. The words and and or
// bind equally and from the left, so that "udp or tcp and port 5" is
// "(udp or tcp) and port 5". A value alone takes over what stood before the
// last one: "udp port 1 or 2", "host 10.0.0.5 or 10.0.0.6". Without ip, an IPv4
// address is also looked for in ARP and RARP. Ports are those of packets and
// first fragments of IPv4, and of IPv6 packets without extension headers.
// Frames with a VLAN tag are neither ip nor ip6. A packet that ends before what
// is asked for is never kept, not even by "not port 5".
//
// Everything else is refused: names of hosts and services, which would have to
// be looked up, addresses of the link layer, lengths, bytes at an offset; also
// what is easily a mistake, such as "host 10.1", a network to tcpdump.
package bpf

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"golang.org/x/net/bpf"
)

// Limits, beyond which a filter is refused.
const (
	MaxLength       = 4096 // bytes of an expression
	MaxDepth        = 100  // parentheses and negations inside each other
	MaxInstructions = 4096 // of a program; systems take no more
)

// maxSnap is what tcpdump keeps of a packet if nobody says how much.
const maxSnap = 256 << 10

// ErrLink is for link types that no filter can be compiled for.
var ErrLink = errors.New("capture filters cannot be used on this kind of network")

// Compile compiles a filter for packets of a LINKTYPE. The program returns snap,
// or 256 KiB if that is 0, for packets to keep, and 0 for others. The empty
// expression keeps every packet, of any link type.
//
// An error about the expression is an [*Error]; one that no packet can match is
// refused, too. Of link types there are Ethernet (1), Linux "cooked" (113 and
// 276), BSD loopback (0 and 108, with the address families of the system this
// runs on) and IP (101, 228, 229); others make an [ErrLink].
func Compile(expr string, link int, snap uint32) ([]bpf.Instruction, error) {
	if snap == 0 {
		snap = maxSnap
	}
	if len(expr) > MaxLength {
		at := MaxLength
		for !utf8.RuneStart(expr[at]) && at > MaxLength-utf8.UTFMax {
			at--
		}
		return nil, fault(expr, at, len(expr), fmt.Sprintf("%d bytes are too long for a filter; %d are allowed", len(expr), MaxLength))
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

// Assemble makes of a program what the kernel takes.
func Assemble(prog []bpf.Instruction) ([]bpf.RawInstruction, error) { return bpf.Assemble(prog) }

// Accepts returns how many bytes of a packet a program keeps, 0 if none. It is
// for systems that filter in user space. To filter many packets, make the
// virtual machine once, with NewVM of golang.org/x/net/bpf.
func Accepts(prog []bpf.Instruction, packet []byte) (int, error) {
	vm, err := bpf.NewVM(prog)
	if err != nil {
		return 0, err
	}
	return vm.Run(packet)
}

// Program returns what compiles an expression once the link type is known, into
// the form that systems take. An empty expression needs no program.
func Program(expr string, snap uint32) func(link uint16) ([]bpf.RawInstruction, error) {
	return func(link uint16) ([]bpf.RawInstruction, error) {
		if expr == "" {
			return nil, nil
		}
		prog, err := Compile(expr, int(link), snap)
		if err != nil {
			return nil, err
		}
		return Assemble(prog)
	}
}
