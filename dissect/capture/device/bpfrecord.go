package device

import "encoding/binary"

// A layout describes a system's records from /dev/bpf: a struct bpf_hdr
// (seconds, microseconds, two lengths, its own size), then the packet, then
// padding.
type layout struct {
	word  int // size of the seconds, and of the microseconds including padding
	align int // alignment of records, a power of two
}

// next splits the first record off b. It reports false for a malformed record,
// which the kernel never returns.
func (l layout) next(b []byte, p *packet) (rest []byte, ok bool) {
	fixed := 2*l.word + 10
	if len(b) < fixed {
		return nil, false
	}
	sec := int64(u32(b)) // 32 bits last until 2106
	if l.word == 8 {
		sec = int64(binary.NativeEndian.Uint64(b))
	}
	// Fewer than a million microseconds fit into the first half of 8 bytes. In
	// layouts that use all 8, the lower half comes first.
	micro := int64(u32(b[l.word:]))
	h := b[2*l.word:]
	held, full, start := uint64(u32(h)), u32(h[4:]), uint64(u16(h[8:]))
	if start < uint64(fixed) || start+held > uint64(len(b)) {
		return nil, false
	}
	p.time = unixTime(sec, micro*1000)
	p.data = b[start : start+held]
	p.full = int(min(max(full, uint32(held)), 1<<30))
	size := (start + held + uint64(l.align) - 1) &^ (uint64(l.align) - 1)
	return b[min(size, uint64(len(b))):], true
}

func u16(b []byte) uint16 { return binary.NativeEndian.Uint16(b) }
func u32(b []byte) uint32 { return binary.NativeEndian.Uint32(b) }
