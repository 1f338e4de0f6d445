package capture

import "encoding/binary"

// Block types of pcapng. All others are skipped.
const (
	ngSection   = 0x0a0d0d0a // reads the same in both byte orders
	ngInterface = 1
	ngPacket    = 2 // obsolete
	ngSimple    = 3
	ngEnhanced  = 6
)

const (
	ngMagic = 0x1a2b3c4d
	// ngMaxBlock is the maximum size of a block. Skipped blocks need no memory, so
	// this only distinguishes a length from damage.
	ngMaxBlock = 128 << 20
	// ngMaxInterfaces limits the memory of a section.
	ngMaxInterfaces = 1 << 16
)

// Options of an interface.
const (
	ngEndOfOptions = 0
	ngResolution   = 9
	ngOffset       = 14
)

// A link describes one interface of a section.
type link struct {
	kind   uint16
	snap   uint32
	digits int8
	clock  resolution
}

// A pcapngReader reads the packet blocks of a pcapng file.
type pcapngReader struct {
	binary.ByteOrder
	b     *buffer
	links []link // link types of the section's interfaces
	tap   Tap
	clear bool // the section is marked: its datagrams are deciphered

	anonymous bool // the section is marked: it holds pseudonyms
}

// newPcapng returns a reader if the file's first bytes are a pcapng file's, and
// nil otherwise.
func newPcapng(b *buffer, magic []byte, tap Tap) (frameReader, error) {
	if binary.LittleEndian.Uint32(magic) != ngSection {
		return nil, nil
	}
	// Read the section header now, for two reasons: its magic number distinguishes
	// a capture from a text that begins with line ends, and a file that ends
	// inside it is rejected at once.
	p := &pcapngReader{b: b, tap: tap}
	h, err := b.peek(12)
	if err != nil {
		return nil, b.failed(err, true, false)
	}
	if !p.order(h) {
		return nil, nil
	}
	total, err := p.length(h, false)
	if err != nil {
		return nil, err
	}
	return p, p.section(total)
}

func (p *pcapngReader) next(f *frame) error {
	for {
		h, err := p.b.peek(12)
		if err != nil {
			return p.b.failed(err, len(h) > 0, false)
		}
		kind := p.Uint32(h)
		if kind == 0 && p.Uint32(h[4:]) == 0 {
			offset := p.b.offset()
			if n, last := p.b.zeros(4); last {
				return interrupted(offset, n)
			}
			return damagedAt(offset, false, "no block is as long as 0 bytes")
		}
		if kind == ngSection && !p.order(h) {
			return p.damaged(false, "a section without a known byte order")
		}
		isFrame := kind == ngEnhanced || kind == ngSimple || kind == ngPacket
		total, err := p.length(h, isFrame)
		if err != nil {
			return err
		}
		switch {
		case isFrame:
			return p.packet(f, kind, total)
		case kind == ngSection:
			err = p.section(total)
		case kind == ngInterface:
			err = p.describe(total)
		default:
			err = p.other(kind, total)
		}
		if err != nil {
			return err
		}
	}
}

// order determines the byte order of a section from its header.
func (p *pcapngReader) order(h []byte) bool {
	for _, p.ByteOrder = range byteOrders {
		if p.Uint32(h[8:]) == ngMagic {
			return true
		}
	}
	return false
}

// length returns the length of the block with header h.
func (p *pcapngReader) length(h []byte, inFrame bool) (int, error) {
	total := p.Uint32(h[4:])
	if total < 12 || total%4 != 0 || total > ngMaxBlock {
		return 0, p.damaged(inFrame, "no block is as long as %d bytes", total)
	}
	return int(total), nil
}

// block returns the body of a block that fits the buffer.
func (p *pcapngReader) block(total int, inFrame bool) ([]byte, error) {
	block, err := p.b.peek(total)
	if err != nil {
		return nil, p.b.failed(err, true, inFrame)
	}
	if again := p.Uint32(block[total-4:]); again != uint32(total) {
		return nil, p.damaged(inFrame, "a block of %d bytes ends as one of %d", total, again)
	}
	p.b.skip(total)
	return block[8 : total-4], nil
}

// pass skips a block of any size.
func (p *pcapngReader) pass(total int, inFrame bool) error {
	if total <= bufferSize {
		_, err := p.block(total, inFrame)
		return err
	}
	if err := p.b.discard(int64(total - 4)); err != nil {
		return p.b.failed(err, true, inFrame)
	}
	end, err := p.b.peek(4)
	if err != nil {
		return p.b.failed(err, true, inFrame)
	}
	if again := p.Uint32(end); again != uint32(total) {
		return p.damaged(inFrame, "a block of %d bytes ends as one of %d", total, again)
	}
	p.b.skip(4)
	return nil
}

// other passes over a block that holds neither frames nor interfaces.
func (p *pcapngReader) other(kind uint32, total int) error {
	if p.tap == nil || total > bufferSize {
		err := p.pass(total, false)
		if p.tap != nil && err == nil {
			p.tap.Block(kind, nil)
		}
		return err
	}
	body, err := p.block(total, false)
	if err == nil {
		if p.ByteOrder == binary.BigEndian {
			body = p.turn(kind, body)
		}
		p.tap.Block(kind, body)
	}
	return err
}

// section begins a section, which has its own interfaces.
func (p *pcapngReader) section(total int) error {
	if total < 28 {
		return p.damaged(false, "a section header of %d bytes", total)
	}
	h, err := p.b.peek(14)
	if err != nil {
		return p.b.failed(err, true, false)
	}
	if major := p.Uint16(h[12:]); major != 1 {
		return p.damaged(false, "version %d of pcapng is not known", major)
	}
	p.links = p.links[:0]
	if p.clear, p.anonymous = false, false; total > bufferSize {
		err := p.pass(total, false)
		if p.tap != nil && err == nil {
			p.tap.Section(nil)
		}
		return err
	}
	body, err := p.block(total, false)
	if err != nil {
		return err
	}
	const fixed = 16 // byte order, version, length
	options := p.options(ngSection, body[min(fixed, len(body)):])
	p.clear, p.anonymous = IsClear(options), hasComment(options, AnonymousMark)
	if p.tap != nil {
		p.tap.Section(options)
	}
	return nil
}

// describe adds an interface to the section.
func (p *pcapngReader) describe(total int) error {
	if total < 20 || total > bufferSize {
		return p.damaged(false, "an interface description of %d bytes", total)
	}
	if len(p.links) == ngMaxInterfaces {
		return p.damaged(false, "more than %d interfaces", ngMaxInterfaces)
	}
	body, err := p.block(total, false)
	if err != nil {
		return err
	}
	l := link{kind: p.Uint16(body), snap: p.Uint32(body[4:]), clock: microseconds}
	options := p.options(ngInterface, body[8:])
	for code, value := range eachOption(options) {
		switch {
		case code == ngResolution && len(value) == 1:
			l.clock.exp, l.clock.binary = value[0]&0x7f, value[0]&0x80 != 0
		case code == ngOffset && len(value) == 8:
			l.clock.offset = int64(binary.LittleEndian.Uint64(value))
		}
	}
	l.digits = l.clock.digits()
	p.links = append(p.links, l)
	if p.tap != nil {
		p.tap.Interface(&Interface{Link: l.kind, SnapLen: l.snap, Options: options})
	}
	return nil
}

// packet fills f from one of the three kinds of packet blocks.
func (p *pcapngReader) packet(f *frame, kind uint32, total int) error {
	f.Data, f.Interface = nil, 0
	f.Stamp, f.Timed, f.Options = 0, false, nil
	if total > bufferSize {
		f.flaw, f.Full = oversized, total
		return p.pass(total, true)
	}
	start := p.b.offset()
	body, err := p.block(total, true)
	if err != nil {
		return err
	}
	head := 20
	if kind == ngSimple {
		head = 4
	}
	if len(body) < head {
		return damagedAt(start, true, "a packet block of %d bytes", total)
	}
	var which, held, full uint32
	switch kind {
	case ngEnhanced:
		which, held, full = p.Uint32(body), p.Uint32(body[12:]), p.Uint32(body[16:])
	case ngPacket:
		which, held, full = uint32(p.Uint16(body)), p.Uint32(body[12:]), p.Uint32(body[16:])
	case ngSimple:
		full = p.Uint32(body)
		held = min(full, uint32(len(body)-head))
		if len(p.links) > 0 && p.links[0].snap > 0 {
			held = min(held, p.links[0].snap)
		}
	}
	data := body[head:]
	if uint64(held) > uint64(len(data)) {
		return damagedAt(start, true, "%d bytes of a frame in a block of %d", held, total)
	}
	f.Full = fullLength(full, held)
	if uint64(which) >= uint64(len(p.links)) {
		f.flaw = noInterface
		return nil
	}
	f.Interface = int(which)
	l := &p.links[which]
	// A simple packet block has no time. Its frame keeps the time of the previous
	// one, so that time does not jump.
	if kind != ngSimple {
		stamp := uint64(p.Uint32(body[4:]))<<32 | uint64(p.Uint32(body[8:]))
		f.Time = l.clock.time(stamp)
		if p.tap != nil {
			f.Stamp, f.Timed = stamp, true
			f.Options = p.options(ngEnhanced, data[min((int(held)+3)&^3, len(data)):])
		}
	}
	f.digits = l.digits
	f.Link = l.kind
	f.clear, f.anonymous = p.clear, p.anonymous
	if held > maxFrame {
		f.flaw = oversized
		return nil
	}
	f.flaw = gaveDatagram
	f.Data = data[:held]
	return nil
}

func (p *pcapngReader) damaged(inFrame bool, format string, args ...any) error {
	return damagedAt(p.b.offset(), inFrame, format, args...)
}
