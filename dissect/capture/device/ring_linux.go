package device

import (
	"encoding/binary"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Offsets in the memory shared with the kernel, from linux/if_packet.h: struct
// tpacket_block_desc at the start of a block, then for each packet a struct
// tpacket3_hdr and a struct sockaddr_ll.
const (
	blockStatus  = 8
	blockPackets = 12
	blockFirst   = 16

	headNext    = 0
	headSec     = 4
	headNsec    = 8
	headHeld    = 12
	headFull    = 16
	headStatus  = 20
	headMAC     = 24
	headTCI     = 32
	headTPID    = 36
	headAddress = 48
	headEnd     = headAddress + 20

	addressProtocol = headAddress + 2
	addressIndex    = headAddress + 4
	addressType     = headAddress + 8
	addressKind     = headAddress + 10
	addressLength   = headAddress + 11
	addressBytes    = headAddress + 12
)

// A slot is a packet in shared memory.
type slot struct {
	head []byte // tpacket3_hdr and sockaddr_ll
	data []byte
	full int
}

// slotAt returns the packet with its headers at an offset of a block. It
// reports false for inconsistent headers, which the kernel never writes.
func slotAt(block []byte, at uint32) (slot, bool) {
	if uint64(at)+headEnd > uint64(len(block)) {
		return slot{}, false
	}
	h := block[at:]
	start, held := uint64(u16(h[headMAC:])), uint64(u32(h[headHeld:]))
	if start < headEnd || start+held > uint64(len(h)) {
		return slot{}, false
	}
	full := u32(h[headFull:])
	return slot{h[:headEnd], h[start : start+held], int(min(max(full, uint32(held)), 1<<30))}, true
}

func (s *slot) next() uint32 { return u32(s.head[headNext:]) }

// echo reports whether this is the outgoing copy of a loopback packet. The
// incoming one follows.
func (s *slot) echo() bool {
	return s.head[addressKind] == unix.PACKET_OUTGOING && u16(s.head[addressType:]) == unix.ARPHRD_LOOPBACK
}

// tag returns the VLAN tag removed by the kernel or the network card, if any.
func (s *slot) tag() (tag [4]byte, ok bool) {
	status := u32(s.head[headStatus:])
	if status&unix.TP_STATUS_VLAN_VALID == 0 {
		return tag, false
	}
	kind := uint16(unix.ETH_P_8021Q)
	if status&unix.TP_STATUS_VLAN_TPID_VALID != 0 {
		kind = u16(s.head[headTPID:])
	}
	binary.BigEndian.PutUint16(tag[:], kind)
	binary.BigEndian.PutUint16(tag[2:], uint16(u32(s.head[headTCI:])))
	return tag, true
}

// cookedHeader is the size of the "cooked" header of Linux, version 2, which
// replaces the link layer.
const cookedHeader = 20

// appendCooked appends the cooked header of the packet.
func (s *slot) appendCooked(b []byte) []byte {
	b = append(b, s.head[addressProtocol:addressProtocol+2]...) // in network order
	b = append(b, 0, 0)
	b = binary.BigEndian.AppendUint32(b, u32(s.head[addressIndex:]))
	b = binary.BigEndian.AppendUint16(b, u16(s.head[addressType:]))
	b = append(b, s.head[addressKind], s.head[addressLength])
	return append(b, s.head[addressBytes:addressBytes+8]...)
}

// forCooked adapts a filter for cooked packets to the kernel, which sees
// packets without the cooked header and has its fields elsewhere. It returns
// nil if that is impossible.
func forCooked(program []bpf.RawInstruction) []bpf.RawInstruction {
	const (
		classMask, sizeMask, modeMask = 0x07, 0x18, 0xe0
		load, loadX                   = unix.BPF_LD, unix.BPF_LDX
	)
	// The kernel's data about a packet, at offsets outside any packet (SKF_AD_OFF
	// in linux/filter.h).
	const (
		ad         = 0xfffff000
		adProtocol = ad + 0
		adKind     = ad + 4
		adIndex    = ad + 8
		adHardware = ad + 28
	)
	type place struct {
		offset uint32
		size   uint16
	}
	fields := map[place]uint32{
		{0, unix.BPF_H}:  adProtocol,
		{4, unix.BPF_W}:  adIndex,
		{8, unix.BPF_H}:  adHardware,
		{10, unix.BPF_B}: adKind,
	}
	fixed := make([]bpf.RawInstruction, len(program))
	for i, in := range program {
		class, mode := in.Op&classMask, in.Op&modeMask
		loads := class == load || class == loadX
		switch {
		case loads && (mode == unix.BPF_ABS || mode == unix.BPF_IND || mode == unix.BPF_MSH):
			if in.K >= cookedHeader {
				in.K -= cookedHeader
				break
			}
			known, ok := fields[place{in.K, in.Op & sizeMask}]
			if !ok || class != load || mode != unix.BPF_ABS {
				return nil
			}
			in.K = known
		case loads && mode == unix.BPF_LEN:
			return nil
		case in.Op == unix.BPF_RET|unix.BPF_K && in.K != 0:
			in.K = MaxSnapLen // the kernel's length excludes the header; excess bytes are cut later
		}
		fixed[i] = in
	}
	return fixed
}
