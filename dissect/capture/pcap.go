package capture

import (
	"encoding/binary"
	"math/bits"
	"time"
)

// Magic numbers of pcap files, in their writer's byte order.
const (
	pcapMicro    = 0xa1b2c3d4
	pcapNano     = 0xa1b23c4d
	pcapModified = 0xa1b2cd34 // microseconds, and 8 more bytes a record
)

const (
	pcapHeader         = 24
	pcapRecord         = 16
	pcapRecordModified = 24
)

// A pcapReader reads the records of a pcap file.
type pcapReader struct {
	binary.ByteOrder
	b       *buffer
	record  int // size of a record's header
	unit    int64
	digits  int8
	link    uint16
	swapped bool  // lengths may be in reverse order
	plain   bool  // neither big nor swapped, the common case
	empty   int64 // frames whose headers were zero bytes, and that were not returned yet
	tap     Tap
}

// newPcap returns a reader if the file's first bytes are a pcap file's, and nil
// otherwise.
func newPcap(b *buffer, magic []byte, tap Tap) (frameReader, error) {
	p := &pcapReader{b: b, tap: tap}
	if !p.recognise(magic) {
		return nil, nil
	}
	h, err := b.peek(pcapHeader)
	if err != nil {
		return nil, b.failed(err, true, false)
	}
	// Before version 2.3, some programs reversed the two lengths of a record. The
	// version then stayed at 2.4.
	p.swapped = p.Uint16(h[4:]) == 2 && p.Uint16(h[6:]) <= 3
	p.plain = p.ByteOrder == binary.LittleEndian && !p.swapped
	// The snap length (at 16) is not reliable. The upper half of the link type
	// announces a checksum behind each frame, which is ignored.
	p.link = uint16(p.Uint32(h[20:]))
	if tap != nil {
		tap.Section(nil)
		tap.Interface(&Interface{Link: p.link, SnapLen: p.Uint32(h[16:]), Options: resolutionOption(uint8(p.digits))})
	}
	b.skip(pcapHeader)
	return p, nil
}

func (p *pcapReader) recognise(magic []byte) bool {
	p.record, p.unit, p.digits = pcapRecord, 1000, 6
	for _, p.ByteOrder = range byteOrders {
		switch p.Uint32(magic) {
		case pcapMicro:
			return true
		case pcapNano:
			p.unit, p.digits = 1, 9
			return true
		case pcapModified:
			p.record = pcapRecordModified
			return true
		}
	}
	return false
}

func (p *pcapReader) next(f *frame) error {
	if p.empty > 0 {
		p.empty--
		p.give(f, 0, 0, 0, nil)
		return nil
	}
	r := p.b.ready()
	if len(r) < p.record {
		var err error
		if r, err = p.b.peek(p.record); err != nil {
			return p.b.failed(err, len(r) > 0, len(r) > 0)
		}
	}
	h := (*[pcapRecord]byte)(r)
	sec, fraction := binary.LittleEndian.Uint32(h[0:]), binary.LittleEndian.Uint32(h[4:])
	held, full := binary.LittleEndian.Uint32(h[8:]), binary.LittleEndian.Uint32(h[12:])
	if !p.plain {
		sec, fraction, held, full = p.reorder(sec, fraction, held, full)
	}
	if sec|fraction|held|full == 0 {
		// An empty frame of the year 1970, unless there is nothing else up to the end:
		// no interface delivers such frames, and a power loss leaves such bytes.
		offset := p.b.offset()
		n, last := p.b.zeros(p.record)
		if last {
			return interrupted(offset, n)
		}
		if p.empty = n / int64(p.record); p.empty > 0 {
			return p.next(f)
		}
		r = p.b.ready()
	}
	if held > maxFrame {
		return damagedAt(p.b.offset(), true, "no frame is as long as %d bytes", held)
	}
	size := p.record + int(held)
	if len(r) < size {
		var err error
		if r, err = p.b.peek(size); err != nil {
			return p.b.failed(err, true, true)
		}
	}
	p.b.skip(size)
	p.give(f, sec, fraction, full, r[p.record:size])
	return nil
}

// give fills in a frame.
func (p *pcapReader) give(f *frame, sec, fraction, full uint32, data []byte) {
	f.Time = time.Unix(int64(sec), int64(fraction)*p.unit).UTC()
	f.digits = p.digits
	f.flaw = gaveDatagram
	f.Link = p.link
	f.Data = data
	f.Full = fullLength(full, uint32(len(data)))
	if p.tap != nil {
		f.Stamp, f.Timed = (uint64(sec)*1e9+uint64(fraction)*uint64(p.unit))/uint64(p.unit), true
	}
}

// reorder interprets a record's header of an unusual kind.
func (p *pcapReader) reorder(sec, fraction, held, full uint32) (_, _, _, _ uint32) {
	if p.ByteOrder == binary.BigEndian {
		sec, fraction = bits.ReverseBytes32(sec), bits.ReverseBytes32(fraction)
		held, full = bits.ReverseBytes32(held), bits.ReverseBytes32(full)
	}
	if p.swapped && held > full {
		held, full = full, held
	}
	return sec, fraction, held, full
}

// fullLength corrects a length on the network, which some programs set too
// small or to zero.
func fullLength(full, held uint32) int { return int(min(max(full, held), 1<<30)) }

// byteOrders are the byte orders of the machines that write captures.
var byteOrders = []binary.ByteOrder{binary.LittleEndian, binary.BigEndian}
