package device

import (
	"encoding/binary"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// A head begins a packet in the memory shared with the kernel.
type head struct {
	unix.Tpacket3Hdr
	from unix.RawSockaddrLinklayer
}

// A slot is a packet in shared memory.
type slot struct {
	*head
	data []byte
	full int
}

// slotAt returns the packet with its headers at an offset of a block. It
// reports false for inconsistent headers, which the kernel never writes.
func slotAt(block []byte, at uint32) (slot, bool) {
	const size = unsafe.Sizeof(head{})
	if uint64(at)+uint64(size) > uint64(len(block)) {
		return slot{}, false
	}
	b := block[at:]
	h := (*head)(unsafe.Pointer(&b[0]))
	start, held := uint64(h.Mac), uint64(h.Snaplen)
	if start < uint64(size) || start+held > uint64(len(b)) {
		return slot{}, false
	}
	return slot{h, b[start : start+held], int(min(max(h.Len, h.Snaplen), 1<<30))}, true
}

// echo reports whether this is the outgoing copy of a loopback packet. The
// incoming one follows.
func (s *slot) echo() bool {
	return s.from.Pkttype == unix.PACKET_OUTGOING && s.from.Hatype == unix.ARPHRD_LOOPBACK
}

// tag returns the VLAN tag removed by the kernel or the network card, if any.
func (s *slot) tag() (tag [4]byte, ok bool) {
	if s.Status&unix.TP_STATUS_VLAN_VALID == 0 {
		return tag, false
	}
	kind := uint16(unix.ETH_P_8021Q)
	if s.Status&unix.TP_STATUS_VLAN_TPID_VALID != 0 {
		kind = s.Hv1.Vlan_tpid
	}
	binary.BigEndian.PutUint16(tag[:], kind)
	binary.BigEndian.PutUint16(tag[2:], uint16(s.Hv1.Vlan_tci))
	return tag, true
}

// cookedHeader is the size of the "cooked" header of Linux, version 2, which
// replaces the link layer.
const cookedHeader = 20

// appendCooked appends the cooked header of the packet.
func (s *slot) appendCooked(b []byte) []byte {
	b = binary.NativeEndian.AppendUint16(b, s.from.Protocol) // already in network order
	b = append(b, 0, 0)
	b = binary.BigEndian.AppendUint32(b, uint32(s.from.Ifindex))
	b = binary.BigEndian.AppendUint16(b, s.from.Hatype)
	b = append(b, s.from.Pkttype, s.from.Halen)
	return append(b, s.from.Addr[:]...)
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
			in.K = MaxSnapLen // the kernel's length excludes the header. Excess bytes are cut off later.
		}
		fixed[i] = in
	}
	return fixed
}
