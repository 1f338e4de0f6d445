package capture

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/bcdissect/bcdissect/dissect/packet"
)

// CopyOptions choose the contents and the form of a copy of captures.
type CopyOptions struct {
	// Keep chooses frames. A nil Keep takes all.
	Keep func(f *Frame) bool
	// Hold makes frames with a datagram wait for Release, which may change them.
	Hold bool
	// Pcap writes pcap, which holds no comments, and only one link type.
	Pcap bool
	// Sections are the options of the sections of several inputs, which become one
	// section. If nil, the sections are kept unchanged, which needs a single
	// input.
	Sections [][]byte
	// Longer makes room for frames that are longer than the captured ones:
	// interfaces have no snap length. A bare IP packet gets a loopback interface,
	// since Wireshark drops the bytes after it.
	Longer bool
	// Comments are added to each section.
	Comments []string
}

// A Copy writes frames of captures to another capture. It is the tap of the
// series that reads them. Comments, interfaces, times, resolved names and other
// blocks survive. Numbers become little-endian.
type Copy struct {
	w    Writer
	opts CopyOptions

	begun      bool
	files      map[int][]written // the interfaces of each file's section
	file       int               // being read
	interfaces int               // in the output's section
	link       uint16            // link type of a pcap file
	unit       int               // nanoseconds in the fraction of a second of a pcap file
	held       *Frame            // waits for Release
	of         packet.Datagram
	data       []byte // contents of held
	headed     []byte // the last frame with a header

	stats CopyStats
}

// A written interface is one in the output.
type written struct {
	number uint32
	link   uint16
	fine   bool // its times are finer than microseconds
	headed bool // its frames get a header before the IP packet
}

// CopyStats count the frames of a copy and the parts that were not copied.
type CopyStats struct {
	Frames  int // written
	Lacking int // too large, or without an interface
	Blocks  int // pcapng blocks other than frames that were too large to copy
}

// NewCopy returns a copy. The name is for errors.
func NewCopy(name string, w io.Writer, o CopyOptions) *Copy {
	return &Copy{w: Writer{name: name, w: w, buf: make([]byte, 0, writeSize)}, opts: o, files: map[int][]written{}}
}

// CreateCopy creates a file that only its owner can read. A non-empty regular
// file is an error unless overwrite is set.
func CreateCopy(name string, overwrite bool, o CopyOptions) (*Copy, error) {
	f, err := create(name, overwrite)
	if err != nil {
		return nil, named(name, err)
	}
	return NewCopy(name, f, o), nil
}

// Stats returns the counts so far.
func (c *Copy) Stats() CopyStats { return c.stats }

// File implements [Tap].
func (c *Copy) File(n int) { c.file = n }

// Section implements [Tap].
func (c *Copy) Section(options []byte) {
	c.files[c.file] = c.files[c.file][:0]
	switch {
	case c.opts.Pcap:
		return
	case c.opts.Sections != nil:
		if c.begun {
			return
		}
		options = mergeSections(c.opts.Sections)
	default:
		c.interfaces = 0
	}
	c.begun = true
	c.w.beginSection()
	c.w.buf = append(c.w.buf, options...)
	for _, text := range c.opts.Comments {
		if !hasComment(options, text) {
			c.w.text(ngComment, text)
		}
	}
	c.w.finish(true)
	c.room()
}

// ngComment is the option with a comment, of every block.
const ngComment = 1

// hasComment reports whether options hold a comment.
func hasComment(options []byte, text string) bool {
	for code, value := range eachOption(options) {
		if code == ngComment && string(value) == text {
			return true
		}
	}
	return false
}

// IsClear reports whether the options of a section hold [ClearMark].
func IsClear(options []byte) bool { return hasComment(options, ClearMark) }

// mergeSections joins the options of sections: all comments, and of the others
// the first of each kind. Values that differ from the first become comments.
func mergeSections(all [][]byte) []byte {
	var out []byte
	seen := map[string]bool{}
	for _, options := range all {
		for code, value := range eachOption(options) {
			key := fmt.Sprintf("%d %s", code, value)
			first := fmt.Sprint(code)
			switch {
			case seen[key]:
				continue
			case code == ngHardware || code == ngSystem || code == ngApplication:
				if seen[first] {
					code, value = ngComment, append([]byte("another input: "), value...)
				}
				seen[first] = true
			}
			seen[key] = true
			out = appendOption(out, code, value)
		}
	}
	return out
}

// eachOption yields the options of a little-endian block.
func eachOption(b []byte) func(yield func(code uint16, value []byte) bool) {
	return func(yield func(uint16, []byte) bool) {
		for len(b) >= 4 {
			code, size := binary.LittleEndian.Uint16(b), int(binary.LittleEndian.Uint16(b[2:]))
			next := 4 + (size+3)&^3
			if next > len(b) || !yield(code, b[4:4+size]) {
				return
			}
			b = b[next:]
		}
	}
}

func appendOption(dst []byte, code uint16, value []byte) []byte {
	value = value[:min(len(value), 0xffff)]
	dst = binary.LittleEndian.AppendUint16(dst, code)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(value)))
	dst = append(dst, value...)
	return append(dst, make([]byte, -len(value)&3)...)
}

// Interface implements [Tap].
func (c *Copy) Interface(i *Interface) {
	of := written{number: uint32(c.interfaces), link: i.Link, fine: isFine(i.Options), headed: c.opts.Longer && isIP(i.Link)}
	if of.headed {
		of.link = linkNull
	}
	c.files[c.file] = append(c.files[c.file], of)
	c.interfaces++
	if c.opts.Pcap {
		return
	}
	snap := i.SnapLen
	if c.opts.Longer {
		snap = 0
	}
	c.w.beginInterface(of.link, snap)
	c.w.buf = append(c.w.buf, i.Options...)
	c.w.finish(true)
	c.room()
}

// Block implements [Tap].
func (c *Copy) Block(kind uint32, body []byte) {
	switch {
	case c.opts.Pcap || kind == ngNoCopy:
		return
	case body == nil:
		c.stats.Blocks++
		return
	}
	c.fit(12 + len(body))
	c.w.begin(kind)
	at := len(c.w.buf)
	c.w.buf = append(c.w.buf, body...)
	if kind == ngStatistics && len(body) >= 4 {
		which := uint32(math.MaxUint32) // none, like an interface that is not described
		if i := c.interfaceOf(uint64(binary.LittleEndian.Uint32(body))); i != nil {
			which = i.number
		}
		binary.LittleEndian.PutUint32(c.w.buf[at:], which)
	}
	c.w.finish(false)
	c.room()
}

// interfaceOf returns an interface of the current file's section, or nil if it is
// not described.
func (c *Copy) interfaceOf(n uint64) *written {
	if all := c.files[c.file]; n < uint64(len(all)) {
		return &all[n]
	}
	return nil
}

// Frame implements [Tap].
func (c *Copy) Frame(f *Frame) {
	of := c.interfaceOf(uint64(f.Interface))
	if of != nil && of.headed && !f.Lacking {
		f = c.withHeader(f)
	}
	switch {
	case c.opts.Keep != nil && !c.opts.Keep(f):
	case f.Lacking || of == nil:
		c.stats.Lacking++
	case c.opts.Hold && f.Datagram != nil:
		held := *f
		c.data = append(c.data[:0], f.Data...)
		held.Data = c.data
		c.of = *f.Datagram
		held.Datagram = &c.of
		if f.Payload >= 0 {
			c.of.Payload = held.Data[f.Payload : f.Payload+len(f.Datagram.Payload)]
		}
		held.Options = slices.Clone(f.Options)
		held.of = *of
		c.held = &held
	default:
		c.write(f, of)
	}
}

// Held returns the frame that waits, or nil. Its data may be changed in place,
// and be replaced.
func (c *Copy) Held() *Frame { return c.held }

// Take returns the frame that waits, or nil. The frame then belongs to the
// caller, who may give it back to Put while the section of the output lasts.
func (c *Copy) Take() *Frame {
	f := c.held
	if f == nil {
		return nil
	}
	c.held, c.data = nil, nil
	d := *f.Datagram
	f.Datagram = &d
	return f
}

// Put writes a frame that was taken.
func (c *Copy) Put(f *Frame) { c.write(f, &f.of) }

// Release writes the frame that waits, if there is one.
func (c *Copy) Release() {
	if c.held != nil {
		c.Put(c.held)
		c.held = nil
	}
}

// write writes a frame of an interface.
func (c *Copy) write(f *Frame, of *written) {
	if c.w.err != nil {
		return
	}
	c.stats.Frames++
	if c.opts.Pcap {
		c.writePcap(f, of)
		return
	}
	c.fit(packetBlock(len(f.Data)) + len(f.Options) + 8)
	if !f.Timed && of.number == 0 { // a simple packet, of the first interface
		c.w.begin(ngSimple)
		c.w.u32(uint32(f.Full))
		c.w.padded(f.Data)
		c.w.finish(false)
		return
	}
	c.w.beginPacket(of.number, f.Stamp, f.Data, f.Full)
	c.w.buf = append(c.w.buf, f.Options...)
	c.w.finish(len(f.Options) > 0)
}

// writePcap writes a frame, after the header if it is the first.
func (c *Copy) writePcap(f *Frame, i *written) {
	if !c.begun {
		c.pcapHeader(i)
	}
	if i.link != c.link {
		c.w.err = fmt.Errorf("%s: a pcap file holds one link type, and these captures have %d and %d; write pcapng (-F pcapng)", c.w.name, c.link, i.link)
		return
	}
	c.fit(pcapRecord + len(f.Data))
	c.w.u32(uint32(min(max(f.Time.Unix(), 0), math.MaxUint32)))
	c.w.u32(uint32(f.Time.Nanosecond() / c.unit))
	c.w.u32(uint32(len(f.Data)))
	c.w.u32(uint32(max(f.Full, len(f.Data))))
	c.w.buf = append(c.w.buf, f.Data...)
}

// pcapHeader writes the header. Times get nanoseconds if the first interface has
// more than microseconds.
func (c *Copy) pcapHeader(i *written) {
	magic := uint32(pcapMicro)
	c.begun, c.link, c.unit = true, i.link, int(time.Microsecond)
	if i.fine {
		magic, c.unit = pcapNano, 1
	}
	c.w.u32(magic)
	c.w.u32(2 | 4<<16) // version 2.4
	c.w.u32(0)
	c.w.u32(0)
	c.w.u32(maxFrame)
	c.w.u32(uint32(i.link))
}

// isFine reports whether times of an interface with these options are finer than
// microseconds.
func isFine(options []byte) bool {
	for code, value := range eachOption(options) {
		if code == ngResolution && len(value) == 1 && (value[0] > 6 && value[0] < 0x80 || value[0] > 0x80+20) {
			return true
		}
	}
	return false
}

// fit makes room for n bytes, without growing the buffer if possible.
func (c *Copy) fit(n int) {
	if n > cap(c.w.buf)-len(c.w.buf) {
		_ = c.w.flush() // the error stays
	}
}

// room keeps the buffer from growing.
func (c *Copy) room() { c.fit(writeSize / 2) }

// Err returns the error that ended writing, or nil.
func (c *Copy) Err() error { return c.w.err }

// Flush writes the buffer.
func (c *Copy) Flush() error { return c.w.flush() }

// Close writes the buffer, and closes the file if the copy created it.
func (c *Copy) Close() error {
	c.Release()
	if !c.begun && c.opts.Pcap && c.w.err == nil { // nothing was kept
		i := written{link: linkEthernet}
		if all := c.files[c.file]; len(all) > 0 {
			i = all[0]
		}
		c.pcapHeader(&i)
	}
	return c.w.close(c.w.flush())
}

// SetPayload replaces the payload of the frame's datagram by one of the same
// length, and corrects the UDP checksum.
func (f *Frame) SetPayload(payload []byte) {
	const sum = 2 // bytes of the checksum, just before the payload
	at := f.Payload
	if at < udpHeader || at+len(payload) > len(f.Data) || len(payload) != len(f.Datagram.Payload) {
		return
	}
	h := f.Data[at-sum : at]
	old := binary.BigEndian.Uint16(h)
	if old != 0 && !f.Datagram.Truncated() {
		// As in RFC 1624: a wrong checksum stays wrong.
		n := uint64(^old) + uint64(^checksum(0, f.Data[at:at+len(payload)])) + uint64(checksum(0, payload))
		putUDPSum(h, n)
	}
	copy(f.Data[at:], payload)
}

// Comment adds a comment to the frame.
func (f *Frame) Comment(text string) { f.Options = appendOption(f.Options, ngComment, []byte(text)) }

// CountOptions returns the number of options of a block or a frame. The mark of
// their end is none.
func CountOptions(options []byte) (n int) {
	for code := range eachOption(options) {
		if code != ngEndOfOptions {
			n++
		}
	}
	return n
}

// TimeOptions returns those options of an interface that its times depend on.
func TimeOptions(options []byte) (kept []byte) {
	for code, value := range eachOption(options) {
		if code == ngResolution || code == ngOffset {
			kept = appendOption(kept, code, value)
		}
	}
	return kept
}
